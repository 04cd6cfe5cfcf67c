#!/usr/bin/env python
"""Make the cases of fixtures/cases-own with paddlepaddle 2.6.2 (numpy < 2), CPU.

usage: make_own_cases.py OUTDIR [NAME...]        NAME: the beginning of a case name

Each case is one legacy op (or a few) in a program of its own: OUTDIR/NAME/model.pdmodel and io.npz with the
inputs and the outputs that the 2.6.2 executor computes. A case is a function in the table below: it
gets a builder, declares inputs, appends ops, and names outputs. Random numbers are seeded by the case name.
"""
import os
import sys
import zlib

os.environ.setdefault("GLOG_minloglevel", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("FLAGS_use_mkldnn", "0")

import numpy as np
import paddle

CASES = {}


class Builder:
    def __init__(self, name):
        self.rng = np.random.RandomState(zlib.crc32(name.encode()) & 0x7FFFFFFF)
        self.block = paddle.static.default_main_program().global_block()
        self.feeds, self.lods, self.fetch, self.count = {}, {}, [], 0

    def x(self, name, value, shape=None, lod=None):
        """An input; shape: as declared (-1: any), lod: lists of offsets."""
        value = np.asarray(value)
        v = self.block.create_var(name=name, shape=list(value.shape if shape is None else shape), dtype=str(value.dtype),
                                  lod_level=len(lod or []), is_data=True, need_check_feed=True, stop_gradient=True)
        self.feeds[name] = value
        self.lods[name] = lod
        return v

    def randn(self, *shape, dtype="float32"):
        return self.rng.randn(*shape).astype(dtype)

    def rand(self, *shape, dtype="float32"):
        return self.rng.rand(*shape).astype(dtype)

    def var(self, dtype="float32", name=None, kind=None):
        self.count += 1
        kw = {"type": kind} if kind else {"dtype": dtype}
        return self.block.create_var(name=name or "t%d" % self.count, **kw)

    def op(self, type, inputs, outputs, attrs=None, fetch=True):
        """outputs: slot -> dtype, or a Variable that exists; gives the variables in order."""
        made = {s: [self.var(d) if isinstance(d, str) else d] for s, d in outputs.items()}
        self.block.append_op(type=type, inputs=inputs, outputs=made, attrs=attrs or {})
        vs = [made[s][0] for s in outputs]
        if fetch:
            self.fetch += [v for v, s in zip(vs, outputs) if fetch is True or s in fetch]
        return vs


def write_known(name, out, ops, inputs, outputs, declared=None):
    """A program that 2.6.2 cannot run (the op lost its kernel, or is gone): outputs are given, from the op's documented meaning.

    ops: [(type, {slot: [names]}, {slot: [names]}, {attr: value})]; a str, bool, int, float or list of ints or floats as value."""
    from paddle.base.proto import framework_pb2 as pb

    prog = pb.ProgramDesc()
    prog.version.version = 1008000
    block = prog.blocks.add(idx=0, parent_idx=-1)

    def var(name, kind, value=None, shape=None):
        v = block.vars.add(name=name, persistable=kind != 7)
        v.type.type = kind
        if kind == 7:
            v.type.lod_tensor.tensor.data_type = paddle.base.framework.convert_np_dtype_to_dtype_(value.dtype)
            v.type.lod_tensor.tensor.dims.extend(shape or value.shape)
            v.need_check_feed = name in inputs

    def op(type, ins, outs, attrs):
        o = block.ops.add(type=type)
        for field, slots in ((o.inputs, ins), (o.outputs, outs)):
            for slot, names in slots.items():
                field.add(parameter=slot).arguments.extend(names)
        for key, v in attrs.items():
            a = o.attrs.add(name=key, type=pb.AttrType.Value("STRING"))
            for kind, field, test in (("BOOLEAN", "b", bool), ("INT", "i", int), ("FLOAT", "f", float), ("STRING", "s", str)):
                if isinstance(v, test):
                    a.type = pb.AttrType.Value(kind)
                    setattr(a, field, v)
                    break
            else:
                real = any(isinstance(e, float) for e in v)
                a.type = pb.AttrType.Value("FLOATS" if real else "INTS")
                (a.floats if real else a.ints).extend(v)

    var("feed", 9)
    var("fetch", 10)
    for n, v in list(inputs.items()) + list(outputs.items()):
        var(n, 7, v, (declared or {}).get(n))
    for i, n in enumerate(inputs):
        op("feed", {"X": ["feed"]}, {"Out": [n]}, {"col": i})
    for o in ops:
        op(*o)
    for i, n in enumerate(outputs):
        op("fetch", {"X": [n]}, {"Out": ["fetch"]}, {"col": i})
    os.makedirs(os.path.join(out, name), exist_ok=True)
    with open(os.path.join(out, name, "model.pdmodel"), "wb") as f:
        f.write(prog.SerializeToString())
    np.savez_compressed(os.path.join(out, name, "io.npz"), **{"in:" + n: v for n, v in inputs.items()},
                        **{"out:%d:%s" % (i, n): v for i, (n, v) in enumerate(outputs.items())})


KNOWN = {}


def known(name, type, inputs, outputs, attrs=None, declared=None):
    """One op with slots as names of inputs and outputs: {slot: value or [values]}."""
    ins = {k + (str(i) if isinstance(v, list) else ""): x for k, v in inputs.items() for i, x in enumerate(v if isinstance(v, list) else [v])}
    slots = {k: [k + str(i) for i in range(len(v))] if isinstance(v, list) else [k] for k, v in inputs.items()}
    KNOWN[name] = ([(type, slots, {k: [k] for k in outputs}, attrs or {})], ins, outputs, declared)


def case(fn):
    CASES[fn.__name__] = fn
    return fn


def each(**variants):
    """A case for each variant: case NAME__KEY calls the function with the value."""
    def deco(fn):
        for key, value in variants.items():
            CASES["%s__%s" % (fn.__name__, key)] = lambda b, value=value: fn(b, *(value if isinstance(value, tuple) else (value,)))
        return fn
    return deco


def write(name, fn, out):
    paddle.enable_static()
    with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        b = Builder(name)
        fn(b)
        prog = paddle.static.default_main_program()
        exe = paddle.static.Executor(paddle.CPUPlace())
        feed = {}
        for n, value in b.feeds.items():
            feed[n] = value
            if b.lods[n]:
                feed[n] = paddle.base.core.LoDTensor()
                feed[n].set(value, paddle.CPUPlace())
                feed[n].set_lod(b.lods[n])
        with paddle.static.scope_guard(paddle.static.Scope()):
            got = exe.run(prog, feed=feed, fetch_list=b.fetch, return_numpy=False, use_program_cache=False)
        arrays = {}
        for n, value in b.feeds.items():
            arrays["in:" + n] = value
            for i, level in enumerate(b.lods[n] or []):
                arrays["lod:in:%s:%d" % (n, i)] = np.asarray(level, "int64")
        for i, (v, t) in enumerate(zip(b.fetch, got)):
            arrays["out:%d:%s" % (i, v.name)] = np.array(t)
            for k, level in enumerate(t.lod()):
                arrays["lod:out:%s:%d" % (v.name, k)] = np.asarray(level, "int64")
        feeds = [b.block.var(n) for n in b.feeds]
        prog = paddle.static.normalize_program(prog, feeds, b.fetch)
        folder = os.path.join(out, name)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "model.pdmodel"), "wb") as f:
            f.write(prog.desc.serialize_to_string())
        np.savez_compressed(os.path.join(folder, "io.npz"), **arrays)


# ---- shape ops -----------------------------------------------------------------------------------------------

INTERP = {1: "linear", 2: "bilinear", 3: "trilinear"}


def interp(b, type, shape, declared=None, inputs=None, **attrs):
    method = type[: -len("_interp")]
    x = b.x("x", b.randn(*shape), declared)
    a = dict(data_layout="NCHW", out_d=-1, out_h=-1, out_w=-1, scale=0.0, interp_method=method, align_corners=False, align_mode=0)
    a.update(attrs)
    ins = {"X": [x]}
    for slot, arrays in (inputs or {}).items():
        ins[slot] = [b.x("%s%d" % (slot.lower(), i), v) for i, v in enumerate(arrays)]
    b.op(type, ins, {"Out": "float32"}, a)


I32 = np.int32
@each(bilinear_scale15=("bilinear_interp", (1, 2, 5, 7), None, None, dict(scale=1.5, align_mode=1)),
      bilinear_scale15_dynamic=("bilinear_interp", (1, 2, 5, 7), (-1, 2, -1, -1), None, dict(scale=1.5)),
      bilinear_scale2_dynamic=("bilinear_interp", (1, 2, 5, 7), (-1, 2, -1, -1), None, dict(scale=2.0)),
      bilinear_align=("bilinear_interp", (2, 2, 5, 7), None, None, dict(out_h=9, out_w=4, align_corners=True, align_mode=1)),
      bilinear_nhwc=("bilinear_interp", (2, 5, 7, 3), None, None, dict(out_h=9, out_w=4, data_layout="NHWC")),
      bilinear_scale_tensor=("bilinear_interp", (1, 2, 5, 7), (1, 2, -1, -1), {"Scale": [np.float32([1.5])]}, {}),
      bilinear_size_list=("bilinear_interp", (1, 2, 5, 7), None, {"SizeTensor": [I32([6]), I32([9])]}, {}),
      bilinear_size_tensor=("bilinear_interp", (1, 2, 5, 7), None, {"OutSize": [I32([6, 9])]}, dict(scale=3.0)),
      nearest_scale15=("nearest_interp", (1, 2, 5, 7), None, None, dict(scale=1.5)),
      nearest_align=("nearest_interp", (1, 2, 5, 7), None, None, dict(out_h=8, out_w=11, align_corners=True)),
      nearest_one=("nearest_interp", (1, 2, 5, 7), None, None, dict(out_h=1, out_w=1, align_corners=True)),
      nearest_nhwc=("nearest_interp", (1, 5, 7, 2), None, None, dict(scale=2.0, data_layout="NHWC")),
      bicubic_align=("bicubic_interp", (1, 2, 5, 7), None, None, dict(out_h=8, out_w=11, align_corners=True)),
      bicubic_scale15=("bicubic_interp", (1, 2, 5, 7), None, None, dict(scale=1.5)),
      linear_scale15=("linear_interp", (1, 2, 7), None, None, dict(scale=1.5, align_mode=1)),
      linear_size_tensor=("linear_interp", (1, 2, 7), None, {"OutSize": [I32([9])]}, {}),
      trilinear_scale15=("trilinear_interp", (1, 1, 3, 5, 4), None, None, dict(scale=1.5, align_mode=1)),
      trilinear_align=("trilinear_interp", (1, 1, 3, 5, 4), None, None, dict(out_d=5, out_h=7, out_w=3, align_corners=True)))
