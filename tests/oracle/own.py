#!/usr/bin/env python3
"""Convert every case of fixtures/cases-own, load the result in Paddle 3.x, run it, compare with the record.

usage: own.py PDMIGRATE [NAME...]

All of them must pass: ops that PIR has no op for, expressed by others, and unusual control flow (fixtures/cases-own/README.md).
The latter (flow_*) run on the predictor too, passes and oneDNN off. Ops that the framework computes on GPUs only must load; their
outputs are known by their meaning, and what we compute is compared with them by tests/exec/matrix.py.
"""
import argparse
import os
import sys

import oracle
import suite

OWN = os.path.join(suite.FIXTURES, "cases-own")
GPU_ONLY = ("weight_dequantize__", "weight_only_linear__", "number_count__", "limit_by_capacity__", "prune_gate_by_capacity__", "assign_pos__",
            "random_routing__", "correlation__", "sparse_attention__", "apply_per_channel_scale__", "max_pool2d_v2__")
REFUSALS = ("is not registered", "GPU", "not support")      # what the framework says then


def engine(paddle, name, prefix):
    if name == "predictor":
        pred = oracle.make_predictor(paddle, prefix + ".json", "json", prefix + ".pdiparams")
        return lambda inputs: oracle.run_on_predictor(pred, inputs)
    exe, prog = suite.load_for_executor(paddle, prefix)
    return lambda inputs: oracle.run_program(paddle, exe, prog, inputs)


def check_case(paddle, program, folder, name, tmp):
    """name: of the engine -> None, or why the case fails"""
    prefix = os.path.join(tmp, "inference")
    conv = suite.convert(program, folder, prefix + ".json")
    if conv.status != 0:
        return "convert: exit %s: %s" % (conv.status, conv.last_line())
    with paddle.static.scope_guard(paddle.static.Scope()):
        run = engine(paddle, name, prefix)
        for path in suite.io_files(folder):
            arrays = oracle.read_npz(path)
            why = suite.compare(arrays, run(oracle.inputs_of(arrays)))
            if why:
                return "%s: %s" % (os.path.basename(path), why)
    return None


def check_load(paddle, program, folder, tmp):
    """A case that the framework cannot run here."""
    prefix = os.path.join(tmp, "inference")
    conv = suite.convert(program, folder, prefix + ".json", options=["--pir-version", "4"])
    if conv.status != 0:
        return "convert: exit %s: %s" % (conv.status, conv.last_line())
    with paddle.static.scope_guard(paddle.static.Scope()):
        run = engine(paddle, "executor", prefix)
        try:
            run(oracle.inputs_of(oracle.read_npz(suite.io_files(folder)[0])))
        except Exception as e:  # noqa: BLE001 it has many kinds
            return None if any(r in str(e) for r in REFUSALS) else str(e)[-500:]
    return "the framework runs it: compare the outputs"


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    suite.add_common_options(ap)
    a = ap.parse_args()
    program = os.path.abspath(a.program)
    names = sorted(n for n in os.listdir(OWN) if os.path.isdir(os.path.join(OWN, n)))
    todo = [n for n in names if not a.names or n in a.names]
    paddle = oracle.import_paddle()
    report = suite.Report("own")
    flow = [n for n in todo if n.startswith("flow_")]
    load = [n for n in todo if n.startswith(GPU_ONLY)]
    groups = [("ops expressed by others", "executor", [n for n in todo if n not in flow + load]),
              ("control flow, executor", "executor", flow), ("control flow, predictor", "predictor", flow)]
    tasks = [((e, n), lambda tmp, n=n, e=e: {"why": check_case(paddle, program, os.path.join(OWN, n), e, tmp)})
             for _, e, names in groups for n in names]
    groups.append(("ops for GPUs, loaded", "executor", load))
    tasks += [(("executor", n), lambda tmp, n=n: {"why": check_load(paddle, program, os.path.join(OWN, n), tmp)}) for n in load]
    results = dict(suite.run_forked(tasks, a.jobs, quiet=not a.verbose))
    for text, e, names in groups:
        for n in names:
            report.point(n if e == "executor" else "%s (%s)" % (n, e), results[e, n]["why"])
        if names:
            print("%s: %d of %d" % (text, sum(results[e, n]["why"] is None for n in names), len(names)))
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
