#!/usr/bin/env python3
"""Maintainer tool: the op tables made from the facts under tools/opfacts/.

    tools/gen_ops.py              rewrite src/legacy_graph/op_schema.def and src/translator/op_map.def
    tools/gen_ops.py --check      compare the two with what would be written; exit 1 on difference
    tools/gen_ops.py --check-ops  compare the rows of src/ir/ops/*.def with pir_decls.jsonl; exit 1 on difference
    tools/gen_ops.py --seed-ops   write src/ir/ops/*.def anew (they are kept by hand afterwards)

Facts: legacy_ops.tsv (schemas of 2.6.2 and 3.3.1), op_map.jsonl (how each legacy op translates),
pir_ops.jsonl (ops seen in files), pir_decls.jsonl (declarations of 3.3.1, made by dump_ops.py),
pir_op_changes.tsv (what changed between 3.0.0 and 3.3.1).
"""
import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FACTS = os.path.join(ROOT, 'tools', 'opfacts')
WIDTH = 100

# ---------------------------------------------------------------------------------------------- facts


def read_jsonl(name, key):
    with open(os.path.join(FACTS, name), encoding='utf-8') as f:
        return {row[key]: row for row in map(json.loads, f)}


def release_version(release):
    """The PIR version that a release writes."""
    major, minor, _ = release.split('.')
    return int(minor) + 1


def read_changes():
    """(first version of op), (changed attributes), (ops whose operands or results changed)."""
    since, retagged = {}, {}
    with open(os.path.join(FACTS, 'pir_op_changes.tsv'), encoding='utf-8') as f:
        head = next(f).rstrip('\n').split('\t')
        for line in f:
            row = line.rstrip('\n').split('\t')
            op, item, cells = row[0], row[1], row[2:]
            last = cells[-1]
            if last in ('-', 'absent'):
                continue
            first = len(cells) - 1  # of the run of releases that agree with the last one
            while first > 0 and cells[first - 1] == last:
                first -= 1
            version = release_version(head[2 + first]) if first else 0
            if item.startswith('('):
                since[op] = max(since.get(op, 0), version)
            elif version:
                retagged[op, item] = (version, cells[first - 1])
    return since, retagged


# kthvalue.k became 64 bits wide in 3.1.1, within version 2; only readers from version 3 on convert it.
VERSION_FIXES = {('pd_op.kthvalue', 'k'): 3}
# Ops whose 3.0.0 form is another one under the same name: the row holds the new form only.
SINCE_FIXES = {'pd_op.weight_dequantize': 2, 'pd_op.rms_norm': 4}
OLD_TAG = {'float': 'F32', 'int': 'I32', 'std::vector<int>': 'ARRAY_I32', 'std::vector<float>': 'ARRAY_F32'}

# -------------------------------------------------------------------------------------- src/ir/ops/*.def

# Ops that the framework declares in code without operand names, by hand: operands, attributes, results.
HAND = {
    'builtin.combine': (['N(inputs)'], [], ['V(out)']),
    'builtin.constant': ([], [('value', 'ANY')], ['T(out)']),
    'builtin.group': ([], [], ['N(results)']),
    'builtin.parameter': ([], [('is_distributed', 'ARRAY_BOOL', [False]), ('is_parameter', 'ARRAY_BOOL', [True]),
                               ('need_clip', 'ARRAY_BOOL', [False]), ('parameter_name', 'STR')], ['T(out)']),
    'builtin.set_parameter': (['T(value)'], [('parameter_name', 'STR')], []),
    'builtin.shadow_output': (['T(x)'], [('output_name', 'STR')], []),
    'builtin.slice': (['V(input)'], [('index', 'I32')], ['T(out)']),
    'builtin.split': (['V(input)'], [], ['N(outs)']),
    'cf.has_elements': (['T(container)'], [], ['T(out)']),
    'cf.stack_create': ([], [], ['T(stack)', 'T(inlet)', 'T(outlet)']),
    'cf.tuple_pop': (['T(outlet)'], [], ['N(outs)']),
    'cf.tuple_push': (['T(inlet)', 'N(inputs)'], [], []),
    'cf.yield': (['N(inputs)'], [], []),
    'pd_op.if': (['T(cond)'], [], ['N(outs)']),
    'pd_op.select_input': (['T(mask)', 'N(inputs)'], [], ['T(out)']),
    'pd_op.select_output': (['T(mask)', 'T(x)'], [], ['N(outs)']),
    'pd_op.share_var': (['N(inputs)'], [], []),
    'pd_op.while': (['T(cond)', 'N(inputs)'], [], ['N(outs)']),
}
# No row: containers that only the framework's own tools make.
NO_ROW = {'builtin.module', 'pd_op.cuda_graph', 'pd_op.pylayer'}

