"""Graphs, segments and label sequences."""
import numpy as np
import paddle

rng = np.random.RandomState(3)
SRC, DST = np.array([0, 1, 2, 0, 3], "int64"), np.array([1, 2, 1, 0, 2], "int64")


def cases(add):
    for dtype in ("float32", "float64", "int32", "int64"):
        def typed(name, build, *arrays, dtype=dtype):
            add("%s_%s" % (name, dtype), build, *arrays)
        messages(typed, dtype)
    labels(add)


def values(dtype, *shape):
    return (rng.randn(*shape) * 5).astype(dtype)


def messages(add, dtype):
    geometric = paddle.geometric
    for how in ("sum", "mean", "max", "min"):
        add("send_u_recv_" + how, lambda x, s, d, h=how: geometric.send_u_recv(x, s, d, h), values(dtype, 4, 3), SRC, DST)
        add("send_u_recv_size_" + how, lambda x, s, d, h=how: geometric.send_u_recv(x, s, d, h, 6), values(dtype, 4, 3), SRC, DST)
        for message in ("add", "mul", "sub"):
            add("send_ue_recv_%s_%s" % (message, how), lambda x, y, s, d, h=how, m=message: geometric.send_ue_recv(x, y, s, d, m, h),
                values(dtype, 4, 3, 1), values(dtype, 5, 1, 2), SRC, DST)
        add("segment_" + how, lambda x, i, h=how: getattr(geometric, "segment_" + h)(x, i), values(dtype, 6, 2, 2),
            np.array([0, 0, 2, 2, 2, 4]))
    for message in ("add", "mul"):
        add("send_uv_" + message, lambda x, y, s, d, m=message: geometric.send_uv(x, y, s, d, m), values(dtype, 4, 3), values(dtype, 4, 1), SRC, DST)
    if dtype.startswith("int"):
        add("reindex_graph", geometric.reindex_graph, np.array([3, 7, 1], dtype), np.array([7, 9, 3, 1, 3, 12], dtype), np.array([2, 1, 3], "int32"))
        add("sample_neighbors", lambda r, c, x: geometric.sample_neighbors(r, c, x, 5),
            np.array([3, 7, 0, 9, 1, 4, 2, 9, 3, 9, 1, 9, 7], dtype), np.array([0, 2, 4, 5, 6, 7, 9, 11, 11, 13, 13], dtype), np.array([0, 8, 1, 7, 2], dtype))


def labels(add):
    for ends in (False, True):
        for lengths in ([4, 2, 1], [5, 5, 5]):
            add("viterbi_%d_%d" % (ends, lengths[0]), lambda x, t, n, e=ends: paddle.text.viterbi_decode(x, t, n, e),
                rng.randn(3, 5, 4).astype("float32"), rng.randn(4, 4).astype("float32"), np.array(lengths))
