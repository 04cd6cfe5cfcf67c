#!/usr/bin/env python3
"""Print the table of docs/passes.md: ops of each model as it is, with -O1 and with -O2, and what each pass of -O2 hit.

usage: pass_table.py PDMIGRATE MODEL...      (MODEL: a folder, or NAME=FOLDER)
"""
import json
import os
import subprocess
import sys
import tempfile

SILENT = ("dce",)      # told in words


def stats(program, model, level, tmp):
    out = os.path.join(tmp, "o.json")
    done = subprocess.run([program, model, "-o", out, "-f", "-O%d" % level, "--pass-stats", "--format", "json"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit("%s: %s" % (model, done.stderr.strip()))
    return json.loads(done.stdout)["passes"]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    rows, names = [], []
    with tempfile.TemporaryDirectory() as tmp:
        for arg in sys.argv[2:]:
            name, _, folder = arg.rpartition("=")
            one, two = (stats(sys.argv[1], folder, level, tmp) for level in (1, 2))
            hits = {}
            for p in two:
                names += [p["name"]] if p["name"] not in names else []
                hits[p["name"]] = hits.get(p["name"], 0) + sum(p["hits"].values())
            rows.append((name or os.path.basename(folder.rstrip("/")), two[0]["ops"]["before"], one[-1]["ops"]["after"],
                         two[-1]["ops"]["after"], hits))
    names = [n for n in names if n not in SILENT]
    print("| model | ops | -O1 | -O2 | " + " | ".join(names) + " |")
    print("|---|--:|--:|--:|" + "--:|" * len(names))
    for name, ops, one, two, hits in rows:
        print("| %s | %d | %d | %d | %s |" % (name, ops, one, two, " | ".join(str(hits.get(n) or "") for n in names)))


if __name__ == "__main__":
    main()
