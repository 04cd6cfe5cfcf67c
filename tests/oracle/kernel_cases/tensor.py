"""Ops that shape, move, create and index tensors."""
import numpy as np
import paddle

DTYPES = ("float32", "float64", "float16", "int64", "int32", "uint8", "int8", "int16", "bool", "complex64")
rng = np.random.RandomState(0)


def floats(*shape):
    return rng.randn(*shape).astype("float32")


def ints(low, high, *shape):
    return rng.randint(low, high, shape).astype("int64")


def bools(*shape):
    return rng.rand(*shape) > 0.5


def cases(add):
    for dtype in DTYPES:
        def typed(name, build, *arrays, dtype=dtype):
            add("%s_%s" % (name, dtype), build, *arrays)
        move(typed, dtype)
        index(typed, dtype)
        image(typed, dtype)
        create(typed, dtype)
    series(add)
    diagonals(add)
    assigned(add)
    slices(add)
    shapes(add)
    masks(add)
    items(add)


def move(add, dtype):
    a = (rng.randn(2, 3, 4) * 4).astype(dtype)
    add("transpose", lambda x: paddle.transpose(x, [2, 0, 1]), a)
    add("concat", lambda x, y: paddle.concat([x, y, x], 1), a, a)
    add("slice", lambda x: paddle.slice(x, [1, 2], [-2, 0], [3, -1]), a)
    add("strided_slice", lambda x: paddle.strided_slice(x, [1, 2], [2, -1], [-10, 0], [-1, -2]), a)
    add("expand", lambda x: paddle.expand(x, [5, 2, 3, 4]), a)
    add("expand_as", paddle.expand_as, a[:, :1], a)
    add("tile", lambda x: paddle.tile(x, [2, 1, 3]), a)
    add("broadcast", lambda x, y: paddle.broadcast_tensors([x, y]), a[:, :1], a[0])
    add("pad", lambda x: paddle.nn.functional.pad(x, [1, 2, 0, 1, 2, 1]), a)
    add("crop", lambda x: paddle.crop(x, [1, -1, 2], [1, 1, 2]), a)
    add("roll", lambda x: paddle.roll(x, [1, -2], [0, 2]), a)
    add("flip", lambda x: paddle.flip(x, [0, -1]), a)
    add("stack", lambda x, y: paddle.stack([x, y], -1), a, a)
    add("unstack", lambda x: paddle.unstack(x, 1), a)
    add("unbind", lambda x: paddle.unbind(x, -1), a)
    add("split", lambda x: paddle.split(x, [1, -1], 2), a)
    add("meshgrid", paddle.meshgrid, a[0, 0], a[0, :, 0])
    add("flatten", lambda x: [paddle.flatten(x, 1, 2), paddle.unsqueeze(x, [0, -1, 2])], a)
    add("squeeze", lambda x: paddle.squeeze(x, [1]), a[:, :1])
    add("repeat_interleave", lambda x, r: [paddle.repeat_interleave(x, 3, 1), paddle.repeat_interleave(x, r, -1)],
        a, np.array([0, 2, 1, 3]))
    add("tril", lambda x: paddle.tril(x, 1), a)
    add("triu", lambda x: paddle.triu(x, -1), a)
    add("diag", lambda x: [paddle.diag(x, 1), paddle.diag(x, -1)], a.reshape(6, 4))
    add("diagonal", lambda x: paddle.diagonal(x, 1, 2, 0), a)
    add("diag_embed", lambda x: paddle.diag_embed(x, -1, 0, 2), a)
    add("fill_diagonal", lambda x: paddle._C_ops.fill_diagonal(x, 4.0, 1, False), a.reshape(6, 4))
    add("fill_diagonal_tensor", lambda x, y: paddle._C_ops.fill_diagonal_tensor(x, y, 1, 0, 2), a, a[0, :, :2])
    add("shape", lambda x: [paddle.shape(x), paddle.numel(x)], a)
    for mode in ("reflect", "replicate", "circular"):
        for layout in ("NCDHW", "NDHWC"):
            add("pad3d_%s_%s" % (mode, layout), lambda x: paddle.nn.functional.pad(
                x, [1, 1, 2, 1, 0, 2], mode=mode, data_format=layout), (rng.randn(2, 3, 4, 3, 2) * 4).astype(dtype))
    add("pad3d_constant", lambda x: paddle.nn.functional.pad(x, [1, -1, 2, 1, -1, 2], value=2.0, data_format="NCDHW"),
        (rng.randn(2, 3, 4, 3, 2) * 4).astype(dtype))