EFFECTS = {
    'TERMINATOR': 'cf.yield',
    'REGION': 'builtin.group pd_op.if pd_op.while',
    'ALLOCATES': 'cf.stack_create pd_op.create_array pd_op.empty pd_op.empty_like',
    'ALLOCATES | READS': 'pd_op.create_array_like pd_op.assign_array pd_op.tensor_to_array',
    'READS': 'cf.has_elements builtin.parameter pd_op.data pd_op.feed pd_op.load_combine pd_op.read_file '
             'pd_op.array_read pd_op.array_length pd_op.array_to_tensor pd_op.slice_array pd_op.slice_array_dense '
             'pd_op.lod_array_length pd_op.beam_search_decode pd_op.add_n_array pd_op.tensorrt_engine pd_op.shadow_feed '
             'pd_op.shadow_feed_tensors',
    'WRITES': 'cf.tuple_push pd_op.write_to_array pd_op.enable_check_model_nan_inf '
              'pd_op.disable_check_model_nan_inf',
    'READS | WRITES': 'cf.tuple_pop',
    'SIDE_EFFECT': 'builtin.set_parameter builtin.shadow_output pd_op.assert pd_op.fetch pd_op.print pd_op.nop '
                   'pd_op.nop_ pd_op.share_var pd_op.depend pd_op.check_numerics pd_op.accuracy_check '
                   'pd_op.save_combine pd_op.ap_trivial_fusion_begin pd_op.ap_trivial_fusion_end '
                   'pd_op.all_gather pd_op.all_reduce pd_op.all_reduce_ pd_op.all_to_all pd_op.barrier '
                   'pd_op.broadcast pd_op.broadcast_ pd_op.c_allreduce_sum pd_op.c_allreduce_sum_ pd_op.c_concat '
                   'pd_op.c_scatter pd_op.c_softmax_with_cross_entropy '
                   'pd_op.c_softmax_with_multi_label_cross_entropy pd_op.comm_init_all pd_op.mp_allreduce_sum '
                   'pd_op.mp_allreduce_sum_ pd_op.partial_allgather pd_op.partial_allgather_ pd_op.partial_recv '
                   'pd_op.partial_send pd_op.recv_v2 pd_op.reduce pd_op.reduce_ pd_op.reduce_scatter pd_op.send_v2 '
                   'pd_op.global_gather pd_op.global_scatter pd_op.sync_batch_norm_ pd_op.sync_batch_norm_sp_ '
                   'pd_op.sync_calc_stream pd_op.sync_calc_stream_ pd_op.sync_comm_stream pd_op.sync_comm_stream_ '
                   'pd_op.margin_cross_entropy pd_op.distributed_fused_lamb_init '
                   'pd_op.distributed_fused_lamb_init_',
    'RANDOM': 'pd_op.bernoulli pd_op.binomial pd_op.class_center_sample pd_op.cudnn_lstm pd_op.dirichlet '
              'pd_op.dpsgd pd_op.dropout pd_op.dropout_ pd_op.exponential_ pd_op.flash_attn '
              'pd_op.flash_attn_qkvpacked pd_op.flash_attn_unpadded pd_op.flash_attn_varlen_qkvpacked '
              'pd_op.flashmask_attention pd_op.fractional_max_pool2d pd_op.fractional_max_pool3d '
              'pd_op.fused_attention pd_op.fused_bias_dropout_residual_layer_norm pd_op.fused_dot_product_attention '
              'pd_op.fused_dropout_add pd_op.fused_feedforward pd_op.gaussian pd_op.gaussian_inplace '
              'pd_op.gaussian_inplace_ pd_op.graph_khop_sampler pd_op.graph_sample_neighbors pd_op.gumbel_softmax '
              'pd_op.memory_efficient_attention pd_op.multinomial pd_op.nce pd_op.poisson pd_op.pyramid_hash '
              'pd_op.randint pd_op.random pd_op.random_ pd_op.random_routing pd_op.random_routing_ pd_op.randperm '
              'pd_op.rnn pd_op.rnn_ pd_op.rrelu pd_op.seed pd_op.shuffle_batch pd_op.standard_gamma '
              'pd_op.tdm_sampler pd_op.top_p_sampling pd_op.truncated_gaussian_random pd_op.uniform '
              'pd_op.uniform_inplace pd_op.uniform_inplace_ pd_op.uniform_random_batch_size_like '
              'pd_op.uniform_random_batch_size_like_sr pd_op.weighted_sample_neighbors',
}
# In-place pairs that the declarations do not tell: operand name, result name.
INPLACE_FIXES = {
    'pd_op.add_n_': [('inputs', 'out')],
    'pd_op.batch_norm_': [('mean', 'mean_out'), ('variance', 'variance_out')],
    'pd_op.fused_batch_norm_act_': [('mean', 'mean_out'), ('variance', 'variance_out')],
    'pd_op.fused_bn_add_activation_': [('mean', 'mean_out'), ('variance', 'variance_out')],
    'pd_op.rnn_': [('dropout_state_in', 'dropout_state_out')],
}


