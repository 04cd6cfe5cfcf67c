#!/usr/bin/env python3
"""Ask an installed framework which PIR ops it declares; one JSON object per op and line.

    tools/dump_ops.py PYTHON [OUT.jsonl]

PYTHON is an interpreter that has paddlepaddle 3.x. Maintainer tool; needs g++. Two sources are read:
the registry of op declarations at run time (operands, attributes, results, in-place pairs, traits), by a
small probe that is compiled against the wheel's headers, and the default arguments of the builders in
those headers. Only names, kinds and numbers are taken. Gradient ops are left out.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

PROBE = r'''
#include <cstdio>
#include <string>
#include "paddle/fluid/pir/dialect/operator/interface/op_yaml_info.h"
#include "paddle/fluid/pir/dialect/operator/trait/inplace.h"
#include "paddle/pir/include/core/ir_context.h"
#include "paddle/pir/include/core/op_info.h"
#include "paddle/pir/include/core/op_trait.h"
static void names(FILE *f, const char *key, const std::vector<std::pair<std::string, std::string>> &v) {
  fprintf(f, ",\"%s\":[", key);
  for (size_t i = 0; i < v.size(); i++)
    fprintf(f, "%s[\"%s\",\"%s\"]", i ? "," : "", v[i].first.c_str(), v[i].second.c_str());
  fprintf(f, "]");
}
extern "C" int dump(const char *path) {
  FILE *f = fopen(path, "w");
  if (!f) return 1;
  for (auto &kv : pir::IrContext::Instance()->registered_op_info_map()) {
    pir::OpInfo info = kv.second;
    fprintf(f, "{\"name\":\"%s\",\"inplace_trait\":%d,\"side_effect\":%d,\"attr_names\":[", info.name(),
            (int)info.HasTrait<paddle::dialect::InplaceTrait>(), (int)info.HasTrait<pir::SideEffectTrait>());
    auto an = info.GetAttributesName();
    for (size_t i = 0; i < an.size(); i++) fprintf(f, "%s\"%s\"", i ? "," : "", an[i].c_str());
    fprintf(f, "]");
    auto *c = info.GetInterfaceImpl<paddle::dialect::OpYamlInfoInterface>();
    if (c) {
      OpInfoTuple t = c->get_op_info_(info.name());
      const char *sep = "";
      fprintf(f, ",\"in\":[");
      for (auto &x : std::get<0>(t)) {
        fprintf(f, "%s[\"%s\",\"%s\",%d,%d]", sep, x.name.c_str(), x.type_name.c_str(), (int)x.optional,
                (int)x.is_mutable_attribute);
        sep = ",";
      }
      sep = "";
      fprintf(f, "],\"attrs\":[");
      for (auto &x : std::get<1>(t)) {
        fprintf(f, "%s[\"%s\",\"%s\",\"%s\"]", sep, x.name.c_str(), x.type_name.c_str(), x.data_type.c_str());
        sep = ",";
      }
      sep = "";
      fprintf(f, "],\"out\":[");
      for (auto &x : std::get<2>(t)) {
        fprintf(f, "%s[\"%s\",\"%s\",%d,%d]", sep, x.name.c_str(), x.type_name.c_str(), (int)x.optional,
                (int)x.intermediate);
        sep = ",";
      }
      fprintf(f, "],\"infer_meta\":\"%s\",\"kernel\":\"%s\"", std::get<3>(t).infer_meta_func.c_str(),
              std::get<3>(t).kernel_func.c_str());
      names(f, "inplace", std::get<3>(t).inplace);
      names(f, "view", std::get<3>(t).view);
    }
    fprintf(f, "}\n");
  }
  return fclose(f) != 0;
}
'''

CHILD = r'''
import ctypes, sys
import paddle
paddle.enable_static()
paddle.base.libpaddle.pir.register_paddle_dialect()
lib = ctypes.CDLL(sys.argv[1])
sys.exit(lib.dump(sys.argv[2].encode()))
'''

TAGS = {
    'pir::BoolAttribute': 'BOOL', 'pir::Int32Attribute': 'I32', 'pir::Int64Attribute': 'I64',
    'pir::FloatAttribute': 'F32', 'pir::DoubleAttribute': 'F64', 'pir::StrAttribute': 'STR',
    'pir::ArrayAttribute<pir::BoolAttribute>': 'ARRAY_BOOL',
    'pir::ArrayAttribute<pir::Int32Attribute>': 'ARRAY_I32',
    'pir::ArrayAttribute<pir::Int64Attribute>': 'ARRAY_I64',
    'pir::ArrayAttribute<pir::FloatAttribute>': 'ARRAY_F32',
    'pir::ArrayAttribute<pir::DoubleAttribute>': 'ARRAY_F64',
    'pir::ArrayAttribute<pir::StrAttribute>': 'ARRAY_STR',
    'pir::ArrayAttribute<paddle::dialect::ScalarAttribute>': 'ARRAY_ANY',
    'pir::ArrayAttribute': 'ARRAY_ANY',
    'paddle::dialect::IntArrayAttribute': 'INT_ARRAY', 'paddle::dialect::DataTypeAttribute': 'DTYPE',
    'paddle::dialect::DataLayoutAttribute': 'LAYOUT', 'paddle::dialect::PlaceAttribute': 'PLACE',
    'paddle::dialect::ScalarAttribute': 'SCALAR', 'pir::PointerAttribute': 'POINTER',
}


def split_args(text):
    """Split a C++ parameter list at the commas of its outer level."""
    out, depth, cur, quoted = [], 0, '', False
    text = text.replace('<<', '\0')  # a shift is no bracket
    for c in text:
        if c == '"':
            quoted = not quoted
        if not quoted:
            depth += c in '<({'
            depth -= c in '>)}'
        if c == ',' and depth == 0 and not quoted:
            out.append(cur.strip())
            cur = ''
        else:
            cur += c.replace('\0', '<<')
    return out + [cur.strip()] if cur.strip() else out


def literal(ctype, text):
    """JSON value of a C++ default argument; None when it is not a plain constant."""
    text = text.strip()
    if text in ('true', 'false'):
        return text == 'true'
    if text.startswith('"'):
        return text[1:-1]
    if text.startswith('{'):
        items = [literal('', x) for x in split_args(text[1:-1])]
        return None if None in items else items
    m = re.fullmatch(r'(?:phi|common)::DataType::(\w+)', text)
    if m:
        return 'Undefined(ALL_DTYPE)' if m[1] == 'UNDEFINED' else m[1].lower()
    if re.fullmatch(r'phi::\w*Place\(\w*\)', text) or text == '{}':
        return [0, 0, ''] if text == 'phi::Place()' else [1, 0, ''] if 'CPU' in text else None
    if re.fullmatch(r'[-+0-9.eE]+[fFlL]*', text):
        text = re.sub('[fFlL]+$', '', text)
        return float(text) if re.search('[.eE]', text) or 'float' in ctype or 'double' in ctype else int(text)
    named = {'INT64_MAX': 2**63 - 1, '(2 << 12) - 1': 8191, '1.0f/8': 0.125, '1.0f/3': 0.3333333432674408}
    return named.get(text)


def header_defaults(include):
    """op name -> {parameter name: default} from the builders' default arguments."""
    out = {}
    for name in ('pd_op.h', 'manual_op.h'):
        path = os.path.join(include, 'paddle/fluid/pir/dialect/operator/ir', name)
        with open(path, encoding='utf-8') as f:
            text = f.read()
        marks = list(re.finditer(r'return "(pd_op\.\w+)"; }', text))
        for i, m in enumerate(marks):
            body = text[m.end():marks[i + 1].start() if i + 1 < len(marks) else len(text)]
            body = body.split('\n};')[0]
            defaults = {}
            for b in re.finditer(r'static void Build\(', body):
                depth, j = 1, b.end()
                while depth:
                    depth += body[j] == '('
                    depth -= body[j] == ')'
                    j += 1
                args = re.sub(r'//\s*NOLINT', '', body[b.end():j - 1]).replace('\n', ' ')
                for arg in split_args(args)[2:]:
                    head, eq, value = arg.partition('=')
                    if not eq:
                        continue
                    v = literal(head, value)
                    if v is None and value.strip() not in ('{}',):
                        print(f'{m[1]}: default {arg!r} not understood', file=sys.stderr)
                    elif v is not None:
                        defaults[head.split()[-1]] = v
            out[m[1]] = defaults
    return out