def index(add, dtype):
    a = (rng.randn(2, 3, 4) * 4).astype(dtype)
    rows = a.reshape(6, 4)
    add("gather", lambda x, i: paddle.gather(x, i, axis=1), a, ints(0, 3, 5))
    add("gather_nd", paddle.gather_nd, a, np.array([[[-1, 2], [0, 0]]]))
    add("where", paddle.where, bools(2, 3, 4), a, a[::-1])
    add("scatter", paddle.scatter, a, np.array([1, 0]), a[::-1])
    add("scatter_sum", lambda x, i, u: paddle.scatter(x, i, u, overwrite=False),
        a, np.array([1, 1, 0]), np.concatenate([a, a[:1]]))
    add("scatter_nd_add", paddle.scatter_nd_add, a, np.array([[1, 2], [0, 0], [1, 2]]), rows[:3])
    add("index_add", lambda x, i, u: paddle.index_add(x, i, 1, u), a, np.array([1, 1, -1, 0]), np.concatenate([a, a[:, :1]], 1))
    add("index_select", lambda x, i: paddle.index_select(x, i, 2), a, ints(-4, 4, 6))
    add("index_sample", paddle.index_sample, rows, ints(0, 4, 6, 3))
    add("index_put", lambda x, i, j, v: paddle.index_put(x, (i, j), v), a, np.array([-2, 0, 1]), ints(0, 3, 3), rows[:3])
    add("index_put_sum", lambda x, i, j, v: paddle.index_put(x, (i, j), v, True),
        a, np.array([0, 0, 1]), np.array([1, 1, 2]), rows[:3])
    add("nonzero", paddle.nonzero, a)
    add("masked_select", paddle.masked_select, a, bools(2, 3, 4))
    add("masked_fill", paddle.masked_fill, a, bools(3, 1), a[0, 0, 0])
    add("take_along_axis", lambda x, i: paddle.take_along_axis(x, i, 1), a, ints(-3, 3, 2, 4, 4))
    for how in ("assign", "add", "mul", "amin", "amax", "mean"):
        for self_too in (True, False):
            add("put_along_axis_%s_%d" % (how, self_too), lambda x, i, v: paddle.put_along_axis(x, i, v, 1, how, self_too),
                a, ints(-3, 3, 2, 4, 4), (rng.randn(2, 4, 4) * 4).astype(dtype))
    add("embedding", lambda x, w: paddle.nn.functional.embedding(x, w, padding_idx=1), ints(0, 6, 3, 2), rows)
    add("one_hot", lambda x: paddle.nn.functional.one_hot(x, 5), np.abs(rng.randn(2, 3) * 4).astype(dtype) % 5
        if dtype in ("int32", "int64") else a)
    if dtype in ("int32", "int64"):
        add("gather_tree", paddle.nn.functional.gather_tree, ints(0, 9, 3, 2, 2).astype(dtype), ints(0, 2, 3, 2, 2).astype(dtype))


