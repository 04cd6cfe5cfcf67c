#!/usr/bin/env python3
"""Ask paddlepaddle 3.x what it makes of a model; also the library of the other scripts here.

Run it with a Python that has paddlepaddle 3.x (checked with 3.3.1 and 3.0.0), CPU only; `diff` needs numpy only.

  oracle.py translate MODEL OUT.json            legacy ProgramDesc -> PIR JSON, by Paddle itself
  oracle.py run MODEL IN.npz OUT.npz            run a PIR JSON or legacy model on CPU
  oracle.py print MODEL                         PIR text
  oracle.py diff REF.npz GOT.npz                compare two files with recorded outputs

MODEL: a file (x.json, x.pdmodel, dir/__model__), a prefix "dir/x" (x.json is taken before x.pdmodel), or a
folder, in which the first of inference.json, model.json, __model__.json, inference.pdmodel, model.pdmodel,
__model__ is taken.  Parameters: --params (a combined file, or a folder with one file per parameter); else
x.pdiparams beside x.json or x.pdmodel; else, for __model__, the file __params__ or params beside it; else one
file per parameter beside it.

Recorded files (IN.npz, OUT.npz, io.npz) have the keys
  in:<feed>                    input (a plain key <feed> does as well)
  out:<position>:<variable>    output, position = fetch column, variable = what the fetch op names
  lod:<in|out>:<name>:<level>  LoD as offsets, one key per level, absent where there is none
bfloat16 is stored as uint16.  One io.npz serves as IN and as REF: other keys are ignored.

Comparison: outputs by position; number of outputs, dtype, shape and LoD exactly; integers and
booleans equal; floating and complex values |got-ref| <= atol + rtol*|ref|, NaN meets NaN, an infinity the same.
"""
import argparse
import json
import os
import re
import shutil
import sys
import warnings

