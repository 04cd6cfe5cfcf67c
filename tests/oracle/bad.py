#!/usr/bin/env python3
"""Convert every broken or hostile input (fixtures/cases/bad_*) and check what BAD.tsv says.

usage: bad.py PDMIGRATE [NAME...]

Exit code as in BAD.tsv; a diagnostic on stderr and nothing written when it is not 0; the diagnostic matches every
pattern that bad_says.tsv has for the case (what it must name).  With exit code 0 the output loads in Paddle 3.x
and computes io.npz, where there is one and this Python has the framework.
"""
import argparse
import json
import os
import re
import resource
import sys
import tempfile

import suite

MODELS = ("inference.json", "inference.pdmodel", "model.pdmodel", "__model__")
MEMORY = 2 << 30      # a size that a file only claims must not be allocated


def limited(cmd, timeout=60):
    old = resource.getrlimit(resource.RLIMIT_AS)
    # Sanitizers reserve terabytes of addresses, so leave the limit out for such a build.
    if not os.environ.get("PDM_SANITIZERS"):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, old[1]))
    try:
        return suite.run_program(cmd, timeout)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, old)


def check_output(prefix):
    try:
        with open(prefix + ".json", encoding="utf-8") as f:
            json.load(f)
    except (OSError, ValueError) as e:
        return "exit 0, but %s" % e
    return None


def check_case(program, name, wanted, says, tmp):
    """-> None or the reason"""
    folder = os.path.join(suite.CASES, name)
    model = next(os.path.join(folder, n) for n in MODELS if os.path.isfile(os.path.join(folder, n)))
    prefix = os.path.join(tmp, "result")
    conv = limited([program, model, "-o", prefix + ".json"])
    code = int(wanted.rstrip("w"))
    if conv.status != code:
        return "exit %s, expected %s: %s" % (conv.status, wanted, conv.last_line())
    if (code or wanted.endswith("w")) and not conv.stderr.strip():
        return "nothing on stderr"
    left = os.listdir(tmp)
    if code and left:
        return "exit %d, but it wrote %s" % (code, " ".join(left))
    for pattern in says:
        if not re.search(pattern, conv.stderr, re.I | re.S):
            return "the diagnostic does not match /%s/: %s" % (pattern, conv.last_line())
    return check_output(prefix) if code == 0 else None


def run_output(paddle, folder, prefix):
    import oracle

    with paddle.static.scope_guard(paddle.static.Scope()):
        exe, prog = suite.load_for_executor(paddle, prefix)
        for path in suite.io_files(folder):
            arrays = oracle.read_npz(path)
            why = suite.compare(arrays, oracle.run_program(paddle, exe, prog, oracle.inputs_of(arrays)))
            if why:
                return {"why": "%s: %s" % (os.path.basename(path), why)}
    return {"why": None}


def framework():
    try:
        import oracle

        return oracle.import_paddle()
    except ImportError as e:
        print("the framework is not here (%s): files are not loaded" % e)
        return None


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    suite.add_common_options(ap)
    a = ap.parse_args()
    program = os.path.abspath(a.program)
    rows = [(n, code) for n, code in suite.read_tsv(os.path.join(suite.CASES, "BAD.tsv"), 2) if not a.names or n in a.names]
    says = {}
    for name, pattern in suite.read_tsv(os.path.join(suite.HERE, "bad_says.tsv"), 2):
        says.setdefault(name, []).append(pattern)
    report = suite.Report("bad")
    with tempfile.TemporaryDirectory() as root:
        good = []
        for name, wanted in rows:
            tmp = os.path.join(root, name)
            os.mkdir(tmp)
            report.point(name, check_case(program, name, wanted, says.get(name, []), tmp))
            if os.path.isfile(os.path.join(tmp, "result.json")) and suite.io_files(os.path.join(suite.CASES, name)):
                good.append((name, os.path.join(tmp, "result")))
        print("broken inputs: %d of %d" % (report.passed, len(rows)))
        paddle = framework() if good else None
        if paddle:
            tasks = [(n, lambda tmp, n=n, p=p: run_output(paddle, os.path.join(suite.CASES, n), p)) for n, p in good]
            for name, result in suite.run_forked(tasks, a.jobs, quiet=not a.verbose):
                report.point("%s (run)" % name, result["why"])
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
