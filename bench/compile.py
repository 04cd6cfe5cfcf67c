#!/usr/bin/env python3
"""Measure what --compile llvm costs: with nothing kept on disk, and with all kernels kept.

usage: compile.py BUILD [--only MODEL,...] [--threads N] [--rounds N] [--check]

BUILD is a configured build folder with the program in it. Models: det, rec, cls, slanet. A round is a whole process each of:
not compiled; compiled with an empty cache (cold); compiled with what that one kept (warm). Inputs are random and small, so
that most of a process is loading. What compiling costs is the difference of the best times of all rounds; processor time
counts, since others on the machine change the wall clock. With --check the exit status is 1 when a promise is not kept: cold
at most 3 s, warm at most 50 ms.
"""
import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import convert
from convert import Skip
from run import FETCHED

COLD, WARM = 3.0, 0.05
SMALL = {"rec": "1,3,48,64", "cls": "1,3,48,64"}  # where the declared shape leaves open what does not fit


def one(b, prefix, cache, *options):
    """-> seconds of wall clock, seconds of processor time"""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    done = subprocess.run([b.program, "run", prefix + ".pdmodel", "--random", "--threads", str(b.threads), "--cache-dir", cache, *options],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wall = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode or done.stderr:
        raise Skip(done.stderr.strip() or "exit status %d" % done.returncode)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(b, name, rounds, tmp):
    prefix = os.path.join(convert.fetched(FETCHED[name]), "inference")
    cache = os.path.join(tmp, name)
    shape = ["--shape", "x=" + SMALL[name]] if name in SMALL else []
    ways = {"off": [], "cold": [], "warm": []}
    for _ in range(rounds):
        ways["off"].append(one(b, prefix, cache, *shape))
        shutil.rmtree(cache, ignore_errors=True)
        ways["cold"].append(one(b, prefix, cache, "--compile", "llvm", *shape))
        for _ in range(3):
            ways["warm"].append(one(b, prefix, cache, "--compile", "llvm", *shape))
            ways["off"].append(one(b, prefix, cache, *shape))
    kept = json.loads(subprocess.run([b.program, "cache", "--format", "json", "--cache-dir", cache], check=True,
                                     stdout=subprocess.PIPE, text=True).stdout)
    wall, cpu = ({way: min(t[i] for t in took) for way, took in ways.items()} for i in (0, 1))
    for way, limit in ("cold", COLD), ("warm", WARM):
        b.promise("%-6s %-4s %6.0f ms more than the %.0f ms not compiled (processor: %.0f ms more), at most %.0f; %d kernels, %d KiB"
                  % (name, way, (wall[way] - wall["off"]) * 1e3, wall["off"] * 1e3, (cpu[way] - cpu["off"]) * 1e3, limit * 1e3,
                     kept["kernels"], kept["bytes"] >> 10), cpu[way] - cpu["off"] <= limit)


def main():
    ap = argparse.ArgumentParser(usage=__doc__)
    ap.add_argument("build")
    ap.add_argument("--only", default=",".join(FETCHED))
    ap.add_argument("--threads", type=int, default=2)
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--check", action="store_true")
    a = ap.parse_args()
    b = convert.Bench(a.build)
    b.threads = a.threads
    os.environ.setdefault("PDM_MODULE_DIR", os.path.join(b.build, ".libs"))
    with tempfile.TemporaryDirectory() as tmp:
        for name in a.only.split(","):
            try:
                measure(b, name, a.rounds, tmp)
            except Skip as why:
                print("skip %s: %s" % (name, why), flush=True)
    return 1 if a.check and b.missed else 0


if __name__ == "__main__":
    sys.exit(main())
