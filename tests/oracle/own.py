#!/usr/bin/env python3
"""Convert every case of fixtures/cases-own, load the result in Paddle 3.x, run it, compare with the record.

usage: own.py PDMIGRATE [NAME...]

All of them must pass: they are ops that PIR has no op for, expressed by others (fixtures/cases-own/README.md).
"""
import argparse
import os
import sys

import oracle
import suite

OWN = os.path.join(suite.FIXTURES, "cases-own")


def check_case(paddle, program, folder, tmp):
    """-> None, or why the case fails"""
    prefix = os.path.join(tmp, "inference")
    conv = suite.convert(program, folder, prefix + ".json")
    if conv.status != 0:
        return "convert: exit %s: %s" % (conv.status, conv.last_line())
    with paddle.static.scope_guard(paddle.static.Scope()):
        exe, prog = suite.load_for_executor(paddle, prefix)
        for path in suite.io_files(folder):
            arrays = oracle.read_npz(path)
            why = suite.compare(arrays, oracle.run_program(paddle, exe, prog, oracle.inputs_of(arrays)))
            if why:
                return "%s: %s" % (os.path.basename(path), why)
    return None


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    suite.add_common_options(ap)
    a = ap.parse_args()
    program = os.path.abspath(a.program)
    names = sorted(n for n in os.listdir(OWN) if os.path.isdir(os.path.join(OWN, n)))
    todo = [n for n in names if not a.names or n in a.names]
    paddle = oracle.import_paddle()
    report = suite.Report("own")
    results = dict(suite.run_forked(
        ((n, lambda tmp, n=n: {"why": check_case(paddle, program, os.path.join(OWN, n), tmp)}) for n in todo), a.jobs, quiet=not a.verbose))
    for n in todo:
        report.point(n, results[n]["why"])
    print("ops expressed by others: %d of %d" % (sum(results[n]["why"] is None for n in todo), len(todo)))
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
