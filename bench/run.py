#!/usr/bin/env python3
"""Measure whole runs against other engines; all ratios of a model come from one go of interleaved runs.

usage: run.py BUILD [--only MODEL,...] [--engines ENGINE,...] [--threads N] [--rounds N] [--realtime] [--profile] [--check]

BUILD is a configured build folder with the program in it; bench/session is built there. Models: det, rec, cls, slanet (these
four count), ppyoloe, ernie, segformer, mobilevit. Engines: fast and reference (ours), paddle and paddle-onednn (Paddle
Inference 3.3.1), openvino, all reading the same legacy model. Inputs of the four are drawn by `pdmigrate run --random`, the
others have what was recorded with them; all engines get the same file.

Each engine is one process, started alone (load plus first run, cold) and then stopped but for its turns. A round gives each
engine its turn: some runs that are not counted, then those whose best and median are taken. The ratio of two engines is the
median over the rounds of the ratio of their medians, so that a slow phase of the machine hits both sides. Memory is the most
that was resident at the end, all that the process needs included.

--realtime asks for real-time priority, for a machine that others use too. With --check the exit status is 1 when a promise
is not kept. An engine that cannot run says why and counts as skipped.
"""
import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile

import convert
from convert import HERE, TOP, Skip

FETCHED = {"det": "ch_PP-OCRv4_det_infer", "rec": "ch_PP-OCRv4_rec_infer", "cls": "ch_ppocr_mobile_v2_cls_infer", "slanet": "slanet_plus"}
SHAPES = {"det": "1,3,640,640", "rec": "6,3,48,320", "cls": "6,3,48,192", "slanet": "1,3,488,488"}
OWN = {"ppyoloe": "ppyoloe", "ernie": "ernie_cls", "segformer": "segformer", "mobilevit": "mobilevit"}
MODELS = [*FETCHED, *OWN]
ENGINES = ["fast", "reference", "openvino", "paddle-onednn", "paddle"]
OURS = ("fast", "reference")


