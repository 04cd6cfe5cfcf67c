#!/usr/bin/env python3
"""Convert a legacy model with Paddle's own Python API, for comparison; also the time of its translation alone.

usage: official_route.py PREFIX OUT_PREFIX        load_inference_model under the old IR, save_inference_model
       official_route.py --translate TIMES FILE   best time of paddle.pir.translate_to_pir, as JSON
"""
import json
import os
import sys
import time

# Read from the environment when the framework is imported: it makes the old loader translate.
os.environ["FLAGS_enable_pir_in_executor"] = "1"
os.environ.setdefault("GLOG_minloglevel", "3")

import paddle


def convert(prefix, out):
    exe = paddle.static.Executor(paddle.CPUPlace())
    with paddle.pir_utils.OldIrGuard():
        program, feed_names, fetches = paddle.static.load_inference_model(prefix, exe)
    with paddle.pir_utils.IrGuard():
        inputs = {op.attrs()["name"]: op.result(0) for op in program.global_block().ops if op.name() == "pd_op.data"}
        paddle.static.save_inference_model(out, [inputs[n] for n in feed_names], fetches, exe, program=program)


def translate(times, path):
    with open(path, "rb") as f:
        data = f.read()
    with paddle.pir_utils.OldIrGuard():
        desc = paddle.static.deserialize_program(data).desc
    best = None
    for _ in range(times):
        begin = time.perf_counter()
        program = paddle.pir.translate_to_pir(desc)
        took = time.perf_counter() - begin
        del program
        best = took if best is None else min(best, took)
    print(json.dumps({"best_s": best}))


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    paddle.enable_static()
    if sys.argv[1] == "--translate":
        translate(int(sys.argv[2]), sys.argv[3])
    else:
        convert(sys.argv[1], sys.argv[2])