def image(add, dtype):
    fn = paddle.nn.functional

    def grid(*shape):
        return np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    add("pixel_shuffle", lambda x: fn.pixel_shuffle(x, 2), grid(1, 12, 2, 2))
    add("pixel_unshuffle", lambda x: fn.pixel_unshuffle(x, 2), grid(2, 3, 4, 4))
    add("pixel_unshuffle_last", lambda x: fn.pixel_unshuffle(x, 2, "NHWC"), grid(2, 4, 4, 3))
    add("channel_shuffle", lambda x: fn.channel_shuffle(x, 2), grid(1, 6, 2, 2))
    add("channel_shuffle_last", lambda x: fn.channel_shuffle(x, 3, "NHWC"), grid(1, 2, 2, 6))
    add("temporal_shift", lambda x: fn.temporal_shift(x, 2, 0.3), grid(4, 10, 2, 2))
    add("temporal_shift_last", lambda x: fn.temporal_shift(x, 2, 0.3, None, "NHWC"), grid(4, 2, 2, 10))
    add("unfold", lambda x: fn.unfold(x, [2, 3], [2, 1], [1, 0, 2, 1], [1, 2]), (rng.randn(2, 3, 6, 7) * 3).astype(dtype))
    add("fold", lambda x: fn.fold(x, [5, 4], [2, 3], [2, 1], [1, 1], [1, 1]), rng.randn(2, 12, 12).astype(dtype))


def create(add, dtype):
    a = (rng.randn(2, 3) * 4).astype(dtype)
    add("full_like", lambda x: [paddle.full_like(x, 3), paddle.zeros_like(x), paddle.ones_like(x)], a)
    add("fill", lambda x: paddle._C_ops.fill(x, 5.0), a)
    add("eye", lambda: paddle.eye(3, 5, dtype=dtype))
    add("arange", lambda: paddle.arange(1, 50, 3, dtype=dtype))
    add("linspace", lambda: [paddle.linspace(-3, 40, 11, dtype=dtype), paddle.linspace(40, -3, 8, dtype=dtype)])
    add("logspace", lambda: paddle.logspace(0, 3, 5, base=2.0, dtype=dtype))
    add("sequence_mask", lambda x: [paddle.nn.functional.sequence_mask(x, dtype=dtype),
                                    paddle.nn.functional.sequence_mask(x, 3, dtype=dtype)], np.array([[2, 5], [0, 3]]))
    add("triangle_indices", lambda: [paddle.tril_indices(3, 5, -1, dtype=dtype), paddle.triu_indices(4, 3, 1, dtype=dtype)])


def series(add):
    for i, (start, end, step) in enumerate([(0, 1, 0.3), (0, 100, 0.3), (1, -1, -0.25), (5, 5, 1), (0, -5, 1), (0.1, 7.3, 0.7)]):
        for dtype in ("float32", "float64"):
            add("arange%d_%s" % (i, dtype), lambda: paddle.arange(start, end, step, dtype=dtype))
            add("linspace%d_%s" % (i, dtype), lambda: paddle.linspace(start, end, 37, dtype=dtype))
    add("logspace_floats", lambda: [paddle.logspace(1, 3, 7, base=10.0), paddle.logspace(1, 3, 1),
                                    paddle.logspace(3, -1, 6, base=2.0, dtype="float64")])
    add("full_batch_size_like", lambda x: paddle._C_ops.full_batch_size_like(
        x, [1, 3], paddle.float32, 2.5, 0, 0, paddle.CPUPlace()), floats(6, 2))


def diagonals(add):
    for wrap in (True, False):
        for offset in (-3, -1, 0, 1, 2):
            add("fill_diagonal_tall_%d_%d" % (wrap, offset), lambda x: paddle._C_ops.fill_diagonal(x, 7.0, offset, wrap), floats(9, 3))
            add("fill_diagonal_wide_%d_%d" % (wrap, offset), lambda x: paddle._C_ops.fill_diagonal(x, 7.0, offset, wrap), floats(3, 7))
        add("fill_diagonal_cube_%d" % wrap, lambda x: paddle._C_ops.fill_diagonal(x, 7.0, 0, wrap), floats(3, 3, 3))


