#!/usr/bin/env python3
"""Run every case and model by tests/tools/pdm-run, also from the .json that Paddle 3.3.1 makes of it, and compare with the record.

usage: exec.py PDMIGRATE [--ways] [NAME...]

tests/exec/matrix.py does the work and explains the table tests/exec/expected.tsv. Here come those models in addition whose weights are
made or fetched, and the files that 3.3.1 writes: its own translation of each legacy program, where it has one. They are kept in the
build folder of PDMIGRATE. For rows `ref331` and `broken` of json331 the judge is 3.3.1 running that very file.
"""
import argparse
import os
import shutil
import sys

import numpy as np

import oracle
import suite

matrix = suite.load_script(os.path.join(suite.TOP, "tests", "exec", "matrix.py"))
TABLE = os.path.join(suite.TOP, "tests", "exec", "expected.tsv")
OURS = ("pir", "json", "pir-fast", "json-fast", "legacy", "launch", "launch2")
REF = os.path.join(suite.HERE, "ref_331")


def folders(names):
    """-> ([(name, folder)] of cases, the same of models, [(name, reason)] of models that cannot be had)"""
    cases = []
    for name in sorted(os.listdir(suite.CASES)):
        folder = os.path.join(suite.CASES, name)
        if not name.startswith("bad_") and not name.endswith("_train_raw") and os.path.isfile(os.path.join(folder, "io.npz")):
            cases.append((name, folder))
    models, missing = suite.model_folders()
    wanted = lambda rows: [r for r in rows if not names or r[0] in names]
    return wanted(cases), wanted(models), wanted(missing)


# ---- what 3.3.1 writes --------------------------------------------------------------------------------------

def write_json(paddle, folder, dest):
    """The translation of 3.3.1 as dest.json and dest.pdiparams; in a forked child."""
    path, _ = oracle.find_model(suite.legacy_file(folder))
    prog = oracle.to_pir(paddle, path)
    names = oracle.parameter_names(prog)
    params = oracle.find_params(path, None)
    if names and os.path.isdir(params):
        with open(dest + ".pdiparams", "wb") as out:
            for n in names:
                with open(os.path.join(params, n), "rb") as f:
                    shutil.copyfileobj(f, out)
    elif names:
        shutil.copyfile(params, dest + ".pdiparams")
    paddle.core.serialize_pir_program(prog, dest + ".part", True, False, True)
    os.rename(dest + ".part", dest + ".json")
    return {"why": None}


def framework_files(paddle, models, store, jobs):
    """-> ([Model], {name: why 3.3.1 does not write it})"""
    tasks = []
    os.makedirs(store, exist_ok=True)
    for name, folder in models:
        dest = os.path.join(store, name)
        if not os.path.isfile(dest + ".json") and not os.path.isfile(dest + ".txt"):
            tasks.append((name, lambda tmp, folder=folder, dest=dest: write_json(paddle, folder, dest)))
    for name, result in suite.run_forked(tasks, jobs):
        if result["why"]:
            with open(os.path.join(store, name + ".txt"), "w", encoding="utf-8") as f:
                f.write(result["why"])
    here, refused = [], {}
    for name, folder in models:
        if os.path.isfile(os.path.join(store, name + ".json")):
            here.append(matrix.Model(name, os.path.join(store, name + ".json"), suite.io_files(folder)))
        else:
            with open(os.path.join(store, name + ".txt"), encoding="utf-8") as f:
                refused[name] = f.read()
    return here, refused


def run_json(paddle, model, dest, times):
    """What 3.3.1 computes from its own file, as dest.npz, and each result that differs from those before as dest.1.npz, ...; in a
    forked child."""
    inputs = oracle.inputs_of(oracle.read_npz(model.sets[0]))
    seen = []
    for _ in range(times):
        with paddle.static.scope_guard(paddle.static.Scope()):
            exe, prog = suite.load_for_executor(paddle, os.path.splitext(model.path)[0])
            got = oracle.run_program(paddle, exe, prog, inputs)
        if all(suite.first_difference(oracle.compare_outputs(s, got, 0, 0)) for s in seen):
            oracle.write_outputs(dest + (".%d" % len(seen) if seen else "") + ".npz", got)
            seen.append(got)
    return {"why": None}


