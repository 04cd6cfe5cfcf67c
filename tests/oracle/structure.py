#!/usr/bin/env python3
"""Compare the structure of our translation with the framework's own, in the canonical form of docs/canonical-form.md.

usage: structure.py PDMIGRATE [NAME...]

For each case and model without sub-blocks that Paddle 3.3.1 translates right: ops, operands, attributes and order of
`pdmigrate --pir-version 4` must equal its translation.  structure_exceptions.tsv lists the known differences with
kind `better` (ours says more, the framework loses meaning) or `other` and a reason; a difference that is not listed, or a
listed one that is gone, is a failure.  framework_wrong.tsv lists the programs outside the tables whose translation by the
framework is wrong.  The framework's translations are kept in a cache folder between runs.
"""
import argparse
import difflib
import hashlib
import json
import os
import sys

import oracle
import suite

DIALECTS = {"0": "builtin", "1": "pd_op", "2": "cf", "3": "custom_op"}
# Bookkeeping that no kernel reads, and what only the oneDNN build adds.
DROPPED = {"stop_gradient", "persistable", "op_callstack", "op_role", "op_role_var", "op_namescope", "op_device",
           "op_dist_attr", "struct_name", "mkldnn_data_type", "onednn_data_type", "use_mkldnn"}


# ---- canonical form -----------------------------------------------------------------------------------------

def number(text_or_value):
    """A float or integer as text that tells equal numbers apart from unequal ones, and only those."""
    if isinstance(text_or_value, str):
        return text_or_value.upper()      # NaN, INF, -INF under the key VD
    if isinstance(text_or_value, float) and text_or_value.is_integer():
        return str(int(text_or_value))
    return repr(text_or_value)


def attribute(at):
    """-> text with the tag, so that a changed kind shows"""
    tag = at.get("#", "NULL")
    value = at.get("D", at.get("VD"))
    if tag == "0.a_array":
        return "[%s]" % ", ".join(attribute(v) for v in value)
    if tag in ("0.a_f32", "0.a_f64"):
        return "%s %s" % (tag[4:], number(at.get("VD", value)))
    return "%s %s" % (tag[4:], json.dumps(value, sort_keys=True))


def attributes(op_name, attrs):
    out = {}
    for a in attrs:
        if a["N"] in DROPPED:
            continue
        if op_name == "pd_op.full" and a["N"] == "value":      # the tag does not matter, see T5.6 in the document
            out["value"] = number(a["AT"].get("VD", a["AT"].get("D")))
        else:
            out[a["N"]] = attribute(a["AT"])
    return out


def op_name(op):
    if op["#"] == "p":
        return "builtin.parameter"
    dialect, _, name = op["#"].partition(".")
    return "%s.%s" % (DIALECTS.get(dialect, dialect), name)


def tensor_of(result):
    """-> (dims, element) of a dense tensor type"""
    elem, dims = result["TT"]["D"][:2]
    return dims, elem["#"].partition(".t_")[2]


ELEMENTS = {"i8": "int8", "ui8": "uint8", "i16": "int16", "i32": "int32", "i64": "int64", "f16": "float16",
            "bf16": "bfloat16", "f32": "float32", "f64": "float64", "c64": "complex64", "c128": "complex128"}


def as_data(op):
    """A feed op in the words of a data op."""
    attrs = {a["N"]: a["AT"]["D"] for a in op["A"]}
    dims, elem = tensor_of(op["O"][0])
    made = {"name": {"#": "0.a_str", "D": attrs["name"]}, "shape": {"#": "1.a_intarray", "D": dims},
            "dtype": {"#": "1.a_dtype", "D": ELEMENTS.get(elem, elem)}, "place": {"#": "1.a_place", "D": [0, 0, ""]}}
    return dict(op, **{"#": "1.data", "A": [{"N": n, "AT": at} for n, at in made.items()]})