def interp_v1(b, type, shape, declared, inputs, attrs):
    interp(b, type, shape, declared, inputs, **attrs)


@each(axis0=(0, (2, 3, 4), None), axis3=(3, (2, 3, 4), None), axis1_dynamic=(1, (2, 3, 4), (-1, -1, 4)), axis2_dynamic=(2, (2, 3, 4, 5), (-1, 3, -1, -1)),
      axis0_dynamic=(0, (2, 3, 4), (-1, -1, 4)))
def flatten2(b, axis, shape, declared):
    b.op("flatten2", {"X": [b.x("x", b.randn(*shape), declared)]}, {"Out": "float32", "XShape": "float32"}, {"axis": axis}, fetch=["Out"])


@each(tensor=({"ExpandTimes": [I32([2, 1, 3])]},), list=({"expand_times_tensor": [I32([2]), I32([1]), I32([3])]},))
def expand(b, inputs):
    ins = {"X": [b.x("x", b.randn(2, 3, 2), (-1, 3, -1))]}
    for slot, arrays in inputs.items():
        ins[slot] = [b.x("e%d" % i, v) for i, v in enumerate(arrays)]
    b.op("expand", ins, {"Out": "float32"}, {"expand_times": [-1, 1, -1]})


@case
def expand__i64(b):
    b.op("expand", {"X": [b.x("x", b.rng.randint(0, 9, (2, 3)).astype("int64"))]}, {"Out": "int64"}, {"expand_times": [2, 2]})


@case
def expand__bool(b):
    b.op("expand", {"X": [b.x("x", b.rng.randint(0, 2, (2, 3)).astype("bool"))]}, {"Out": "bool"}, {"expand_times": [2, 2]})


@case
def crop__by_y(b):
    b.op("crop", {"X": [b.x("x", b.randn(4, 5, 3))], "Y": [b.x("y", b.randn(2, 3, 1), (-1, 3, 1))]}, {"Out": "float32"}, {"offsets": [1, 2, 0], "shape": []})


@case
def crop__offset_tensor(b):
    b.op("crop", {"X": [b.x("x", b.randn(4, 5))], "Offsets": [b.x("o", I32([1, 2]))]}, {"Out": "float32"}, {"offsets": [], "shape": [3, 2]})


@case
def crop__batch(b):
    b.op("crop", {"X": [b.x("x", b.randn(4, 5), (-1, 5))]}, {"Out": "float32"}, {"offsets": [0, 2], "shape": [-1, 2]})


@case
def top_k__k_tensor(b):
    b.op("top_k", {"X": [b.x("x", b.randn(3, 2, 6), (-1, 2, 6))], "K": [b.x("k", I32([3]))]}, {"Out": "float32", "Indices": "int64"}, {"k": 1})


@each(f64=("float64",), i64=("int64",))
def fill_zeros_like(b, dtype):
    b.op("fill_zeros_like", {"X": [b.x("x", b.randn(2, 3).astype(dtype))]}, {"Out": dtype})


@case
def fill_zeros_like2__i32(b):
    b.op("fill_zeros_like2", {"X": [b.x("x", b.randn(2, 3).astype("int32"))]}, {"Out": "int32"}, {"dtype": 2})


@each(nan=("isnan",), inf=("isinf",))
def overflow(b, type):
    b.op(type, {"X": [b.x("x", b.randn(2, 3, 4))]}, {"Out": "bool"})


@each(i32=(2,), i64=(3,))
def unique_with_counts(b, dtype):
    name = {2: "int32", 3: "int64"}[dtype]
    b.op("unique_with_counts", {"X": [b.x("x", b.rng.randint(0, 5, 17).astype("float32"), (-1,))]}, {"Out": "float32", "Index": name, "Count": name}, {"dtype": dtype})


# ---- losses --------------------------------------------------------------------------------------------------

def probs(b, *shape):
    p = b.rand(*shape) + 0.05
    return (p / p.sum(-1, keepdims=True)).astype("float32")


@case
def cross_entropy__ignored(b):
    x = probs(b, 2, 4, 5)
    x[0, 0, 3] = 0.0
    label = np.array([[[3], [1], [-100], [4]], [[0], [2], [2], [-100]]], "int64")
    b.op("cross_entropy", {"X": [b.x("x", x, (-1, 4, 5))], "Label": [b.x("l", label, (-1, 4, 1))]}, {"Y": "float32"}, dict(soft_label=False, ignore_index=-100))


@case
def cross_entropy__no_column(b):
    b.op("cross_entropy", {"X": [b.x("x", probs(b, 3, 5))], "Label": [b.x("l", np.int64([1, 4, 0]))]}, {"Y": "float32"}, dict(soft_label=False, ignore_index=4))


@case
def cross_entropy__soft_3d(b):
    x = probs(b, 2, 3, 5)
    x[0, 0, 3] = 0.0
    b.op("cross_entropy", {"X": [b.x("x", x)], "Label": [b.x("l", probs(b, 2, 3, 5))]}, {"Y": "float32"}, dict(soft_label=True))


@case
def cross_entropy__f64(b):
    b.op("cross_entropy", {"X": [b.x("x", probs(b, 3, 5).astype("float64"))], "Label": [b.x("l", np.int64([[1], [4], [0]]))]}, {"Y": "float64"}, dict(soft_label=False))


@case
def cross_entropy2__ignored(b):
    b.op("cross_entropy2", {"X": [b.x("x", probs(b, 3, 5))], "Label": [b.x("l", np.int64([[1], [4], [0]]))]}, {"Y": "float32", "MatchX": "float32", "XShape": "float32"},
         dict(ignore_index=4), fetch=["Y", "MatchX"])


@case
def bpr_loss__large(b):
    x = b.randn(4, 6) * 60
    b.op("bpr_loss", {"X": [b.x("x", x, (-1, 6))], "Label": [b.x("l", np.int64([[1], [4], [0], [5]]))]}, {"Y": "float32"})


@case
def bpr_loss__3d(b):
    b.op("bpr_loss", {"X": [b.x("x", b.randn(2, 2, 6), (-1, 2, -1))], "Label": [b.x("l", np.int64([[[1], [4]], [[0], [5]]]), (-1, 2, 1))]}, {"Y": "float32"})


@case
def modified_huber_loss__all(b):
    b.op("modified_huber_loss", {"X": [b.x("x", np.float32([[-3], [-0.5], [0.2], [2.5], [-1], [1]]))], "Y": [b.x("y", np.float32([[1], [1], [0], [0], [1], [1]]))]},
         {"IntermediateVal": "float32", "Out": "float32"})


@case
def teacher_student_sigmoid_loss__all(b):
    x = np.float32([[0.5], [-2.0], [20.0], [-18.0], [1.0], [0.3], [2.0], [-1.0]])
    label = np.float32([[-2], [-1], [-2], [-1], [0.3], [0.0], [1.0], [1.7]])
    b.op("teacher_student_sigmoid_loss", {"X": [b.x("x", x)], "Label": [b.x("l", label)]}, {"Y": "float32"}, dict(soft_max_up_bound=15.0, soft_max_lower_bound=-15.0))


@case
def rank_loss__large(b):
    b.op("rank_loss", {"Label": [b.x("l", np.float32([[0], [1], [0.5]]))], "Left": [b.x("a", np.float32([[9], [-80], [50]]))], "Right": [b.x("r", np.float32([[-9], [9], [-9]]))]},
         {"Out": "float32"})


@case
def fsp__dynamic(b):
    b.op("fsp", {"X": [b.x("x", b.randn(2, 3, 4, 5), (-1, 3, -1, -1))], "Y": [b.x("y", b.randn(2, 2, 4, 5), (-1, 2, -1, -1))]}, {"Out": "float32"})


def data_norm_inputs(b, c):
    return {"BatchSize": [b.x("n", np.full(c, 100, "float32"))], "BatchSum": [b.x("s", b.randn(c) * 20)], "BatchSquareSum": [b.x("q", 50 + b.rand(c) * 100)]}


@each(slots=(2, False), slots_shift=(2, True), shift=(-1, True))
def data_norm(b, slot, shift):
    x = b.randn(4, 6)
    x[1, 0] = x[2, 2] = x[2, 4] = 0
    ins = {"X": [b.x("x", x, (-1, 6))], **data_norm_inputs(b, 6)}
    if shift:
        ins["scale_w"], ins["bias"] = [b.x("w", b.rand(6))], [b.x("bias", b.randn(6))]
    b.op("data_norm", ins, {"Y": "float32", "Means": "float32", "Scales": "float32"},
         dict(epsilon=1e-4, slot_dim=slot, enable_scale_and_shift=shift, data_layout="NCHW"))


@case
def dropout_nd__downgrade(b):
    b.op("dropout_nd", {"X": [b.x("x", b.randn(3, 4))]}, {"Out": "float32", "Mask": "uint8"}, dict(dropout_prob=0.3, is_test=True, axis=[0]), fetch=["Out"])


@each(avg5x7=("avg", (1, 2, 5, 7), 3), max5x7=("max", (2, 2, 5, 7), 3), max3=("max", (1, 1, 3, 3), 2), avg4=("avg", (1, 2, 4, 4), 3))
def spp(b, kind, shape, height):
    b.op("spp", {"X": [b.x("x", b.randn(*shape), (-1,) + shape[1:])]}, {"Out": "float32"}, dict(pyramid_height=height, pooling_type=kind))