def framework_outputs(paddle, table, models, store, jobs):
    """Outputs of 3.3.1 for the rows that ask for them, as STORE/NAME.npz; -> {name: why there are none}"""
    os.makedirs(store, exist_ok=True)
    times = {"ref331": 1, "broken": 1, "race": 40}
    rows = [(m, times.get(table.get(("json331", m.name), ("",))[0], 0)) for m in models]
    tasks = [(m.name, lambda tmp, m=m, n=n: run_json(paddle, m, os.path.join(store, m.name), n)) for m, n in rows if n]
    return {n: r["why"] for n, r in suite.run_forked(tasks, jobs) if r["why"]}


# ---- SLANet -------------------------------------------------------------------------------------------------

def slanet(program, folder, dest):
    """Its loop ends after 17 steps, with the very tokens of the record. -> None or the reason"""
    record = os.path.join(folder, "io.npz")
    done = suite.run_program([program, "run", folder, "--io", record, "-o", dest, "--force"], 300)
    if done.status != 0:
        return "exit %s: %s" % (done.status, done.last_line())
    (_, _, _), (_, want, _) = oracle.outputs_of(oracle.read_npz(record))
    (_, _, _), (_, got, _) = oracle.outputs_of(oracle.read_npz(dest))
    if want.shape[1] != 17 or got.shape != want.shape:
        return "%s steps, recorded are %s" % (got.shape, want.shape)
    if not np.array_equal(got.argmax(2), want.argmax(2)):
        return "the tokens are %s, recorded are %s" % (got.argmax(2).tolist(), want.argmax(2).tolist())
    return None


# ---- the suite ----------------------------------------------------------------------------------------------

def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    suite.add_common_options(ap)
    ap.add_argument("--ways", action="store_true", help="with and without -O2, in all ways to compute, and a table of it; without Paddle")
    a = ap.parse_args()
    build = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(a.program))))
    report = suite.Report("exec")
    cases, models, missing = folders(a.names)
    for name, why in missing:
        report.skip(name, why)

    def point(name, faults):
        print(("FAIL: " if faults else "") + name)
        for f in faults:
            report.fail(*f.split(" ", 1)) if " " in f else report.fail(f, name)
        report.passed += not faults

    table = matrix.read_table(TABLE)
    run = os.path.join(build, "tests", "tools", "pdm-run")
    ours = [matrix.Model(n, f) for n, f in cases + models]
    judge = matrix.Matrix(run, table, [REF], point, print)
    if a.ways:
        matrix.run_all_ways(judge, ours)
        return report.close()
    paddle = oracle.import_paddle()
    store = os.path.join(build, "tests", "oracle", "json331")
    files, refused = framework_files(paddle, cases + models, store, a.jobs)
    outputs = os.path.join(store, "outputs")
    shutil.rmtree(outputs, ignore_errors=True)
    theirs = matrix.Matrix(run, table, [outputs, REF], point, print)
    for source in OURS:
        judge.run(source, ours)
        judge.same_threads(source)
    judge.run("json-O2", ours, matrix.WAYS[:1])
    judge.same_json()
    theirs.broken = framework_outputs(paddle, table, files, outputs, a.jobs)
    for source in ("json331", "json331-fast"):
        theirs.run(source, files)
        theirs.same_threads(source)
    print("Paddle 3.3.1 does not translate %d of %d" % (len(refused), len(ours)))
    if "slanet_plus" in dict(models):
        why = slanet(os.path.abspath(a.program), dict(models)["slanet_plus"], os.path.join(store, "slanet.npz"))
        report.point("slanet_plus: 17 steps as recorded", why)
        print("slanet_plus, its 17 steps: %s" % (why or "as recorded"))
    names = {m.name for m in ours}
    judge.stale((*OURS, "json-O2"), names)
    theirs.stale(("json331", "json331-fast"), names)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
