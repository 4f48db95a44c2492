"""Inference of ONNX files beside ONNX Runtime, on the same threads, in turns.

    python -m bench.onnx_models det.onnx=1,3,320,320 rec.onnx=1,3,48,320 --threads 2

Each file is followed by the shape of its only input. Needs an interpreter that has `onnx` and
`onnxruntime`.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime

import fluidcore as fluid
from bench.timing import time_calls, wait_until_quiet
from fluidcore import onnx


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.onnx_models", description=__doc__)
    parser.add_argument("models", nargs="+", metavar="FILE=SHAPE")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="turns of each; the best counts")
    return parser.parse_args()


def _with_fluidcore(path: Path, image: np.ndarray) -> Callable[[], np.ndarray]:
    exe, scope = fluid.Executor(), fluid.Scope()
    shape = list(image.shape)
    name = onnxruntime.InferenceSession(path).get_inputs()[0].name
    model = onnx.load(path, scope=scope, shapes={name: shape})
    return lambda: exe.run(model.program, {name: image}, model.fetches, scope=scope)[0]


def _with_runtime(path: Path, image: np.ndarray, threads: int) -> Callable[[], np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda: session.run(None, {name: image})[0]


def main() -> None:
    """Prints a row for each file."""
    arguments = _arguments()
    fluid.set_num_threads(arguments.threads)
    print(f"{'':32}{'fluidcore':>12}{'runtime':>12}{'ratio':>8}{'differ by':>12}")
    for pair in arguments.models:
        name, _, extents = pair.partition("=")
        path, shape = Path(name), [int(extent) for extent in extents.split(",")]
        image = np.random.default_rng(1).uniform(-1, 1, shape).astype(np.float32)
        runs = [_with_fluidcore(path, image), _with_runtime(path, image, arguments.threads)]
        difference = np.abs(runs[0]() - runs[1]()).max()
        best = [math.inf, math.inf]
        for _ in range(arguments.rounds):
            for k, run in enumerate(runs):
                wait_until_quiet()
                best[k] = min(best[k], time_calls(run).median)
        ours, peers = (1e3 * seconds for seconds in best)
        print(f"{path.name:32}{ours:9.3f} ms{peers:9.3f} ms{peers / ours:8.2f}{difference:12.1e}")


if __name__ == "__main__":
    main()