# ---- ops that 2.6.2 does not run any more: outputs by their documentation ---------------------------------------

def pad2d_cases():
    r = np.random.RandomState(7)
    modes = {"constant": dict(mode="constant", constant_values=0.5), "reflect": dict(mode="reflect"), "edge": dict(mode="edge")}
    for mode, how in modes.items():
        for layout in ("NCHW", "NHWC"):
            x, p = r.randn(2, 3, 4, 5).astype("float32"), [1, 0, 2, 1]
            hw = ((0, 0), (0, 0), (1, 0), (2, 1)) if layout == "NCHW" else ((0, 0), (1, 0), (2, 1), (0, 0))
            attrs = dict(paddings=p, mode=mode, data_format=layout, pad_value=0.5)
            known("pad2d__%s_%s" % (mode, layout.lower()), "pad2d", {"X": x}, {"Out": np.pad(x, hw, **how)}, attrs,
                  {"X": (-1, 3, -1, -1), "Out": (-1, 3, -1, -1)} if layout == "NCHW" else None)
            if layout == "NCHW":
                known("pad2d__%s_tensor" % mode, "pad2d", {"X": x, "Paddings": I32(p)}, {"Out": np.pad(x, hw, **how)}, {**attrs, "paddings": [0, 0, 0, 0]},
                      {"Out": (2, 3, -1, -1)})
    i = r.randint(0, 9, (1, 2, 2, 2)).astype("int64")
    known("pad2d__i64", "pad2d", {"X": i}, {"Out": np.pad(i, ((0, 0), (0, 0), (1, 1), (0, 2)), constant_values=3)},
          dict(paddings=[1, 1, 0, 2], mode="constant", data_format="NCHW", pad_value=3.0))


def v1_cases():
    r = np.random.RandomState(8)
    x = r.randn(2, 1, 3, 1).astype("float32")
    known("squeeze__axes", "squeeze", {"X": x}, {"Out": x[:, 0]}, dict(axes=[1]))
    known("squeeze__all", "squeeze", {"X": x}, {"Out": x[:, 0, :, 0]}, dict(axes=[]))
    known("unsqueeze__axes", "unsqueeze", {"X": x}, {"Out": x.reshape(1, 2, 1, 3, 1, 1)}, dict(axes=[0, 4]))
    known("flatten__axis2", "flatten", {"X": x}, {"Out": x.reshape(2, 3)}, dict(axis=2), {"X": (-1, 1, 3, 1), "Out": (-1, 3)})
    known("transpose__4d", "transpose", {"X": x}, {"Out": x.transpose(0, 2, 3, 1)}, dict(axis=[0, 2, 3, 1]))
    known("isfinite__inf", "isfinite", {"X": np.float32([1, np.inf])}, {"Out": np.array([False])})
    known("isfinite__yes", "isfinite", {"X": np.float32([1, 2])}, {"Out": np.array([True])})
    ids = np.int64([[[1], [0]], [[3], [2]]])
    known("one_hot__depth", "one_hot", {"X": ids}, {"Out": np.eye(4, dtype="float32")[ids[..., 0]]}, dict(depth=4, dtype=5), {"X": (-1, 2, 1), "Out": (-1, 2, 4)})
    known("one_hot__i64", "one_hot", {"X": ids}, {"Out": np.eye(4, dtype="int64")[ids[..., 0]]}, dict(depth=4, dtype=3))
    known("one_hot__tensor", "one_hot", {"X": ids, "depth_tensor": I32([4])}, {"Out": np.eye(4, dtype="float32")[ids[..., 0]]}, dict(depth=-1, dtype=5))
    known("expand_as__static", "expand_as", {"X": x, "target_tensor": r.randn(4, 2, 3, 1).astype("float32")}, {"Out": np.tile(x, (2, 2, 1, 1))})
    known("expand_as__dynamic", "expand_as", {"X": x, "target_tensor": r.randn(4, 2, 3, 1).astype("float32")}, {"Out": np.tile(x, (2, 2, 1, 1))}, {},
          {"X": (-1, 1, 3, 1), "target_tensor": (-1, 2, 3, 1), "Out": (-1, 2, 3, 1)})
    known("minus__i64", "minus", {"X": np.int64([3, 4]), "Y": np.int64([1, 9])}, {"Out": np.int64([2, -5])})


pad2d_cases()
v1_cases()


# ---- detection -----------------------------------------------------------------------------------------------

def boxes(b, *shape, size=40):
    lo = b.rand(*shape, 2) * size
    return np.concatenate([lo, lo + b.rand(*shape, 2) * size / 2 + 1], -1).astype("float32")


NMS = dict(background_label=0, score_threshold=0.1, nms_top_k=10, nms_threshold=0.4, nms_eta=1.0, keep_top_k=6, normalized=False)


@each(one=("multiclass_nms", 1, {}), three=("multiclass_nms", 3, {}), none=("multiclass_nms", 3, dict(score_threshold=2.0)), some=("multiclass_nms", 3, dict(score_threshold=0.93)),
      eta=("multiclass_nms", 2, dict(nms_eta=0.8, nms_threshold=0.7, background_label=-1)), all=("multiclass_nms", 2, dict(nms_top_k=-1, keep_top_k=-1, normalized=True)),
      none2=("multiclass_nms2", 2, dict(score_threshold=2.0)), three2=("multiclass_nms2", 3, dict(score_threshold=0.8)))
def nms(b, type, n, attrs):
    ins = {"BBoxes": [b.x("b", boxes(b, n, 8), (-1, 8, 4))], "Scores": [b.x("s", b.rand(n, 3, 8), (-1, 3, 8))]}
    b.op(type, ins, {"Out": "float32", "Index": "int32"} if type.endswith("2") else {"Out": "float32"}, {**NMS, **attrs})


@each(v1=("multiclass_nms",), v2=("multiclass_nms2",))
def nms_lod(b, type):
    ins = {"BBoxes": [b.x("b", boxes(b, 9, 3), (-1, 3, 4), [[0, 4, 9]])], "Scores": [b.x("s", b.rand(9, 3), (-1, 3), [[0, 4, 9]])]}
    b.op(type, ins, {"Out": "float32", "Index": "int32"} if type.endswith("2") else {"Out": "float32"}, NMS)


@each(pixels=(False,), touching=(True,))
def iou_similarity(b, normalized):
    x, y = boxes(b, 4), boxes(b, 3)
    y[0] = x[1]
    y[1] = [5, 5, 5, 5]
    x[0] = [5, 5, 5, 5]
    b.op("iou_similarity", {"X": [b.x("x", x, (-1, 4))], "Y": [b.x("y", y, (-1, 4))]}, {"Out": "float32"}, {"box_normalized": normalized})


@each(four=(4, 4.135), clipped=(3, 0.1), one=(1, 4.135))
def box_decoder_and_assign(b, classes, clip):
    s = b.rand(5, classes)
    s[2] = 0.5
    if classes > 2:
        s[3, 1:] = -2
    b.op("box_decoder_and_assign", {"PriorBox": [b.x("p", boxes(b, 5), (-1, 4))], "PriorBoxVar": [b.x("v", np.float32([.1, .1, .2, .2]))],
                                    "TargetBox": [b.x("t", b.randn(5, classes * 4), (-1, classes * 4))], "BoxScore": [b.x("s", s, (-1, classes))]},
         {"DecodeBox": "float32", "OutputAssignBox": "float32"}, {"box_clip": clip})


@case
def polygon_box_transform__batch(b):
    b.op("polygon_box_transform", {"Input": [b.x("x", b.randn(2, 4, 3, 5), (-1, 4, -1, -1))]}, {"Output": "float32"})


# ---- sequences -----------------------------------------------------------------------------------------------

L3 = [[0, 2, 2, 5]]
L2 = [[0, 1, 3], [0, 2, 4, 7]]


@each(empty=(L3, 5))
def sequence_reverse(b, lod, n):
    b.op("sequence_reverse", {"X": [b.x("x", b.randn(n, 2, 2), (-1, 2, 2), lod)]}, {"Y": "float32"})


@each(empty=(L3, [[0, 1, 3, 3]]),)
def sequence_concat(b, l0, l1):
    b.op("sequence_concat", {"X": [b.x("x", b.randn(5, 2), (-1, 2), l0), b.x("y", b.randn(3, 2), (-1, 2), l1)]}, {"Out": "float32"})


@each(empty=(L3,), x_lod=([[0, 2, 3, 4]],))
def sequence_expand_as(b, lod):
    b.op("sequence_expand_as", {"X": [b.x("x", b.randn(3, 2), (-1, 2))], "Y": [b.x("y", b.randn(lod[0][-1], 1), (-1, 1), lod)]}, {"Out": "float32"})


@each(auto=([0.5], -1, 2), fixed=([0.5], 4, 2), row=([0.5, 1.0], 3, 2), wide=([0.5], -1, None))
def sequence_pad(b, pad, length, width):
    x = b.randn(5, 2) if width else b.randn(5, 3, 2)
    b.op("sequence_pad", {"X": [b.x("x", x, (-1,) + x.shape[1:], L3)], "PadValue": [b.x("p", np.float32(pad))]}, {"Out": "float32", "Length": "int64"}, {"padded_length": length})


@case
def sequence_pad__i64(b):
    b.op("sequence_pad", {"X": [b.x("x", np.int64([[1], [2], [3]]), (-1, 1), [[0, 1, 3]])], "PadValue": [b.x("p", np.int64([9]))]}, {"Out": "int64", "Length": "int64"}, {"padded_length": -1})


@case
def sequence_unpad__wide(b):
    b.op("sequence_unpad", {"X": [b.x("x", b.randn(3, 4, 2, 2), (3, -1, 2, 2))], "Length": [b.x("l", np.int64([2, 1, 4]))]}, {"Out": "float32"})


@each(a=(L3, [[1], [0], [1]], [[1], [0], [2]]),)
def sequence_slice(b, lod, offset, length):
    b.op("sequence_slice", {"X": [b.x("x", b.randn(5, 3), (-1, 3), lod)], "Offset": [b.x("o", np.int64(offset))], "Length": [b.x("l", np.int64(length))]}, {"Out": "float32"})


