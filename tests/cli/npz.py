#!/usr/bin/env python3
"""Small .npz files without numpy, for the tests of the program.

  npz.py write OUT.npz KEY=DESCR:SHAPE:VALUES ...   DESCR as in numpy ('<f4'), SHAPE 2x3 or empty, VALUES a,b,c
                                                    (one value fills the array; after '@' DESCR is written as it is)
  npz.py diff WANT.npz GOT.npz                      all out: arrays of WANT by position, within 1e-5; exit 1 and why
  npz.py keys FILE.npz                              the keys, one a line
"""
import ast
import math
import struct
import sys
import zipfile

CODES = {"b1": "?", "i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q",
         "f2": "e", "f4": "f", "f8": "d"}


def make_npy(descr, shape, values):
    count = math.prod(shape)
    if len(values) == 1:
        values = values * count
    code = CODES[descr.lstrip("<>|")]
    convert = float if code in "efd" else int
    order = ">" if descr[0] == ">" else "<"
    data = struct.pack("%s%d%s" % (order, count, code), *[convert(v) for v in values[:count]])
    header = "{'descr': %r, 'fortran_order': False, 'shape': %r, }" % (descr, tuple(shape))
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def read_npy(data):
    size = struct.unpack("<H", data[8:10])[0]
    h = ast.literal_eval(data[10:10 + size].decode())
    code = CODES[h["descr"].lstrip("<|")]
    count = math.prod(h["shape"])
    return h["descr"], h["shape"], struct.unpack("<%d%s" % (count, code), data[10 + size:])


def read(path):
    with zipfile.ZipFile(path) as z:
        assert z.testzip() is None
        return {n[:-4]: read_npy(z.read(n)) for n in z.namelist()}


def same(a, b):
    if isinstance(a, float) or isinstance(b, float):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return a == b or abs(a - b) <= 1e-5 + 1e-5 * abs(a)
    return a == b


def diff(want, got):
    def outputs(path):
        return {k.split(":")[1]: v for k, v in read(path).items() if k.startswith("out:")}

    want, got = outputs(want), outputs(got)
    if not want or want.keys() - got.keys():
        return "outputs %s and %s" % (sorted(want), sorted(got))
    for k in want:
        if want[k][:2] != got[k][:2]:
            return "output %s: %s and %s" % (k, want[k][:2], got[k][:2])
        bad = [i for i, (a, b) in enumerate(zip(want[k][2], got[k][2])) if not same(a, b)]
        if bad:
            return "output %s: element %d is %r, not %r" % (k, bad[0], got[k][2][bad[0]], want[k][2][bad[0]])
    return None


def main():
    what, args = sys.argv[1], sys.argv[2:]
    if what == "write":
        with zipfile.ZipFile(args[0], "w", zipfile.ZIP_DEFLATED) as z:
            for word in args[1:]:
                key, _, rest = word.partition("=")
                descr, shape, values = rest.split(":")
                shape = [int(n) for n in shape.split("x")] if shape else []
                z.writestr(key + ".npy", make_npy(descr, shape, values.split(",")))
    elif what == "diff":
        sys.exit(diff(*args))
    elif what == "keys":
        print("\n".join(read(args[0])))


main()