def block_ops(program):
    return program["program"]["regions"][0]["blocks"][0]["ops"]


def attr_value(op, name):
    return next(a["AT"]["D"] for a in op["A"] if a["N"] == name)


def feed_columns(program):
    """name -> col of the feed ops"""
    return {attr_value(op, "name"): attr_value(op, "col") for op in block_ops(program) if op_name(op) == "pd_op.feed"}


def ordered(program, columns):
    """Ops in canonical order: parameters, inputs, everything else.  columns: name -> col of the fed inputs."""
    params, feeds, fed, others, rest = [], [], [], [], []
    for op in block_ops(program):
        name = op_name(op)
        if name == "builtin.parameter":
            params.append(op)
        elif name == "pd_op.feed":
            feeds.append(op)
        elif name == "pd_op.data":
            (fed if attr_value(op, "name") in columns else others).append(op)
        else:
            rest.append(op)
    feeds = [as_data(op) for op in sorted(feeds, key=lambda op: attr_value(op, "col"))]
    others.sort(key=lambda op: attr_value(op, "name"))
    return params + feeds + fed + others + rest


def canonical(program, columns):
    """-> [line]"""
    lines, values = [], {0: "<null>"}
    for op in ordered(program, columns):
        name = op_name(op)
        results = op["O"] if isinstance(op["O"], list) else [op["O"]]
        operands = [values.get(v["%"], "<undefined>") for v in op.get("I", [])]
        if name == "builtin.parameter":      # the short form has its attributes by position
            named = op["A"][3] if len(op["A"]) == 4 and isinstance(op["A"][3], str) else attr_value(op, "parameter_name")
            attrs = {"parameter_name": json.dumps(named)}
        else:
            attrs = attributes(name, op.get("A", []))
        out = []
        for r in results:
            null = r["TT"].get("#") == "NULL"
            out.append("<null>" if null else "%%%d" % (len(values)))
            values[r["%"]] = out[-1]
        text = ", ".join("%s: %s" % kv for kv in sorted(attrs.items()))
        lines.append("%s = %s(%s) {%s}" % (", ".join(out) or "()", name, ", ".join(operands), text))
    return lines


def difference(ours, theirs):
    """-> None or the first lines that differ"""
    if ours == theirs:
        return None
    diff = [l for l in difflib.unified_diff(theirs, ours, "framework", "ours", n=0, lineterm="") if l[0] in "+-"][2:]
    return "%d lines differ: %s" % (len(diff), " | ".join(l[:160] for l in diff[:4]))


# ---- the framework's side -----------------------------------------------------------------------------------

def cache_file(folder, model, version):
    h = hashlib.sha256()
    with open(model, "rb") as f:
        h.update(f.read())
    return os.path.join(folder, "%s-%s.json" % (h.hexdigest(), version))


def translate(paddle, model, path, tmp):
    """Write {"blocks": N, "program": ...} or {"why": ...} to the cache."""
    prog = oracle.read_desc(paddle, model, False)
    found = {"blocks": prog.num_blocks}
    if prog.num_blocks == 1:
        pir = paddle.pir.translate_to_pir(prog.desc)
        out = os.path.join(tmp, "program.json")
        paddle.core.serialize_pir_program(pir, out, True, False, True)
        with open(out, encoding="utf-8") as f:
            found["program"] = json.load(f)
    part = os.path.join(tmp, "part")
    with open(part, "w", encoding="utf-8") as f:
        json.dump(found, f)
    os.replace(part, path) if os.stat(tmp).st_dev == os.stat(os.path.dirname(path)).st_dev else copy(part, path)
    return {"why": None}


def copy(src, dst):
    with open(src, "rb") as f, open(dst + ".part%d" % os.getpid(), "wb") as g:
        g.write(f.read())
    os.replace(g.name, dst)