@case
def sequence_slice__plain(b):
    b.op("sequence_slice", {"X": [b.x("x", b.randn(6, 3), (-1, 3), [[0, 2, 6]])], "Offset": [b.x("o", np.int64([[0], [1]]))], "Length": [b.x("l", np.int64([[2], [2]]))]}, {"Out": "float32"})


@each(some=([2, 3],), none=([],), all=([1, 2, 3, 4],))
def sequence_erase(b, tokens):
    b.op("sequence_erase", {"X": [b.x("x", np.int32([[1], [2], [3], [4], [2]]), (-1, 1), [[0, 3, 5]])]}, {"Out": "int32"}, {"tokens": tokens})


@each(win3=(3, 0), win2=(2, 7), win9=(9, 5))
def sequence_enumerate(b, win, pad):
    b.op("sequence_enumerate", {"X": [b.x("x", np.int64([[1], [2], [3], [4], [6]]), (-1, 1), L3)]}, {"Out": "int64"}, {"win_size": win, "pad_value": pad})


@each(wider=(4,), narrower=(1,))
def sequence_reshape(b, dim):
    b.op("sequence_reshape", {"X": [b.x("x", b.randn(6, 2), (-1, 2), [[0, 2, 6]])]}, {"Out": "float32"}, {"new_dim": dim})


@case
def sequence_scatter__empty(b):
    b.op("sequence_scatter", {"X": [b.x("x", b.randn(3, 5), (-1, 5))], "Ids": [b.x("i", np.int64([[0], [2], [1], [1], [4]]), (-1, 1), L3)],
                              "Updates": [b.x("u", b.randn(5, 1), (-1, 1), L3)]}, {"Out": "float32"})


@case
def iou_similarity__tiny(b):
    x = np.float32([[0, 0, 1e-5, 1e-5], [0, 0, 1e-4, 1e-4], [0, 0, 1e-3, 1e-3], [3, 3, 2, 2], [3, 3, 2, 4]])
    b.op("iou_similarity", {"X": [b.x("x", x, (-1, 4))], "Y": [b.x("y", x[:4], (-1, 4))]}, {"Out": "float32"}, {"box_normalized": True})


def similarity_order(b, *shape):
    n = int(np.prod(shape))
    return (b.rng.permutation(n).reshape(shape) / n).astype("float32")


@each(axis2=(2, [1, 0], (2, 3, 2, 4)), axis3=(3, [1], (1, 4, 3, 2)), two=(1, [0, 2], (2, 3, 5, 3)))
def similarity_focus(b, axis, indexes, shape):
    b.op("similarity_focus", {"X": [b.x("x", similarity_order(b, *shape))]}, {"Out": "float32"}, dict(axis=axis, indexes=indexes))


@each(weights=(True, False), states=(False, True), both=(True, True))
def precision_recall(b, weighted, states):
    ins = {"MaxProbs": [b.x("p", b.rand(6, 1), (-1, 1))], "Indices": [b.x("i", b.rng.randint(0, 4, (6, 1)).astype("int32"), (-1, 1))],
           "Labels": [b.x("l", b.rng.randint(0, 3, (6, 1)).astype("int32"), (-1, 1))]}
    if weighted:
        ins["Weights"] = [b.x("w", b.rand(6, 1), (-1, 1))]
    if states:
        s = np.float32(b.rng.randint(0, 9, (4, 4)))
        s[3] = 0
        ins["StatesInfo"] = [b.x("s", s)]
    b.op("precision_recall", ins, {"BatchMetrics": "float64", "AccumMetrics": "float64", "AccumStatesInfo": "float32"}, dict(class_number=4))


@each(negative=("max_negative", 1.5, 0, False), negative_all=("max_negative", 9.0, 0, False), hard=("hard_example", 1.0, 3, True), hard_all=("hard_example", 1.0, 9, False))
def mine_hard_examples(b, kind, ratio, sample, loc):
    m = np.where(b.rand(3, 6) < 0.4, b.rng.randint(0, 3, (3, 6)), -1).astype("int32")
    ins = {"ClsLoss": [b.x("c", b.rand(3, 6), (-1, 6))], "MatchIndices": [b.x("m", m, (-1, 6))], "MatchDist": [b.x("d", b.rand(3, 6), (-1, 6))]}
    if loc:
        ins["LocLoss"] = [b.x("l", b.rand(3, 6), (-1, 6))]
    b.op("mine_hard_examples", ins, {"NegIndices": "int32", "UpdatedMatchIndices": "int32"}, dict(mining_type=kind, neg_pos_ratio=ratio, neg_dist_threshold=0.5, sample_size=sample))


@each(batch=(2, 1.0, 0.0), scaled=(2, 2.0, 1.0))
def generate_proposals(b, n, scale, min_size):
    a = boxes(b, 3, 3, 2, size=20)
    b.op("generate_proposals", {"Scores": [b.x("s", b.rand(n, 2, 3, 3), (-1, 2, 3, 3))], "BboxDeltas": [b.x("d", b.randn(n, 8, 3, 3) * 0.3, (-1, 8, 3, 3))],
                                "ImInfo": [b.x("i", np.float32([[24, 30, scale]] * n), (-1, 3))], "Anchors": [b.x("a", a)],
                                "Variances": [b.x("v", np.full((3, 3, 2, 4), 0.5, "float32"))]},
         {"RpnRois": "float32", "RpnRoiProbs": "float32", "RpnRoisNum": "int32"}, dict(pre_nms_topN=12, post_nms_topN=5, nms_thresh=0.5, min_size=min_size, eta=1.0))


@each(batch=(2, 40.0, 1.0), scaled=(2, 40.0, 2.0))
def retinanet_detection_output(b, n, size, scale):
    ins = {"BBoxes": [], "Scores": [], "Anchors": []}
    for i, m in enumerate((6, 3)):
        ins["BBoxes"].append(b.x("b%d" % i, b.randn(n, m, 4) * 0.2, (-1, m, 4)))
        ins["Scores"].append(b.x("s%d" % i, b.rand(n, m, 2), (-1, m, 2)))
        ins["Anchors"].append(b.x("a%d" % i, boxes(b, m, size=20)))
    ins["ImInfo"] = [b.x("i", np.float32([[size, size - 5, scale]] * n), (-1, 3))]
    b.op("retinanet_detection_output", ins, {"Out": "float32"}, dict(score_threshold=0.3, nms_top_k=5, nms_threshold=0.4, nms_eta=1.0, keep_top_k=6))


@each(one=(1, 8, 1, 0.1, -1), batch=(2, 9, 1, 0.5, -1), none=(1, 5, 1, 9.0, -1))
def locality_aware_nms(b, n, m, c, threshold, background):
    base = boxes(b, n, m, size=10)
    base[:, 1] = base[:, 0] + 0.1
    base[:, 3] = base[:, 2] - 0.2
    base[:, 4] = base[:, 2] + 0.1
    b.op("locality_aware_nms", {"BBoxes": [b.x("b", base, (-1, m, 4))], "Scores": [b.x("s", b.rand(n, c, m), (-1, c, m))]}, {"Out": "float32"},
         dict(background_label=background, score_threshold=threshold, nms_top_k=10, nms_threshold=0.3, nms_eta=1.0, keep_top_k=6, normalized=True))


@each(padded=([3, 1, 4],), long=([6, 6],))
def linear_chain_crf(b, lengths):
    n, l, d = len(lengths), max(lengths), 3
    b.op("linear_chain_crf", {"Emission": [b.x("e", b.randn(n, l, d), (-1, l, d))], "Transition": [b.x("t", b.randn(d + 2, d) * 0.5)],
                              "Label": [b.x("l", b.rng.randint(0, d, (n, l, 1)).astype("int64"), (-1, l, 1))], "Length": [b.x("n", np.int64(lengths).reshape(-1, 1), (-1, 1))]},
         {"LogLikelihood": "float32", "Alpha": "float32", "EmissionExps": "float32", "TransitionExps": "float32"}, fetch=["LogLikelihood"])


@case
def linear_chain_crf__lod(b):
    b.op("linear_chain_crf", {"Emission": [b.x("e", b.randn(9, 4), (-1, 4), [[0, 2, 3, 9]])], "Transition": [b.x("t", b.randn(6, 4) * 0.5)],
                              "Label": [b.x("l", b.rng.randint(0, 4, (9, 1)).astype("int64"), (-1, 1), [[0, 2, 3, 9]])]},
         {"LogLikelihood": "float32", "Alpha": "float32", "EmissionExps": "float32", "TransitionExps": "float32"}, fetch=["LogLikelihood"])


def static_rnn(b, reverse, states):
    """h = tanh(x w + h_pre u), and with two states also c = c_pre + h."""
    t, n = 4, 2
    x, w, u = b.x("x", b.randn(t, n, 3)), b.x("w", b.randn(3, 4)), b.x("u", b.randn(4, 4))
    h0, c0 = b.x("h0", b.randn(n, 4)), b.x("c0", b.randn(n, 4))
    main = b.block.program
    outer = b.block
    hidden = outer.create_var(name="hidden", dtype="float32", shape=[t, n, 4])
    outs = [hidden]
    if states == 2:
        outs.append(outer.create_var(name="cell", dtype="float32", shape=[t, n, 4]))
    inner = main._create_block()
    inner.create_var(name="x", dtype="float32", shape=[n, 3])
    for name in ["h_pre", "c_pre", "xw", "hu", "s", "hidden", "cell"]:
        inner.create_var(name=name, dtype="float32", shape=[n, 4])
    def op(type, ins, out, attrs=None):
        inner.append_op(type=type, inputs=ins, outputs={"Out": [out]}, attrs=attrs or {})
    op("mul", {"X": ["x"], "Y": ["w"]}, "xw")
    op("mul", {"X": ["h_pre"], "Y": ["u"]}, "hu")
    op("elementwise_add", {"X": ["xw"], "Y": ["hu"]}, "s")
    op("tanh", {"X": ["s"]}, "hidden")
    if states == 2:
        op("elementwise_add", {"X": ["c_pre"], "Y": ["hidden"]}, "cell")
    main._rollback()
    scopes = outer.create_var(name="scopes", type=paddle.base.core.VarDesc.VarType.STEP_SCOPES)
    outer.append_op(type="recurrent", inputs={"inputs": [x], "initial_states": [h0, c0][:states], "parameters": [w, u]},
                    outputs={"outputs": outs, "step_scopes": [scopes]},
                    attrs=dict(ex_states=["h_pre", "c_pre"][:states], states=["hidden", "cell"][:states], sub_block=inner, reverse=reverse, has_states=True, is_train=False))
    if states == 1:
        del b.feeds["c0"]
    b.fetch += outs