warnings.filterwarnings("ignore")
os.environ.setdefault("GLOG_minloglevel", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("FLAGS_enable_pir_api", "1")
os.environ.setdefault("FLAGS_use_mkldnn", "0")

try:
    import numpy as np
except ImportError:      # bad.py does most of its work without
    np = None

LEGACY_NAMES = ("inference.pdmodel", "model.pdmodel", "__model__")
FOLDER_NAMES = ("inference.json", "model.json", "__model__.json") + LEGACY_NAMES


# ---- finding files ------------------------------------------------------------------------------------------

def find_model(name):
    """Give (path, kind); kind is 'json' or 'pdmodel'."""
    if os.path.isdir(name):
        cands = [os.path.join(name, n) for n in FOLDER_NAMES]
    else:
        cands = [name, name + ".json", name + ".pdmodel"]
    for cand in cands:
        if os.path.isfile(cand):
            with open(cand, "rb") as f:
                head = f.read(1)
            return cand, "json" if cand.endswith(".json") or head == b"{" else "pdmodel"
    sys.exit("oracle: no model found for %r" % name)


def find_params(model, params):
    """A combined file, or a folder with separate files; the path need not exist (no parameters)."""
    if params:
        return params
    folder = os.path.dirname(model) or "."
    if os.path.basename(model) in ("__model__", "__model__.json"):
        for n in ("__params__", "params"):
            if os.path.isfile(os.path.join(folder, n)):
                return os.path.join(folder, n)
        return folder
    return os.path.splitext(model)[0] + ".pdiparams"


# ---- recorded files -----------------------------------------------------------------------------------------

def read_npz(path):
    with np.load(path, allow_pickle=False) as z:
        return {k: z[k] for k in z.files}


def lod_of(arrays, side, name):
    levels = []
    while "lod:%s:%s:%d" % (side, name, len(levels)) in arrays:
        levels.append([int(v) for v in arrays["lod:%s:%s:%d" % (side, name, len(levels))]])
    return levels


def inputs_of(arrays):
    """feed name -> (array, lod)"""
    marked = any(k.startswith("in:") for k in arrays)
    names = {k[3:] if marked else k: k for k in arrays
             if (k.startswith("in:") if marked else not re.match(r"out:\d+:|lod:(in|out):", k))}
    return {n: (arrays[k], lod_of(arrays, "in", n)) for n, k in names.items()}


def outputs_of(arrays):
    """[(name, array, lod)] by position; the positions must be 0, 1, 2, ...  Old files have keys out0, out1, ..."""
    found = [(m, k) for m, k in ((re.fullmatch(r"out:?(\d+)(?::(.*))?", k, re.S), k) for k in arrays) if m]
    outs = sorted((int(m.group(1)), m.group(2) or "", k) for m, k in found)
    if [i for i, _, _ in outs] != list(range(len(outs))):
        raise ValueError("output positions are %s" % [i for i, _, _ in outs])
    return [(name, arrays[k], lod_of(arrays, "out", name)) for _, name, k in outs]


def write_outputs(path, outs):
    arrays = {}
    for i, (name, value, lod) in enumerate(outs):
        arrays["out:%d:%s" % (i, name)] = value
        for level, offsets in enumerate(lod):
            arrays["lod:out:%s:%d" % (name, level)] = np.asarray(offsets, "int64")
    np.savez(path, **arrays)


# ---- comparing ----------------------------------------------------------------------------------------------

def compare_array(ref, got, rtol, atol):
    """-> (reasons, largest absolute difference)"""
    if ref.dtype != got.dtype or ref.shape != got.shape:
        return ["%s%s, expected %s%s" % (got.dtype, list(got.shape), ref.dtype, list(ref.shape))], float("inf")
    if ref.dtype.kind not in "fc":
        off = int((ref != got).sum())
        if not off:
            return [], 0.0
        return ["%d of %d values differ" % (off, ref.size)], \
            max(float(abs(int(g) - int(r))) for r, g in zip(ref[ref != got], got[ref != got]))
    wide = np.complex128 if ref.dtype.kind == "c" else np.float64
    r, g = np.atleast_1d(ref.astype(wide)), np.atleast_1d(got.astype(wide))
    if wide is np.complex128:      # real and imaginary parts one by one, for their NaN and inf
        r, g = np.stack([r.real, r.imag]), np.stack([g.real, g.imag])
    why = []
    nan = np.isnan(r) | np.isnan(g)
    inf = (np.isinf(r) | np.isinf(g)) & ~nan
    if (np.isnan(r) != np.isnan(g)).any():
        why.append("%d NaN mismatches" % int((np.isnan(r) != np.isnan(g)).sum()))
    if (r[inf] != g[inf]).any():
        why.append("%d inf mismatches" % int((r[inf] != g[inf]).sum()))
    r, g = r[~nan & ~inf], g[~nan & ~inf]
    d = np.abs(g - r)
    off = int((d > atol + rtol * np.abs(r)).sum())
    if off:
        why.append("%d of %d values off" % (off, ref.size))
    return why, float(d.max()) if d.size else 0.0


def compare_outputs(ref, got, rtol, atol, ignore_lod=False, names=False):
    """ref, got as outputs_of gives them -> [(position, name, reasons, largest difference)]"""
    if not ref:
        return [(0, "-", ["the reference has no outputs"], 0.0)]
    rows = []
    for i in range(max(len(ref), len(got))):
        if i >= len(ref) or i >= len(got):
            name = (ref + got[len(ref):] if i >= len(ref) else ref)[i][0]
            rows.append((i, name, ["missing" if i < len(ref) else "not expected"], float("inf")))
            continue
        why, worst = compare_array(ref[i][1], got[i][1], rtol, atol)
        if not ignore_lod and ref[i][2] != got[i][2]:
            why.append("LoD %s, expected %s" % (got[i][2], ref[i][2]))
        if names and ref[i][0] != got[i][0]:
            why.append("named %r" % got[i][0])
        rows.append((i, ref[i][0], why, worst))
    return rows


# ---- Paddle -------------------------------------------------------------------------------------------------

def import_paddle():
    import paddle

    paddle.enable_static()
    return paddle


def read_desc(paddle, path, promote):
    """Legacy bytes -> old-IR Program (feeds and fetches kept)."""
    with open(path, "rb") as f:
        data = f.read()
    with paddle.pir_utils.OldIrGuard():
        prog = paddle.static.deserialize_program(data)
        if promote:
            from paddle.base.framework import process_type_promotion

            prog = process_type_promotion(prog)
    return prog


def feeds_to_data(paddle, prog):
    """pd_op.feed -> pd_op.data, which is what saved 3.x models hold."""
    block = prog.global_block()
    old = [op for op in block.ops if op.name() == "pd_op.feed"]
    with paddle.static.program_guard(prog):
        for op in old:
            src = op.result(0)
            new = paddle._pir_ops.data(
                op.attrs()["name"], src.shape, src.dtype, paddle.base.core.Place()
            )
            src.replace_all_uses_with(new)
            new.get_defining_op().move_before(op)
    for op in old:
        block.remove_op(op)


def to_pir(paddle, path, keep_feed=False, promote=False):
    desc = read_desc(paddle, path, promote).desc
    prog = paddle.pir.translate_to_pir(desc)
    if not keep_feed:
        feeds_to_data(paddle, prog)
    return prog


def load_json(paddle, path):
    prog = paddle.static.Program()
    paddle.base.core.deserialize_pir_program(path, prog)
    return prog


def parameter_names(prog):
    return sorted(op.attrs()["parameter_name"] for op in prog.global_block().ops if op.name() == "builtin.parameter")


def load_param_scope(paddle, exe, prog, params):
    """Load parameters into the current scope under the names the program uses."""
    if os.path.isdir(params):
        paddle.static.io.load_vars_pir(exe, params, prog, None, None)
    else:
        paddle.static.io.load_vars_pir(
            exe, os.path.dirname(params) or ".", prog, None, os.path.basename(params)
        )


def feeds_and_fetches(prog):
    """-> feed names, [(name, value)] in column order"""
    ops = prog.global_block().ops
    feeds = [op.attrs()["name"] for op in ops if op.name() in ("pd_op.data", "pd_op.feed")]
    fetches = sorted((op.attrs()["col"], i) for i, op in enumerate(ops) if op.name() == "pd_op.fetch")
    return feeds, [(ops[i].attrs()["name"], ops[i].operand_source(0)) for _, i in fetches]


def check_feeds(wanted, inputs):
    missing = [n for n in wanted if n not in inputs]
    if missing:
        raise ValueError("the inputs lack %s (the model wants %s)" % (missing, list(wanted)))


def run_program(paddle, exe, prog, inputs):
    """-> outputs as outputs_of gives them; names are those of the fetch ops"""
    feeds, fetches = feeds_and_fetches(prog)
    check_feeds(feeds, inputs)
    if not fetches:
        raise ValueError("the program has no fetch op")
    names = [n for n, _ in fetches]
    if len(set(names)) < len(names):      # the second would come back empty
        raise ValueError("the Executor finds outputs by name, and some fetch ops share one: %s" % names)
    feed = {}
    for n in feeds:
        feed[n], lod = inputs[n]
        if lod:
            t = paddle.base.core.DenseTensor()
            t.set(feed[n], paddle.CPUPlace())
            t.set_lod(lod)
            feed[n] = t
    got = exe.run(prog, feed=feed, fetch_list=[v for _, v in fetches], return_numpy=False)
    return [(n, np.array(t), [list(l) for l in t.lod() if len(l)]) for (n, _), t in zip(fetches, got)]


def run_executor(paddle, path, kind, params, inputs):
    exe = paddle.static.Executor(paddle.CPUPlace())
    prog = load_json(paddle, path) if kind == "json" else to_pir(paddle, path)
    if parameter_names(prog):
        load_param_scope(paddle, exe, prog, params)
    return run_program(paddle, exe, prog, inputs)


def make_predictor(paddle, path, kind, params, ir_optim=False):
    """paddle.inference predictor, CPU, oneDNN off; passes only with ir_optim."""
    from paddle import inference

    if os.path.isdir(params):
        if kind == "json":
            raise ValueError("Paddle's predictor reads separate parameter files only beside __model__")
        if os.path.basename(path) != "__model__" or not os.path.samefile(params, os.path.dirname(path) or "."):
            raise ValueError("Paddle's predictor wants separate parameter files beside a file called __model__")
        cfg = inference.Config(params)
    else:
        cfg = inference.Config(path, params if os.path.exists(params) else "")
    cfg.disable_gpu()
    cfg.disable_mkldnn()
    cfg.disable_glog_info()
    cfg.switch_ir_optim(ir_optim)
    if not ir_optim:
        cfg.set_optimization_level(0)
    return inference.create_predictor(cfg)


def copy_out(handle):
    value = handle.copy_to_cpu()
    if "BFLOAT16" in str(handle.type()) and value.dtype == np.float32:
        # the binding makes a float32 array and copies the 16-bit values to its beginning
        return value.ravel().view(np.uint16)[:value.size].reshape(value.shape)
    return value


def run_on_predictor(pred, inputs):
    feeds = pred.get_input_names()
    check_feeds(feeds, inputs)
    for n in feeds:
        value, lod = inputs[n]
        h = pred.get_input_handle(n)
        h.reshape(value.shape)
        h.copy_from_cpu(np.ascontiguousarray(value).reshape(value.shape))
        if lod:
            h.set_lod(lod)
    pred.run()
    handles = [(n, pred.get_output_handle(n)) for n in pred.get_output_names()]
    return [(n, copy_out(h), [list(l) for l in h.lod() if len(l)]) for n, h in handles]


# ---- commands -----------------------------------------------------------------------------------------------

def cmd_translate(a):
    paddle = import_paddle()
    path, kind = find_model(a.model)
    if kind != "pdmodel":
        sys.exit("oracle: %s is already PIR JSON" % path)
    prog = to_pir(paddle, path, a.keep_feed, a.promote)
    paddle.core.serialize_pir_program(prog, a.out, True, not a.compact, not a.no_result_attrs)
    names = parameter_names(prog)
    src, dst = find_params(path, a.params), os.path.splitext(a.out)[0] + ".pdiparams"
    if os.path.isdir(src) and names:      # a combined file is the separate ones back to back, in name order
        with open(dst, "wb") as out:
            for n in names:
                with open(os.path.join(src, n), "rb") as f:
                    shutil.copyfileobj(f, out)
    elif os.path.isfile(src) and os.path.abspath(src) != os.path.abspath(dst):
        shutil.copyfile(src, dst)
    print(json.dumps({"out": a.out, "parameters": names}))


def cmd_run(a):
    paddle = import_paddle()
    path, kind = find_model(a.model)
    params = find_params(path, a.params)
    inputs = inputs_of(read_npz(a.inputs))
    try:
        if a.engine == "executor":
            outs = run_executor(paddle, path, kind, params, inputs)
        else:
            outs = run_on_predictor(make_predictor(paddle, path, kind, params, a.ir_optim), inputs)
    except ValueError as e:
        sys.exit("oracle: %s" % e)
    write_outputs(a.outputs, outs)
    print(json.dumps({
        "engine": a.engine,
        "outputs": [{"name": n, "dtype": str(v.dtype), "shape": list(v.shape), "lod": l} for n, v, l in outs],
    }))


def cmd_print(a):
    paddle = import_paddle()
    path, kind = find_model(a.model)
    if kind == "json":
        prog = load_json(paddle, path)
    else:
        prog = to_pir(paddle, path, keep_feed=a.keep_feed, promote=a.promote)
    print(prog)


def cmd_diff(a):
    try:
        ref, got = outputs_of(read_npz(a.ref)), outputs_of(read_npz(a.got))
    except ValueError as e:
        sys.exit("oracle: %s" % e)
    bad = 0
    for i, name, why, worst in compare_outputs(ref, got, a.rtol, a.atol, a.ignore_lod, a.names):
        bad += bool(why)
        print("%-4s %d:%s  max|d| %.3g%s" % ("FAIL" if why else "ok", i, name, worst, "  " + "; ".join(why) if why else ""))
    sys.exit(1 if bad else 0)


# ---- command line -------------------------------------------------------------------------------------------

def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = ap.add_subparsers(dest="cmd", required=True)
    model_help = "file (x.json, x.pdmodel, __model__), prefix, or folder"

    p = sub.add_parser("translate", help="legacy model -> PIR JSON, by Paddle's own translator")
    p.add_argument("model", help=model_help)
    p.add_argument("out", help="OUT.json; parameters go to OUT.pdiparams (copied, or joined from separate files)")
    p.add_argument("--params", help="combined parameter file of MODEL, or folder of separate ones")
    p.add_argument("--compact", action="store_true", help="no indentation (the default is readable)")
    p.add_argument("--no-result-attrs", action="store_true", help="write trainable=false, that is without the OA keys")
    p.add_argument("--keep-feed", action="store_true", help="leave pd_op.feed as translated instead of pd_op.data")
    p.add_argument("--promote", action="store_true", help="run Paddle's type promotion first, as load_inference_model does")
    p.set_defaults(func=cmd_translate)

    p = sub.add_parser("run", help="run a model on CPU")
    p.add_argument("model", help=model_help)
    p.add_argument("inputs", help="IN.npz: in:<feed> or plain <feed>, lod:in:<feed>:<level>")
    p.add_argument("outputs", help="OUT.npz: out:<position>:<name>, lod:out:<name>:<level>; name = the fetch op's `name`")
    p.add_argument("--params", help="combined parameter file, or folder of separate ones")
    p.add_argument("--engine", choices=("executor", "predictor"), default="executor",
                   help="executor (default): a legacy model goes through Paddle's translator, the program runs as it stands; "
                        "predictor: what users deploy with, a legacy model runs on the old IR; oneDNN off in both")
    p.add_argument("--ir-optim", action="store_true", help="predictor only: leave the graph passes on (default: off)")
    p.set_defaults(func=cmd_run)

    p = sub.add_parser("print", help="print the PIR text")
    p.add_argument("model", help=model_help)
    p.add_argument("--keep-feed", action="store_true")
    p.add_argument("--promote", action="store_true")
    p.set_defaults(func=cmd_print)

    def tolerances(p):
        p.add_argument("--rtol", type=float, default=1e-5, help="default 1e-5")
        p.add_argument("--atol", type=float, default=1e-6, help="default 1e-6")
        p.add_argument("--ignore-lod", action="store_true")

    p = sub.add_parser("diff", help="compare recorded outputs by position; exit status 1 if they differ")
    p.add_argument("ref", help="REF.npz")
    p.add_argument("got", help="GOT.npz")
    p.add_argument("--names", action="store_true", help="output names must agree too")
    tolerances(p)
    p.set_defaults(func=cmd_diff)

    a = ap.parse_args()
    try:
        a.func(a)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


if __name__ == "__main__":
    main()