def assigned(add):
    """starts, ends, steps, axes, decrease_axes, none_axes, shape of the values"""
    rows = [
        ([0], [3], [2], [0], [], [], [1]), ([2], [-10], [-1], [0], [], [], [4]), ([-1, 1], [3, 3], [1, 1], [0, 1], [0], [], [2]),
        ([0], [2], [1], [0], [], [0], [1, 2, 4]), ([0], [2], [1], [0], [], [1], [2, 1, 4]), ([0], [2], [1], [0], [], [1, 1], [2, 1, 1, 4]),
        ([0], [2], [1], [0], [], [0, 3], [1, 2, 4, 1]), ([1], [2], [1], [0], [0], [0], [1, 4]),
        ([1, 2], [2, 3], [1, 1], [0, 1], [0, 1], [], [1]), ([1], [3], [1], [1], [], [], [1, 1, 2]), ([1], [1], [1], [1], [], [], [1]),
        ([-100], [100], [3], [1], [], [], [3, 2]), ([-1], [0], [1], [1], [1], [], [1]), ([-1], [2147483647], [1], [1], [1], [], [1]),
    ]
    for i, (starts, ends, steps, axes, gone, none, shape) in enumerate(rows):
        values = np.arange(np.prod(shape), dtype="float32").reshape(shape)
        add("set_value%d" % i, lambda x: paddle._C_ops.set_value(
            x, starts, ends, steps, axes, gone, none, shape, values.ravel().tolist()), floats(3, 4))
        add("set_value_with_tensor%d" % i, lambda x, v: paddle._C_ops.set_value_with_tensor(
            x, v, starts, ends, steps, axes, gone, none), floats(3, 4), values)


def slices(add):
    x = np.arange(4).astype("float32")
    for start in (-10, -5, -4, -3, -1, 0, 1, 3, 4, 5, 10):
        for end in (-10, -5, -4, -1, 0, 2, 4, 9):
            add("slice_%d_%d" % (start, end), lambda x: [paddle.slice(x, [0], [start], [end])] + [
                paddle.strided_slice(x, [0], [start], [end], [step]) for step in (1, 2, 3, -1, -2, -5)], x)


def shapes(add):
    for i, (shape, to) in enumerate([
            ((2, 3, 4), [0, -1]), ((2, 3, 4), [4, 0, -1]), ((2, 3, 4), [-1]), ((2, 3, 4), [0, 0, 0, 1]), ((1, 1), []), ((0, 3), [0, -1]),
            ((2, 0), [0, -1]), ((2, 0, 3), [-1, 0, 3]), ((0, 3), [3, -1]), ((2, 0, 3), [2, -1]), ((0, 3), [-1, 3])]):
        add("reshape%d" % i, lambda x: paddle.reshape(x, to), floats(*shape))
    edges = {
        "reshape": lambda x: paddle.reshape(x, [-1]), "roll": lambda x: paddle.roll(x, 1), "flatten": paddle.flatten,
        "stack": lambda x: paddle.stack([x, x]), "where": lambda x: paddle.where(x > 0, x, x + 1), "diag": paddle.diag,
        "tile": lambda x: paddle.tile(x, [2, 2]), "shape": paddle.shape, "numel": paddle.numel, "is_empty": paddle.is_empty,
        "nonzero": paddle.nonzero, "masked_select": lambda x: paddle.masked_select(x, x > 0), "squeeze": paddle.squeeze,
        "concat": lambda x: paddle.concat([x, x]), "transpose": lambda x: paddle.transpose(x, list(range(len(x.shape)))[::-1]),
        "repeat": lambda x: paddle.repeat_interleave(x, 3), "expand": lambda x: paddle.expand(x, [2] + list(x.shape)),
        "unsqueeze": lambda x: paddle.unsqueeze(x, [0, 1]), "pad": lambda x: paddle.nn.functional.pad(x, [1, 1, 1, 1], value=2.0),
        "split": lambda x: paddle.split(x, 3, 1), "tril": paddle.tril, "meshgrid": lambda x: paddle.meshgrid(x, x),
    }
    for name, build in edges.items():
        add("empty_" + name, build, np.zeros([0, 3], "float32"))
        if name != "pad":  # ends the process
            add("scalar_" + name, build, np.array(2.5, "float32"))
    add("roll_far", lambda x: [paddle.roll(x, 13), paddle.roll(x, [3, 4], [0, 0]), paddle.roll(x, -7, -1)], floats(3, 4))
    add("shapes_from_tensors", lambda x, s: [paddle.reshape(x, s), paddle.tile(x, s[1:])], floats(2, 6), np.array([-1, 4]))
    add("expand_by_tensor", paddle.expand, floats(1, 3), np.array([2, 4, 3]))
    add("slice_by_tensors", lambda x, s, e: paddle.slice(x, [0, 1], [s, 1], [e, 3]), floats(4, 6), np.array([1]), np.array([3]))


