#!/usr/bin/env python3
"""Convert every model, load the result in Paddle 3.x, run the recorded inputs, compare with the recorded outputs.

usage: models.py PDMIGRATE [--engine-300] [--optimize LEVEL] [NAME...]

Each model is run twice: by the Executor as paddle.static.load_inference_model loads it, and by the paddle.inference
predictor (oneDNN and passes off).  With --engine-300 the framework is 3.0.0 and at least five models must pass.
With --optimize they are converted with that level.
-O2 rounds otherwise: LOOSE has the models that show it.  Real models that cannot be fetched are skipped with the reason.
"""
import argparse
import os
import sys

import numpy as np

import oracle
import suite

LEAST_300 = 5

# With -O2 batch normalization is part of the filters. What is computed of sums that nearly cancel shows that:
# tolerances, relative and absolute.  Fast kernels are as far from the record.
LOOSE = {"ch_PP-OCRv4_det_infer": 3e-3, "ppyoloe": 1e-3, "yolov3_tiny": 1e-3}

# Where the record is not the judge: another file of outputs, or LoD that becomes another output.
REFERENCE = {"bf16_mixed": "ref_331.npz"}
LOD_TO_COUNTS = {"ssd_lod_nms"}

# The Executor of 3.x cannot feed these; the predictor can.
PREDICTOR_ONLY = {}


def reference(name, folder, path):
    """Recorded arrays of one input set, outputs as they should be."""
    arrays = oracle.read_npz(path)
    other = os.path.join(folder, REFERENCE.get(name, ""))
    if name in REFERENCE and os.path.isfile(other):
        arrays = {k: v for k, v in arrays.items() if not k.startswith(("out:", "lod:out:"))}
        arrays.update(oracle.read_npz(other))
    return arrays


def compare(name, arrays, got):
    """-> None or the reason"""
    rtol, atol = suite.RTOL, suite.ATOL
    if "-O2" in suite.CONVERT_OPTIONS:
        rtol = atol = LOOSE.get(name, 5e-5)
    lod_lost = name in LOD_TO_COUNTS
    ref = oracle.outputs_of(arrays)
    if lod_lost:
        got, more = got[:len(ref)], got[len(ref):]
        counts = [np.diff(lod[-1]) for _, _, lod in ref if lod]
        if more and not all(np.array_equal(v.ravel(), c) for (_, v, _), c in zip(more, counts)):
            return "the counts are %s, expected %s" % ([v.tolist() for _, v, _ in more], [c.tolist() for c in counts])
    return suite.first_difference(oracle.compare_outputs(ref, got, rtol, atol, lod_lost))


def check_conversion(program, name, folder, tmp):
    """-> (prefix of the result or None, reason or None)"""
    prefix = os.path.join(tmp, "out", "inference")
    os.mkdir(os.path.dirname(prefix))
    conv = suite.convert(program, folder, os.path.dirname(prefix) + "/")
    if conv.status != 0:
        return None, "convert: exit %s: %s" % (conv.status, conv.last_line())
    if not os.path.isfile(prefix + ".json"):
        return None, "convert: exit 0, but no output file"
    return prefix, None


def by_executor(paddle, prefix):
    exe, prog = suite.load_for_executor(paddle, prefix)
    return lambda inputs: oracle.run_program(paddle, exe, prog, inputs)


def by_predictor(paddle, prefix):
    pred = oracle.make_predictor(paddle, prefix + ".json", "json", prefix + ".pdiparams")
    return lambda inputs: oracle.run_on_predictor(pred, inputs)


ENGINES = {"executor": by_executor, "predictor": by_predictor}


def check_model(paddle, program, name, folder, engine, tmp):
    prefix, why = check_conversion(program, name, folder, tmp)
    if not prefix:
        return {"why": why}
    with paddle.static.scope_guard(paddle.static.Scope()):
        run = ENGINES[engine](paddle, prefix)
        for path in suite.io_files(folder):
            arrays = reference(name, folder, path)
            why = compare(name, arrays, run(oracle.inputs_of(arrays)))
            if why:
                return {"why": "%s: %s" % (os.path.basename(path), why)}
    return {"why": None}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    suite.add_common_options(ap)
    ap.add_argument("--engine-300", action="store_true", help="this Python has 3.0.0; at least %d models must pass" % LEAST_300)
    ap.add_argument("--optimize", type=int, choices=(1, 2), metavar="LEVEL", help="convert with -O1 or -O2")
    a = ap.parse_args()
    program = os.path.abspath(a.program)
    suite.CONVERT_OPTIONS += ["-O%d" % a.optimize, "--verify-each"] if a.optimize else []
    report = suite.Report("models")
    folders, missing = suite.model_folders(a.names)
    paddle = oracle.import_paddle()
    for name, why in missing:
        report.skip(name, why)
    engines = ["executor"] if a.engine_300 else ["executor", "predictor"]
    tasks = [((e, n), lambda tmp, n=n, f=f, e=e: check_model(paddle, program, n, f, e, tmp)) for e in engines
             for n, f in folders if not (n in PREDICTOR_ONLY and e == "executor")]
    results = dict(suite.run_forked(tasks, a.jobs, quiet=not a.verbose))
    for engine in engines:
        right, asked = 0, 0
        for (e, name), result in sorted(results.items()):
            if e != engine:
                continue
            asked += 1
            right += result["why"] is None
            report.point("%s (%s)" % (name, engine), result["why"])
        print("models, %s of Paddle %s: %d of %d" % (engine, paddle.__version__, right, asked))
        for name, why in sorted(PREDICTOR_ONLY.items()):
            if engine == "executor" and name in dict(folders):
                print("   %s: predictor only: %s" % (name, why))
        if a.engine_300 and not a.names and right < LEAST_300:
            report.fail(engine, "at least %d models are promised" % LEAST_300)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