def setup(*script):
    done = subprocess.run([os.path.join(TOP, *script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise Skip(done.stderr.strip())
    return done.stdout.strip()


class Engine:
    """A process that runs one model whenever it is asked to."""

    def __init__(self, b, name, prefix, inputs):
        self.name, self.medians, self.bests = name, [], []
        if name in OURS:
            command = [os.path.join(b.build, "bench", "session"), prefix + ".pdmodel", inputs, str(b.threads), name]
        else:
            python = setup("bench", "openvino-setup") if name == "openvino" else setup("tests", "oracle", "setup")
            command = [python, os.path.join(HERE, "peer.py"), name, prefix, inputs, str(b.threads)]
        if b.realtime:
            command = ["chrt", "-f", "10", *command]
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True)
        try:
            begun = self.answer()
        except Skip:
            self.end()
            raise
        self.load, self.first = begun["load_s"], begun["first_s"]
        self.pause()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            self.log.seek(0)
            said = self.log.read().decode(errors="replace").strip().splitlines()
            raise Skip("%s: %s" % (self.name, said[-1] if said else "exit status %d" % self.process.returncode))
        return json.loads(line)

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def pause(self):
        """So that threads that spin for work take nothing from the others."""
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def turn(self, warm, runs):
        self.go_on()
        self.ask("run", warm)
        took = self.ask("run", runs)["s"]
        self.pause()
        self.medians.append(statistics.median(took))
        self.bests.append(min(took))

    def finish(self, path):
        self.go_on()
        self.peak = self.ask("memory")["peak_kib"] / 1024
        self.ask("save", path)

    def profile(self):
        return self.ask("profile")["ops"]

    def end(self):
        if self.process.poll() is None:
            self.go_on()
            self.process.stdin.close()
            self.process.wait()


def model_prefix(name, tmp):
    if name in FETCHED:
        return os.path.join(convert.fetched(FETCHED[name]), "inference")
    folder = os.path.join(TOP, "fixtures", "models", OWN[name])
    if os.path.exists(os.path.join(folder, "weights.json")):
        make = os.path.join(TOP, "fixtures", "make-weights.py")
        subprocess.run([setup("tests", "oracle", "setup"), make, tmp, OWN[name]], check=True, stdout=subprocess.DEVNULL)
        folder = os.path.join(tmp, OWN[name])
    return os.path.join(folder, "inference")


def model_inputs(b, name, prefix, tmp):
    if name not in SHAPES:
        return os.path.join(os.path.dirname(prefix), "io.npz")
    path = os.path.join(tmp, "inputs.npz")
    subprocess.run([b.program, "run", prefix + ".pdmodel", "--random", "--shape", "x=" + SHAPES[name], "-o", path, "--quiet"], check=True)
    return path


def started(b, name, engines, prefix, inputs):
    """-> the engines that run"""
    running = []
    for engine in engines:
        try:
            running.append(Engine(b, engine, prefix, inputs))
        except Skip as e:
            b.skipped.add((name, engine))
            print("SKIP %s: %s" % (name, e), flush=True)
    return running


def take_turns(b, engines):
    """Rounds of about as many runs for all, each engine first in turn."""
    for round_ in range(b.rounds):
        for i in range(len(engines)):
            e = engines[(i + round_) % len(engines)]
            estimate = e.medians[-1] if e.medians else e.first
            runs = max(1, min(20, int(b.turn_s / estimate)))
            e.turn(max(1, runs // 4), runs)


def ratio(a, b):
    return statistics.median(x / y for x, y in zip(a.medians, b.medians))


def differences(tmp, engines):
    """Largest difference of outputs from those of the first engine, as text; numpy may be missing here."""
    script = ("import sys, numpy as np\n"
              "a, *others = [list(np.load(p).values()) for p in sys.argv[1:]]\n"
              "for o in others:\n"
              "    same = len(a) == len(o) and all(x.shape == y.shape for x, y in zip(a, o))\n"
              "    d = [np.abs(x.astype('f8') - y.astype('f8')).max(initial=0) for x, y in zip(a, o)] if same else []\n"
              "    print('%.1e' % max(d, default=0) if same else 'other shapes')\n")
    paths = [os.path.join(tmp, e.name + ".npz") for e in engines]
    done = subprocess.run([setup("tests", "oracle", "setup"), "-c", script, *paths], stdout=subprocess.PIPE, text=True)
    return done.stdout.split("\n")


def table(name, engines, against):
    first = engines[0]
    print("\n%s\n| engine | best, ms | median, ms | time of %s : its time | load + first run, ms | peak memory, MiB | difference |"
          % (name, first.name))
    print("|---|---|---|---|---|---|---|")
    for e, difference in zip(engines, ["", *against]):
        print("| %s | %.2f | %.2f | %.2f | %.0f + %.0f | %.0f | %s |"
              % (e.name, 1e3 * min(e.bests), 1e3 * statistics.median(e.medians), ratio(first, e), 1e3 * e.load, 1e3 * e.first,
                 e.peak, difference))
    sys.stdout.flush()


def promises(b, name, engines):
    """What issue 4 asks for on the four models."""
    by_name = {e.name: e for e in engines}
    ours = by_name.get("fast")
    peers = [e for e in engines if e.name not in OURS]
    if not ours or not peers or name not in FETCHED:
        return
    for e in peers:
        r, most = ratio(ours, e), 1.2 if e.name == "openvino" else 1.0
        b.promise("%s: %.2f times the time of %s (at most %.1f is promised)" % (name, r, e.name, most), r <= most)
    fastest = min(peers, key=lambda e: e.load + e.first)
    share = (ours.load + ours.first) / (fastest.load + fastest.first)
    b.promise("%s: load and first run take %.2f of the time of %s (0.5 is promised)" % (name, share, fastest.name), share <= 0.5)
    least = min(peers, key=lambda e: e.peak)
    b.promise("%s: peak memory %.0f MiB (%s: %.0f MiB)" % (name, ours.peak, least.name, least.peak), ours.peak < least.peak)


def print_profile(name, engine):
    rows = engine.profile()
    total = sum(row["ms"] for row in rows) or 1
    print("\n%s, %s by op:" % (name, engine.name))
    for row in rows:
        if row["ms"] >= 0.01 * total:
            print("%10.3f ms %5.1f %% %6d  %s" % (row["ms"], 100 * row["ms"] / total, row["calls"], row["op"]))


def bench_model(b, name, engines):
    with tempfile.TemporaryDirectory() as tmp:
        prefix = model_prefix(name, tmp)
        running = started(b, name, engines, prefix, model_inputs(b, name, prefix, tmp))
        if not running:
            return
        try:
            take_turns(b, running)
            for e in running:
                e.finish(os.path.join(tmp, e.name + ".npz"))
            table(name, running, differences(tmp, running) if len(running) > 1 else [])
            promises(b, name, running)
            if b.profile:
                print_profile(name, running[0])
        finally:
            for e in running:
                e.end()


def machine():
    with open("/proc/cpuinfo") as f:
        info = dict(line.split(":", 1) for line in f if ":" in line)
    info = {k.strip(): v.strip() for k, v in info.items()}
    flags = info.get("flags", "").split()
    isa = [f for f in ("sse4_2", "avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile") if f in flags]
    print("%s, %d processors, %s" % (info.get("model name", "unknown processor"), len(os.sched_getaffinity(0)), " ".join(isa)))


def choice(ap, text, known):
    for word in text.split(","):
        if word not in known:
            ap.error("no such name: %s" % word)
    return text.split(",")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("build", metavar="BUILD")
    ap.add_argument("--only", metavar="MODEL,...", default=",".join(MODELS))
    ap.add_argument("--engines", metavar="ENGINE,...", default=",".join(ENGINES))
    ap.add_argument("--threads", type=int, default=2)
    ap.add_argument("--rounds", type=int, default=7)
    ap.add_argument("--turn", type=float, default=0.5, metavar="SECONDS", help="about the length of a turn")
    ap.add_argument("--realtime", action="store_true")
    ap.add_argument("--profile", action="store_true", help="print where the time of our first engine goes")
    ap.add_argument("--check", action="store_true")
    a = ap.parse_args()
    models, engines = choice(ap, a.only, MODELS), choice(ap, a.engines, ENGINES)
    b = convert.Bench(a.build, "bench/session")
    b.threads, b.rounds, b.turn_s, b.realtime, b.profile, b.skipped = a.threads, a.rounds, a.turn, a.realtime, a.profile, set()
    machine()
    for name in models:
        try:
            bench_model(b, name, engines)
        except Skip as e:
            print("SKIP %s: %s" % (name, e), flush=True)
    return 1 if a.check and b.missed else 0


if __name__ == "__main__":
    sys.exit(main())
