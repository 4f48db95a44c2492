"""Convolutions of residual networks beside PyTorch's: `python -m bench.convolutions`.

Needs an interpreter that has torch and fluidcore. Images have their channels last in both, filters
are 3 x 3 with a padding of 1. The two take turns, on the same threads; the fastest of their runs
counts. GFLOP/s are those of the definition, however few a kernel does; errors are relative to the
largest element, from float64.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import fluidcore as fluid
from bench.timing import best_of
from fluidcore import core

Array = NDArray[Any]
SIZES = [(64, 32), (128, 16), (256, 8), (512, 4)]  # channels, height = width
RESULTS = {
    "forward": "Output",
    "gradient of the input": "Input@GRAD",
    "of the filter": "Filter@GRAD",
}


class Ours:
    """The operators of one convolution, each in a program of its own."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self.scope, self.executor = fluid.Scope(), fluid.Executor()
        self.arrays = arrays
        for name, array in arrays.items():
            self.scope.var(name).get_tensor().set(array)

    def operator(self, result: str) -> Callable[[], object]:
        """What calculates one result and leaves it in the scope."""
        program = fluid.Program()
        block = program.global_block()
        of_gradient = result != "Output"
        results = list(RESULTS.values())[1:] if of_gradient else [result]
        made = block.create_var(name=result)
        variables = {
            name: block.create_var(
                name=name, shape=array.shape, dtype=array.dtype.name, persistable=True
            )
            for name, array in self.arrays.items()
            if of_gradient or name != "Output@GRAD"
        }
        block.append_op(
            "conv2d_grad" if of_gradient else "conv2d",
            {name: [variable] for name, variable in variables.items()},
            {name: [made if name == result else core.EMPTY_VAR_NAME] for name in results},
            {"paddings": [1, 1], "data_format": "NHWC"},
        )
        made.persistable = True
        return lambda: self.executor.run(program, scope=self.scope)

    def result(self, name: str) -> Array:
        """Which the operator has left."""
        return np.array(self.scope.var(name).get_tensor(), np.float64)


def theirs(arrays: Mapping[str, Array], result: str) -> Callable[[], torch.Tensor]:
    """The same in PyTorch."""
    last = torch.channels_last

    def image(name: str) -> torch.Tensor:
        return torch.tensor(arrays[name]).permute(0, 3, 1, 2).contiguous(memory_format=last)

    x, v = image("Input"), image("Output@GRAD")
    w = torch.tensor(arrays["Filter"]).contiguous(memory_format=last)
    if result == "Output":
        return lambda: torch.conv2d(x, w, padding=1)
    wanted = [result == "Input@GRAD", result == "Filter@GRAD", False]
    attrs = [None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, wanted]
    backward = torch.ops.aten.convolution_backward
    return lambda: backward(v, x, w, *attrs)[wanted.index(True)]


def error_of(values: Array, exact: Array) -> float:
    """The largest difference, relative to the largest element."""
    return float(np.abs(values - exact).max() / np.abs(exact).max())


def rows(batch: int, channels: int, side: int) -> list[str]:
    """Of the table, for one convolution."""
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> Array:
        return rng.standard_normal(shape, dtype=np.float32)

    arrays = {
        "Input": normal(batch, side, side, channels),
        "Filter": normal(channels, channels, 3, 3),
        "Output@GRAD": normal(batch, side, side, channels),
    }
    ours, exact = Ours(arrays), Ours({n: a.astype(np.float64) for n, a in arrays.items()})
    flops = 2.0 * batch * side**2 * 9 * channels**2
    lines = []
    with torch.no_grad():
        for text, name in RESULTS.items():
            exact.operator(name)()
            run, other = ours.operator(name), theirs(arrays, name)
            seconds = best_of([run, other])
            value = other().double()
            expected = exact.result(name)
            other_value = value if name == "Filter@GRAD" else value.permute(0, 2, 3, 1)
            errors = [error_of(v, expected) for v in (ours.result(name), other_value.numpy())]
            speeds = " | ".join(f"{flops / s / 1e9:.0f}" for s in seconds)
            lines.append(
                f"| {batch} x {channels} x {side} x {side}, {text} | {speeds} | "
                f"{seconds[1] / seconds[0]:.2f}x | {errors[0]:.1e} | {errors[1]:.1e} |"
            )
    return lines


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.convolutions", description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=32)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    fluid.set_num_threads(arguments.threads)
    print("| | GFLOP/s | torch | fluidcore / torch | error | of torch |")
    print("|---" * 6 + "|")
    for channels, side in SIZES:
        print("\n".join(rows(arguments.batch, channels, side)), flush=True)


if __name__ == "__main__":
    main()