def op_effects(name, inplace):
    words = [w for key, ops in EFFECTS.items() if name in ops.split() for w in key.split(' | ')]
    if inplace:
        words.insert(0, 'INPLACE')
    return ' | '.join(words) or 'PURE'


def default_text(tag, value):
    """A default as JSON text in the spelling of its tag."""
    def one(kind, v):
        if kind in ('F32', 'F64'):
            return repr(float(v))
        if kind in ('I32', 'I64'):
            return str(int(v))
        return json.dumps(v, separators=(',', ':'))
    if tag == 'PLACE' and value == []:
        value = [0, 0, '']
    if tag.startswith('ARRAY_F'):
        return '[' + ','.join(one('F64', v) for v in value) + ']'
    return one(tag, value)


def c_string(text):
    return '"' + text.replace('\\', '\\\\').replace('"', '\\"') + '"'


def op_rows(decls, since, retagged):
    """name -> (version, operands, attributes, results, effects, in-place index pairs), all as text."""
    rows = {}
    for name, d in decls.items():
        if name in NO_ROW or ('in' not in d and name not in HAND):
            continue
        version = SINCE_FIXES.get(name, since.get(name, 0))
        if name in HAND:
            operands, attrs, results = HAND[name]
            pairs = []
        else:
            operands = [f'{k}({n})' for n, k in d['in']]
            attrs = d['attrs']
            results = [f'{k[0]}({k[1]})' for k in ([x[1], x[0]] for x in d['out'])]
            ins, outs = [x[0] for x in d['in']], [x[0] for x in d['out']]
            named = INPLACE_FIXES.get(name) or [(i, o) for o, i in d.get('inplace', [])]
            pairs = sorted((ins.index(i), outs.index(o)) for i, o in named if i in ins and o in outs)
        items = []
        for a in attrs:
            n, tag = a[0], a[1]
            default = c_string(default_text(tag, a[2])) if len(a) > 2 else 'NULL'
            changed, old = retagged.get((name, n), (0, None))
            changed = VERSION_FIXES.get((name, n), changed)
            if not changed or changed <= version:
                items.append(f'A({n}, {tag}, {default})')
            elif old == 'absent':
                items.append(f'AN({n}, {tag}, {changed}, {default})')
            else:
                items.append(f'AV({n}, {tag}, {OLD_TAG[old]}, {changed}, {default})')
        rows[name] = (version, operands, items, results, op_effects(name, pairs), pairs)
    return rows


