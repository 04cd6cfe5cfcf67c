#!/usr/bin/env python3
"""Take the subgraphs of build_cinn_pass out of every case and model, load what they convert to in Paddle 3.x, and compare.

usage: launches.py PDMIGRATE [NAME...]

tests/tools/pdm-launches runs each program with its launches, once for ordinary ops and once with in-place ops in the subgraphs too,
and writes every subgraph with what went into it and came out. launches.tsv lists what is known not to pass: case, reason.
"""
import argparse
import os
import subprocess
import sys

import numpy as np

import oracle
import suite

EXPECTED = os.path.join(suite.HERE, "launches.tsv")
OWN = os.path.join(suite.TOP, "fixtures", "cases-own")


def folders(names):
    """-> [(name, folder, first input set)] and [(name, why)] of models that cannot be had"""
    found = []
    for top in (suite.CASES, OWN):
        for name in sorted(os.listdir(top)):
            folder = os.path.join(top, name)
            if not name.startswith("bad_") and not name.endswith("_train_raw"):
                found.append((name, folder))
    models, missing = suite.model_folders()
    found += models
    wanted = [(n, f, os.path.join(f, "io.npz")) for n, f in found if not names or n in names]
    return [w for w in wanted if os.path.isfile(w[2])], [m for m in missing if not names or m[0] in names]


def check_part(paddle, folder):
    """-> None, or how 3.x differs from what we computed"""
    arrays = oracle.read_npz(os.path.join(folder, "io.npz"))
    with paddle.static.scope_guard(paddle.static.Scope()):
        exe, prog = suite.load_for_executor(paddle, os.path.join(folder, "inference"))
        got = oracle.run_program(paddle, exe, prog, oracle.inputs_of(arrays))
    want = oracle.outputs_of(arrays)
    if len(got) != len(want):
        return "%d outputs instead of %d" % (len(got), len(want))
    # Values inside of a program may be what cancelled out: rounding is relative to the largest one.
    rows = []
    for one, other in zip(want, got):
        scale = 1.0
        if one[1].dtype.kind == "f":
            flat = np.abs(one[1]).ravel()
            scale = float(np.max(flat, initial=1.0, where=np.isfinite(flat)))
        rows += oracle.compare_outputs([one], [other], suite.RTOL, suite.ATOL * scale)
    return suite.first_difference(rows)


def check(paddle, tool, folder, io, tmp):
    """-> {"parts": how many there are, "why": [reasons]}"""
    parts, why, fetch = 0, [], []
    if os.path.isfile(os.path.join(folder, "fetch.txt")):
        with open(os.path.join(folder, "fetch.txt"), encoding="utf-8") as f:
            fetch = f.read().split()
    for way in ([], ["--in-place"]):
        out = os.path.join(tmp, "parts" + "".join(way))
        os.mkdir(out)
        done = subprocess.run([tool, *way, folder, io, out, *fetch], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", check=False, timeout=300)
        for line in done.stdout.splitlines():
            kind, _, rest = line.partition(" ")
            if kind == "no":
                why.append("%s%s" % (rest, " ".join(["", *way])))
            if kind != "ok":
                continue
            parts += 1
            try:
                differs = check_part(paddle, os.path.join(out, rest))
            except Exception as e:  # pylint: disable=broad-except
                differs = suite.said(e)
            if differs:
                why.append("subgraph %s%s: %s" % (rest, " ".join(["", *way]), differs))
        if done.returncode not in (0, 1):
            why.append("pdm-launches ended with %d: %s" % (done.returncode, done.stdout[-300:]))
    return {"parts": parts, "why": why}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    suite.add_common_options(ap)
    a = ap.parse_args()
    build = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(a.program))))
    tool = os.path.join(build, "tests", "tools", "pdm-launches")
    report = suite.Report("launches")
    expected = suite.Exceptions(EXPECTED)
    todo, missing = folders(a.names)
    for name, why in missing:
        report.skip(name, why)
    paddle = oracle.import_paddle()
    results = dict(suite.run_forked(
        ((n, lambda tmp, f=f, io=io: check(paddle, tool, f, io, tmp)) for n, f, io in todo), a.jobs, quiet=not a.verbose))
    parts = wrong = 0
    for name, _, _ in todo:
        result = results[name]
        why = result["why"] if isinstance(result["why"], list) else [result["why"]]
        parts += result.get("parts", 0)
        wrong += len(why)
        kind, reason = expected.get(name)
        if kind:
            print("   %s: %s" % (name, reason))
            report.point(name, None if why else "passes, but launches.tsv lists it")
        else:
            report.point(name, "; ".join(str(w) for w in why[:3]) or None)
    print("%d of %d subgraphs of %d programs compute the same in Paddle 3.3.1" % (parts - wrong, parts, len(todo)))
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
