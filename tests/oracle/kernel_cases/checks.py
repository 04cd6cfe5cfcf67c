"""What 3.3.1 has beyond 2.6: resizing without aliases, normalization with a residual, checks of numbers."""
import numpy as np
import paddle

rng = np.random.RandomState(7)
c = paddle._C_ops


def floats(*shape):
    return rng.randn(*shape).astype("float32")


def cases(add):
    antialias(add)
    by_scale(add)
    normalize(add)
    checks(add)


def antialias(add):
    sizes = ((9, 11, 5, 7, []), (5, 4, 9, 13, []), (9, 8, 3, 20, []), (7, 5, 1, 1, []), (9, 11, -1, -1, [0.6, 0.5]),
             (4, 6, -1, -1, [1.7, 2.0]))
    for method in ("bilinear", "bicubic"):
        for align in (False, True):
            for n, (h, w, oh, ow, scale) in enumerate(sizes):
                add("antialias_%s_%d_%d" % (method, align, n), lambda x, m=method, a=align, s=(oh, ow), f=scale: c.interp_antialias(
                    x, None, None, None, "NCHW", -1, s[0], s[1], f, m, a, 1), floats(2, 3, h, w))
        for dtype in ("float64", "float16", "uint8"):
            x = (rng.rand(2, 2, 19, 21) * 255).astype(dtype)
            add("antialias_%s_%s" % (method, dtype), lambda x, m=method: c.interp_antialias(
                x, None, None, None, "NCHW", -1, 8, 17, [], m, False, 0), x)
        add("antialias_%s_last" % method, lambda x, m=method: c.interp_antialias(
            x, None, None, None, "NHWC", -1, 4, 6, [], m, False, 0), floats(2, 9, 11, 3))
        add("antialias_%s_tensor" % method, lambda x, s, m=method: c.interp_antialias(
            x, s, None, None, "NCHW", -1, -1, -1, [], m, False, 0), floats(1, 2, 9, 11), np.array([3, 4], "int32"))


def by_scale(add):
    for name in ("nearest", "bilinear"):
        for n, scale in enumerate(([1.7, 2.0], [0.6, 1.3], [2.3, 0.45])):
            for align in (False, True):
                for mode in (0, 1):
                    add("scaled_%s_%d_%d_%d" % (name, n, align, mode),
                        lambda x, f=getattr(c, name + "_interp"), m=name, s=scale, a=align, o=mode: f(
                            x, None, None, None, "NCHW", -1, -1, -1, s, m, a, o), floats(1, 2, 7, 11))


def normalize(add):
    x, residual, scale, bias, shift = floats(2, 3, 8), floats(2, 3, 8), floats(8), floats(8), floats(8)
    call = lambda x, b, r, w, s, axis=2: c.fused_rms_norm_quant(x, b, r, w, s, 1e-5, axis, -1.0, 0, 0.0, 0.0)[:2 if r is not None else 1]
    add("rms_norm_quant_plain", lambda x, w: call(x, None, None, w, None), x, scale)
    add("rms_norm_quant_shift", lambda x, w, s: call(x, None, None, w, s), x, scale, shift)
    add("rms_norm_quant_bias_alone", lambda x, b, w: call(x, b, None, w, None), x, bias, scale)
    add("rms_norm_quant_residual", lambda x, r, w: call(x, None, r, w, None), x, residual, scale)
    add("rms_norm_quant_all", call, x, bias, residual, scale, shift)
    add("rms_norm_quant_axis1", lambda x, w: call(x, None, None, w, None, 1), x, floats(24))


def checks(add):
    for dtype in ("float32", "float64", "float16"):
        values = ([1, -2, 0, 3], [1, np.nan, np.inf, 0, 0], [np.nan, 1, 2], [-np.inf, 3], [2, 1, np.nan])
        for n, x in enumerate(values):
            add("check_numerics_%s_%d" % (dtype, n), lambda x: c.check_numerics(x, "op", "x", 1, -1, ""), np.array(x, dtype))
    pairs = (([1, 2], [1, 2.00001], False), ([1, np.nan], [1, np.nan], True), ([3, np.inf], [3, np.inf], False))
    for n, (x, y, equal_nan) in enumerate(pairs):
        add("accuracy_check_%d" % n, lambda x, y, e=equal_nan: c.accuracy_check(x, y, "f", 1e-5, 1e-8, e),
            np.array(x, "float32"), np.array(y, "float32"))
    add("accuracy_check_int", lambda x: c.accuracy_check(x, x, "f", 1e-5, 1e-8, False), np.array([1, 2, 3]))