def wrap(head, items, tail, indent=8):
    """One macro group, broken at 100 columns."""
    text = '    ' + head + '(' + ' '.join(items) + ')' + tail
    if len(text) <= WIDTH:
        return text
    lines, cur = ['    ' + head + '('], ' ' * indent
    for item in items:
        if len(cur) + len(item) + len(tail) + 1 > WIDTH and cur.strip():
            lines.append(cur.rstrip())
            cur = ' ' * indent
        cur += item + ' '
    return '\n'.join(lines + [cur.rstrip() + ')' + tail])


def op_row_text(name, row, hook):
    version, operands, attrs, results, effects, _ = row
    dialect, op = name.split('.')
    return '\n'.join([f'PDM_OP({dialect}, {op}, {version},', wrap('OPERANDS', operands, ','),
                      wrap('ATTRS', attrs, ','), wrap('RESULTS', results, ','), f'    {effects}, {hook})'])


OP_HEAD = '''\
/* {what}
 *
 * PDM_OP(dialect, name, version, OPERANDS(...), ATTRS(...), RESULTS(...), effects, hook), sorted by name.
 * version: first PIR version that has the op in this form, 0 = all since 3.0.0.
 * Operands: T tensor, O optional tensor, V vector, OV optional vector, N any number of values,
 *   M attribute that is a value (pd_op.full when constant), MI the same for integer arrays
 *   (pd_op.full_int_array, or builtin.combine of tensors).
 * Attributes, in the order in which they are serialized: A(name, type, default),
 *   AV(name, type, older type, version of the change, default),
 *   AN(name, type, version that added it, default). A default is JSON text or NULL (none).
 *   SCALAR stands for any scalar tag, ARRAY_ANY for an array of any element tag, ANY for anything.
 * Results: T tensor, O optional, V vector, N any number.
 * hook: the infer-meta hook, a name of infer_hooks.def; none for ops without results.
 * Checked against the framework's declarations by tools/gen_ops.py --check-ops. */
'''
WHAT = {
    'builtin': 'Ops of the builtin dialect.',
    'cf': 'Ops of the control-flow dialect.',
    'pd_op': 'Ops of the pd_op dialect: all that the framework declares, gradients excepted.',
}


def seed_ops():
    since, retagged = read_changes()
    rows = op_rows(read_jsonl('pir_decls.jsonl', 'name'), since, retagged)
    for dialect, what in WHAT.items():
        names = sorted(n for n in rows if n.split('.')[0] == dialect)
        hooks = read_hooks(f'src/ir/ops/{dialect}.def')
        text = OP_HEAD.format(what=what) + '\n' + '\n'.join(
            op_row_text(n, rows[n], hooks.get(n, 'unknown' if rows[n][3] else 'none')) for n in names) + '\n'
        write(f'src/ir/ops/{dialect}.def', text)
    text = ('/* Which operand an in-place op overwrites, and the result that stands for it afterwards.\n'
            ' * PDM_INPLACE(dialect, name, operand index, result index), sorted by name. */\n\n')
    for n in sorted(rows):
        for i, o in rows[n][5]:
            text += f"PDM_INPLACE({n.replace('.', ', ')}, {i}, {o})\n"
    write('src/ir/ops/inplace.def', text)


def read_hooks(path):
    """name -> infer-meta hook of the rows in a file; they are kept by hand only."""
    with open(os.path.join(ROOT, path), encoding='utf-8') as f:
        return {f'{d}.{n}': hook for d, n, hook in
                re.findall(r'^PDM_OP\((\w+), (\w+), .*?, (\w+)\)\n(?=PDM_OP|\Z)', f.read(), flags=re.S | re.M)}