@each(one=(False, 1), two=(False, 2), reverse=(True, 2))
def recurrent(b, reverse, states):
    static_rnn(b, reverse, states)


# ---- oneDNN --------------------------------------------------------------------------------------------------

@each(relu=(1, "relu", True), padded=(1, "", True), trailing=(1, "", False, (2, 3, 4), True))
def fc(b, lead, act, bias, shape=(2, 12), pad=None):
    k = int(np.prod(shape[lead:]))
    ins = {"Input": [b.x("x", b.randn(*shape), (-1,) + shape[1:])], "W": [b.x("w", b.randn(k, 5))]}
    if bias:
        ins["Bias"] = [b.x("b", b.randn(1, 5))]
    b.op("fc", ins, {"Out": "float32"}, dict(in_num_col_dims=lead, activation_type=act))


@each(i8=(True, 0.0), u8=(False, 0.0), shifted=(False, 7.0))
def quantize(b, negative, shift):
    x = b.randn(3, 8) if negative else b.rand(3, 8)
    x[0, 0] = 100
    x[0, 1:4] = [0.025, 0.035, 0.075]
    b.op("quantize", {"Input": [b.x("x", x)]}, {"Output": "int8" if negative else "uint8"}, dict(Scale=100.0, Shift=shift, is_negative_input=negative, output_format="NCHW"))


@each(i8=("int8", 0.0), u8=("uint8", 3.0))
def dequantize(b, dtype, shift):
    b.op("dequantize", {"Input": [b.x("x", b.rng.randint(0, 100, (3, 4)).astype(dtype))]}, {"Output": "float32"}, dict(Scale=13.0, Shift=shift))


@each(i8=("int8", 0.0, 0.0), u8=("uint8", 3.0, 9.0))
def requantize(b, dtype, shift_in, shift_out):
    b.op("requantize", {"Input": [b.x("x", b.rng.randint(0, 100, (3, 4)).astype(dtype))]}, {"Output": dtype}, dict(Scale_in=13.0, Scale_out=5.0, Shift_in=shift_in, Shift_out=shift_out))


@each(plain=("", False, False), relu=("relu", True, False), residual=("relu", True, True), leaky=("leaky_relu", True, False), relu6=("relu6", True, False),
      swish=("swish", True, False), hard_swish=("hard_swish", True, False), hard_sigmoid=("hard_sigmoid", False, False), gelu=("gelu_erf", False, False), clip=("clip", False, False),
      mish=("mish", False, False), sigmoid=("sigmoid", False, False))
def fused_conv2d(b, act, bias, residual):
    ins = {"Input": [b.x("x", b.randn(2, 4, 6, 6), (-1, 4, -1, -1))], "Filter": [b.x("f", b.randn(6, 2, 3, 3))]}
    if bias:
        ins["Bias"] = [b.x("b", b.randn(6))]
    if residual:
        ins["ResidualData"] = [b.x("r", b.randn(2, 6, 6, 6), (-1, 6, -1, -1))]
    alpha, beta = {"leaky_relu": (0.1, 0.0), "relu6": (0.0, 6.0), "hard_swish": (1 / 6, 0.5), "swish": (1.0, 0.0), "hard_sigmoid": (0.2, 0.5), "clip": (-0.5, 0.5)}.get(act, (0.0, 0.0))
    b.op("fused_conv2d", ins, {"Output": "float32"}, dict(strides=[1, 1], paddings=[1, 1], groups=2, dilations=[1, 1], data_format="NCHW", fuse_activation=act,
                                                          fuse_alpha=alpha, fuse_beta=beta, fuse_residual_connection=residual, use_mkldnn=True))


@case
def fused_conv3d__relu(b):
    b.op("fused_conv3d", {"Input": [b.x("x", b.randn(1, 2, 4, 4, 4))], "Filter": [b.x("f", b.randn(3, 2, 2, 3, 3))], "Bias": [b.x("b", b.randn(3))]}, {"Output": "float32"},
         dict(strides=[1, 1, 1], paddings=[0, 1, 1], dilations=[1, 1, 1], groups=1, data_format="NCHW", fuse_activation="relu", use_mkldnn=True))


@each(one=(1,), two=(2,))
def multi_gru(b, layers):
    ins = {"X": [b.x("x", b.randn(7, 4), (-1, 4), [[0, 3, 7]])], "WeightX": [], "WeightH": [], "Bias": []}
    d, m = 3, 4
    for i in range(2 * layers):
        ins["WeightX"].append(b.x("wx%d" % i, b.randn(m if i < 2 else 2 * d, 3 * d)))
        ins["WeightH"].append(b.x("wh%d" % i, b.randn(d, 3 * d)))
        ins["Bias"].append(b.x("b%d" % i, b.randn(1, 3 * d)))
    b.op("multi_gru", ins, {"Hidden": "float32"}, dict(layers=layers, activation="tanh", gate_activation="sigmoid", origin_mode=False, use_mkldnn=True))


def fused_cases():
    r = np.random.RandomState(9)
    x, y4, y3, full = r.randn(2, 3, 4).astype("float32"), r.rand(4).astype("float32") + 0.5, r.rand(3).astype("float32"), r.rand(2, 3, 4).astype("float32") + 0.5
    known("fused_elementwise__add", "fused_elementwise_add", {"X": x, "Y": y4}, {"Out": np.maximum(x + y4, 0)}, dict(axis=-1, fuse_activation="relu"))
    known("fused_elementwise__sub", "fused_elementwise_sub", {"X": x, "Y": y3}, {"Out": x - y3[:, None]}, dict(axis=1), {"X": (-1, 3, 4), "Out": (-1, 3, 4)})
    known("fused_elementwise__mul", "fused_elementwise_mul", {"X": x, "Y": full}, {"Out": x * full}, dict(axis=-1))
    known("fused_elementwise__div", "fused_elementwise_div", {"X": x, "Y": y4}, {"Out": (x / y4)[:, None]}, dict(axis=-1, fused_unsqueeze2_axes=[1]))
    y = r.randn(2, 4, 3).astype("float32")
    known("fused_matmul__alpha", "fused_matmul", {"X": x, "Y": y, "ResidualData": full[:, :, :3]}, {"Out": np.maximum(x @ y * np.float32(0.5) + full[:, :, :3], 0)},
          dict(matmul_alpha=0.5, fuse_activation="relu"))
    known("fused_matmul__transposed", "fused_matmul", {"X": x.transpose(0, 2, 1).copy(), "Y": y.transpose(0, 2, 1).copy()}, {"Out": x @ y * 2}, dict(trans_x=True, trans_y=True, fused_output_scale=2.0))
    q, k = r.randn(2, 3, 4).astype("float32"), r.randn(2, 3, 4).astype("float32")
    heads = lambda v: v.reshape(2, 3, 2, 2).transpose(0, 2, 1, 3)
    out = (heads(q) @ heads(k).transpose(0, 1, 3, 2)).transpose(0, 2, 1, 3)
    known("fused_matmul__shapes", "fused_matmul", {"X": q, "Y": k}, {"Out": out.reshape(2, 3, 6)},
          dict(fused_reshape_X=[0, 0, 2, 2], fused_transpose_X=[0, 2, 1, 3], fused_reshape_Y=[0, 0, 2, 2], fused_transpose_Y=[0, 2, 3, 1], fused_transpose_Out=[0, 2, 1, 3], fused_reshape_Out=[0, 0, 6]))
    s = (r.randn(2, 3) * 10).astype("float32")
    known("fused_softplus__tanh", "fused_softplus", {"X": s}, {"Out": np.tanh(np.where(s * 2 > 15, s, np.log1p(np.exp(np.minimum(s * 2, 15))) / 2)).astype("float32")},
          dict(beta=2.0, threshold=15.0, fuse_activation="tanh"))
    img, f, bias = r.randn(1, 2, 3, 3).astype("float32"), r.randn(2, 2, 2, 2).astype("float32"), r.randn(2).astype("float32")
    full = np.zeros((1, 2, 6, 6), "float32")
    for i in range(3):
        for j in range(3):
            full[:, :, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2] += np.einsum("nc,cohw->nohw", img[:, :, i, j], f)
    known("conv2d_transpose_bias__stride2", "conv2d_transpose_bias", {"Input": img, "Filter": f, "Bias": bias}, {"Output": full + bias[:, None, None]},
          dict(strides=[2, 2], paddings=[0, 0], dilations=[1, 1], groups=1, output_padding=[], output_size=[], padding_algorithm="EXPLICIT", data_format="NCHW"))


fused_cases()


# ---- rare ----------------------------------------------------------------------------------------------------

@case
def sampling_id__sure(b):
    b.op("sampling_id", {"X": [b.x("x", np.eye(4, dtype="float32")[[2, 0, 3, 1, 1]], (-1, 4))]}, {"Out": "int64"}, dict(min=0.0, max=1.0, seed=3))


@each(plain=([4, 2], [8.0, 12.0], 0.0, False, True), steps=([3], [5.0], 7.0, True, False))
def density_prior_box(b, densities, sizes, step, flat, clip):
    b.op("density_prior_box", {"Input": [b.x("x", b.randn(1, 2, 3, 5))], "Image": [b.x("i", b.randn(1, 3, 24, 30))]}, {"Boxes": "float32", "Variances": "float32"},
         dict(variances=[0.1, 0.1, 0.2, 0.2], clip=clip, flatten_to_2d=flat, step_w=step, step_h=step, offset=0.5, fixed_sizes=sizes, fixed_ratios=[1.0, 2.0], densities=densities))


