"""Linear algebra and Fourier transforms. Eigenvectors and singular vectors are compared by what they rebuild: their signs are free."""
import numpy as np
import paddle

rng = np.random.RandomState(1)
REALS = ("float32", "float64")
ALL = REALS + ("complex64", "complex128")


def numbers(dtype, *shape):
    a = rng.randn(*shape)
    return (a + 1j * rng.randn(*shape) if dtype.startswith("complex") else a).astype(dtype)


def definite(dtype, n, *batch):
    a = numbers(dtype, *batch, n, n)
    return (a @ np.conj(np.swapaxes(a, -1, -2)) + n * np.eye(n)).astype(dtype)


def cases(add):
    for dtype in ALL:
        def typed(name, build, *arrays, dtype=dtype):
            add("%s_%s" % (name, dtype), build, *arrays)
        factors(typed, dtype)
        systems(typed, dtype)
        spectra(typed, dtype)
        if dtype in REALS:
            waves(typed, dtype)
    ranks(add)
    transforms(add)


def factors(add, dtype):
    add("cholesky", paddle.linalg.cholesky, definite(dtype, 4, 2))
    add("cholesky_upper", lambda x: paddle.linalg.cholesky(x, upper=True), definite(dtype, 5))
    for name, shape in (("tall", (2, 5, 3)), ("wide", (3, 5)), ("square", (2, 1, 4, 4)), ("one", (1, 1))):
        a = numbers(dtype, *shape)
        add("lu_" + name, lambda x: paddle.linalg.lu(x, get_infos=True), a)
        add("lu_unpack_" + name, lambda x: paddle.linalg.lu_unpack(*paddle.linalg.lu(x)), a)
        for mode in ("reduced", "complete"):
            add("qr_%s_%s" % (mode, name), lambda x, m=mode: paddle.linalg.qr(x, m), a)
        add("qr_r_" + name, lambda x: paddle.linalg.qr(x, "r"), a)


def systems(add, dtype):
    a = numbers(dtype, 2, 3, 3) + 3 * np.eye(3).astype(dtype)
    b = numbers(dtype, 2, 3, 2)
    add("inverse", paddle.linalg.inv, a)
    add("det", paddle.linalg.det, numbers(dtype, 2, 3, 4, 4))
    add("det_one", paddle.linalg.det, numbers(dtype, 3, 3))
    add("det_singular", paddle.linalg.det, np.ones((3, 3), dtype))
    add("slogdet", paddle.linalg.slogdet, numbers(dtype, 2, 3, 3))
    for n in (-2, -1, 0, 1, 5):
        add("matrix_power_%s" % str(n).replace("-", "m"), lambda x, n=n: paddle.linalg.matrix_power(x, n), a)
    add("solve", paddle.linalg.solve, a, b)
    add("solve_vector", paddle.linalg.solve, a[0], b[0, :, 0])
    add("solve_batch", paddle.linalg.solve, a, b[0])
    for upper in (False, True):
        for transpose in (False, True):
            for unit in (False, True):
                add("triangular_%d%d%d" % (upper, transpose, unit),
                    lambda x, y, u=upper, t=transpose, i=unit: paddle.linalg.triangular_solve(x, y, u, t, i), a, b)
        add("cholesky_solve_%d" % upper, lambda y, x, u=upper: paddle.linalg.cholesky_solve(
            y, paddle.linalg.cholesky(x, upper=u), upper=u), b, definite(dtype, 3, 2))
    for trans in "NTC":
        add("lu_solve_" + trans,
            lambda x, y, t=trans: paddle.linalg.lu_solve(y, *paddle.linalg.lu(x), trans=t), a, b)
    add("multi_dot", lambda x, y, z: paddle.linalg.multi_dot([x, y, z]), *[numbers(dtype, *s) for s in ((2, 3), (3, 4), (4, 5))])
    add("multi_dot_vectors", lambda x, y, z: paddle.linalg.multi_dot([x, y, z]), *[numbers(dtype, *s) for s in ((3,), (3, 4), (4,))])


def spectra(add, dtype):
    for name, shape in (("tall", (2, 5, 3)), ("wide", (3, 5)), ("square", (4, 4))):
        a = numbers(dtype, *shape)
        add("svd_" + name, lambda x: rebuilt(*paddle.linalg.svd(x, full_matrices=False)), a)
        add("svdvals_" + name, paddle.linalg.svdvals, a)
        add("svd_full_" + name, lambda x: squares(*paddle.linalg.svd(x, full_matrices=True)), a)
        if shape[-1] <= shape[-2]:
            add("lstsq_" + name, lambda x, y: paddle.linalg.lstsq(x, y, driver="gelsd")[0], a, numbers(dtype, *shape[:-1], 2))
    for side in "LU":
        add("eigvalsh_" + side, lambda x, s=side: paddle.linalg.eigvalsh(x, s), numbers(dtype, 2, 4, 4))
        if dtype.endswith(("t64", "128")):  # what it rebuilds is not exact to 1e-5 in single precision
            add("eigh_" + side, lambda x, s=side: by_vectors(*paddle.linalg.eigh(x, s)), definite(dtype, 4, 2))


