#!/usr/bin/env python3
"""Measure the conversion against Paddle's own Python route; all ratios come from this one run.

usage: convert.py BUILD [--only PART,...] [--check]

BUILD is a configured build folder with the program in it; the two helpers are built there. Parts:
  process    whole process on the PP-OCR detector, input and output on tmpfs: time and resident memory; and on disk
  translate  the translation alone, from the parsed program (best of 20 each)
  scale      time per op from 10,000 to 200,000 ops
  sparse     a 10 GiB parameter file of holes: resident memory, time, blocks used
With --check the exit status is 1 when a promise is not kept. A part that cannot run says why and counts as skipped.
"""
import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
MODEL = "ch_PP-OCRv4_det_infer"
GIB = 1 << 30


class Skip(Exception):
    pass


class Bench:
    def __init__(self, build, *tools):
        self.build = os.path.abspath(build)
        self.program = os.path.join(self.build, "src", "cli", "pdmigrate")
        self.missed = 0
        subprocess.run(["make", "-s", "-C", self.build, *tools], check=True)

    def promise(self, text, kept):
        """Print one result line."""
        self.missed += not kept
        print("%-4s %s" % ("ok" if kept else "MISS", text), flush=True)

    def tool(self, name, *args):
        done = subprocess.run([os.path.join(self.build, "bench", name), *args], check=True, stdout=subprocess.PIPE, text=True)
        return json.loads(done.stdout)

    def measure(self, times, *cmd):
        """-> best seconds, largest resident MiB"""
        m = self.tool("measure", str(times), *cmd)
        if m["status"]:
            raise Skip("%s: exit status %d" % (" ".join(cmd), m["status"]))
        return m["best_s"], m["max_rss_kib"] / 1024


def framework():
    # It warns that recompiling its extensions would take long without ccache; nothing is compiled here.
    os.environ.setdefault("PYTHONWARNINGS", "ignore:No ccache found")
    done = subprocess.run([os.path.join(TOP, "tests", "oracle", "setup")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise Skip(done.stderr.strip())
    return done.stdout.strip()


def fetched(model):
    """Folder of a model, fetched if need be."""
    path = os.path.join(TOP, "fixtures", "fetch-models.py")
    spec = importlib.util.spec_from_file_location("fetch_models", path)
    fetch = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fetch)
    done = subprocess.run([sys.executable, path, model], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise Skip(done.stdout.strip())
    return os.path.join(fetch.default_dest(), model)


def memory_folder():
    if not os.access("/dev/shm", os.W_OK):
        raise Skip("no tmpfs at /dev/shm")
    return tempfile.TemporaryDirectory(dir="/dev/shm")


# ---- parts --------------------------------------------------------------------------------------------------

def ours(b, source, folder, times):
    return b.measure(times, b.program, source, "-o", os.path.join(folder, "ours.json"), "--force")


def part_process(b):
    source, python = fetched(MODEL), framework()
    route = os.path.join(HERE, "official_route.py")
    with memory_folder() as tmp, tempfile.TemporaryDirectory() as disk:
        for folder in (tmp, disk):
            for name in ("inference.pdmodel", "inference.pdiparams"):
                shutil.copyfile(os.path.join(source, name), os.path.join(folder, name))
        model = os.path.join(tmp, "inference.pdmodel")
        t, rss = ours(b, model, tmp, 20)
        pt, prss = b.measure(3, python, route, os.path.join(tmp, "inference"), os.path.join(tmp, "theirs"))
        b.promise("process, tmpfs: %.2f ms against %.0f ms: %.0f times faster (150 are promised)"
                  % (1e3 * t, 1e3 * pt, pt / t), pt >= 150 * t)
        b.promise("process, resident: %.1f MiB against %.0f MiB: 1/%.0f (1/20 is promised)"
                  % (rss, prss, prss / rss), 20 * rss <= prss)
        dt, _ = ours(b, os.path.join(disk, "inference.pdmodel"), disk, 20)
        dpt, _ = b.measure(3, python, route, os.path.join(disk, "inference"), os.path.join(disk, "theirs"))
        print("     process, disk with fsync: %.2f ms against %.0f ms: %.0f times faster" % (1e3 * dt, 1e3 * dpt, dpt / dt))


def part_translate(b):
    model, python = os.path.join(fetched(MODEL), "inference.pdmodel"), framework()
    t = b.tool("translate", "20", model)
    done = subprocess.run([python, os.path.join(HERE, "official_route.py"), "--translate", "20", model],
                          check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    theirs = json.loads(done.stdout.splitlines()[-1])["best_s"]
    b.promise("translation alone, %d ops: %.3f ms against %.1f ms: %.1f times faster (10 are promised)"
              % (t["ops"], 1e3 * t["best_s"], 1e3 * theirs, theirs / t["best_s"]), theirs >= 10 * t["best_s"])


def part_scale(b):
    per_op = {}
    with memory_folder() as tmp:
        for ops in (10000, 50000, 200000):
            model = os.path.join(tmp, "chain%d.pdmodel" % ops)
            subprocess.run([sys.executable, os.path.join(HERE, "programs.py"), "chain", str(ops), model], check=True)
            t, rss = ours(b, model, tmp, 3)
            alone = b.tool("translate", "3", model)["best_s"]
            per_op[ops] = t / ops
            print("     %d ops: %.0f ms, %.2f us an op (translation alone %.2f us), %.0f MiB resident"
                  % (ops, 1e3 * t, 1e6 * t / ops, 1e6 * alone / ops, rss))
    worst = max(per_op.values()) / min(per_op.values())
    b.promise("time per op from 10,000 to 200,000 ops: within %.2f times (2 are promised)" % worst, worst <= 2)


def part_sparse(b):
    base = tempfile.gettempdir()
    free = shutil.disk_usage(base).free
    if free < 12 * GIB:
        raise Skip("%.1f GiB of free disk in %s, 12 are needed" % (free / GIB, base))
    with tempfile.TemporaryDirectory(dir=base) as tmp:
        model = os.path.join(tmp, "sparse.pdmodel")
        subprocess.run([sys.executable, os.path.join(HERE, "programs.py"), "sparse", "10", model], check=True)
        t, rss = ours(b, model, tmp, 1)
        made, out = os.stat(os.path.join(tmp, "sparse.pdiparams")), os.stat(os.path.join(tmp, "ours.pdiparams"))
        used = out.st_blocks * 512 / (1 << 20)
        same = made.st_size == out.st_size
        b.promise("10 GiB sparse parameters: %.1f MiB resident (64 are promised), %.0f ms" % (rss, 1e3 * t), rss < 64)
        b.promise("   the copy has %s bytes and uses %.1f MiB of disk" % ("the same number of" if same else "OTHER", used),
                  same and used < 64)


PARTS = {"process": part_process, "translate": part_translate, "scale": part_scale, "sparse": part_sparse}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("build", metavar="BUILD")
    ap.add_argument("--only", metavar="PART,...", default=",".join(PARTS))
    ap.add_argument("--check", action="store_true")
    a = ap.parse_args()
    b = Bench(a.build, "bench/measure", "bench/translate")
    for name in a.only.split(","):
        if name not in PARTS:
            ap.error("no such part: %s" % name)
        try:
            PARTS[name](b)
        except Skip as e:
            print("SKIP %s: %s" % (name, e), flush=True)
    return 1 if a.check and b.missed else 0


if __name__ == "__main__":
    sys.exit(main())
