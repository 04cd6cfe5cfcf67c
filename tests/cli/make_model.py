#!/usr/bin/env python3
"""Write a small legacy program, and parameter files that fit it or do not.

usage: make_model.py FOLDER KIND

The program is y = relu(x @ w) with x [-1, 4], w [4, 3]; KIND says what is special about it:
  unused      parameters `a` and `z` that no op reads, around the used `w`
  separate    the same, one file per parameter, none for `a`
  missing     the same, none for `w`
  unknown     w is declared [-1, 3]
  scalar      a scale of shape [1] is [] in the file
  int8        a weight declared float32 is int8 in the file, and only dequantize_linear reads it
  int8_used   the same, but relu reads it too
  differs     w has another shape, and z another element type, in the file
  large       w has 3 GiB, nearly all of it a hole
"""
import os
import struct
import sys

FP32, INT8, INT32 = 5, 21, 2
SIZE = {FP32: 4, INT8: 1, INT32: 4}


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))


def num(field, value):
    return varint(field << 3) + varint(value)


def sub(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def tensor_desc(dtype, dims):
    return num(1, dtype) + b"".join(num(2, d) for d in dims)


def var(name, dtype, dims, persistable=False):
    kind = num(1, 7) + sub(3, sub(1, tensor_desc(dtype, dims)))
    return sub(3, sub(1, name) + sub(2, kind) + num(3, persistable) + num(4, name == "x"))


def special_var(name, kind):
    return sub(3, sub(1, name) + sub(2, num(1, kind)) + num(3, 1))


def slot(field, name, *args):
    return sub(field, sub(1, name) + b"".join(sub(2, a) for a in args))


def int_attr(name, value):
    return sub(4, sub(1, name) + num(2, 0) + num(3, value))


def op(kind, inputs, outputs, **attrs):
    return sub(4, b"".join(slot(1, k, v) for k, v in inputs.items()) + b"".join(slot(2, k, v) for k, v in outputs.items())
               + sub(3, kind) + b"".join(int_attr(k, v) for k, v in attrs.items()))


def program(params, body, last):
    variables = special_var("feed", 9) + special_var("fetch", 10) + var("x", FP32, [-1, 4])
    variables += b"".join(var(n, t, d, True) for n, t, d in params)
    ops = op("feed", {"X": "feed"}, {"Out": "x"}, col=0) + body + op("fetch", {"X": last}, {"Out": "fetch"}, col=0)
    return sub(1, num(1, 0) + num(2, -1) + variables + ops) + sub(4, num(1, 2006002))


def record(dtype, dims, seed):
    count = 1
    for d in dims:
        count *= d
    desc = tensor_desc(dtype, dims)
    data = bytes((seed + i) % 64 for i in range(count * SIZE[dtype]))
    return struct.pack("<IQIi", 0, 0, 0, len(desc)) + desc + data


def main():
    folder, kind = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    declared = [("w", FP32, [4, 3]), ("a", FP32, [2]), ("z", FP32, [5])]
    stored = {n: (t, d) for n, t, d in declared}
    body = var("h", FP32, [-1, 3]) + var("y", FP32, [-1, 3])
    body += op("mul", {"X": "x", "Y": "w"}, {"Out": "h"}, x_num_col_dims=1, y_num_col_dims=1) + op("relu", {"X": "h"}, {"Out": "y"})
    if kind == "unknown":
        declared[0] = ("w", FP32, [-1, 3])
    elif kind == "large":
        declared[0] = ("w", FP32, [1 << 28, 3])
    elif kind == "differs":
        stored["w"] = (FP32, [3, 4])
        stored["z"] = (INT32, [5])
    elif kind in ("scalar", "int8", "int8_used"):
        declared = [("q", FP32, [4]), ("s", FP32, [1]), ("p", FP32, [1])]
        stored = {"q": (INT8, [4]), "s": (FP32, []), "p": (FP32, [1])}
        if kind == "scalar":
            declared[0] = ("q", INT8, [4])
        body = var("y", FP32, [4]) + var("u", FP32, [4])
        body += op("dequantize_linear", {"X": "q", "Scale": "s", "ZeroPoint": "p"}, {"Y": "y"}, quant_axis=-1, bit_length=8)
        if kind == "int8_used":
            body += op("relu", {"X": "q"}, {"Out": "u"})
    with open(os.path.join(folder, "model.pdmodel" if kind not in ("separate", "missing") else "__model__"), "wb") as f:
        f.write(program(declared, body, "y"))
    names = sorted(stored)
    if kind == "large":
        with open(os.path.join(folder, "model.pdiparams"), "wb") as f:
            f.write(record(FP32, [2], 0))
            desc = tensor_desc(FP32, [1 << 28, 3])
            f.write(struct.pack("<IQIi", 0, 0, 0, len(desc)) + desc)
            f.seek(3 << 30, os.SEEK_CUR)
            f.write(record(FP32, [5], 1))
        return
    if kind in ("separate", "missing"):
        for n in names:
            if n != ("a" if kind == "separate" else "w"):
                with open(os.path.join(folder, n), "wb") as f:
                    f.write(record(*stored[n], names.index(n)))
        return
    with open(os.path.join(folder, "model.pdiparams"), "wb") as f:
        for i, n in enumerate(names):
            f.write(record(*stored[n], i))
    with open(os.path.join(folder, "used"), "wb") as f:
        for i, n in enumerate(names):
            if n not in ("a", "z"):
                f.write(record(*stored[n], i))


main()