def parse_op_rows(path):
    """name -> (version, operands, attributes without defaults, results) of the rows in a file."""
    with open(os.path.join(ROOT, path), encoding='utf-8') as f:
        text = re.sub(r'/\*.*?\*/', '', f.read(), flags=re.S)
    rows = {}
    group = r'{}\(((?:"(?:\\.|[^"\\])*"|\([^()"]*(?:"(?:\\.|[^"\\])*"[^()"]*)*\)|[^()"])*)\),'
    row = re.compile(r'PDM_OP\((\w+), (\w+), (\d+),\s*' + r'\s*'.join(map(group.format, ('OPERANDS', 'ATTRS', 'RESULTS')))
                     + r'\s*([A-Z_ |]+), (\w+)\)')
    for m in row.finditer(text):
        attrs = [re.sub(r', (?:NULL|"(?:\\.|[^"\\])*")\)$', ')', a)
                 for a in re.findall(r'\w+\((?:"(?:\\.|[^"\\])*"|[^()"])*\)', m[5])]
        rows[f'{m[1]}.{m[2]}'] = (int(m[3]), m[4].split(), attrs, m[6].split())
    if len(rows) != text.count('PDM_OP('):
        print(f'{path}: {text.count("PDM_OP(")} rows, {len(rows)} understood')
    return rows


def check_ops():
    """Compare the rows kept by hand with the declarations (defaults, effects and hooks are free)."""
    since, retagged = read_changes()
    decls = op_rows(read_jsonl('pir_decls.jsonl', 'name'), since, retagged)
    bad, rows = 0, {}
    for dialect in WHAT:
        rows.update(parse_op_rows(f'src/ir/ops/{dialect}.def'))
    for name in sorted(rows.keys() | decls.keys()):
        want = None
        if name in decls:
            version, operands, attrs, results = decls[name][:4]
            attrs = [re.sub(r', (?:NULL|"(?:\\.|[^"\\])*")\)$', ')', a) for a in attrs]
            want = (version, operands, attrs, results)
        if rows.get(name) != want:
            print(f'{name}: row {rows.get(name)}, declared {want}')
            bad = 1
    with open(os.path.join(ROOT, 'src/ir/ops/inplace.def'), encoding='utf-8') as f:
        pairs = {(f'{d}.{n}', int(i), int(o)) for d, n, i, o
                 in re.findall(r'^PDM_INPLACE\((\w+), (\w+), (\d+), (\d+)\)', f.read(), flags=re.M)}
    for name, i, o in sorted(pairs ^ {(n, i, o) for n, r in decls.items() for i, o in r[5]}):
        print(f'{name}: in-place pair {i} -> {o} in one of inplace.def and the declarations only')
        bad = 1
    for name, seen in read_jsonl('pir_ops.jsonl', 'name').items():
        if name.startswith('onednn_op.') or name in HAND:
            continue
        row = rows.get(name, (0, [], [], []))
        names = [re.match(r'\w+\((\w+)', a)[1] for a in row[2]]
        if (len(row[1]) not in (seen['operands'] if isinstance(seen['operands'], list) else [seen['operands']])
                or len(row[3]) != seen['results'] or names != [a[0] for a in seen['attrs']]):
            print(f'{name}: row {row}, in files {seen}')
            bad = 1
    return bad


# ------------------------------------------------------------------- src/legacy_graph/op_schema.def

SCHEMA_HEAD = """\
/* Schemas of the legacy ops, generated by tools/gen_ops.py: do not edit.
 *
 * PDM_LG_SCHEMA(type, inputs, outputs, attributes), sorted by type. Words are separated by blanks.
 * Inputs and outputs: slot name, then * list, ? optional, ~ intermediate (in this order).
 * Attributes: name:TYPE=default, the default as JSON text without blanks; no default when the op
 * must carry the attribute. Attributes that no rule reads (use_mkldnn and its like) and those that
 * every op has (op_role, op_callstack, ...) are left out. Types are those of 2.6.2; ops that only
 * 3.3.1 has are included. */
"""


def read_schemas():
    """op -> {'input'|'output'|'attr': [(name, flags, default)]}, in declaration order."""
    ops = {}
    with open(os.path.join(FACTS, 'legacy_ops.tsv'), encoding='utf-8') as f:
        next(f)
        for line in f:
            op, kind, name, flags, default, _ = line.rstrip('\n').split('\t')
            if op == '*':
                continue
            row = ops.setdefault(op, {'input': [], 'output': [], 'attr': []})
            if kind in row:
                row[kind].append((name, flags.split(','), default))
            elif name or kind != 'op':
                raise ValueError(f'{op}: kind {kind}')
    return ops


