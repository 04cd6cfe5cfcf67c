#!/usr/bin/env python3
"""One model in another engine, ready to run as often as bench/run.py asks; speaks as bench/session does.

usage: peer.py ENGINE FOLDER/NAME INPUTS.npz THREADS

ENGINE: paddle (native kernels), paddle-onednn, openvino; FOLDER/NAME.pdmodel and .pdiparams are read.
"""
import json
import sys
import time

import numpy as np


def paddle(prefix, feeds, threads, onednn):
    from paddle import inference
    yield
    config = inference.Config(prefix + ".pdmodel", prefix + ".pdiparams")
    config.disable_gpu()
    config.disable_glog_info()
    config.set_cpu_math_library_num_threads(threads)
    if onednn:
        config.enable_mkldnn()
    else:
        config.disable_mkldnn()
    predictor = inference.create_predictor(config)

    def run():
        for name in predictor.get_input_names():
            handle = predictor.get_input_handle(name)
            handle.reshape(feeds[name].shape)
            handle.copy_from_cpu(feeds[name])
        predictor.run()
        return [predictor.get_output_handle(name).copy_to_cpu() for name in predictor.get_output_names()]

    yield run


def openvino(prefix, feeds, threads):
    import openvino as ov
    yield
    core = ov.Core()
    options = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    model = core.compile_model(core.read_model(prefix + ".pdmodel"), "CPU", options)
    request = model.create_infer_request()

    def run():
        request.infer(feeds, share_inputs=True, share_outputs=True)
        return [request.get_output_tensor(i).data for i in range(len(model.outputs))]

    yield run


def engine(name, *args):
    if name == "openvino":
        return openvino(*args)
    return paddle(*args, name == "paddle-onednn")


def peak():
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM:"))


def answer(what):
    sys.__stdout__.write(json.dumps(what) + "\n")
    sys.__stdout__.flush()


def seconds(run, times):
    took = []
    for _ in range(times):
        begin = time.perf_counter()
        run()
        took.append(time.perf_counter() - begin)
    return took


def main():
    name, prefix, inputs, threads = sys.argv[1:]
    sys.stdout = sys.stderr
    with np.load(inputs) as npz:
        feeds = {key[3:] if key.startswith("in:") else key: npz[key] for key in npz.files if not key.startswith(("out:", "lod:"))}
    steps = engine(name, prefix, feeds, int(threads))
    next(steps)                                   # imports are not counted
    begin = time.perf_counter()
    run = next(steps)
    loaded = time.perf_counter()
    out = run()
    answer({"load_s": loaded - begin, "first_s": time.perf_counter() - loaded})
    for line in sys.stdin:
        word, _, rest = line.strip().partition(" ")
        if word == "run":
            answer({"s": seconds(run, int(rest))})
        elif word == "save":
            out = run()
            np.savez(rest, **{"out:%d:" % i: np.array(x) for i, x in enumerate(out)})
            answer({})
        elif word == "memory":
            answer({"peak_kib": peak()})


if __name__ == "__main__":
    main()
