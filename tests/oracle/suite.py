"""Shared by the scripts of the oracle suite: conversion, a forked child for each case, tables, fixtures."""
import importlib.util
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import oracle

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
FIXTURES = os.path.join(TOP, "fixtures")
CASES = os.path.join(FIXTURES, "cases")


def cache_folder(*parts):
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    path = os.path.join(base, *parts)
    os.makedirs(path, exist_ok=True)
    return path


def load_script(path):
    """A Python file whose name is no module name."""
    spec = importlib.util.spec_from_file_location(re.sub(r"\W", "_", os.path.basename(path)), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---- tables -------------------------------------------------------------------------------------------------

def read_tsv(path, columns):
    """-> [tuple of `columns` strings]; lines with # and empty ones are left out, missing cells are ''."""
    rows = []
    with open(path, encoding="utf-8") as f:
        for line in f:
            line = line.rstrip("\n")
            if line and not line.startswith("#"):
                cells = line.split("\t")
                rows.append(tuple(cells[:columns] + [""] * (columns - len(cells))))
    return rows


class Exceptions:
    """A checked-in list of what is known not to pass: key, kind, reason."""

    def __init__(self, path):
        self.path = path
        self.rows = {k: (kind, why) for k, kind, why in read_tsv(path, 3)} if os.path.isfile(path) else {}

    def get(self, key):
        return self.rows.get(key, ("", ""))


def case_groups():
    """-> [(group, [case])] in the order of the report"""
    translates = dict(read_tsv(os.path.join(CASES, "TRANSLATE_331.tsv"), 2))
    legacy = dict(read_tsv(os.path.join(CASES, "RUN_331_LEGACY.tsv"), 2))
    own = dict(read_tsv(os.path.join(CASES, "RUN_331_TRANSLATED.tsv"), 2))
    right = ("same", "close")
    groups = {"right": [], "wrong": [], "changed": [], "refused": [], "flow": [], "report": []}
    for name in sorted(os.listdir(CASES)):
        if name.startswith(("flow_", "report_")):
            groups[name.split("_")[0]].append(name)
        elif name.startswith("op_"):
            if translates[name] != "ok":
                groups["refused"].append(name)
            elif own[name] in right:
                groups["right"].append(name)
            else:
                groups["wrong" if legacy[name] in right else "changed"].append(name)
    return list(groups.items())


GROUP_TEXT = {
    "right": "op cases that the framework translates right",
    "wrong": "op cases that it translates wrong, the legacy program being right in 3.3.1",
    "changed": "op cases whose kernels changed between 2.6.2 and 3.3.1",
    "refused": "op cases that it refuses",
    "flow": "control flow",
    "report": "faults from user reports",
    "models": "models",
}


# ---- models -------------------------------------------------------------------------------------------------

def legacy_file(folder):
    """Path of the program in a folder, or None."""
    return next((os.path.join(folder, n) for n in oracle.LEGACY_NAMES if os.path.isfile(os.path.join(folder, n))), None)


def model_folders(names=()):
    """-> ([(name, folder)], [(name, reason)]): models that can be used here, and those that could not be had."""
    weights = load_script(os.path.join(FIXTURES, "make-weights.py"))
    fetch = load_script(os.path.join(FIXTURES, "fetch-models.py"))
    here, missing = [], []
    generated = weights.generated()
    stored = os.path.join(FIXTURES, "models")
    for name in sorted(os.listdir(stored)):
        if names and name not in names:
            continue
        if name in generated:
            try:
                here.append((name, weights.install(name, cache_folder("pdmigrate-oracle", "models"))))
            except ValueError as e:
                missing.append((name, str(e)))
        else:
            here.append((name, os.path.join(stored, name)))
    wanted = [n for n in fetch.manifest() if not names or n in names]
    if wanted:
        done = subprocess.run([sys.executable, os.path.join(FIXTURES, "fetch-models.py"), *wanted],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        for name in wanted:
            folder = os.path.join(fetch.default_dest(), name)
            if fetch.complete(folder, fetch.manifest()[name]):
                here.append((name, folder))
            else:
                why = next((l for l in done.stdout.splitlines() if name in l.split(":")[0]), done.stdout.strip()[-200:])
                missing.append((name, why))
    return sorted(here), missing


def io_files(folder):
    found = [(int(m.group(1) or 1), m.group(0)) for m in (re.fullmatch(r"io(\d*)\.npz", n) for n in os.listdir(folder)) if m]
    return [os.path.join(folder, n) for _, n in sorted(found)]


# ---- the converter ------------------------------------------------------------------------------------------

class Converted:
    def __init__(self, status, stdout, stderr):
        self.status, self.stdout, self.stderr = status, stdout, stderr

    def last_line(self):
        lines = self.stderr.strip().splitlines() or self.stdout.strip().splitlines() or [""]
        return lines[-1][:300]


def run_program(cmd, timeout):
    """Run a command of ours in a session of its own; status None: not done in time."""
    p = subprocess.Popen(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True, errors="replace", start_new_session=True)
    try:
        out, err = p.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        p.wait()
        return Converted(None, "", "not done after %d s" % timeout)
    return Converted(p.returncode, out, err)


CONVERT_OPTIONS = []     # of every conversion


def convert(program, folder, out, timeout=120, options=()):
    """Convert the model in a folder; OUT as the command line takes it."""
    model = legacy_file(folder)
    cmd = [program, folder if os.path.basename(model) == "__model__" else model, "-o", out, *CONVERT_OPTIONS, *options]
    fetch = os.path.join(folder, "fetch.txt")
    if os.path.isfile(fetch):
        with open(fetch, encoding="utf-8") as f:
            cmd += ["--fetch", ",".join(f.read().split())]
    return run_program(cmd, timeout)


# ---- loading and running what was converted -----------------------------------------------------------------

def load_for_executor(paddle, prefix):
    """-> (executor, program); to be called inside a scope_guard"""
    exe = paddle.static.Executor(paddle.CPUPlace())
    if os.path.isfile(prefix + ".pdiparams"):
        return exe, paddle.static.load_inference_model(prefix, exe)[0]
    prog = oracle.load_json(paddle, prefix + ".json")
    if oracle.parameter_names(prog):
        raise ValueError("the program has parameters, but there is no parameter file")
    return exe, prog


RTOL, ATOL = 1e-5, 1e-6


def first_difference(rows):
    """rows: as oracle.compare_outputs gives them -> None or the reason"""
    for i, name, why, worst in rows:
        if why:
            return "output %d (%s): %s, max|d| %.3g" % (i, name, "; ".join(why), worst)
    return None


def compare(arrays, got):
    """arrays: those of a recorded file, got: outputs of a run -> None or the reason"""
    return first_difference(oracle.compare_outputs(oracle.outputs_of(arrays), got, RTOL, ATOL))


# ---- a process for each case --------------------------------------------------------------------------------

def said(e):
    """The part of an error text that says something."""
    text = re.sub(r"-{5,}", "", str(e).split("Error Message Summary:")[-1])
    return "%s: %s" % (type(e).__name__, " ".join(text.split())[:300])


def child(task, tmp, quiet):
    if quiet:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
    try:
        result = task(tmp)
    except BaseException as e:      # whatever it is, the parent wants to hear of it
        result = {"why": said(e)}
    with open(os.path.join(tmp, "result.part"), "w", encoding="utf-8") as f:
        json.dump(result, f)
    os.rename(os.path.join(tmp, "result.part"), os.path.join(tmp, "result.json"))


def outcome(status, tmp, late):
    if late:
        return {"why": late}
    if os.path.isfile(os.path.join(tmp, "result.json")):
        with open(os.path.join(tmp, "result.json"), encoding="utf-8") as f:
            return json.load(f)
    if os.WIFSIGNALED(status):
        return {"why": "the framework died: %s" % signal.Signals(os.WTERMSIG(status)).name}
    return {"why": "the framework ended the process, status %d" % os.waitstatus_to_exitcode(status)}


def run_forked(tasks, jobs=2, timeout=300, quiet=True):
    """tasks: [(key, function(temporary folder) -> dict)].  Yields (key, dict) as they end.

    Each runs in a forked child, so a crash of the framework is that one task's failure: {"why": ...}.
    """
    todo, running = list(tasks), {}
    with tempfile.TemporaryDirectory(prefix="pdm-oracle-") as root:
        try:
            while todo or running:
                while todo and len(running) < max(1, jobs):
                    key, task = todo.pop(0)
                    tmp = tempfile.mkdtemp(dir=root)
                    sys.stdout.flush()
                    pid = os.fork()
                    if pid == 0:
                        try:
                            os.setpgid(0, 0)
                            child(task, tmp, quiet)
                        finally:
                            os._exit(0)
                    running[pid] = (key, tmp, time.monotonic() + timeout)
                done = [(pid, st) for pid, st in (os.waitpid(p, os.WNOHANG) for p in list(running)) if pid]
                late = [p for p, (_, _, end) in running.items() if time.monotonic() > end and p not in dict(done)]
                for pid in late:
                    os.kill(pid, signal.SIGKILL)
                    done.append((pid, os.waitpid(pid, 0)[1]))
                for pid, status in done:
                    key, tmp, _ = running.pop(pid)
                    result = outcome(status, tmp, "not done after %d s" % timeout if pid in late else None)
                    shutil.rmtree(tmp, ignore_errors=True)
                    yield key, result
                if not done:
                    select.select([], [], [], 0.01)
        finally:
            for pid in running:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


# ---- the report ---------------------------------------------------------------------------------------------

class Report:
    """Counts points and prints the lines that run-tests reads."""

    def __init__(self, stage):
        self.stage, self.passed, self.failed, self.skipped = stage, 0, 0, 0
        self.begin = time.monotonic()

    def ok(self):
        self.passed += 1

    def fail(self, name, why):
        self.failed += 1
        print("FAIL: %s: %s" % (name, why), flush=True)

    def skip(self, name, why):
        self.skipped += 1
        print("SKIP: %s: %s" % (name, why), flush=True)

    def point(self, name, why):
        self.ok() if why is None else self.fail(name, why)

    def close(self):
        print("%s took %d s" % (self.stage, time.monotonic() - self.begin))
        print("%d passed, %d failed, %d skipped" % (self.passed, self.failed, self.skipped), flush=True)
        return 1 if self.failed or not self.passed else 0


def add_common_options(ap):
    ap.add_argument("program", help="the built pdmigrate")
    ap.add_argument("-j", "--jobs", type=int, default=min(2, os.cpu_count() or 1), metavar="N", help="cases at a time")
    ap.add_argument("--verbose", action="store_true", help="let the framework's own messages through")
    ap.add_argument("names", nargs="*", metavar="NAME", help="only these")