def masks(add):
    for i, (shape, mask) in enumerate([((3, 4), (3, 1)), ((3,), (2, 3)), ((2, 1, 4), (3, 1)), ((3, 4), (3, 4)), ((), (3,))]):
        x, m = np.asarray(rng.randn(*shape), "float32"), bools(*mask)
        add("masked_select%d" % i, paddle.masked_select, x, m)
        add("masked_fill%d" % i, paddle.masked_fill, x, m, np.array([3.0], "float32"))
    puts = [((bools(3),), [1]), ((bools(3, 4),), [1]), ((np.array([[0], [1]]), np.array([1, 2])), [2, 2]),
            ((np.array([1, 1]),), [2, 4]), ((np.array([1, 1]),), [4]), ((np.array(1), np.array([1, 2])), [1])]
    for i, (where, shape) in enumerate(puts):
        for add_up in (True, False):
            add("index_put%d_%d" % (i, add_up), lambda x, v, *at: paddle.index_put(x, at, v, add_up), floats(3, 4), floats(*shape), *where)


def items(add):
    """x[...] and x[...] = v, as the framework spells them"""
    add("item_tensor", lambda x, i: x[i], floats(3, 4, 5), np.array([[0, 2], [-1, 1]]))
    add("item_two_tensors", lambda x, i, j: x[i, :, j], floats(3, 4, 5), np.array([0, 2]), np.array([[1], [4]]))
    add("item_mask", lambda x, m: x[m], floats(3, 4), bools(3, 4))
    add("item_row_mask", lambda x, m: x[m], floats(3, 4), bools(3))
    add("item_slices", lambda x: [x[..., None, 1:, ::2], x[-1], x[:, -1:, 1]], floats(3, 4, 5))
    put = paddle.static.setitem
    add("put_row", lambda x, v: put(x, (0, slice(1, 3)), v), floats(3, 4, 5), floats(5))
    add("put_rows", lambda x, v, i: put(x, (i,), v), floats(3, 4, 5), floats(4, 5), np.array([0, 2]))
    add("put_mask", lambda x, v, m: put(x, (m,), v), floats(3, 4), np.array(3.0, "float32"), bools(3, 4))
    add("put_new_axis", lambda x: put(x, (slice(None), None, slice(0, 2)), 5.0), floats(3, 4))
    add("put_rounded", lambda x: put(x, (Ellipsis, 1), 2.7), ints(0, 9, 3, 4))
    add("put_bool", lambda x: put(x, (slice(0, 2),), True), bools(3, 4))
    add("gather_rows", lambda x, i: [paddle.gather(x, i), paddle.gather(x, i[:, 0], axis=-1)], floats(4, 4), ints(-4, 4, 3, 1))
    add("gather_one", lambda x, i: [paddle.gather(x, i), paddle.gather(x, i, axis=1)], floats(4, 4), np.array(2))
    add("scatter_one", paddle.scatter, floats(4, 3), np.array(2), floats(3))
    add("shard_index", lambda x: paddle.shard_index(x, 20, 3, 1, -7), ints(0, 20, 6, 1))
    add("c_embedding", lambda w, x: paddle._C_ops.c_embedding(w, x, 2, -1), floats(4, 3), ints(0, 8, 5))
    add("index_fill", lambda x, i: paddle.index_fill(x, i, 1, 9.0), floats(3, 4), np.array([0, -1]))
