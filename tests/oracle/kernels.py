#!/usr/bin/env python3
"""Run single PIR ops, in every element type and at their edges, by `pdmigrate run` and by Paddle 3.3.1; compare.

usage: kernels.py PDMIGRATE [PART-OF-NAME...]

Cases are made anew by kernel_cases/*.py: each has a function cases(add), which calls add(name, build, *arrays). build gets a
paddle value for each array and returns one or several values. A case that the framework refuses to build or to run (most often:
an element type without a kernel) is no case of ours; how many those are is printed.
"""
import argparse
import os
import sys
import tempfile

import numpy as np

import oracle
import suite

FOLDER = os.path.join(suite.HERE, "kernel_cases")


class Maker:
    """Builds, runs and saves a program for each case."""

    def __init__(self, paddle, folder, wanted):
        self.paddle, self.folder, self.wanted = paddle, folder, wanted
        self.exe = paddle.static.Executor(paddle.CPUPlace())
        self.made, self.refused = {}, []

    def add(self, name, build, *arrays):
        if self.wanted and not any(w in name for w in self.wanted):
            return
        if name in self.made or name in self.refused:
            raise ValueError("two cases are named " + name)
        try:
            self.made[name] = self.record(name, build, [np.asarray(a) for a in arrays])
        except Exception:  # noqa: BLE001 whatever it has against the case
            self.refused.append(name)

    def record(self, name, build, arrays):
        paddle = self.paddle
        program = paddle.static.Program()
        with paddle.static.program_guard(program, paddle.static.Program()):
            values = [paddle.static.data("x%d" % i, list(a.shape), str(a.dtype)) for i, a in enumerate(arrays)]
            results = build(*values)
            results = [paddle.assign(r) for r in (results if isinstance(results, (list, tuple)) else [results])]
            feed = {"x%d" % i: a for i, a in enumerate(arrays)}
            with paddle.static.scope_guard(paddle.static.Scope()):  # results of other cases leave their LoD behind
                got = self.exe.run(program, feed=feed, fetch_list=results, return_numpy=False)
            prefix = os.path.join(self.folder, name)
            paddle.static.save_inference_model(prefix, values, results, self.exe, program=program)
        np.savez(prefix + ".in.npz", **{"in:" + k: v for k, v in feed.items()})
        return [("out%d" % i, np.array(a), a.lod()) for i, a in enumerate(got)]


def differ(program, prefix, want):
    """-> None or the reason"""
    out = prefix + ".out.npz"
    done = suite.run_program([program, "run", prefix + ".json", "--io", prefix + ".in.npz", "-o", out], 60)
    if done.status != 0:
        return "exit %s: %s" % (done.status, done.last_line())
    got = oracle.outputs_of(oracle.read_npz(out))
    return suite.first_difference(oracle.compare_outputs(want, got, suite.RTOL, suite.ATOL))


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    suite.add_common_options(ap)
    a = ap.parse_args()
    program = os.path.abspath(a.program)
    paddle = oracle.import_paddle()
    paddle.enable_static()
    report = suite.Report("kernels")
    with tempfile.TemporaryDirectory() as tmp:
        maker = Maker(paddle, tmp, a.names)
        for file in sorted(os.listdir(FOLDER)):
            if file.endswith(".py"):
                suite.load_script(os.path.join(FOLDER, file)).cases(maker.add)
        for name, want in maker.made.items():
            report.point(name, differ(program, os.path.join(tmp, name), want))
    print("kernels that agree: %d of %d (the framework refuses %d more)" % (report.passed, len(maker.made), len(maker.refused)))
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
