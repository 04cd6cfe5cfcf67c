#!/usr/bin/env python3
"""How far from the truth are a record, our kernels, and Paddle's? docs/verify.md has what this prints.

usage: float64_truth.py PDMIGRATE MODEL-FOLDER...    (a Python with paddlepaddle 3.3.1)

The truth is a copy of the program in float64 (types, weights, inputs, constants), run by our reference kernels and by Paddle's: how far
these two are apart is printed first. Then the largest absolute distances from it, over all floating-point outputs.
"""
import os
import struct
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "oracle"))
import oracle  # noqa: E402

F32, F64 = 5, 6
SIZE = {0: 1, 1: 2, 2: 4, 3: 8, 4: 2, F32: 4, F64: 8, 20: 1, 21: 1, 22: 2}


def widen_program(pb, path, dest):
    program = pb.ProgramDesc()
    with open(path, "rb") as f:
        program.ParseFromString(f.read())
    for block in program.blocks:
        for v in block.vars:
            for field in ("dense_tensor", "tensor_array"):
                if v.type.HasField(field) and getattr(v.type, field).tensor.data_type == F32:
                    getattr(v.type, field).tensor.data_type = F64
        for a in (a for op in block.ops for a in op.attrs):
            if a.name in ("dtype", "in_dtype", "out_dtype") and a.i == F32:
                a.i = F64
    with open(dest, "wb") as f:
        f.write(program.SerializeToString())


def widen_params(pb, path, dest):
    """Records one after the other: version, LoD, version, description, data."""
    with open(path, "rb") as f:
        data = f.read()
    at, out = 0, []
    while at < len(data):
        first = at
        levels, = struct.unpack_from("<Q", data, at + 4)
        at += 12
        for _ in range(levels):
            at += 8 + struct.unpack_from("<Q", data, at)[0]
        length, = struct.unpack_from("<i", data, at + 4)
        head, at = data[first:at + 4], at + 8
        desc = pb.VarType.TensorDesc()
        desc.ParseFromString(data[at:at + length])
        at += length
        size = int(np.prod(desc.dims, dtype="int64")) * SIZE[desc.data_type]
        value, at = data[at:at + size], at + size
        if desc.data_type == F32:
            value, desc.data_type = np.frombuffer(value, "<f4").astype("<f8").tobytes(), F64
        text = desc.SerializeToString()
        out += [head, struct.pack("<i", len(text)), text, value]
    with open(dest, "wb") as f:
        f.write(b"".join(out))


def optimized(path, params, inputs, onednn):
    from paddle import inference

    config = inference.Config(path, params)
    config.disable_gpu()
    config.disable_glog_info()
    config.enable_mkldnn() if onednn else config.disable_mkldnn()
    config.switch_ir_optim(True)
    return [v for _, v, _ in oracle.run_on_predictor(inference.create_predictor(config), inputs)]


def ours(program, model, io, out, *options):
    subprocess.run([program, "run", model, "--io", io, "-o", out, "--force", "--quiet", *options], check=True)
    return [v for _, v, _ in oracle.outputs_of(oracle.read_npz(out))]


def distance(truth, got):
    pairs = [(t, g) for t, g in zip(truth, got) if t.dtype.kind == "f"]
    if any(t.shape != g.shape for t, g in pairs):
        return "other shapes"
    return "%.1e" % max(np.abs(t.astype("float64") - g).max(initial=0) for t, g in pairs)


def measure(paddle, program, folder, tmp):
    from paddle.base.proto import framework_pb2 as pb

    path, _ = oracle.find_model(folder)
    params, wide = oracle.find_params(path, None), os.path.join(tmp, "inference.pdmodel")
    arrays = oracle.read_npz(os.path.join(folder, "io.npz"))
    record = [v for _, v, _ in oracle.outputs_of(arrays)]
    given = {k: v for k, v in arrays.items() if k.startswith(("in:", "lod:in:"))}
    narrow_io, wide_io, out = (os.path.join(tmp, n) for n in ("in32.npz", "in64.npz", "out.npz"))
    np.savez(narrow_io, **given)
    np.savez(wide_io, **{k: v.astype("float64") if v.dtype == np.float32 else v for k, v in given.items()})
    widen_program(pb, path, wide)
    widen_params(pb, params, os.path.join(tmp, "inference.pdiparams"))
    truth = ours(program, tmp, wide_io, out)
    with paddle.static.scope_guard(paddle.static.Scope()):
        theirs = oracle.run_executor(paddle, wide, "pdmodel", os.path.join(tmp, "inference.pdiparams"),
                                     oracle.inputs_of(oracle.read_npz(wide_io)))
    inputs = oracle.inputs_of(given)
    fast = ours(program, folder, narrow_io, out, "--kernels", "fast")
    subprocess.run([program, "--quiet", folder, "-o", os.path.join(tmp, "O2") + "/", "-O2"], check=True)
    better = os.path.join(tmp, "O2", "inference.json")
    ways = [(name, distance(truth, ours(program, model, narrow_io, out, *options)))
            for name, model, options in (("compiled", folder, ("--compile", "llvm")), ("-O2", better, ()),
                                         ("-O2, fast kernels", better, ("--kernels", "fast")), ("-O2, compiled", better, ("--compile", "llvm")))]
    return [("Paddle in float64", distance(truth, [v for _, v, _ in theirs])), ("record", distance(truth, record)),
            ("reference kernels", distance(truth, ours(program, folder, narrow_io, out))), ("fast kernels", distance(truth, fast)), *ways,
            ("Paddle, optimized", distance(truth, optimized(path, params, inputs, False))),
            ("Paddle, oneDNN", distance(truth, optimized(path, params, inputs, True))), ("fast to record", distance(record, fast))]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    paddle = oracle.import_paddle()
    for folder in sys.argv[2:]:
        with tempfile.TemporaryDirectory() as tmp:
            rows = measure(paddle, os.path.abspath(sys.argv[1]), folder, tmp)
        print("%s: %s" % (os.path.basename(os.path.abspath(folder)), ", ".join("%s %s" % r for r in rows)), flush=True)


if __name__ == "__main__":
    main()
