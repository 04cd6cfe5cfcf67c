#!/usr/bin/env python3
"""Bad inputs for pdmigrate run, record and verify: each ends with the exit status and message that are wanted, and writes nothing.

usage: bad_inputs.py PDMIGRATE PIR_MODEL LEGACY_MODEL WORK_FOLDER

PIR_MODEL has the inputs x (float32[2, 3]) and n (int64[1]); LEGACY_MODEL has an input with LoD. Prints TAP.
"""
import os
import re
import struct
import subprocess
import sys
import warnings
import zipfile

PROGRAM, PIR, LEGACY, WORK = sys.argv[1:5]
count = failed = 0
warnings.filterwarnings("ignore")  # one of the archives has a name twice


def npy(descr="<f4", shape="(2, 3)", data=b"\0" * 24, fortran="False", version=1, magic=b"\x93NUMPY", header=None):
    header = ("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, fortran, shape) if header is None else header).encode()
    size = struct.pack("<H", len(header)) if version == 1 else struct.pack("<I", len(header))
    return magic + bytes((version, 0)) + size + header + data


GOOD = {"x": npy(), "n": npy("<i8", "(1,)", struct.pack("<q", 1))}


def archive(entries, patch=None, tail=b"", method=zipfile.ZIP_DEFLATED):
    path = os.path.join(WORK, "in.npz")
    with zipfile.ZipFile(path, "w", method) as z:
        for key, data in entries:
            z.writestr(key + ".npy", data)
    data = bytearray(open(path, "rb").read())
    if patch:
        patch(data)
    open(path, "wb").write(bytes(data) + tail)
    return path


def with_x(data, **more):
    return archive([("x", data), ("n", GOOD["n"])], **more)


def check(name, path, code, pattern, model=PIR, commands=("run", "verify", "record")):
    global count, failed
    out = os.path.join(WORK, "out.npz")
    problems = []
    for command in commands:
        args = [PROGRAM, command, model, "--io", path] + ([] if command == "verify" else ["-o", out])
        p = subprocess.run(args, capture_output=True, timeout=120)
        err = p.stderr.decode("utf-8", "replace")
        if p.returncode != code or not re.search(pattern, err):
            problems.append("%s: exit %d, %s" % (command, p.returncode, err.strip()))
        if os.path.exists(out):
            problems.append("%s left an output" % command)
            os.unlink(out)
    count += 1
    failed += bool(problems)
    print("%sok %d - %s" % ("not " * bool(problems), count, name))
    for line in problems:
        print("# " + line.replace("\n", "\n# "))


def lod(*offsets):
    return npy("<i8", "(%d,)" % len(offsets), struct.pack("<%dq" % len(offsets), *offsets))


def claims(size):
    """The archive says that each entry unpacks to so much."""
    def patch(data):
        for signature, offset in ((b"PK\3\4", 22), (b"PK\1\2", 24)):
            at = data.find(signature)
            while at >= 0:
                data[at + offset:at + offset + 4] = struct.pack("<I", size)
                at = data.find(signature, at + 1)
    return patch


def flip(data):
    data[40] ^= 0x55  # in the packed data of the first entry


# ---- what does not fit the model
check("another shape", with_x(npy(shape="(3, 2)")), 2, r"float32\[3, 2\].*wants float32\[2, 3\]")
check("another rank", with_x(npy(shape="(6,)")), 2, r"float32\[6\].*wants")
check("0-D", with_x(npy(shape="()", data=b"\0" * 4)), 2, r"float32\[\].*wants")
check("no elements", with_x(npy(shape="(0, 3)", data=b"")), 2, r"float32\[0, 3\].*wants")
check("another element type", with_x(npy("<f8", data=b"\0" * 48)), 2, "float64.*wants float32")
check("bool for float", with_x(npy("|b1", data=b"\0" * 6)), 2, "bool.*wants float32")
check("uint16 is bfloat16 only where that is wanted", with_x(npy("<u2", data=b"\0" * 12)), 2, "uint16.*wants float32")
check("an input is missing", archive([("x", GOOD["x"])]), 2, "no data for input 'n'")
check("all inputs are missing", archive([("y", GOOD["x"])]), 2, "no data for input 'x'(.|\n)*no data for input 'n'")
check("an input too many", archive([("x", GOOD["x"]), ("n", GOOD["n"]), ("in:m", GOOD["n"])]), 2, "no input 'm'")
check("an archive of nothing", archive([]), 2, "no data for input 'x'")
for end in ((0, 1), (0, 3), (0, 1, 1, 9), (1, 2), (0, 2, 1, 2), (-1, 2), (0, 2 ** 62, 2), ()):
    check("LoD that does not fit: %s" % (end,), archive([("in:x", GOOD["x"]), ("n", GOOD["n"]), ("lod:in:x:0", lod(*end))]), 2,
          "LoD of input 'x' does not fit")
check("LoD of another type", archive([("in:x", GOOD["x"]), ("n", GOOD["n"]), ("lod:in:x:0", npy("<f4", "(2,)", b"\0" * 8))]), 2,
      "LoD")

# ---- sizes
check("a negative size", with_x(npy(shape="(-2, 3)")), 5, "in.npz")
check("NaN for a size", with_x(npy(shape="(nan, 3)")), 5, "in.npz")
check("half a size", with_x(npy(shape="(2.5, 3)")), 5, "in.npz")
check("a size beyond 64 bits", with_x(npy(shape="(99999999999999999999999, 3)")), 5, "in.npz")
check("sizes that overflow", with_x(npy(shape="(4294967296, 4294967296, 4294967296)")), 5, "in.npz")
check("sizes that are large", with_x(npy(shape="(1000000000, 1000000)")), 5, "in.npz")
check("too many dimensions", with_x(npy(shape="(" + "1, " * 40 + ")", data=b"\0" * 4)), 5, "in.npz")
check("less data than the shape says", with_x(npy(data=b"\0" * 20)), 5, "in.npz")
check("more data than the shape says", with_x(npy(data=b"\0" * 28)), 5, "in.npz")

# ---- arrays that are none
check("big-endian", with_x(npy(">f4")), 5, "big-endian")
check("objects", with_x(npy("|O")), 5, "in.npz")
check("strings", with_x(npy("<U8")), 5, "in.npz")
check("records", with_x(npy(header="{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }")), 5, "in.npz")
check("an unknown type", with_x(npy("<f3")), 5, "in.npz")
check("no magic", with_x(npy(magic=b"\x93NUMPX")), 5, "in.npz")
check("a version of tomorrow", with_x(npy(version=9)), 5, "in.npz")
check("no header", with_x(b"\x93NUMPY\1\0"), 5, "in.npz")
check("a header without end", with_x(npy(header="{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3")), 5, "in.npz")
check("a header of brackets", with_x(npy(header="(" * 60000)), 5, "in.npz")
check("a header without shape", with_x(npy(header="{'descr': '<f4', 'fortran_order': False}")), 5, "in.npz")
check("a header longer than the file", with_x(b"\x93NUMPY\1\0\xff\xff{"), 5, "in.npz")
check("no bytes", with_x(b""), 5, "in.npz")

# ---- archives that are none
whole = open(with_x(GOOD["x"]), "rb").read()
for part in (0, 1, 4, 30, 100, len(whole) // 2, len(whole) - 30, len(whole) - 1):
    path = os.path.join(WORK, "in.npz")
    open(path, "wb").write(whole[:part])
    check("cut off after %d bytes" % part, path, 5, "in.npz")
open(path, "wb").write(bytes(range(256)) * 20)
check("rubbish", path, 5, "in.npz")
check("a damaged entry", with_x(GOOD["x"], patch=flip), 5, "in.npz")
check("the same key twice", archive([("x", GOOD["x"]), ("n", GOOD["n"]), ("x", GOOD["x"])]), 5, "in.npz")
check("a bomb that says so", with_x(npy(shape="(4000000, 1000)", data=b"\0" * 1000), patch=claims(0xfffffff0)), 5, "in.npz")
check("a bomb that hides", with_x(npy(data=b"\0" * 30000000)), 5, "in.npz")
check("a folder", WORK, 5, "directory|folder|regular")
check("no file", os.path.join(WORK, "none.npz"), 5, "No such file")

# ---- names
check("a long name", archive([("x", GOOD["x"]), ("n", GOOD["n"]), ("in:" + "a" * 60000, GOOD["n"])]), 2, "no input 'a")
check("a name with markup", archive([("x", GOOD["x"]), ("n", GOOD["n"]), ("in:<b>\"'&\x1b[31m", GOOD["n"])]), 2, "no input")

# ---- legacy models go the same way
check("legacy: nothing that it wants", archive([("in:nobody", GOOD["x"])]), 2, "no input 'nobody'|no data for input", LEGACY)
check("legacy: another type", archive([("nobody", GOOD["x"])]), 2, "no data for input", LEGACY)
print("1..%d" % count)
sys.exit(failed > 0)
