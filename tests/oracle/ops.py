#!/usr/bin/env python3
"""Check the rows of src/ir/ops/*.def against Paddle 3.3.1, for every op that its translations of our programs hold.

usage: ops.py [NAME...]

An op of a loaded program can be asked for the names of its operands, attributes and results; the kinds of the attributes
stand in the file.  The programs are the translations that structure.py keeps in its cache folder, so it has to run before.
(All declarations, also of ops that no fixture has, are compared with a dump by tools/gen_ops.py --check-ops.)
"""
import argparse
import json
import os
import re
import sys

import oracle
import suite
from structure import op_name

ROWS = os.path.join(suite.TOP, "src", "ir", "ops")
TAGS = {"0.a_bool": "BOOL", "0.a_i32": "I32", "0.a_i64": "I64", "0.a_f32": "F32", "0.a_f64": "F64", "0.a_str": "STR",
        "1.a_intarray": "INT_ARRAY", "1.a_dtype": "DTYPE", "1.a_place": "PLACE", "1.a_layout": "LAYOUT", "0.a_type": "TYPE"}


def parse_row(text):
    """Arguments of one PDM_OP -> (name, operand names, {attribute: type}, result names)"""
    dialect, name = re.match(r"\s*(\w+)\s*,\s*(\w+)", text).groups()
    part = {}
    for key, following in (("OPERANDS", r",\s*ATTRS\("), ("ATTRS", r",\s*RESULTS\("), ("RESULTS", r",[^,]*,[^,]*$")):
        m = re.search(key + r"\((.*?)\)\s*" + following, text, re.S)
        part[key] = m.group(1) if m else ""
    names = {k: re.findall(r"\b[A-Z]+\((\w+)\)", part[k]) for k in ("OPERANDS", "RESULTS")}
    attrs = dict(re.findall(r"\bA[VN]?\((\w+),\s*(\w+)", part["ATTRS"]))
    return "%s.%s" % (dialect, name), names["OPERANDS"], attrs, names["RESULTS"]


def read_rows():
    rows = {}
    for file in sorted(os.listdir(ROWS)):
        if file.endswith(".def"):
            with open(os.path.join(ROWS, file), encoding="utf-8") as f:
                text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
            for m in re.finditer(r"^PDM_OP\((.*?)\)\s*$(?=\s*(?:PDM_OP|\Z))", text, re.S | re.M):
                name, *row = parse_row(m.group(1))
                rows[name] = row
    return rows


def kind(at):
    tag = at.get("#", "NULL")
    if tag == "0.a_array":
        inner = {kind(v) for v in at["D"]}
        return "ARRAY_%s" % inner.pop() if len(inner) == 1 else "ARRAY_ANY"
    return TAGS.get(tag, tag)


def fits(declared, found):
    return declared == found or declared == "ANY" or \
        (declared == "SCALAR" and found in ("BOOL", "I32", "I64", "F32", "F64")) or \
        (declared.startswith("ARRAY_") and found == "ARRAY_ANY") or (declared == "ARRAY_ANY" and found.startswith("ARRAY_"))


def look_at(paddle, files, tmp):
    """-> {op: [operand names, attribute names, result names, {attribute: kind}]}"""
    seen = {}
    for file in files:
        with open(file, encoding="utf-8") as f:
            program = json.load(f).get("program")
        if not program or '"onednn_op.' in json.dumps(program):
            continue
        path = os.path.join(tmp, "p.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(program, f)
        loaded = oracle.load_json(paddle, path)      # the ops die with it
        for op, raw in zip(loaded.global_block().ops, program["program"]["regions"][0]["blocks"][0]["ops"]):
            if not op.name().startswith("pd_op.") or op.name() != op_name(raw):
                continue
            try:
                names = [op.get_input_names(), op.get_attr_names(), op.get_output_names()]
            except Exception:      # ops that are not made from the framework's op tables cannot be asked
                continue
            seen.setdefault(op.name(), names + [{}])[3].update({a["N"]: kind(a["AT"]) for a in raw["A"]})
    return {"seen": seen}


def check(name, row, seen):
    """-> None or the reason"""
    inputs, attrs, outputs, kinds = seen
    if row is None:
        return "has no row"
    wrong = []
    for what, ours, theirs in (("operands", row[0], inputs), ("attributes", list(row[1]), attrs), ("results", row[2], outputs)):
        if ours != theirs:
            wrong.append("%s %s, the framework has %s" % (what, ours, theirs))
    for attr, found in sorted(kinds.items()):
        if attr in row[1] and not fits(row[1][attr], found):
            wrong.append("attribute %s is %s, the framework writes %s" % (attr, row[1][attr], found))
    return "; ".join(wrong) or None


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("names", nargs="*", metavar="NAME", help="only these ops")
    a = ap.parse_args()
    report = suite.Report("ops")
    rows = read_rows()
    folder = suite.cache_folder("pdmigrate-oracle", "translations")
    paddle = oracle.import_paddle()
    files = sorted(os.path.join(folder, n) for n in os.listdir(folder) if n.endswith("-%s.json" % paddle.__version__))
    if not files:
        sys.exit("ops.py: no translations in %s: run structure.py first" % folder)
    pieces = [files[i:i + 50] for i in range(0, len(files), 50)]
    seen = {}
    for i, result in suite.run_forked([(i, lambda tmp, p=p: look_at(paddle, p, tmp)) for i, p in enumerate(pieces)]):
        if "why" in result:
            report.fail("translations %d to %d" % (50 * i, 50 * i + 49), result["why"])
        for name, names in result.get("seen", {}).items():
            seen.setdefault(name, names[:3] + [{}])[3].update(names[3])
    for name in sorted(seen):
        if not a.names or name in a.names:
            report.point(name, check(name, rows.get(name), seen[name]))
    print("op rows: %d of %d that could be asked agree (%d rows in all)" % (report.passed, len(seen), len(rows)))
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
