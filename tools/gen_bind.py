#!/usr/bin/env python3
"""Maintainer tool: a first version of src/exec/legacy_bind.def from the facts under tools/opfacts/.

    tools/gen_bind.py          print the rows that the facts give
    tools/gen_bind.py --new    print only those whose type has no row yet

The file is kept by hand: its rows may say more than the facts, which tell how the framework's
translator sees an op, not what the op computes.
"""
import os
import re
import sys

import gen_ops

TARGET = os.path.join(gen_ops.ROOT, 'src', 'exec', 'legacy_bind.def')
# Ops for other devices, other processes, or training: there is nothing to run them on.
LEFT_OUT = re.compile(r'_xpu$|^c_|^p_(send|recv)|^ap_|^all_|^distributed_|^push_|^pull_|^partial_(send|recv|all)')


def training():
    with open(os.path.join(gen_ops.ROOT, 'src', 'translator', 'training.def'), encoding='utf-8') as f:
        return set(re.findall(r'"(\w+)"', f.read()))


def attrs(m):
    """Only what is not the legacy attribute of the same name."""
    return [w for w in gen_ops.map_attrs(m) if ('=' in w or ':' in w) and not w.startswith('place:')]


def row(op, m, schema, decl):
    slots = {n: 'list' in flags for n, flags, _ in schema['input']}
    optional = {n for n, flags, _ in schema['input'] if 'optional' in flags}
    operands = gen_ops.map_operands(m, slots, [k for _, k in decl['in']], optional)
    words = [w + ',' * (i + 1 < len(operands)) for i, w in enumerate(operands)]
    results = [w.rstrip('?') for w in gen_ops.map_results(m)]
    name = m['pir'].rstrip('_') if m['pir'].rstrip('_') != m['pir'] else m['pir']
    return gen_ops.macro_row('PDM_LEGACY_BIND', [[op], [name], words, attrs(m), results])


def main():
    schemas, decls = gen_ops.read_schemas(), gen_ops.read_jsonl('pir_decls.jsonl', 'name')
    skip = training()
    if sys.argv[1:] == ['--new']:
        with open(TARGET, encoding='utf-8') as f:
            skip |= set(re.findall(r'PDM_LEGACY_BIND\("(\w+)"', f.read()))
    for op, m in gen_ops.translated():
        if op not in skip and not LEFT_OUT.search(op):
            print(row(op, m, schemas[op], decls[m['pir']]))


if __name__ == '__main__':
    main()
