#!/usr/bin/env python3
"""Write legacy programs of any size, and sparse parameter files of any size, without the framework.

usage: programs.py chain OPS OUT.pdmodel            a chain of common ops, without parameters
       programs.py sparse GIB OUT.pdmodel           adds parameters of GIB gibibytes; OUT.pdiparams is a file of holes
"""
import struct
import sys

FP32, DENSE, FEED, FETCH = 5, 7, 9, 10
INT, FLOAT, STRING, INTS, BOOLEAN = 0, 1, 2, 3, 6


# ---- protobuf wire format: what ProgramDesc needs of it ------------------------------------------------------

def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def num(field, n):
    return varint(field << 3) + varint(n)


def blob(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def float32(field, x):
    return varint(field << 3 | 5) + struct.pack("<f", x)


# ---- ProgramDesc --------------------------------------------------------------------------------------------

def tensor_desc(dims):
    return num(1, FP32) + b"".join(num(2, d) for d in dims)


def var(name, dims=None, kind=DENSE, persistable=False, feed=False):
    t = num(1, kind)
    if kind == DENSE:
        t += blob(3, blob(1, tensor_desc(dims)) + num(2, 0))
    v = blob(1, name) + blob(2, t) + num(3, persistable)
    return blob(3, v + (num(4, 1) if feed else b""))


def attr(name, kind, value):
    a = blob(1, name) + num(2, kind)
    if kind == INT:
        a += num(3, value)
    elif kind == FLOAT:
        a += float32(4, value)
    elif kind == STRING:
        a += blob(5, value)
    elif kind == INTS:
        a += b"".join(num(6, v) for v in value)
    elif kind == BOOLEAN:
        a += num(10, value)
    return blob(4, a)


def slots(field, values):
    return b"".join(blob(field, blob(1, slot) + b"".join(blob(2, n) for n in names)) for slot, names in values.items())


def op(kind, inputs, outputs, *attrs):
    return blob(4, slots(1, inputs) + slots(2, outputs) + blob(3, kind) + b"".join(attrs))


def program(vars_and_ops):
    block = num(1, 0) + num(2, -1) + b"".join(vars_and_ops)
    return blob(1, block) + blob(4, num(1, 2006002))


def frame(variables, ops, dims, output):
    """A program with one input x and one output."""
    head = [var("feed", kind=FEED, persistable=True), var("fetch", kind=FETCH, persistable=True), var("x", dims, feed=True)]
    first = op("feed", {"X": ["feed"]}, {"Out": ["x"]}, attr("col", INT, 0))
    last = op("fetch", {"X": [output]}, {"Out": ["fetch"]}, attr("col", INT, 0))
    return program(head + variables + [first] + ops + [last])


def chain(count):
    """About `count` ops in a row: what networks are made of, in fixed proportions."""
    dims, ops, variables, last, before = [-1, 64], [], [], "x", "x"
    for i in range(count - 2):
        out = "t%d" % i
        turn = i % 5
        if turn == 0:
            o = op("relu", {"X": [last]}, {"Out": [out]})
        elif turn == 1:
            o = op("elementwise_add", {"X": [last], "Y": [before]}, {"Out": [out]}, attr("axis", INT, -1))
        elif turn == 2:
            o = op("scale", {"X": [last]}, {"Out": [out]}, attr("scale", FLOAT, 0.5), attr("bias", FLOAT, 0.25),
                   attr("bias_after_scale", BOOLEAN, True))
        elif turn == 3:
            o = op("softmax", {"X": [last]}, {"Out": [out]}, attr("axis", INT, -1))
        else:
            variables.append(var(out + ".s", [0] + dims))
            o = op("reshape2", {"X": [last]}, {"Out": [out], "XShape": [out + ".s"]}, attr("shape", INTS, [-1, 64]))
        ops.append(o)
        variables.append(var(out, dims))
        before, last = last, out
    return frame(variables, ops, dims, last)


def sparse(gib):
    """-> (program, [(name, dims)]): `gib` parameters of 1 GiB, the first row of each added to x."""
    dims, rows = [-1, 1024], (1 << 30) // (4 * 1024)
    ops, variables, params, last = [], [], [], "x"
    for i in range(gib):
        w, row, out = "w%03d" % i, "r%03d" % i, "s%03d" % i
        params.append((w, [rows, 1024]))
        variables += [var(w, [rows, 1024], persistable=True), var(row, [1, 1024]), var(out, dims)]
        ops.append(op("slice", {"Input": [w]}, {"Out": [row]}, attr("axes", INTS, [0]), attr("starts", INTS, [0]),
                      attr("ends", INTS, [1])))
        ops.append(op("elementwise_add", {"X": [last], "Y": [row]}, {"Out": [out]}, attr("axis", INT, -1)))
        last = out
    return frame(variables, ops, dims, last), params


def write_sparse_params(path, params):
    """A combined parameter file whose data are holes."""
    with open(path, "wb") as f:
        for _, dims in sorted(params):
            desc = tensor_desc(dims)
            f.write(struct.pack("<IQIi", 0, 0, 0, len(desc)) + desc)
            size = 4
            for d in dims:
                size *= d
            f.seek(size, 1)
        f.truncate()


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("chain", "sparse"):
        sys.exit(__doc__)
    what, size, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    if what == "chain":
        data = chain(size)
    else:
        data, params = sparse(size)
        write_sparse_params(out.rsplit(".", 1)[0] + ".pdiparams", params)
    with open(out, "wb") as f:
        f.write(data)


if __name__ == "__main__":
    main()
