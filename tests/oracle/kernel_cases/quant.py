"""Quantization as graphs have it: simulated, linear, by channel; tables of bytes."""
import numpy as np
import paddle

rng = np.random.RandomState(4)
c = paddle._C_ops


def cases(add):
    simulated(add)
    linear(add)
    tables(add)
    packed(add)


def simulated(add):
    x = (rng.randn(3, 4, 2) * 3).astype("float32")
    scale = np.array([2.5], "float32")
    for bits in (4, 8):
        for rounding in (0, 1):
            key = "_%d_%d" % (bits, rounding)
            add("fake_abs_max" + key, lambda a, b=bits, r=rounding: c.fake_quantize_abs_max(a, b, r), x)
            add("fake_both_abs_max" + key, lambda a, b=bits, r=rounding: c.fake_quantize_dequantize_abs_max(a, b, r), x)
            add("fake_moving_test" + key, lambda a, s, b=bits, r=rounding: c.fake_quantize_moving_average_abs_max(
                a, s, None, None, 0.9, b, True, r)[0], x, scale)
            add("fake_both_moving_test" + key, lambda a, s, b=bits, r=rounding: c.fake_quantize_dequantize_moving_average_abs_max(
                a, s, None, None, 0.9, b, True, r)[0], x, scale)
            add("fake_range_test" + key, lambda a, s, b=bits, r=rounding: c.fake_quantize_range_abs_max(
                a, s, None, 10000, b, True, r)[0], x, scale)
            for axis in (0, 1):
                add("fake_channel%s_%d" % (key, axis), lambda a, b=bits, r=rounding, n=axis: c.fake_channel_wise_quantize_abs_max(
                    a, b, r, n, False), x)
                add("fake_channel_both%s_%d" % (key, axis), lambda a, b=bits, r=rounding, n=axis:
                    c.fake_channel_wise_quantize_dequantize_abs_max(a, b, r, n), x)
    add("fake_dequantize", lambda a, s: c.fake_dequantize_max_abs(a, s, 127.0), np.round(x * 20), scale)
    for axis in (0, 1):
        add("fake_channel_dequantize_%d" % axis, lambda a, s, n=axis: c.fake_channel_wise_dequantize_max_abs(a, [s], [8], n, 1),
            np.round(x * 20), rng.rand(x.shape[axis]).astype("float32") + 1)
    add("fake_channel_dequantize_two", lambda a, s, t: c.fake_channel_wise_dequantize_max_abs(a, [s, t], [8, 8], 1, 1),
        np.round(x * 20), rng.rand(4).astype("float32") + 1, np.array([1.7], "float32"))


def linear(add):
    x = (rng.randn(3, 4) * 2).astype("float32")
    for axis in (-1, 0, 1):
        n = 1 if axis < 0 else x.shape[axis]
        scale, zero, one = (rng.rand(n) + 0.5).astype("float32"), np.zeros(n, "float32"), np.ones(1, "float32")
        for rounding in (0, 1):
            for bits, low, high in ((8, -128, 127), (4, -8, 7)):
                add("quantize_linear_%d_%d_%d" % (axis + 1, rounding, bits), lambda a, s, z, u, n=axis, r=rounding, b=bits, i=low, j=high:
                    c.quantize_linear(a, s, z, u, u, n, b, i, j, r, True, False)[0], x, scale, zero, one)


def tables(add):
    add("dequantize_abs_max", lambda a, s: c.dequantize_abs_max(a, s, 127.0), rng.randint(-127, 128, (3, 4)).astype("int8"), np.array([2.5], "float32"))
    add("dequantize_log", c.dequantize_log, rng.randint(-128, 128, (3, 4)).astype("int8"), rng.rand(128).astype("float32"))


def packed(add):
    x = rng.randn(128, 32).astype("float16")
    x[:, 3] = 0
    for algo in ("weight_only_int8", "weight_only_int4"):
        for arch in (70, 75, 80, 90):
            for group in (-1, 64, 128):
                add("weight_quantize_%s_%d_%d" % (algo, arch, group), lambda a, w=algo, n=arch, g=group: c.weight_quantize(a, w, n, g), x)
