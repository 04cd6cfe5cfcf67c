"""Boxes and regions: suppression, priors, YOLO heads, pooling of regions, proposals."""
import numpy as np
import paddle
from paddle.vision import ops

rng = np.random.RandomState(2)


def boxes(n, size=1.0, *batch, dtype="float32"):
    corner = rng.rand(*batch, n, 2) * size * 0.7
    return np.concatenate([corner, corner + rng.rand(*batch, n, 2) * size * 0.5 + size * 0.02], -1).astype(dtype)


def rand(*shape, dtype="float32"):
    return rng.rand(*shape).astype(dtype)


def randn(*shape, dtype="float32"):
    return rng.randn(*shape).astype(dtype)


def cases(add):
    for dtype in ("float32", "float64"):
        def typed(name, build, *arrays, dtype=dtype):
            add("%s_%s" % (name, dtype), build, *arrays)
        suppression(typed, dtype)
        coding(typed, dtype)
        priors(typed, dtype)
        yolo(typed, dtype)
        regions(typed, dtype)
        proposals(typed, dtype)


def suppression(add, dtype):
    add("nms", lambda x: ops.nms(x, 0.3), boxes(20, dtype=dtype))
    for i, (gauss, background, top, keep, post) in enumerate(((False, 0, -1, -1, 0.0), (True, -1, 10, 8, 0.3), (False, 1, 6, 4, 0.1))):
        add("matrix_nms_%d" % i, lambda b, s, a=(gauss, background, top, keep, post): ops.matrix_nms(
            b, s, score_threshold=0.2, post_threshold=a[4], nms_top_k=a[2], keep_top_k=a[3], use_gaussian=a[0],
            background_label=a[1], normalized=a[2] != 6, return_index=True),
            boxes(20, 1.0, 2, dtype=dtype), rand(2, 3, 20, dtype=dtype))
    for i, (threshold, top, keep, eta, normalized) in enumerate(((0.3, 10, 8, 1.0, True), (0.1, -1, -1, 0.9, False), (0.999, 20, 3, 1.0, True))):
        add("multiclass_nms3_%d" % i, lambda b, s, a=(threshold, top, keep, eta, normalized): paddle._C_ops.multiclass_nms3(
            b, s, None, a[0], a[1], a[2], 0.4, a[4], a[3], 0), boxes(30, 1.0, 2, dtype=dtype), rand(2, 4, 30, dtype=dtype))


def coding(add, dtype):
    p, var = boxes(5, 10.0, dtype=dtype), rand(5, 4, dtype=dtype) + 0.1
    var = var.astype(dtype)
    for normalized in (True, False):
        name = "_normalized" if normalized else ""
        add("box_encode" + name, lambda x, v, t, n=normalized: ops.box_coder(x, v, t, "encode_center_size", n),
            p, var, boxes(3, 10.0, dtype=dtype))
        for axis in (0, 1):
            add("box_decode_%d%s" % (axis, name), lambda x, v, t, n=normalized, a=axis: ops.box_coder(
                x, v, t, "decode_center_size", n, axis=a), p, var, 0.3 * randn(*((3, 5, 4) if axis == 0 else (5, 3, 4)), dtype=dtype))
    if dtype == "float32":  # the framework takes the list for doubles otherwise
        add("box_decode_list", lambda x, t: ops.box_coder(x, [0.1, 0.1, 0.2, 0.2], t, "decode_center_size"), p, randn(3, 5, 4, dtype=dtype))


def priors(add, dtype):
    x, image = randn(1, 3, 4, 5, dtype=dtype), randn(1, 3, 40, 60, dtype=dtype)
    add("prior_box", lambda a, b: ops.prior_box(a, b, [4.0, 8.0], [9.0, 16.0], [2.0, 3.0, 1.0], flip=True, clip=True,
                                                min_max_aspect_ratios_order=True), x, image)
    add("prior_box_steps", lambda a, b: ops.prior_box(a, b, [4.0, 8.0], None, [2.0, 0.5], steps=[8.0, 9.0], offset=0.3), x, image)


def yolo(add, dtype):
    sizes = np.array([[300, 400], [200, 333]], "int32")
    for i, (threshold, scale, clip, aware) in enumerate(((0.01, 1.0, True, False), (0.5, 1.2, False, False), (0.3, 1.05, True, True))):
        add("yolo_box_%d" % i, lambda x, s, a=(threshold, scale, clip, aware): ops.yolo_box(
            x, s, [10, 13, 16, 30, 33, 23], 4, a[0], 32, a[2], scale_x_y=a[1], iou_aware=a[3], iou_aware_factor=0.4),
            randn(2, 27 + 3 * aware, 4, 5, dtype=dtype), sizes)
    truths = (rand(2, 5, 4, dtype=dtype) * 0.6 + 0.1).astype(dtype)
    truths[:, 3] = 0
    labels = rng.randint(0, 3, (2, 5)).astype("int32")
    for smooth in (False, True):
        add("yolo_loss_%d" % smooth, lambda x, b, l, s, m=smooth: ops.yolo_loss(
            x, b, l, [10, 13, 16, 30, 33, 23, 60, 90], [1, 2], 3, 0.3, 32, s, m, scale_x_y=1.1),
            randn(2, 16, 4, 4, dtype=dtype), truths, labels, rand(2, 5, dtype=dtype))


def regions(add, dtype):
    x, counts = randn(2, 12, 8, 9, dtype=dtype), np.array([2, 3], "int32")
    r = (boxes(5, 60.0, dtype=dtype) - 8).astype(dtype)
    for ratio in (-1, 0, 2):
        for aligned in (False, True):
            add("roi_align_%s_%d" % (str(ratio).replace("-", "m"), aligned), lambda a, b, n, s=ratio, g=aligned: ops.roi_align(
                a, b, n, (2, 3), 0.11, s, g), x, r, counts)
    add("roi_pool", lambda a, b, n: ops.roi_pool(a, b, n, (2, 3), 0.11), x, r, counts)
    add("psroi_pool", lambda a, b, n: ops.psroi_pool(a, b, n, (2, 3), 0.11), x, r, counts)


def proposals(add, dtype):
    scores, deltas = rand(2, 3, 4, 5, dtype=dtype), (randn(2, 12, 4, 5, dtype=dtype) * 0.4).astype(dtype)
    anchors, variances = boxes(60, 70.0, dtype=dtype).reshape(4, 5, 3, 4), (rand(4, 5, 3, 4, dtype=dtype) + 0.1).astype(dtype)
    sizes = np.array([[60, 70], [50, 80]], dtype)
    for i, (before, after, threshold, least, pixels) in enumerate(((0, 10, 0.5, 1.0, True), (30, 5, 0.3, 3.0, False), (60, 3, 0.7, 1000.0, False))):
        add("generate_proposals_%d" % i, lambda s, d, z, a, v, o=(before, after, threshold, least, pixels): ops.generate_proposals(
            s, d, z, a, v, o[0], o[1], o[2], o[3], 1.0, o[4], return_rois_num=True), scores, deltas, sizes, anchors, variances)
    r, counts = boxes(12, 500.0, dtype=dtype), np.array([5, 7], "int32")
    for pixels in (False, True):
        add("distribute_fpn_%d" % pixels, lambda x, n, p=pixels: flat(ops.distribute_fpn_proposals(x, 2, 5, 4, 224, p, n)), r, counts)


def flat(values):
    out = []
    for v in values:
        out += v if isinstance(v, (list, tuple)) else [v]
    return out