def used_attrs(maps):
    """(op, legacy attribute) pairs that a translation rule reads."""
    used = set()
    for op, m in maps.items():
        used |= {(op, a[2][1:]) for a in m.get('attrs', []) if isinstance(a[2], str)}
        used |= {(op, a) for a in m.get('mutable', {})}
    return used


# Attributes marked as extra that change what the op computes: read by handlers.
KEPT_EXTRA = {'beta', 'fix_seed', 'is_test', 'moving_rate', 'seed', 'threshold'}
# Types that reflection does not tell (empty defaults without a type).
TYPE_FIXES = {('nce', 'custom_neg_classes'): 'INTS', ('fc', 'fused_reshape2_shape'): 'INTS'}


def schema_default(name, text):
    """Default of one attribute in the notation of op_schema.def; '' when it is required."""
    first, _, other = text.partition(' | 3.3.1:')
    if first == '<required>':
        first = other or first  # a model without it can only come from a newer writer
    if first in ('<required>', ''):
        return ''
    value = json.dumps(json.loads(first), separators=(',', ':'))
    if ' ' in value:
        raise ValueError(f'{name}: blank in default {value}')
    return '=' + value


def c_words(words, width=WIDTH - 6):
    """Words as one C string, broken into literals that fit the line; the last has no trailing blank."""
    lines, cur = [], ''
    for i, w in enumerate(words):
        w += ' ' if i + 1 < len(words) else ''
        if cur and len(c_string(cur + w)) > width:
            lines.append(cur)
            cur = ''
        cur += w
    return '\n    '.join(c_string(x) for x in lines + [cur])


def macro_row(macro, fields):
    """A row on one line when it fits, else one field a line. A field is a list of words."""
    flat = f'{macro}(' + ', '.join(c_string(' '.join(f)) for f in fields) + ')'
    if len(flat) <= WIDTH:
        return flat
    first, rest = fields[0], fields[1:]
    return f'{macro}({c_string(" ".join(first))},\n    ' + ',\n    '.join(c_words(f) for f in rest) + ')'


def schema_text():
    used = used_attrs(read_jsonl('op_map.jsonl', 'op'))
    lines = []
    for op, row in sorted(read_schemas().items()):
        fields = [[op]]
        for kind in ('input', 'output'):
            fields.append([n + '*' * ('list' in fl) + '?' * ('optional' in fl) + '~' * ('intermediate' in fl)
                           for n, fl, _ in row[kind]])
        attrs = []
        for n, fl, default in row['attr']:
            if 'extra' in fl and (op, n) not in used and n not in KEPT_EXTRA:
                continue
            tag = TYPE_FIXES.get((op, n), fl[0])
            if not re.fullmatch('[A-Z0-9]+', tag):
                raise ValueError(f'{op}.{n}: type {tag}')
            attrs.append(f'{n}:{tag}{schema_default(op + "." + n, default)}')
        fields.append(attrs)
        lines.append(macro_row('PDM_LG_SCHEMA', fields))
    return SCHEMA_HEAD + '\n' + '\n'.join(lines) + '\n'


def write(path, text):
    with open(os.path.join(ROOT, path), 'w', encoding='utf-8') as f:
        f.write(text)


# ------------------------------------------------------------------------- src/translator/op_map.def

MAP_HEAD = """\
/* How legacy ops become PIR ops, generated by tools/gen_ops.py: do not edit.
 *
 * PDM_TR_MAP(legacy type, op of pd_op, operands, attributes, results, defaults), sorted by type.
 * Operands in order, separated by commas; each a list of alternatives, the first that the op has:
 *   Slot the variable of a slot, Slot* builtin.combine of the slot's variables (also of one only),
 *   =attr a constant (pd_op.full or pd_op.full_int_array, by the PIR row) of the legacy attribute,
 *   or its variables when the attribute is stored as VAR or VARS, - no value. A slot without
 *   alternatives must be there; Slot* without alternatives may be an empty list.
 * Attributes in PIR order: name (same legacy name), name=legacy name, name:literal (JSON text).
 *   A missing one takes the legacy default, unless the last field has name=literal for it.
 * Results in order: Slot, Slot* one vector result, Slot? no value when the slot is absent,
 *   - no legacy slot.
 *
 * No row, only a handler:{no_row}.
 *
 * Rows that hold for the plain case only, a handler looks at the op first:{with_handler}.
 *
 * Tensor inputs that the rows leave out, as the framework does (it uses the attribute, or nothing):{ignored}. */
"""