def main():
    python, out = sys.argv[1], (sys.argv[2] if len(sys.argv) > 2 else '/dev/stdout')
    root = subprocess.run([python, '-c', 'import paddle, sys; print("\\n" + paddle.__path__[0])'], check=True,
                          capture_output=True, text=True).stdout.strip().split('\n')[-1]
    include = os.path.join(root, 'include')
    with tempfile.TemporaryDirectory() as tmp:
        src, lib, raw = (os.path.join(tmp, n) for n in ('probe.cc', 'probe.so', 'raw.jsonl'))
        with open(src, 'w', encoding='utf-8') as f:
            f.write(PROBE)
        subprocess.run(['g++', '-std=c++17', '-O0', '-w', '-fPIC', '-shared', '-DPADDLE_WITH_DNNL', '-I', include, '-I',
                        os.path.join(include, 'third_party'), src, '-o', lib,
                        os.path.join(root, 'base/libpaddle.so')], check=True)
        subprocess.run([python, '-W', 'ignore', '-c', CHILD, lib, raw], check=True)
        with open(raw, encoding='utf-8') as f:
            ops = [json.loads(line) for line in f]
    defaults = header_defaults(include)
    with open(out, 'w', encoding='utf-8') as f:
        for op in sorted(ops, key=lambda o: o['name']):
            name = op['name']
            if not name.startswith(('pd_op.', 'builtin.', 'cf.')) or re.search('_grad(_|_sp|_sr)?$', name):
                continue
            row = {'name': name}
            for flag in ('inplace_trait', 'side_effect'):
                if op[flag]:
                    row[flag] = True
            if 'in' in op:
                own = defaults.get(name, {})
                row['in'] = [[n, 'MI' if mut and 'IntArray' in t else 'M' if mut else
                              ('O' if opt else '') + ('V' if 'VectorType' in t else '' if opt else 'T')]
                             for n, t, opt, mut in op['in']]
                row['attrs'] = [[n, TAGS[t]] + ([own[n]] if n in own else []) for n, t, _ in op['attrs']]
                # A mutable attribute is an argument of the other builder, so it may have a default too.
                moved = {n: own[n] for n, k in row['in'] if n in own}
                if moved:
                    row['operand_defaults'] = moved
                row['out'] = [[n, 'V' if 'VectorType' in t else 'O' if opt else 'T'] + (['~'] if mid else [])
                              for n, t, opt, mid in op['out']]
                for key in ('infer_meta', 'inplace', 'view'):
                    if op[key]:
                        row[key] = op[key]
            elif op['attr_names']:
                row['attr_names'] = op['attr_names']
            f.write(json.dumps(row, separators=(',', ':')) + '\n')


main()
