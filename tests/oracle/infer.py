#!/usr/bin/env python3
"""Compare inferred element types and shapes with what the framework computes.

usage: infer.py PDMIGRATE [NAME...] [--infer FILE] [--translate]

Each case is converted by PDMIGRATE (with --translate: by the framework), its inputs get the recorded shapes, a fetch op
is put behind every tensor of the top block, and the framework runs it.  tests/tools/pdm-infer infers the types of the same
file.  Element types must be equal; a dimension or rank that was inferred must be the real one (-1: not known).  This is
done twice, with the recorded input shapes and with those that the model declares.  Cases that do not convert or run this
way are counted as skipped: cases.py judges them.
"""
import argparse
import collections
import copy
import json
import os
import subprocess
import sys

import oracle
import suite

# Their sizes follow from the LoD of an input.
EXCEPTIONS = {"op_fill_constant_batch_size_like__lod": "the batch is the number of sequences"}


def results_of(op):
    outs = op["O"]
    return outs if isinstance(outs, list) else [outs]


def ops_of(program):
    return program["program"]["regions"][0]["blocks"][0]["ops"]


def attribute(op, name):
    return next(a["AT"] for a in op["A"] if a["N"] == name)


def set_input_shapes(program, inputs):
    for op in ops_of(program):
        if op["#"] == "1.data" and attribute(op, "name")["D"] in inputs:
            dims = list(inputs[attribute(op, "name")["D"]][0].shape)
            op["O"][0]["TT"]["D"][1] = dims
            attribute(op, "shape")["D"] = dims


def fetch_all(program, used_only):
    """Replace the fetch ops by one behind each tensor; the value's number is its name."""
    ops = [op for op in ops_of(program) if op["#"] != "1.fetch"]
    last = max((o["%"] for op in ops for o in results_of(op)), default=0)
    used = {i["%"] for op in ops for i in op.get("I", [])} | {o["%"] for o in results_of(ops[-1])}
    out, col = [], 0
    for op in ops:
        out.append(op)
        for o in results_of(op):
            tensor = o.get("TT") and o["TT"]["#"] == "0.t_dtensor"
            if not tensor or op["#"] in ("p", "1.data") or (used_only and o["%"] not in used):
                continue
            last += 1
            out.append({"#": "1.fetch", "A": [{"AT": {"#": "0.a_str", "D": "%d" % o["%"]}, "N": "name"},
                                              {"AT": {"#": "0.a_i32", "D": col}, "N": "col"}],
                        "I": [{"%": o["%"]}], "O": [{"%": last, "TT": copy.deepcopy(o["TT"])}], "OA": []})
            col += 1
    program["program"]["regions"][0]["blocks"][0]["ops"] = out


def write(program, path):
    with open(path, "w", encoding="utf-8") as f:
        json.dump(program, f)


def run_all(paddle, path, params, inputs):
    """-> {value number: (dtype, dims)}"""
    exe = paddle.static.Executor(paddle.CPUPlace())
    with paddle.static.scope_guard(paddle.static.Scope()):
        program = oracle.load_json(paddle, path)
        if oracle.parameter_names(program):
            oracle.load_param_scope(paddle, exe, program, params)
        feeds, fetches = oracle.feeds_and_fetches(program)
        feed = {}
        for name in feeds:
            feed[name], lod = inputs[name]
            if lod:
                tensor = paddle.base.core.DenseTensor()
                tensor.set(feed[name], paddle.CPUPlace())
                tensor.set_lod(lod)
                feed[name] = tensor
        got = exe.run(program, feed=feed, fetch_list=[v for _, v in fetches], return_numpy=False)
    return {int(name): (str(t._dtype()).split(".")[-1], list(t.shape())) for (name, _), t in zip(fetches, got)}


