#!/usr/bin/env python3
"""Convert every case of fixtures/cases, load the result in Paddle 3.x, run all input sets, compare with the record.

usage: cases.py PDMIGRATE [--optimize LEVEL] [NAME...]

Groups come from the tables in fixtures/cases.  expected.tsv lists the cases that are known not to pass:
  exit4   the converter must refuse it with exit code 4 and write nothing
  fails   it does not convert, load or compute the recorded outputs
  ref331  its kernel changed after the record was made: the outputs must be those of ref_331/CASE.npz, which 3.3.1
          computes from its own translation
With --optimize the cases are converted with that level, every fourth one unless names are given.
A case that fails without being listed, or passes although it is listed, is a failure.
"""
import argparse
import os
import sys

import oracle
import suite

LEAST = {"wrong": 13, "refused": 50}      # what is promised, whatever expected.tsv says
REF = os.path.join(suite.HERE, "ref_331")


def check_case(paddle, program, name, tmp):
    """-> {"why": None or reason, "exit": of the converter, "ref331": None or reason, where there is such a file}"""
    folder = os.path.join(suite.CASES, name)
    prefix = os.path.join(tmp, "inference")
    conv = suite.convert(program, folder, prefix + ".json")
    result = {"exit": conv.status}
    if conv.status != 0:
        left = [n for n in os.listdir(tmp)]
        result["why"] = "convert: exit %s: %s" % (conv.status, conv.last_line())
        if left:
            result["left"] = "exit %s, but it wrote %s" % (conv.status, " ".join(left))
        return result
    if not os.path.isfile(prefix + ".json"):
        return dict(result, why="convert: exit 0, but no output file")
    ref = os.path.join(REF, name + ".npz")
    with paddle.static.scope_guard(paddle.static.Scope()):
        exe, prog = suite.load_for_executor(paddle, prefix)
        for path in suite.io_files(folder):
            arrays = oracle.read_npz(path)
            got = oracle.run_program(paddle, exe, prog, oracle.inputs_of(arrays))
            why = suite.compare(arrays, got)
            if os.path.isfile(ref):
                result["ref331"] = suite.compare(oracle.read_npz(ref), got)
            if why:
                return dict(result, why="%s: %s" % (os.path.basename(path), why))
    return dict(result, why=None)


def judge(kind, result):
    """-> (computes the recorded outputs, reason why this point fails or None)"""
    right = result["why"] is None
    if result.get("left"):
        return False, result["left"]
    if kind == "":
        return right, result["why"]
    if right:
        return True, "passes, but expected.tsv lists it as %s" % kind
    if kind == "exit4":
        return False, None if result.get("exit") == 4 else "should be refused with exit code 4, but: %s" % result["why"]
    if kind == "ref331":
        return False, None if result.get("ref331", 0) is None else "neither the record (%s) nor 3.3.1's own values (%s)" % (
            result["why"], result.get("ref331", "no such outputs"))
    if kind == "fails":
        return False, None
    return False, "expected.tsv has an unknown kind %r" % kind


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    suite.add_common_options(ap)
    ap.add_argument("--expected", default=os.path.join(suite.HERE, "expected.tsv"), metavar="FILE")
    ap.add_argument("--observed", metavar="FILE", help="write a line `case, kind, reason` for each that is not right")
    ap.add_argument("--optimize", type=int, choices=(1, 2), metavar="LEVEL", help="convert with -O1 or -O2")
    ap.add_argument("--every", type=int, metavar="N", help="only each N-th case (default 1; with --optimize 4)")
    a = ap.parse_args()
    suite.CONVERT_OPTIONS += ["-O%d" % a.optimize, "--verify-each"] if a.optimize else []
    every = a.every or (4 if a.optimize and not a.names else 1)
    expected = suite.Exceptions(a.expected)
    groups = suite.case_groups()
    all_names = [n for _, names in groups for n in names]
    unknown = sorted((set(a.names) | set(expected.rows)) - set(all_names))
    if unknown:
        sys.exit("cases.py: no such case: %s" % " ".join(unknown))
    program = os.path.abspath(a.program)
    paddle = oracle.import_paddle()
    todo = [n for n in all_names[::every] if not a.names or n in a.names]
    report = suite.Report("cases")
    results = dict(suite.run_forked(
        ((n, lambda tmp, n=n: check_case(paddle, program, n, tmp)) for n in todo), a.jobs, quiet=not a.verbose))

    observed = []
    for group, names in groups:
        names = [n for n in names if n in results]
        if not names:
            continue
        right, listed = 0, []
        for n in names:
            kind, reason = expected.get(n)
            ok, why = judge(kind, results[n])
            right += ok
            if kind:
                listed.append((n, kind, reason))
            if not ok:
                observed.append((n, "exit4" if results[n].get("exit") == 4 else "fails", results[n]["why"]))
            report.point(n, why)
        print("%s: %d of %d" % (suite.GROUP_TEXT[group], right, len(names)))
        for n, kind, reason in listed:
            print("   %s (%s): %s" % (n, kind, reason))
        if not a.names and every == 1 and right < LEAST.get(group, 0):
            report.fail(group, "at least %d are promised" % LEAST[group])
    if a.observed:
        with open(a.observed, "w", encoding="utf-8") as f:
            f.writelines("\t".join(row) + "\n" for row in observed)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
