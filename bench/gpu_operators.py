"""python -m bench.gpu_operators: single operators on a GPU beside PyTorch, in one run.

Needs a build with CUDA and a PyTorch for the same GPU. Inputs stay on the GPU, outputs too; many
runs are enqueued before the host waits.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch.nn import functional

import fluidcore as fluid
from fluidcore import core, layers

GPU = fluid.CUDAPlace(0)
RUNS = 30
ROUNDS = 3


class Case(NamedTuple):
    """One operator in both, and the bytes that it must move, or its floating-point operations."""

    name: str
    inputs: dict[str, np.ndarray]
    own: Callable[..., fluid.Variable]
    peer: Callable[..., torch.Tensor]
    gigabytes: float = 0.0
    teraflops: float = 0.0
    dtype: str = "float32"


def _normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape, np.float32)


def _cases() -> list[Case]:
    large = _normal(1 << 24)
    rows = large.reshape(-1, 1024)
    square = _normal(4096, 4096)
    pair = {"x": square, "y": square}
    return [
        Case("exp of 16 M", {"x": large}, layers.exp, torch.exp, 8 * large.size / 1e9),
        Case(
            "x + y of 16 M",
            {"x": large, "y": large},
            layers.elementwise_add,
            torch.add,
            12 * large.size / 1e9,
        ),
        Case(
            "rows + bias, 16384 x 1024",
            {"x": rows, "y": rows[0]},
            layers.elementwise_add,
            torch.add,
            8 * rows.size / 1e9,
        ),
        Case("sum of 16 M", {"x": large}, layers.reduce_sum, torch.sum, 4 * large.size / 1e9),
        Case(
            "sum over rows, 4096 x 4096",
            {"x": square},
            lambda x: layers.reduce_sum(x, dim=0),
            lambda x: torch.sum(x, 0),
            4 * square.size / 1e9,
        ),
        Case(
            "softmax 16384 x 1024",
            {"x": rows},
            layers.softmax,
            lambda x: functional.softmax(x, -1),
            8 * rows.size / 1e9,
        ),
        Case(
            "layer norm 16384 x 1024",
            {"x": rows},
            lambda x: layers.layer_norm(x, scale=False, shift=False),
            lambda x: functional.layer_norm(x, x.shape[1:]),
            8 * rows.size / 1e9,
        ),
        Case(
            "transpose 4096 x 4096",
            {"x": square},
            lambda x: layers.transpose(x, [1, 0]),
            lambda x: x.t().contiguous(),
            8 * square.size / 1e9,
        ),
        Case("matmul 4096", pair, layers.matmul, torch.matmul, teraflops=2 * 4096**3 / 1e12),
        Case(
            "matmul 4096, bfloat16",
            pair,
            layers.matmul,
            torch.matmul,
            teraflops=2 * 4096**3 / 1e12,
            dtype="bfloat16",
        ),
    ]


def _seconds(run: Callable[[], object], wait: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        for _ in range(3):
            run()
        wait()
        start = time.perf_counter()
        for _ in range(RUNS):
            run()
        wait()
        best = min(best, (time.perf_counter() - start) / RUNS)
    return best


def _own(case: Case) -> tuple[float, np.ndarray]:
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
        variables = [
            layers.data(name, list(array.shape), dtype=case.dtype, append_batch_size=False)
            for name, array in case.inputs.items()
        ]
        out = case.own(*variables)
        program = fluid.default_main_program()
    feed = {}
    for name, array in case.inputs.items():
        feed[name] = core.Tensor()
        feed[name].set(array.astype(fluid.base.dtypes.numpy_dtype(case.dtype)), GPU)
    exe = fluid.Executor(GPU, allow_cpu_fallback=True)
    held: list[core.Tensor] = []

    def run() -> None:
        held[:] = exe.run(program, feed, [out], return_numpy=False)

    seconds = _seconds(run, lambda: held[0].get_float_element(0))
    return seconds, np.asarray(held[0]).astype(np.float32)


def _peer(case: Case) -> tuple[float, np.ndarray]:
    dtype = getattr(torch, case.dtype)
    inputs = [torch.from_numpy(array).cuda().to(dtype) for array in case.inputs.values()]
    with torch.inference_mode():
        seconds = _seconds(lambda: case.peer(*inputs), torch.cuda.synchronize)
        return seconds, case.peer(*inputs).float().cpu().numpy()


def main() -> None:
    """Prints a line for each operator."""
    source = torch.empty(1 << 28, dtype=torch.float32, device="cuda")
    target = torch.empty_like(source)
    copied = _seconds(lambda: target.copy_(source), torch.cuda.synchronize)
    bandwidth = 8 * source.numel() / copied / 1e9
    print(f"{torch.cuda.get_device_name()}: a copy moves {bandwidth:.0f} GB/s")
    for case in _cases():
        own, result = _own(case)
        peer, wanted = _peer(case)
        scale = float(np.abs(wanted).max()) or 1.0
        error = float(np.abs(result.reshape(wanted.shape) - wanted).max()) / scale
        rate = f"{case.gigabytes / own / bandwidth:5.0%} of the copy" if case.gigabytes else ""
        rate = f"{case.teraflops / own:5.0f} TFLOP/s" if case.teraflops else rate
        print(
            f"{case.name:28} {own * 1e6:9.1f} us, torch {peer * 1e6:9.1f} us "
            f"{peer / own:5.2f}x, {rate}, differs by {error:.1e}",
            flush=True,
        )


if __name__ == "__main__":
    main()