def infer(tool, program, path):
    """-> {value number: (op, dtype, dims)}, or the reason why not"""
    program = copy.deepcopy(program)
    ops = [op for op in ops_of(program) if op["#"] != "1.fetch"]
    program["program"]["regions"][0]["blocks"][0]["ops"] = ops
    write(program, path)
    done = subprocess.run([tool, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        return done.stderr.strip()[-300:]
    numbers = [o["%"] for op in ops for o in results_of(op)]
    found = {}
    for line in done.stdout.splitlines():
        words = line.split()
        if "." not in words[2] and len(words) > 4 and not words[3].startswith("array:"):
            found[numbers[int(words[0]) - 1]] = (words[1], words[3], json.loads(words[4]))
    return found


def difference(real, inferred):
    """One value -> None or the reason"""
    dtype, dims = real
    op, found, guess = inferred
    if dims == [0]:      # the kernel left it alone
        return None
    if found != dtype:
        return "%s: %s, inferred %s" % (op, dtype, found)
    if guess == [-1] and len(dims) != 1:
        return None      # rank not known
    if len(dims) != len(guess) or any(g not in (-1, d) for g, d in zip(guess, dims)):
        return "%s: %s, inferred %s" % (op, dims, guess)
    return None


def convert(paddle, a, folder, out):
    """-> the program, or None"""
    if a.translate:
        path, _ = oracle.find_model(folder)
        paddle.core.serialize_pir_program(oracle.to_pir(paddle, path), out, True, False, True)
    elif suite.convert(a.program, folder, out).status != 0:
        return None
    with open(out, encoding="utf-8") as f:
        return json.load(f)


def check(paddle, a, folder, tmp):
    path = os.path.join(tmp, "inference.json")
    program = convert(paddle, a, folder, path)
    if program is None:
        return {"skip": "not converted"}
    own = os.path.join(tmp, "inference.pdiparams")
    params = own if os.path.isfile(own) else oracle.find_params(oracle.find_model(folder)[0], None)
    inputs = oracle.inputs_of(oracle.read_npz(os.path.join(folder, "io.npz")))
    fixed = copy.deepcopy(program)
    set_input_shapes(fixed, inputs)
    real, why = None, ""
    for used_only in (False, True):
        asking = copy.deepcopy(fixed)
        fetch_all(asking, used_only)
        write(asking, os.path.join(tmp, "asking.json"))
        try:
            real = run_all(paddle, os.path.join(tmp, "asking.json"), params, inputs)
            break
        except Exception as e:      # the framework's; of many classes
            why = suite.said(e)
    if real is None:
        return {"skip": why}
    bad = collections.OrderedDict()
    for one in (fixed, program):
        found = infer(a.infer, one, os.path.join(tmp, "infer.json"))
        if isinstance(found, str):
            return {"why": found}
        for number, value in real.items():
            why = difference(value, found[number]) if number in found else "value %d is missing" % number
            if why:
                bad[why] = None
    return {"why": "; ".join(list(bad)[:5]) or None, "values": len(real)}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    suite.add_common_options(ap)
    ap.add_argument("--infer", metavar="FILE", help="the built pdm-infer; else it is looked for in PDMIGRATE's build folder")
    ap.add_argument("--translate", action="store_true", help="let the framework translate")
    a = ap.parse_intermixed_args()
    if not a.infer:
        top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(a.program))))
        a.infer = os.path.join(top, "tests", "tools", "pdm-infer")
    paddle = oracle.import_paddle()
    folders = {n: os.path.join(suite.CASES, n) for _, names in suite.case_groups() for n in names}
    folders.update(suite.model_folders(a.names)[0])
    names = [n for n in folders if not a.names or n in a.names]
    report, values, skips = suite.Report("infer"), 0, collections.Counter()
    tasks = [(n, lambda tmp, f=folders[n]: check(paddle, a, f, tmp)) for n in names]
    for name, result in suite.run_forked(tasks, a.jobs, quiet=not a.verbose):
        if result.get("skip"):
            skips[result["skip"]] += 1
            report.skipped += 1
        elif result.get("why") and name in EXCEPTIONS:
            report.skip(name, EXCEPTIONS[name])
        else:
            values += result.get("values", 0)
            report.point(name, result.get("why"))
    print("%d values compared" % values)
    for why, count in skips.most_common(5):
        print("%d not compared: %s" % (count, why[:160]))
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