def framework_side(todo, jobs, quiet):
    """todo: [(name, model file)] -> name -> cached answer"""
    folder = suite.cache_folder("pdmigrate-oracle", "translations")
    paddle = oracle.import_paddle()
    paths = {n: cache_file(folder, m, paddle.__version__) for n, m in todo}
    tasks = [(n, lambda tmp, m=m, n=n: translate(paddle, m, paths[n], tmp)) for n, m in todo if not os.path.isfile(paths[n])]
    why = dict(suite.run_forked(tasks, jobs, quiet=quiet))
    answers = {}
    for n, path in paths.items():
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as f:
                answers[n] = json.load(f)
        else:
            answers[n] = why[n]
    return answers


# ---- our side -----------------------------------------------------------------------------------------------

def compare_one(program, folder, theirs, tmp):
    out = os.path.join(tmp, "ours.json")
    conv = suite.convert(program, folder, out, options=["--pir-version", "4"])
    if conv.status != 0:
        return {"why": "convert: exit %s: %s" % (conv.status, conv.last_line())}
    with open(out, encoding="utf-8") as f:
        ours = json.load(f)
    columns = feed_columns(theirs)
    return {"why": difference(canonical(ours, columns), canonical(theirs, columns))}


def programs(names):
    """-> [(group, [(name, folder)])]: what may be compared"""
    wrong = {n for n, _ in suite.read_tsv(os.path.join(suite.HERE, "framework_wrong.tsv"), 2)}
    groups = [(g, [(n, os.path.join(suite.CASES, n)) for n in members])
              for g, members in suite.case_groups() if g in ("right", "flow", "report")]
    groups.append(("models", suite.model_folders(names)[0]))
    return [(g, [(n, f) for n, f in members if n not in wrong and (not names or n in names)]) for g, members in groups]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    suite.add_common_options(ap)
    ap.add_argument("--show", action="store_true", help="print both canonical forms of the named programs")
    ap.add_argument("--observed", metavar="FILE", help="write a line `name, kind, reason` for each that differs")
    a = ap.parse_args()
    program = os.path.abspath(a.program)
    exceptions = suite.Exceptions(os.path.join(suite.HERE, "structure_exceptions.tsv"))
    report = suite.Report("structure")
    groups = programs(a.names)
    todo = [(n, suite.legacy_file(f)) for _, members in groups for n, f in members]
    theirs = framework_side(todo, a.jobs, not a.verbose)
    flat = [(n, f) for _, members in groups for n, f in members if "program" in theirs[n]]
    results = dict(suite.run_forked(
        [(n, lambda tmp, n=n, f=f: compare_one(program, f, theirs[n]["program"], tmp)) for n, f in flat], a.jobs))
    observed = []
    for group, members in groups:
        equal, compared, listed, blocks = 0, 0, [], 0
        for n, _ in members:
            if theirs[n].get("blocks", 1) > 1:
                blocks += 1
                continue
            compared += 1
            why = results[n]["why"] if n in results else "the framework does not translate it: %s" % theirs[n]["why"]
            kind, reason = exceptions.get(n)
            equal += why is None
            if kind:
                listed.append((n, kind, reason))
            if why:
                observed.append((n, "other", why))
            if kind and why is None:
                report.fail(n, "is equal, but structure_exceptions.tsv lists it")
            else:
                report.point(n, None if kind else why)
            if a.show and n in results:
                columns = feed_columns(theirs[n]["program"])
                print("\n".join(["--- framework: %s" % n] + canonical(theirs[n]["program"], columns)))
        if compared or not a.names:
            print("structure, %s: %d of %d equal (%d with sub-blocks are not compared)"
                  % (suite.GROUP_TEXT[group], equal, compared, blocks))
        for n, kind, reason in listed:
            print("   %s (%s): %s" % (n, kind, reason))
    if a.observed:
        with open(a.observed, "w", encoding="utf-8") as f:
            f.writelines("\t".join(row) + "\n" for row in observed)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