# status ok, but nothing general to say: name or operands depend on the op's surroundings.
MAP_NO_ROW = {
    'feed', 'fetch', 'fetch_v2', 'shadow_output', 'fill_constant', 'set_value', 'select_input', 'select_output', 'range',
    'rnn',
}
# Further types without a row: sub-blocks, arrays, and ops that the probe could not translate in general.
MAP_HANDLERS = ['assert', 'assign_value', 'conditional_block', 'lod_array_length', 'mul', 'read_from_array',
                'tensor_array_to_tensor', 'while', 'write_to_array']
MAP_WITH_HANDLER = {
    'assign', 'dequantize_linear', 'fill_any_like', 'lookup_table', 'matmul', 'matrix_rank', 'quantize_linear',
    'repeat_interleave', 'rms_norm', 'slice', 'split', 'tril_triu',
    'elementwise_add', 'elementwise_div', 'elementwise_floordiv', 'elementwise_fmax', 'elementwise_fmin',
    'elementwise_heaviside', 'elementwise_max', 'elementwise_min', 'elementwise_mod', 'elementwise_mul',
    'elementwise_pow', 'elementwise_sub', 'equal', 'greater_equal', 'greater_than', 'less_equal', 'less_than', 'not_equal',
    'reduce_all', 'reduce_amax', 'reduce_amin', 'reduce_any', 'reduce_max', 'reduce_mean', 'reduce_min', 'reduce_prod',
    'reduce_sum', 'hard_swish', 'relu6', 'swish', 'strided_slice', 'one_hot_v2',
}
# Rows whose facts the probe could not see: legacy type -> the missing keys of op_map.jsonl.
MAP_FIXES = {
    'data': {'in': [], 'out': ['out'], 'attrs': [['name', 'str', '@name'], ['shape', 'intarray', '@shape'],
                                                 ['dtype', 'dtype', '@dtype'], ['place', 'place', {'const': [0, 0, '']}]]},
    'lookup_table': {'pir': 'pd_op.embedding', 'in': ['Ids', 'W'], 'out': ['Out'],
                     'attrs': [['padding_idx', 'i64', '@padding_idx'], ['sparse', 'bool', '@is_sparse']]},
    # The attributes stand in for the three tensors when those are absent.
    'adam': {'mutable': {'beta1': {'operand': [10]}, 'beta2': {'operand': [11]}, 'epsilon': {'operand': [12]}}},
}
# Values for missing attributes that the legacy default does not give.
MAP_DEFAULTS = {}


def map_operands(m, slots, kinds, optional):
    """Alternatives of each operand, by priority: tensor lists, single tensors, attribute or nothing."""
    out = []
    for i, base in enumerate(m['in']):
        lists, singles, last = [], [], []
        if base == 'null':
            last.append('-')
        elif base.startswith('=const:'):
            last.append('#' + base[7:])
        elif base.startswith('='):
            last.append(base)
        elif base.startswith('['):
            lists.append(base[1:-1] + '*')
        else:
            singles.append(base.removesuffix('.0'))
        for slot, how in m.get('opt_in', {}).items():
            if isinstance(how, dict):
                at = how['operand'] if isinstance(how['operand'], list) else [how['operand']]
                if i in at:
                    word = slot + '*' * (how['form'] == 'combine')
                    (lists if slots.get(slot, False) else singles).append(word)
            elif slot.startswith('-') and slot[1:] == base and isinstance(how, str):
                rest = how.removeprefix('operands ').split(',')
                if rest[i] == 'null':
                    last.append('-')
        last += ['=' + a for a, how in m.get('mutable', {}).items() if i in how['operand'] and '=' + a not in last]
        if kinds[i] in ('O', 'OV') and not last and all(w.rstrip('*') in optional for w in lists + singles):
            last.append('-')  # the probe had given it
        out.append('|'.join(lists + singles + last))
    return out


