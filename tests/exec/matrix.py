#!/usr/bin/env python3
"""Run every case and model that has a record, from each kind of file and with 1 and 2 threads; compare with the record.

usage: matrix.py PDM_RUN TABLE [--ref FOLDER]... [--ways] NAME=FOLDER...   (or - to read the latter from standard input)

PDM_RUN is tests/tools/pdm-run. All input sets of a model run on the one loaded model, forwards and then backwards. Prints TAP: a
point for each kind of file and way to run it, with `N of M` input sets that gave the record. The bits of all outputs must not depend
on the number of threads, nor on whether the program went through our JSON.

TABLE lists what does not give the record: kinds of file (comma), case, how, reason. How it is known to end is checked, too:
  none     there can be no file of that kind
  ref331   the outputs are those that Paddle 3.3.1 computed: FOLDER/CASE.npz, or ref_331.npz beside the model
  broken   (json331) Paddle 3.3.1 does not run its own file either
  race     (json331) what 3.3.1 computes from its file varies from run to run; one of its results is ours
  near T   within a tolerance of T, relative and absolute
  state    its sets are consecutive steps of one state: forwards the record, backwards not
A row that does not hold any more is an error. Used by tests/oracle/exec.py as well.

--ways runs all with and without optimization, by reference and fast kernels and compiled by LLVM, with 1 and 2 threads, and prints a table.
"""
import concurrent.futures
import itertools
import os
import subprocess
import sys

SOURCES = {
    "pir": ("from .pdmodel, translated", []),
    "json": ("from our .json", ["--json"]),
    "json-O2": ("from our .json, optimized", ["--optimize"]),
    "json331": ("from the .json of Paddle 3.3.1", []),
    "legacy": ("from .pdmodel, as it is", ["--legacy"]),
    "launch": ("from .pdmodel, subgraphs launched", ["--launch"]),
    "launch2": ("from .pdmodel, subgraphs with in-place ops launched", ["--launch-in-place"]),
}
# With fast kernels, and optimized, the same exceptions hold, and those of a row NAME-fast or NAME-O2.
SOURCES.update({k + "-fast": (SOURCES[k][0] + ", fast kernels", [*SOURCES[k][1], "--fast"]) for k in ("pir", "json", "json331")})
SOURCES["json-O2-fast"] = ("from our .json, optimized, fast kernels", ["--optimize", "--fast"])
SOURCES["json-llvm"] = ("from our .json, compiled", ["--json", "--compile", "llvm"])
SOURCES["json-O2-llvm"] = ("from our .json, optimized, compiled", ["--optimize", "--compile", "llvm"])
ALL_WAYS = ("json", "json-fast", "json-llvm", "json-O2", "json-O2-fast", "json-O2-llvm")
WAYS = [("1 thread", ["--threads", "1"]), ("2 threads", ["--threads", "2"])]
BATCH = 40
JOBS = 2


class Model:
    """name: as the table has it; path: what is run; sets: input files, all of its folder when empty"""

    def __init__(self, name, path, sets=()):
        self.name, self.path, self.sets = name, path, list(sets)


class Outcome:
    """What a run printed: for each input set ok, or why not; bits of its outputs."""

    def __init__(self):
        self.why, self.again, self.bits, self.none = {}, {}, {}, None
        self.kernels, self.compiled, self.group_runs = 0, 0, 0

    def good(self):
        return sum(w is None for w in self.why.values())


def owner(models, path):
    """The model whose input set or path this is: by the longest path."""
    best = None
    for m in models:
        if path in m.sets or path == m.path or path.startswith(m.path.rstrip("/") + "/"):
            if best is None or len(m.path) > len(best.path):
                best = m
    return best


def read_line(models, results, line):
    kind, _, rest = line.partition(" ")
    path, _, why = rest.partition(": ")
    if kind == "compiled":
        out = results[owner(models, path).name]
        words = why.split()
        out.kernels, out.compiled, out.group_runs = int(words[2]), int(words[-4]), int(words[-2])
    again = path.endswith(" (again)")
    path = path[:-8] if again else path
    if kind == "bits":
        path, why = rest.rsplit(" ", 1)
    if kind not in ("ok", "no", "none", "bits"):
        return
    model = owner(models, path)
    out = results[model.name]
    key = os.path.basename(path) if path != model.path else "all"
    if kind == "bits":
        out.bits[key] = why
    elif kind == "none":
        out.none = why
    elif again:
        out.again[key] = why
    else:
        out.why[key] = why if kind == "no" else None