@each(plain=(False, False, 0), weights=(True, False, 1), sums=(True, True, -1))
def positive_negative_pair(b, weighted, sums, column):
    s = b.rand(8, 2)
    s[3] = s[1]
    ins = {"Score": [b.x("s", s, (-1, 2))], "Label": [b.x("l", b.rng.randint(0, 3, (8, 1)).astype("float32"), (-1, 1))], "QueryID": [b.x("q", np.int64([[1], [1], [1], [1], [2], [2], [2], [2]]), (-1, 1))]}
    if weighted:
        ins["Weight"] = [b.x("w", b.rand(8, 1), (-1, 1))]
    if sums:
        for i, k in enumerate(("AccumulatePositivePair", "AccumulateNegativePair", "AccumulateNeutralPair")):
            ins[k] = [b.x("a%d" % i, b.rand(1))]
    b.op("positive_negative_pair", ins, {"PositivePair": "float32", "NegativePair": "float32", "NeutralPair": "float32"}, dict(column=column))


def rare_cases():
    r = np.random.RandomState(10)
    x = np.arange(24, dtype="float32").reshape(2, 1, 3, 4)
    v = [1.0, 0.0, 2.5, -3.0, 7.0, 0.0]
    for number, dtype in ((5, "float32"), (6, "float64"), (3, "int64"), (2, "int32"), (0, "bool")):
        known("fill__" + dtype, "fill", {}, {"Out": np.array(v).reshape(2, 3).astype(dtype)}, dict(value=v, shape=[2, 3], dtype=number))
    u = r.randn(4, 5, 8).astype("float32")
    for name, axis, size, step in (("last", 2, 3, 2), ("first", 0, 2, 1), ("negative", -2, 2, 2)):
        known("tensor_unfold__" + name, "tensor_unfold", {"input": u}, {"out": np.lib.stride_tricks.sliding_window_view(u, size, axis)[(slice(None),) * (axis % 3) + (slice(None, None, step),)].copy()},
              dict(axis=axis, size=size, step=step))
    known("fused_transpose__squeeze", "fused_transpose", {"X": x}, {"Out": x[:, 0].transpose(0, 2, 1)}, dict(axis=[0, 2, 1], fused_squeeze2_axes=[1]))
    known("fused_transpose__reshape", "fused_transpose", {"X": x}, {"Out": x.transpose(0, 2, 3, 1).reshape(2, 12)}, dict(axis=[0, 2, 3, 1], fused_reshape2_shape=[2, 12]))


rare_cases()


# ---- more variants ---------------------------------------------------------------------------------------------

@each(linear_nhwc=("linear_interp", (2, 7, 3), None, None, dict(out_w=5, data_layout="NHWC", align_mode=1)),
      trilinear_nhwc=("trilinear_interp", (1, 3, 4, 5, 2), None, None, dict(out_d=4, out_h=6, out_w=5, data_layout="NHWC", align_mode=1)),
      bicubic_nhwc=("bicubic_interp", (1, 4, 5, 2), None, None, dict(out_h=6, out_w=5, data_layout="NHWC")),
      trilinear_size_list=("trilinear_interp", (1, 1, 3, 5, 4), None, {"SizeTensor": [I32([4]), I32([6]), I32([7])]}, {}),
      trilinear_scale_tensor=("trilinear_interp", (1, 1, 3, 5, 4), (-1, 1, -1, -1, -1), {"Scale": [np.float32([1.7])]}, {}),
      linear_size_list=("linear_interp", (1, 2, 7), None, {"SizeTensor": [I32([9])]}, {}),
      nearest_down=("nearest_interp", (2, 2, 9, 7), None, None, dict(out_h=4, out_w=3)),
      bilinear_same=("bilinear_interp", (1, 2, 5, 7), None, None, dict(out_h=5, out_w=7)),
      bilinear_to_one=("bilinear_interp", (1, 2, 5, 7), None, None, dict(out_h=1, out_w=1, align_corners=True)),
      bilinear_scale03=("bilinear_interp", (1, 2, 10, 7), None, None, dict(scale=0.3)),
      bilinear_batch=("bilinear_interp", (3, 2, 5, 7), (-1, 2, 5, 7), None, dict(scale=2.5, align_mode=1)))
def interp_v1_more(b, type, shape, declared, inputs, attrs):
    interp(b, type, shape, declared, inputs, **attrs)


@each(f64=("float64", (3, 6), None), one=("float32", (6,), None), deep=("float32", (2, 3, 4, 5), (-1, -1, 4, 5)))
def top_k(b, dtype, shape, declared):
    x = b.rng.permutation(int(np.prod(shape))).reshape(shape).astype(dtype)
    b.op("top_k", {"X": [b.x("x", x, declared)]}, {"Out": dtype, "Indices": "int64"}, {"k": 2})


@each(f64=("float64",), int=("int32",))
def overflow_isnan(b, dtype):
    b.op("isnan", {"X": [b.x("x", b.randn(2, 3).astype(dtype))]}, {"Out": "bool"})


@case
def crop__4d(b):
    b.op("crop", {"X": [b.x("x", b.randn(2, 3, 5, 6), (-1, 3, 5, 6))]}, {"Out": "float32"}, {"offsets": [0, 1, 2, 0], "shape": [2, 2, 3, 4]})


@case
def nms__quads(b):
    o = b.rand(2, 6, 1, 2) * 20
    quad = (o + np.float32([[0, 0], [4, 0], [4, 5], [0, 5]])).reshape(2, 6, 8).astype("float32")
    b.op("multiclass_nms", {"BBoxes": [b.x("b", quad, (-1, 6, 8))], "Scores": [b.x("s", b.rand(2, 2, 6), (-1, 2, 6))]}, {"Out": "float32"}, {**NMS, "background_label": -1})


@each(eta=(0.9, 0.7), few=(1.0, 0.3))
def generate_proposals_more(b, eta, thresh):
    n = 1
    b.op("generate_proposals", {"Scores": [b.x("s", b.rand(n, 3, 4, 5), (-1, 3, -1, -1))], "BboxDeltas": [b.x("d", b.randn(n, 12, 4, 5) * 0.3, (-1, 12, -1, -1))],
                                "ImInfo": [b.x("i", np.float32([[24, 30, 1]] * n), (-1, 3))], "Anchors": [b.x("a", boxes(b, 4, 5, 3, size=20))],
                                "Variances": [b.x("v", np.full((4, 5, 3, 4), 1.0, "float32"))]},
         {"RpnRois": "float32", "RpnRoiProbs": "float32"}, dict(pre_nms_topN=6000, post_nms_topN=1000, nms_thresh=thresh, min_size=0.0, eta=eta))


@case
def fused_embedding_seq_pool__padding(b):
    b.op("fused_embedding_seq_pool", {"W": [b.x("w", b.randn(10, 3))], "Ids": [b.x("i", np.int64([[1], [4], [4], [2], [1]]), (-1, 1), [[0, 2, 5]])]}, {"Out": "float32"},
         dict(combiner="sum", is_sparse=True, padding_idx=4))


@each(relu=("relu", True), tanh=("tanh", False))
def fusion_seqexpand_concat_fc(b, act, bias):
    ins = {"X": [b.x("x", b.randn(5, 3), (-1, 3), [[0, 2, 5]]), b.x("y", b.randn(2, 2), (-1, 2), [[0, 1, 2]]), b.x("z", b.randn(2, 4), (-1, 4), [[0, 1, 2]])], "FCWeight": [b.x("w", b.randn(9, 3))]}
    if bias:
        ins["FCBias"] = [b.x("b", b.randn(1, 3))]
    b.op("fusion_seqexpand_concat_fc", ins, {"Out": "float32", "FCOut": "float32"}, dict(fc_activation=act), fetch=["Out"])


@each(i64=("int64", (5, 1)), wide=("float32", (5, 2, 3)), flat=("float64", (5, 1)))
def sequence_concat_more(b, dtype, shape):
    b.op("sequence_concat", {"X": [b.x(n, (b.randn(*shape) * 9).astype(dtype), (-1,) + shape[1:], [l]) for n, l in (("x", [0, 2, 5]), ("y", [0, 4, 5]))]}, {"Out": dtype})


@case
def sequence_reverse__u8(b):
    b.op("sequence_reverse", {"X": [b.x("x", b.rng.randint(0, 99, (5, 2)).astype("uint8"), (-1, 2), L3)]}, {"Y": "uint8"})


@case
def sequence_expand_as__i64(b):
    b.op("sequence_expand_as", {"X": [b.x("x", np.int64([[1], [2]]), (-1, 1))], "Y": [b.x("y", b.randn(5, 3), (-1, 3), [[0, 3, 5]])]}, {"Out": "int64"})


@case
def sequence_slice__wide(b):
    b.op("sequence_slice", {"X": [b.x("x", b.randn(6, 2, 3), (-1, 2, 3), [[0, 2, 6]])], "Offset": [b.x("o", np.int64([[1], [0]]))], "Length": [b.x("l", np.int64([[1], [3]]))]}, {"Out": "float32"})


@case
def sequence_unpad__i64(b):
    b.op("sequence_unpad", {"X": [b.x("x", b.rng.randint(0, 9, (2, 3)).astype("int64"))], "Length": [b.x("l", np.int64([2, 3]))]}, {"Out": "int64"})


@each(first=([0], [2147483647], [-1], [-1], (-1, 4)), far=([0, 1], [2, -1], [-9, -9], [-1, -2], (-1, 4)), far_known=([0, 1], [2, -1], [-9, -1], [-1, -2], (3, 4)),
      mixed=([0, 1], [2, 0], [-1, -1], [-2, 1], (-1, 4)))