def map_attrs(m):
    words = []
    for name, _, source in m['attrs']:
        if isinstance(source, dict):
            words.append(f"{name}:{json.dumps(source['const'], separators=(',', ':'))}")
        else:
            words.append(name if source == '@' + name else f'{name}={source[1:]}')
    return words


def map_results(m):
    absent = m.get('out_absent', {})
    words = []
    for slot in m['out']:
        slot = slot.removesuffix('.0')
        if slot == 'null':
            words.append('-')
        elif slot.startswith('['):
            words.append(slot[1:-1] + '*' + '?' * (slot[1:-1] in absent))
        else:
            words.append(slot + '?' * (slot in absent))
    return words


def map_row(op, m, schema, decl):
    slots = {n: 'list' in flags for n, flags, _ in schema['input']}
    optional = {n for n, flags, _ in schema['input'] if 'optional' in flags}
    operands = map_operands(m, slots, [k for _, k in decl['in']], optional)
    fields = [[op], [m['pir'].removeprefix('pd_op.')], [w + ',' * (i + 1 < len(operands)) for i, w in enumerate(operands)],
              map_attrs(m), map_results(m), MAP_DEFAULTS.get(op, [])]
    flat = 'PDM_TR_MAP(' + ', '.join(c_string(' '.join(f)) for f in fields) + ')'
    if len(flat) <= WIDTH:
        return flat
    first = f'PDM_TR_MAP({c_string(op)}, {c_string(fields[1][0])},'
    if len(first) > WIDTH:
        first = first.replace(', ', ',\n    ', 1)
    return (first + '\n    '
            + ',\n    '.join(c_words(f) for f in fields[2:]) + ')')


def prose(words, indent=' *   '):
    """A list of words inside a comment, broken at the line width."""
    lines, cur = [], ''
    for i, w in enumerate(words):
        w += ',' if i + 1 < len(words) else ''
        if len(indent + cur + ' ' + w) > WIDTH - 2:
            lines.append(cur)
            cur = ''
        cur += (' ' if cur else '') + w
    return ''.join('\n' + indent + line for line in lines + [cur])


def translated():
    """Legacy types that get a row, with their facts completed."""
    maps = read_jsonl('op_map.jsonl', 'op')
    for op, m in sorted(maps.items()):
        if m['status'] == 'ok' and not m['pir'].startswith('onednn_op.') and op not in MAP_NO_ROW:
            yield op, {**m, **MAP_FIXES.get(op, {})}


def map_text():
    schemas, decls = read_schemas(), read_jsonl('pir_decls.jsonl', 'name')
    rows, ignored = [], []
    for op, m in translated():
        rows.append(map_row(op, m, schemas[op], decls[m['pir']]))
        left = [s for s, how in m.get('opt_in', {}).items() if how == 'ignored']
        ignored += [f'{op}.{s}' for s in left]
    head = MAP_HEAD.format(no_row=prose(sorted(MAP_NO_ROW | set(MAP_HANDLERS))),
                           with_handler=prose(sorted(MAP_WITH_HANDLER)), ignored=prose(ignored))
    return head + '\n' + '\n'.join(rows) + '\n'


GENERATED = {
    'src/legacy_graph/op_schema.def': schema_text,
    'src/translator/op_map.def': map_text,
}


def check_generated():
    bad = 0
    for path, make in GENERATED.items():
        try:
            with open(os.path.join(ROOT, path), encoding='utf-8') as f:
                same = f.read() == make()
        except FileNotFoundError:
            same = False
        if not same:
            print(f'{path} is not what tools/gen_ops.py writes')
            bad = 1
    return bad


def main():
    mode = sys.argv[1] if len(sys.argv) > 1 else ''
    if mode == '--seed-ops':
        seed_ops()
    elif mode == '--check':
        return check_generated()
    elif mode == '--check-ops':
        return check_ops()
    elif not mode:
        for path, make in GENERATED.items():
            write(path, make())
    else:
        print(__doc__)
        return 2
    return 0


if __name__ == '__main__':
    sys.exit(main())
