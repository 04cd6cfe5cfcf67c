#!/usr/bin/env python3
"""pdmigrate verify -q on every case and model that has a record, in each way to call it.

usage: verify_all.py PDMIGRATE TABLE FOLDER...   (or - to read folders from standard input)

Ways: record     the recorded outputs with what the translation computes
      inputs     the same inputs without the outputs: the legacy program run as it is with its translation
      converted  the record with a file that was converted; where that ends with exit status 4 there is none
      drawn      the legacy program with its translation, on inputs that verify draws itself
      fast       the record with what the fast kernels compute

All input sets of a folder go into one call. TABLE lists calls that do not end with exit status 0: ways (comma), case, exit status,
reason. The exit status 1 of a known difference must become 0 with --allow-known; `near X` stands for an exit status 1 that becomes 0
with --rtol X --atol X. A row that does not hold any more is an error.
Prints TAP. PDM_VERIFY_WAYS=WAY,... leaves the other ways out: slow builds try what runs both programs, and let the others judge numbers.
"""
import concurrent.futures
import os
import subprocess
import sys
import tempfile
import zipfile

WAYS = {"record": "against recorded outputs", "inputs": "against the legacy program as it is",
        "converted": "a converted file against recorded outputs", "fast": "fast kernels against recorded outputs",
        "drawn": "against the legacy program as it is, on drawn inputs"}
JOBS = 2


def call(*args):
    return subprocess.run(args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode


def sets(folder):
    return sorted(os.path.join(folder, n) for n in os.listdir(folder) if n.startswith("io") and n.endswith(".npz"))


def without_outputs(path, to):
    with zipfile.ZipFile(path) as z, zipfile.ZipFile(to, "w") as out:
        for name in z.namelist():
            if name.startswith(("in:", "lod:in:")):
                out.writestr(name, z.read(name))
    return to


def fetch(folder):
    path = os.path.join(folder, "fetch.txt")
    return ["--fetch", ",".join(open(path).read().split())] if os.path.exists(path) else []


def verify(program, way, folder, work, *more):
    """The exit status; None: there is nothing to verify."""
    files = [] if way == "drawn" else sets(folder)
    new = []
    if way == "inputs":
        files = [without_outputs(f, os.path.join(work, os.path.basename(f))) for f in files]
    if way == "converted":
        new = [os.path.join(work, "new.json")]
        made = call(program, "-q", "-f", folder, "-o", new[0], *fetch(folder))
        if made != 0:
            return None if made == 4 else made
    options = [word for f in files for word in ("--io", f)] + fetch(folder) + list(more)
    if way == "fast":
        options += ["--kernels", "fast"]
    return call(program, "verify", "-q", folder, *new, *options)


def one(program, way, folder, near):
    more = ["--rtol", near, "--atol", near] if near else ["--allow-known"]
    with tempfile.TemporaryDirectory() as work:
        status = verify(program, way, folder, work)
        allowed = verify(program, way, folder, work, *more) if status == 1 else status
        return status, allowed


def read_table(path):
    rows = {}
    for line in open(path, encoding="utf-8"):
        if not line.startswith("#"):
            ways, case, status, _ = line.rstrip("\n").split("\t")
            rows.update({(way, case): status for way in ways.split(",")})
    return rows


def check(program, way, folders, rows, pool):
    wrong, right, none = [], 0, 0
    wants = [rows.pop((way, os.path.basename(f)), "0") for f in folders]
    nears = [w[len("near "):] if w.startswith("near ") else None for w in wants]
    results = pool.map(lambda f, near: one(program, way, f, near), folders, nears)
    for folder, want, near, (status, allowed) in zip(folders, wants, nears, results):
        none += status is None
        if status in ((0, 1) if near else (int(want),)) and (allowed == 0 or way == "drawn"):
            right += 1
        elif status is not None:
            wrong.append("%s: exit %s, %s with what the table allows; the table has %s" % (os.path.basename(folder), status, allowed, want))
    return wrong, right, none


def main():
    program, table, folders = sys.argv[1], sys.argv[2], sys.argv[3:]
    if folders == ["-"]:
        folders = sys.stdin.read().split("\n")[:-1]
    rows = read_table(table)
    wanted = os.environ.get("PDM_VERIFY_WAYS", ",".join(WAYS)).split(",")
    failed = False
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for number, way in enumerate(WAYS, 1):
            if way not in wanted:
                print("ok %d - %s # SKIP left out by PDM_VERIFY_WAYS" % (number, WAYS[way]))
                continue
            wrong, right, none = check(program, way, folders, rows, pool)
            if "PDM_EVERY" not in os.environ:
                wrong += ["%s: the table has it, but it is not here" % case for at, case in rows if at == way]
            failed |= bool(wrong) or right == 0
            print("%sok %d - %s: %d of %d%s" % ("not " * bool(wrong or not right), number, WAYS[way], right,
                                                len(folders) - none, ", %d have no file" % none if none else ""))
            for line in wrong:
                print("# " + line)
    print("1..%d" % len(WAYS))
    sys.exit(failed)


main()