def strided_slice(b, axes, starts, ends, strides, declared):
    """Backwards: the end -1 is the place before the first element."""
    b.op("strided_slice", {"Input": [b.x("x", b.randn(3, 4), declared)]}, {"Out": "float32"}, dict(axes=axes, starts=starts, ends=ends, strides=strides, infer_flags=[1] * len(axes)))


@case
def strided_slice__ends_list(b):
    ends = [b.x("e", I32([-1])), b.x("f", I32([3]))]
    b.op("strided_slice", {"Input": [b.x("x", b.randn(3, 4), (-1, 4))], "EndsTensorList": ends}, {"Out": "float32"},
         dict(axes=[0, 1], starts=[2, 0], ends=[-1, -1], strides=[-1, 1], infer_flags=[-1, -1]))


@case
def strided_slice__ends_tensor(b):
    b.op("strided_slice", {"Input": [b.x("x", b.randn(3, 4), (-1, 4))], "EndsTensor": [b.x("e", I32([-1, -3]))]}, {"Out": "float32"},
         dict(axes=[0, 1], starts=[2, 3], ends=[], strides=[-1, -1], infer_flags=[-1, -1]))


@each(attrs=({},), list=({"EndsTensorList": [np.int64([-1])]},))
def set_value(b, inputs):
    ins = {"Input": [b.x("x", b.randn(3, 4), (-1, 4))], "ValueTensor": [b.x("v", b.randn(2, 4))]}
    for slot, arrays in inputs.items():
        ins[slot] = [b.x("e%d" % i, v) for i, v in enumerate(arrays)]
    b.op("set_value", ins, {"Out": "float32"}, dict(axes=[0], starts=[2], ends=[] if inputs else [-1], steps=[-2], dtype=5, shape=[]))


@each(range=("fake_quantize_range_abs_max", dict(window_size=100)), moving=("fake_quantize_moving_average_abs_max", dict(moving_rate=0.9)))
def scale_kept(b, type, attrs):
    """Tools that quantize write the scale over itself, and go on with it."""
    s = b.x("s", np.float32([1.5]))
    out, _ = b.op(type, {"X": [b.x("x", b.randn(3, 4), (-1, 4))], "InScale": [s]}, {"Out": "float32", "OutScale": s},
                  dict(bit_length=8, is_test=True, round_type=1, **attrs), fetch=["Out"])
    b.op("fake_dequantize_max_abs", {"X": [out], "Scale": [s]}, {"Out": "float32"}, {"max_range": 127.0})


@case
def scale_kept__linear(b):
    s, z = b.x("s", np.float32([1.5])), b.x("z", np.float32([0]))
    accum, state = b.x("a", np.float32([2])), b.x("n", np.float32([3]))
    attrs = dict(quant_axis=-1, bit_length=8, is_test=True, round_type=0)
    out, *_ = b.op("quantize_linear", {"X": [b.x("x", b.randn(3, 4), (-1, 4))], "Scale": [s], "ZeroPoint": [z], "InAccum": [accum], "InState": [state]},
                   {"Y": "float32", "OutScale": s, "OutAccum": accum, "OutState": state}, attrs, fetch=["Y"])
    b.op("dequantize_linear", {"X": [out], "Scale": [s], "ZeroPoint": [z]}, {"Y": "float32"}, attrs)
    b.op("elementwise_add", {"X": [accum], "Y": [state]}, {"Out": "float32"}, {"axis": -1})


@case
def chain__pad_scale_unpad(b):
    """2.6.2 declares a width of 1, here and in all that is made of it."""
    x = b.x("x", b.randn(6, 2), (-1, 2), [[0, 2, 3, 6]])
    out, length = b.op("sequence_pad", {"X": [x], "PadValue": [b.x("p", np.float32([0]))]}, {"Out": "float32", "Length": "int64"}, {"padded_length": -1}, fetch=False)
    twice, = b.op("scale", {"X": [out]}, {"Out": "float32"}, {"scale": 2.0})
    b.op("sequence_unpad", {"X": [twice], "Length": [length]}, {"Out": "float32"})


@case
def chain__pad_unpad_pool(b):
    """What is made of an LoD goes on to ops that read it."""
    x = b.x("x", b.randn(6, 2), (-1, 2), [[0, 2, 3, 6]])
    out, length = b.op("sequence_pad", {"X": [x], "PadValue": [b.x("p", np.float32([0]))]}, {"Out": "float32", "Length": "int64"}, {"padded_length": -1}, fetch=False)
    back, = b.op("sequence_unpad", {"X": [out], "Length": [length]}, {"Out": "float32"}, fetch=False)
    rev, = b.op("sequence_reverse", {"X": [back]}, {"Y": "float32"})
    cat, = b.op("sequence_concat", {"X": [back, rev]}, {"Out": "float32"})
    b.op("sequence_pool", {"X": [cat]}, {"Out": "float32", "MaxIndex": "int32"}, {"pooltype": "LAST"}, fetch=["Out"])
    b.op("sequence_softmax", {"X": [b.op("slice", {"Input": [cat]}, {"Out": "float32"}, dict(axes=[1], starts=[0], ends=[1]), fetch=False)[0]]}, {"Out": "float32"}, {})


def rank_table(b, x):
    table = b.block.create_var(name="table", type=paddle.base.core.VarDesc.VarType.LOD_RANK_TABLE)
    b.block.append_op(type="lod_rank_table", inputs={"X": [x]}, outputs={"Out": [table]}, attrs={"level": 0})
    return table


@each(ties=([[0, 2, 4, 7, 9]],), one=([[0, 4]],))
def rank_tables(b, lod):
    n = lod[0][-1]
    x = b.x("x", b.randn(n, 2), (-1, 2), lod)
    y = b.x("y", b.randn(len(lod[0]) - 1, 3), (-1, 3))
    table = rank_table(b, x)
    b.op("max_sequence_len", {"RankTable": [table]}, {"Out": "int64"})
    b.op("reorder_lod_tensor_by_rank", {"X": [y], "RankTable": [table]}, {"Out": "float32"})
    b.op("reorder_lod_tensor_by_rank", {"X": [x], "RankTable": [table]}, {"Out": "float32"})
    step = b.x("i", np.int64([1]))
    b.op("shrink_rnn_memory", {"X": [y], "RankTable": [table], "I": [step]}, {"Out": "float32"})
    array = b.block.create_var(name="array", type=paddle.base.core.VarDesc.VarType.LOD_TENSOR_ARRAY, dtype="float32", shape=[-1, 2])
    b.block.append_op(type="lod_tensor_to_array", inputs={"X": [x], "RankTable": [table]}, outputs={"Out": [array]})
    b.op("read_from_array", {"X": [array], "I": [step]}, {"Out": "float32"})
    back = b.block.create_var(name="back", dtype="float32", shape=[-1, 2], lod_level=1)
    b.op("array_to_lod_tensor", {"X": [array], "RankTable": [table]}, {"Out": back})


@each(some=([1, 0, 0, 1],), all=([1, 1, 1, 1],), none=([0, 0, 0, 0],))
def split_merge(b, mask):
    x, m = b.x("x", b.randn(4, 3), (-1, 3)), b.x("m", np.array(mask, "bool").reshape(4, 1), (-1, 1))
    yes, no = b.op("split_lod_tensor", {"X": [x], "Mask": [m]}, {"OutTrue": "float32", "OutFalse": "float32"}, {"level": 0}, fetch=False)
    yes, = b.op("scale", {"X": [yes]}, {"Out": "float32"}, {"scale": 2.0}, fetch=False)
    b.op("merge_lod_tensor", {"X": [x], "Mask": [m], "InTrue": [yes], "InFalse": [no]}, {"Out": "float32"}, {"level": 0})


@each(i64=("int64", 0, 0, 6), f32_auto=("float32", 0, 0, 4), i32=("int32", -2, 9, 5), f64=("float64", -1, 1, 3))
def histogram(b, dtype, low, high, bins):
    b.op("histogram", {"X": [b.x("x", (b.randn(3, 7) * 4).astype(dtype), (-1, 7))]}, {"Out": "int64"}, dict(bins=bins, min=low, max=high))


@each(all=([], False), keep=([1], True), two=([0, 2], False), negative=([-1], False))
def nanmedian(b, axis, keep):
    x = b.randn(2, 3, 4)
    x[0, 1, 2] = np.nan
    b.op("nanmedian", {"X": [b.x("x", x)]}, {"Out": "float32", "MedianIndex": "int64"}, dict(axis=axis, keepdim=keep), fetch=["Out"])


@each(f64=("float64", 0.5), negative=("float32", -1.0))
def thresholded_relu(b, dtype, threshold):
    b.op("thresholded_relu", {"X": [b.x("x", b.randn(3, 4).astype(dtype))]}, {"Out": dtype}, dict(threshold=threshold))


@each(f64=("float64",), i=("float32",))
def iou_similarity_lod(b, dtype):
    b.op("iou_similarity", {"X": [b.x("x", boxes(b, 5).astype(dtype), (-1, 4), [[0, 2, 5]])], "Y": [b.x("y", boxes(b, 3).astype(dtype), (-1, 4))]}, {"Out": dtype}, {"box_normalized": True})


# ---- parts of tables --------------------------------------------------------------------------------------------

@each(f32_i64=("float32", np.int64, 0), f64_i32=("float64", np.int32, 3), behind=("float32", np.int64, 10))
def c_embedding(b, dtype, kind, start):
    table, ids = b.x("w", b.randn(5, 3).astype(dtype)), b.x("ids", kind([[0, 4, 7], [3, 3, 12]]))
    b.op("c_embedding", {"W": [table], "Ids": [ids]}, {"Out": dtype}, {"start_index": start})


# ---- weights in bytes: GPUs only, so numpy computes them ---------------------------------------------------------