def run_some(pdm_run, options, models):
    """-> {name: Outcome}"""
    results = {m.name: Outcome() for m in models}
    args = [a for m in models for a in [m.path, *m.sets]]
    done = subprocess.run([pdm_run, "--digest", *options, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    for line in done.stdout.splitlines():
        read_line(models, results, line)
    for out in results.values():
        if not out.why and out.none is None:
            out.why["all"] = "it was not run: exit status %d: %s" % (done.returncode, done.stderr[-300:].strip())
    if done.stderr:      # a sanitizer has something to say
        first = results[models[0].name]
        first.why["stderr"] = "one of %d models: %s" % (len(models), done.stderr[:2000])
    return results


def run_all(pdm_run, options, models):
    parts = [models[i:i + BATCH] for i in range(0, len(models), BATCH)]
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        results = {}
        for part in pool.map(lambda p: run_some(pdm_run, options, p), parts):
            results.update(part)
    return results


# ---- the table ----------------------------------------------------------------------------------------------

def read_table(path):
    """-> {(source, case): (how, reason)}"""
    rows = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            cells = line.rstrip("\n").split("\t")
            if line.startswith("#") or len(cells) < 4:
                continue
            for source in cells[0].split(","):
                rows[source, cells[1]] = (cells[2], cells[3])
    return rows


def keys_of(source):
    """Rows of json-O2-llvm are those of it, of json-O2, of json-llvm, and of json, whichever there is first."""
    kind, *more = source.split("-")
    return ["-".join((kind, *m)) for n in range(len(more), -1, -1) for m in itertools.combinations(more, n)]


class Matrix:
    """Runs sources in ways and judges; point(name, why) is called for each."""

    def __init__(self, pdm_run, table, refs, point, note):
        self.pdm_run, self.table, self.refs = pdm_run, table, refs
        self.point, self.note = point, note
        self.bits, self.lines, self.met = {}, [], set()
        self.cells, self.groups = {}, {}    # (source, way): text of the table; kernels, compiled runs of groups, all runs
        self.broken = {}      # name: why 3.3.1 does not run its own file

    def expected_files(self, model):
        """Files with outputs of 3.3.1: one, or several when they vary."""
        places = [os.path.join(r, model.name + ".npz") for r in self.refs] + [os.path.join(model.path, "ref_331.npz")]
        path = next((p for p in places if os.path.isfile(p)), None)
        if path is None:
            return []
        more = ("%s.%d.npz" % (path[:-4], i) for i in range(1, 100))
        return [path, *itertools.takewhile(os.path.isfile, more)]

    def like_framework(self, options, model):
        """-> None, or the difference to the outputs of 3.3.1"""
        why = "there are no outputs of 3.3.1 for it"
        for expected in self.expected_files(model):
            again = run_some(self.pdm_run, [*options, "--expect", expected], [model])[model.name]
            bad = [w for w in [*again.why.values(), *again.again.values()] if w is not None]
            if not bad:
                return None
            why = "gives neither the record nor the outputs of 3.3.1: %s" % bad[0]
        return why

    def as_listed(self, options, model, out, how):
        """-> None, or why this is not what the table says"""
        failed = {k: w for k, w in out.why.items() if w is not None}
        if how == "none":
            return None if out.none is not None else "there is such a file, but the table says that there cannot be"
        if how == "state":
            return None if not failed and out.again else "it should give the record once, and only once"
        if not failed and how.startswith("near "):
            return None     # how compilers round decides
        if not failed:
            return "gives the record, but the table lists it as %s" % how
        if how.startswith("near "):
            again = run_some(self.pdm_run, [*options, "--tolerance", how[5:]], [model])[model.name]
            bad = [w for w in [*again.why.values(), *again.again.values()] if w is not None]
            return bad[0] if bad else None
        if how == "broken":
            return None if model.name in self.broken else "3.3.1 runs its own file"
        if how in ("ref331", "race"):
            return self.like_framework(options, model)
        return "the table says %r, which means nothing" % how

    def judge(self, source, options, model, out):
        key = next((k for k in keys_of(source) if (k, model.name) in self.table), source)
        row = self.table.get((key, model.name))
        if row:
            self.met.add((key, model.name))
            return self.as_listed(options, model, out, row[0])
        bad = [w for w in [*out.why.values(), *out.again.values()] if w is not None]
        if out.none is not None:
            bad.append("there can be no such file: " + out.none)
        return bad[0] if bad else None

    def run(self, source, models, ways=None):
        """All models of a source in all ways."""
        for way, more in ways or WAYS:
            text, options = SOURCES[source]
            results = run_all(self.pdm_run, [*options, *more], models)
            title = "%s, %s" % (text, way)
            faults = []
            for m in models:
                why = self.judge(source, [*options, *more], m, results[m.name])
                if why:
                    faults.append("%s: %s" % (m.name, why[:600]))
            good = sum(r.good() for r in results.values())
            total = sum(len(r.why) for r in results.values())
            self.lines.append((title, good, total))
            listed = sum(len(results[m.name].why) - results[m.name].good() for m in models if not any(
                f.startswith(m.name + ": ") for f in faults))
            self.cells[source, way] = "%d + %d of %d" % (good, listed, total)
            self.groups[source, way] = [sum(getattr(r, k) for r in results.values()) for k in ("kernels", "compiled", "group_runs")]
            self.point("%s: %d of %d input sets give the record, all others as listed" % (title, good, total), faults)
            self.bits[source, way] = {(n, k): b for n, r in results.items() for k, b in r.bits.items()}

    def same_bits(self, one, other, title):
        a, b = self.bits[one], self.bits[other]
        faults = ["%s %s" % k for k in sorted(set(a) & set(b)) if a[k] != b[k]]
        self.point("%s: the same bits for %d input sets" % (title, len(set(a) & set(b))), faults)

    def same_threads(self, source):
        self.same_bits((source, WAYS[0][0]), (source, WAYS[1][0]), "%s, 1 and 2 threads" % SOURCES[source][0])

    def same_json(self):
        for kind in ("", "-fast"):
            self.same_bits(("pir" + kind, WAYS[0][0]), ("json" + kind, WAYS[0][0]), "translated in memory, and through our .json%s" %
                           (", fast kernels" if kind else ""))

    def stale(self, sources, names):
        faults = ["%s %s is listed, but was not met" % k for k in sorted(self.table)
                  if k[0] in sources and k[1] in names and k not in self.met]
        self.point("the table lists only what there is", faults)


def run_all_ways(matrix, models):
    """All of ALL_WAYS, and the table of it: input sets that give the record + those that end as listed, of all."""
    for source in ALL_WAYS:
        matrix.run(source, models)
        matrix.same_threads(source)
    names = {"": "reference kernels", "fast": "fast kernels", "llvm": "compiled by LLVM"}
    print("\n| | `-O0`, 1 thread | 2 threads | `-O2`, 1 thread | 2 threads |\n|---|--:|--:|--:|--:|")
    for end, name in names.items():
        cells = [matrix.cells["-".join(filter(None, (kind, end))), way] for kind in ("json", "json-O2") for way, _ in WAYS]
        print("| %s | %s |" % (name, " | ".join(cells)))
    for (source, way), (kernels, compiled, runs) in matrix.groups.items():
        if runs:
            print("%s, %s: %d kernels, %d of %d runs of groups compiled" % (SOURCES[source][0], way, kernels, compiled, runs))


def tap():
    count = [0, 0]

    def point(name, faults):
        count[0] += 1
        count[1] += bool(faults)
        print("%s %d - %s" % ("not ok" if faults else "ok", count[0], name), flush=True)
        for f in faults:
            print("# %s" % f.replace("\n", "\n# "), flush=True)

    return point, count


def main(argv):
    pdm_run, table, refs, models = argv[1], argv[2], [], []
    rest = argv[3:]
    while rest and rest[0] == "--ref":
        refs.append(rest[1])
        rest = rest[2:]
    all_ways = rest[:1] == ["--ways"]
    rest = rest[all_ways:]
    if rest == ["-"]:
        rest = sys.stdin.read().splitlines()
    for arg in rest:
        name, _, folder = arg.partition("=")
        models.append(Model(name, folder))
    point, count = tap()
    matrix = Matrix(pdm_run, read_table(table), refs, point, print)
    if all_ways:
        run_all_ways(matrix, models)
        print("1..%d" % count[0])
        return 1 if count[1] else 0
    sources = ("pir", "json", "pir-fast", "json-fast", "legacy", "launch", "launch2")
    for source in sources:
        matrix.run(source, models)
        matrix.same_threads(source)
    matrix.run("json-O2", models, WAYS[:1])
    matrix.same_json()
    matrix.stale((*sources, "json-O2"), {m.name for m in models})
    print("1..%d" % count[0])
    return 1 if count[1] or not count[0] else 0


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    sys.exit(main(sys.argv))