def rebuilt(u, s, vh):
    return [s, paddle.matmul(u * paddle.cast(s.unsqueeze(-2), u.dtype), vh)]


def squares(u, s, vh):
    """unitary, whatever the further columns are"""
    return [s] + [paddle.matmul(m, paddle.conj(m).transpose(list(range(m.ndim - 2)) + [m.ndim - 1, m.ndim - 2])) for m in (u, vh)]


def by_vectors(w, v):
    adjoint = paddle.conj(v).transpose([0, 2, 1])
    return [w, paddle.matmul(v * paddle.cast(w.unsqueeze(-2), v.dtype), adjoint)]


def ranks(add):
    low = (rng.randn(5, 3) @ rng.randn(3, 6)).astype("float32")
    batch = rng.randn(2, 4, 5).astype("float32")
    add("matrix_rank", paddle.linalg.matrix_rank, low)
    add("matrix_rank_batch", paddle.linalg.matrix_rank, batch)
    add("matrix_rank_tol", lambda x: paddle.linalg.matrix_rank(x, tol=1.5), batch)
    add("matrix_rank_tols", lambda x, t: paddle.linalg.matrix_rank(x, tol=t), batch, np.array([1.0, 2.0], "float32"))
    add("matrix_rank_hermitian", lambda x: paddle.linalg.matrix_rank(x, tol=5.0, hermitian=True), definite("float64", 4))
    add("matrix_rank_atol", lambda x, a: paddle.linalg.matrix_rank(x, atol=a), batch, np.array([1.0, 2.0], "float32"))
    add("matrix_rank_atol_rtol", lambda x, a, r: paddle.linalg.matrix_rank(x, atol=a, rtol=r), batch,
        np.array([1.0, 2.0], "float32"), np.array([0.4, 0.1], "float32"))
    for driver in ("gels", "gelsy", "gelsd", "gelss"):
        for name, (m, n) in (("tall", (5, 3)), ("wide", (3, 5))):
            add("lstsq_%s_%s" % (driver, name), lambda x, y, d=driver: paddle.linalg.lstsq(x, y, 1e-10, d)[0],
                rng.randn(2, m, n), rng.randn(2, m, 2))


def waves(add, dtype):
    a = numbers(dtype, 2, 20)
    add("frame", lambda x: paddle.signal.frame(x, 6, 4), a)
    add("frame_first", lambda x: paddle.signal.frame(x, 6, 4, 0), a.T.copy())
    add("overlap_add", lambda x: paddle.signal.overlap_add(x, 3), numbers(dtype, 2, 6, 4))
    add("overlap_add_first", lambda x: paddle.signal.overlap_add(x, 3, 0), numbers(dtype, 4, 6, 2))
    add("stft", lambda x: paddle.signal.stft(x, 8, 3), a)


def transforms(add):
    for n in (1, 2, 3, 7, 8, 12, 30):
        add("fft_%d" % n, lambda x: [paddle.fft.fft(x), paddle.fft.ifft(x)], numbers("complex128", 2, n))
        add("rfft_%d" % n, paddle.fft.rfft, numbers("float32", 2, n))
        add("hfft_%d" % n, lambda x: [paddle.fft.irfft(x, 9), paddle.fft.hfft(x, 9)], numbers("complex64", 2, n))
    for norm in ("backward", "forward", "ortho"):
        add("fftn_" + norm, lambda x, m=norm: [paddle.fft.fftn(x, axes=[0, 2], norm=m), paddle.fft.ifftn(x, axes=[1], norm=m)],
            numbers("complex64", 3, 4, 5))
        add("rfftn_" + norm, lambda x, m=norm: [paddle.fft.rfftn(x, axes=[1, 0], norm=m), paddle.fft.ihfftn(x, axes=[1, 2], norm=m)],
            numbers("float64", 3, 4, 5))
        add("irfftn_" + norm, lambda x, m=norm: [paddle.fft.irfftn(x, axes=[1, 0], norm=m), paddle.fft.hfftn(x, axes=[1, 2], norm=m)],
            numbers("complex128", 3, 4, 5))