def pack_weights(q, bits, by_rows):
    """Whole numbers [rows, columns] as 2.6 and 3.x store them: [columns, rows] bytes, or half as many rows of halves."""
    rows, columns = q.shape
    n = 2 if bits == 8 else 4
    u = (q + (128 if bits == 8 else 8)).astype(np.uint8)
    if by_rows:
        u = u.reshape(rows, -1, n, 2).swapaxes(2, 3)
    else:
        u = u.T.reshape(columns, -1, n, 8).swapaxes(2, 3)      # each eighth row together
        u = u.reshape(columns // n, n, rows // 64, 64).swapaxes(1, 2)
    u = u.ravel()
    if bits == 4:
        u = u[::2] | u[1::2] << 4
    return u.view(np.int8).reshape(-1, rows)


def weights_in_bytes(bits, group, dtype, arch=80):
    rng = np.random.RandomState(bits + group)
    rows, columns, bound = 128, 32, 127 if bits == 8 else 7
    q = rng.randint(-bound, bound + 1, (rows, columns))
    scale = (rng.rand(rows // group, columns) + 0.5).astype(dtype) / bound
    real = q * np.repeat(scale.astype("float32"), group, 0)
    return pack_weights(q, bits, arch < 75), scale if group < rows else scale[0], real.astype("float32"), rng


for bits in (8, 4):
    for group in (128, 64):
        size = -1 if group == 128 else group
        w, scale, real, rng = weights_in_bytes(bits, group, "float32")
        known("weight_dequantize__int%d_%d" % (bits, group), "weight_dequantize", {"x": w, "scale": scale}, {"out": real},
              {"algo": "weight_only_int%d" % bits, "group_size": size})
        x, bias = rng.randn(2, 3, 128).astype("float32"), rng.randn(32).astype("float32")
        for arch in (70, 80):
            w = weights_in_bytes(bits, group, "float32", arch)[0]
            known("weight_only_linear__int%d_%d_sm%d" % (bits, group, arch), "weight_only_linear",
                  {"x": x, "weight": w, "bias": bias, "weight_scale": scale}, {"out": (x.astype("float64") @ real + bias).astype("float32")},
                  {"weight_dtype": "int%d" % bits, "arch": arch, "group_size": size})


# ---- other ops for GPUs: from their documents --------------------------------------------------------------------

I64 = np.int64
known("number_count__doc", "number_count", {"numbers": I64([[0, 2], [0, 2]])}, {"Out": I64([2, 0, 2, 0, 0, 0])}, {"upper_range": 6})
known("number_count__outside", "number_count", {"numbers": np.int32([3, -1, 1, 9, 3])}, {"Out": np.int32([0, 1, 0, 2])}, {"upper_range": 4})
known("limit_by_capacity__doc", "limit_by_capacity", {"expert_count": I64([1, 2, 2, 8, 3, 6]), "capacity": I64([5, 5, 5])},
      {"Out": I64([1, 2, 2, 4, 3, 3])}, {"n_worker": 2})
known("prune_gate_by_capacity__doc", "prune_gate_by_capacity",
      {"GateIdx": I64([1, 3, 3, 3, 3, 2, 1, 1]), "ExpertCount": I64([0, 3, 1, 3, 0, 0, 0, 0])}, {"NewGateIdx": I64([1, 3, 3, 3, -1, 2, 1, 1])},
      {"n_expert": 8, "n_worker": 1})
known("assign_pos__doc", "assign_pos", {"X": I64([[0, 2], [0, 2]]), "cum_count": I64([2, 2, 4, 4]), "eff_num_len": I64([4])},
      {"Out": I64([2, 0, 3, 1])}, declared={"Out": [-1]})
known("random_routing__two", "random_routing",
      {"Prob": np.float32([0.5, 0.3, 0.9]), "TopK_Value": np.float32([[0.8, 0.2], [0.6, 0.4], [0.5, 0.45]]),
       "TopK_Idx": I64([[1, 0], [2, 3], [0, 2]])}, {"Out": I64([[1, -1], [2, 3], [0, 2]])})


def correlate(a, b, pad, reach, step, stride):
    a, b = (np.pad(v.astype("float64"), ((0, 0), (0, 0), (pad, pad), (pad, pad))) for v in (a, b))
    high, wide = (n - 2 * reach for n in a.shape[2:])
    inside = lambda v, y, x: v[:, :, reach + y:reach + y + high, reach + x:reach + x + wide][:, :, ::stride, ::stride]
    moves = range(-(reach // step) * step, reach + 1, step)
    return np.stack([(inside(a, 0, 0) * inside(b, y, x)).mean(1) for y in moves for x in moves], 1).astype("float32")


for name, shape, (pad, reach, step, stride) in (("plain", (2, 3, 6, 7), (4, 4, 1, 1)), ("steps", (1, 2, 9, 8), (4, 4, 2, 1)),
                                                ("stride", (1, 4, 9, 8), (3, 2, 1, 2))):
    rng = np.random.RandomState(pad + step)
    a, b = rng.randn(*shape).astype("float32"), rng.randn(*shape).astype("float32")
    known("correlation__" + name, "correlation", {"Input1": a, "Input2": b}, {"Output": correlate(a, b, pad, reach, step, stride)},
          {"pad_size": pad, "kernel_size": 1, "max_displacement": reach, "stride1": stride, "stride2": step, "corr_type_multiply": 1})


def attend_to(q, k, v, offset, columns, padding=None, mask=None):
    seen = np.zeros(q.shape[:2] + (q.shape[2],) * 2, bool)
    for b, h, i in np.ndindex(*q.shape[:3]):
        seen[b, h, i, columns[b, h, offset[b, h, i]:offset[b, h, i + 1]]] = True
    seen &= True if padding is None else padding[:, None, None, :] != 0
    seen &= True if mask is None else mask != 0
    score = np.where(seen, q.astype("float64") @ k.swapaxes(2, 3) / np.sqrt(q.shape[3]), -np.inf)
    weight = np.exp(score - score.max(-1, keepdims=True))
    return (weight / weight.sum(-1, keepdims=True) @ v).astype("float32")


rng = np.random.RandomState(5)
Q, K, V = (rng.randn(2, 2, 4, 3).astype("float32") for _ in range(3))
OFFSET = np.tile(I32([0, 2, 4, 7, 8]), (2, 2, 1))
COLUMNS = np.tile(I32([0, 1, 0, 1, 1, 2, 3, 3]), (2, 2, 1))
ROWS = {"Q": Q, "K": K, "V": V, "Offset": OFFSET, "Columns": COLUMNS}
PADDING, MASK = np.float32([[1, 1, 0, 1], [1, 1, 1, 1]]), np.float32([[1, 0, 1, 1], [1] * 4, [1] * 4, [1] * 4])
known("sparse_attention__plain", "sparse_attention", ROWS, {"Out": attend_to(Q, K, V, OFFSET, COLUMNS)})
known("sparse_attention__masks", "sparse_attention", dict(ROWS, KeyPaddingMask=PADDING, AttnMask=MASK),
      {"Out": attend_to(Q, K, V, OFFSET, COLUMNS, PADDING, MASK)})
known("apply_per_channel_scale__plain", "apply_per_channel_scale", {"x": Q[0, 0], "scales": V[0, 0, 0]}, {"out": Q[0, 0] * V[0, 0, 0]})

X = rng.randn(2, 3, 4, 6).astype("float32")
known("max_pool2d_v2__nchw", "max_pool2d_v2", {"x": X}, {"out": X.reshape(2, 3, 2, 2, 3, 2).max((3, 5))},
      {"kernel_size": [2, 2], "strides": [2, 2], "paddings": [0, 0], "data_format": "NCHW", "global_pooling": False, "adaptive": False})
known("max_pool2d_v2__nhwc", "max_pool2d_v2", {"x": X.transpose(0, 2, 3, 1).copy()},
      {"out": X.reshape(2, 3, 2, 2, 3, 2).max((3, 5)).transpose(0, 2, 3, 1).copy()},
      {"kernel_size": [2, 2], "strides": [2, 2], "paddings": [0, 0], "data_format": "NHWC", "global_pooling": False, "adaptive": False})


# ---- one sequence only -----------------------------------------------------------------------------------------

ONE = [[0, 4]]


@case
def one_sequence__ops(b):
    x, y = b.x("x", b.randn(4, 2), (-1, 2), ONE), b.x("y", b.randn(3, 2), (-1, 2), [[0, 3]])
    row = b.x("r", b.randn(1, 3), (-1, 3))
    ids = b.x("i", np.int64([[3], [1], [2], [1]]), (-1, 1), ONE)
    b.op("sequence_reverse", {"X": [x]}, {"Y": "float32"})
    b.op("sequence_concat", {"X": [x, y]}, {"Out": "float32"})
    b.op("sequence_expand_as", {"X": [row], "Y": [x]}, {"Out": "float32"})
    b.op("sequence_pad", {"X": [x], "PadValue": [b.x("p", np.float32([0]))]}, {"Out": "float32", "Length": "int64"}, {"padded_length": 6})
    b.op("sequence_unpad", {"X": [b.x("u", b.randn(1, 4, 2))], "Length": [b.x("n", np.int64([3]))]}, {"Out": "float32"})
    b.op("sequence_slice", {"X": [x], "Offset": [b.x("o", np.int64([[1]]))], "Length": [b.x("l", np.int64([[2]]))]}, {"Out": "float32"})
    b.op("sequence_erase", {"X": [ids]}, {"Out": "int64"}, {"tokens": [1]})
    b.op("sequence_enumerate", {"X": [ids]}, {"Out": "int64"}, {"win_size": 2, "pad_value": 0})
    b.op("sequence_reshape", {"X": [x]}, {"Out": "float32"}, {"new_dim": 4})
    b.op("sequence_scatter", {"X": [b.x("s", b.randn(1, 5))], "Ids": [ids], "Updates": [b.x("d", b.randn(4, 1), (-1, 1), ONE)]}, {"Out": "float32"})


if __name__ == "__main__":
    target, wanted = sys.argv[1], sys.argv[2:]
    for case_name, case_fn in CASES.items():
        if wanted and not any(case_name.startswith(w) for w in wanted):
            continue
        try:
            write(case_name, case_fn, target)
        except Exception as e:  # the framework refuses it: no case
            print("%s: %s" % (case_name, " ".join(str(e).split())[-500:]))
    for case_name, given in KNOWN.items():
        if not wanted or any(case_name.startswith(w) for w in wanted):
            write_known(case_name, target, *given)
