"""python -m bench.small_checks: checks of PyTorch's functions, beside its own, in one process.

Needs an interpreter that has torch and fluidcore. A check makes its target anew, as in a test. The
two take turns, on the same threads, and the fastest of their runs counts.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn import functional

from fluidcore.gradcheck import check

ROUNDS = 20
MANY = 10**7
SECONDS = 10.0  # that a case may take
THREADS = 2
PROCESSES = 3
FIRST = """
import time, torch
from fluidcore.gradcheck import check
torch.set_num_threads({threads})
x = torch.linspace(0.1, 1, {size}, dtype=torch.float64, requires_grad=True)
torch.sin(x).sum().backward()
begun = time.perf_counter()
{call}
print(time.perf_counter() - begun)
"""


class Case(NamedTuple):
    """A function of float64 tensors.

    Attributes:
        name: What it is.
        f: What is checked.
        xs: Where.
        peer: How PyTorch checks it.
    """

    name: str
    f: Callable[..., Any]
    xs: tuple[torch.Tensor, ...]
    peer: str = "slow"


def cases() -> list[Case]:
    """Those that are compared."""
    torch.manual_seed(0)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, dtype=torch.float64, requires_grad=True)

    w = normal(256, 256).detach() / 16

    return [
        Case("sin, 10 elements", torch.sin, (normal(10),)),
        Case("matmul 5x7x3", torch.matmul, (normal(5, 7), normal(7, 3))),
        Case(
            "conv2d, 126 elements",
            functional.conv2d,
            (normal(1, 2, 5, 5), normal(4, 2, 3, 3), normal(4)),
        ),
        of_module("nn.LSTM(4, 8), 3 steps of 2", torch.nn.LSTM(4, 8), normal(3, 2, 4), "slow"),
        Case("sin, 4,000 elements", torch.sin, (normal(4_000),), "fast"),
        Case("softmax 64x64", lambda x: torch.softmax(x, -1), (normal(64, 64),), "fast"),
        Case("tanh(x @ w), 256x256", lambda x: torch.tanh(x @ w), (normal(256, 256),), "fast"),
        of_module("nn.Linear(512, 512), 64 rows", torch.nn.Linear(512, 512), normal(64, 512)),
        of_module(
            "nn.TransformerEncoderLayer(64, 4, 128)",
            torch.nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True),
            normal(4, 16, 64),
        ),
    ]


def of_module(name: str, module: torch.nn.Module, x: torch.Tensor, peer: str = "fast") -> Case:
    """The first output of a module, as a function of its argument and of its parameters."""
    names, parameters = zip(*module.double().named_parameters(), strict=True)

    def f(x: torch.Tensor, *values: torch.Tensor) -> torch.Tensor:
        given = dict(zip(names, values, strict=True))
        found = torch.func.functional_call(module, given, (x,))
        first: torch.Tensor = found[0] if isinstance(found, tuple) else found
        return first

    return Case(name, f, (x, *parameters), peer)


def seconds(run: Callable[[], Any]) -> float:
    """Of one run."""
    begun = time.perf_counter()
    run()
    return time.perf_counter() - begun


def compared(case: Case) -> tuple[float, float]:
    """Milliseconds of fluidcore and of PyTorch."""
    fast = case.peer == "fast"

    def ours() -> None:
        check(case.f, *case.xs)

    def theirs() -> None:
        torch.autograd.gradcheck(case.f, case.xs, fast_mode=fast, check_batched_grad=False)

    best = [float("inf"), float("inf")]
    begun = time.perf_counter()
    for turn in range(ROUNDS):
        for k, run in enumerate((ours, theirs)):
            best[k] = min(best[k], seconds(run))
        if turn > 1 and time.perf_counter() - begun > SECONDS:
            break
    return 1e3 * best[0], 1e3 * best[1]


def first(call: str, size: int) -> float:
    """Milliseconds of the first check of torch.sin in a process that has run a backward pass."""
    code = FIRST.format(threads=THREADS, size=size, call=call)
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(PROCESSES)
    ]
    return 1e3 * min(float(run.stdout) for run in runs)


def first_checks() -> None:
    """Prints a table of checks in new processes."""
    print("\n| the first check in a process | fluidcore, ms | torch, ms | torch / fluidcore |")
    print("|---|---|---|---|")
    for size, peer in ((10, "slow"), (4_000, "fast")):
        options = f"fast_mode={peer == 'fast'}, check_batched_grad=False"
        ours = first("check(torch.sin, x)", size)
        theirs = first(f"torch.autograd.gradcheck(torch.sin, (x,), {options})", size)
        print(
            f"| sin, {size:,} elements | {ours:.1f} | {theirs:.1f} {peer} | {theirs / ours:.2g}x |"
        )


def gigabytes() -> float:
    """The most that the process has needed so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def many_elements() -> None:
    """Prints what a check of a large float32 array takes, beside what the process had before."""
    x = np.random.default_rng(0).standard_normal(MANY, dtype=np.float32)
    before = gigabytes()
    taken = seconds(lambda: check(np.sin, x, vjp=lambda x, v: v * np.cos(x)))
    most = gigabytes()
    print(
        f"np.sin, {MANY:,} elements of float32: {taken:.1f} s, {most:.2f} GB; PyTorch and the "
        f"array are {before:.2f} GB of it"
    )


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.small_checks", description=__doc__)
    parser.add_argument("--many", action="store_true", help=f"a check of {MANY:,} elements instead")
    if parser.parse_args().many:
        many_elements()
        return
    torch.set_num_threads(THREADS)
    x = np.linspace(0.1, 1, 10)
    begun = 1e3 * seconds(lambda: check(np.sin, x, vjp=lambda x, v: v * np.cos(x)))
    print(f"np.sin, 10 elements, the first check after the import: {begun:.1f} ms")
    for dtype in (np.float64, np.float32):
        point = x.astype(dtype)
        run = lambda point=point: check(np.sin, point, vjp=lambda x, v: v * np.cos(x))  # noqa: E731
        best = 1e3 * min(seconds(run) for _ in range(ROUNDS))
        print(f"np.sin, 10 elements of {np.dtype(dtype).name}: {best:.1f} ms")
    print(f"\n| float64, {THREADS} threads | fluidcore, ms | torch, ms | torch / fluidcore |")
    print("|---|---|---|---|")
    for case in cases():
        ours, theirs = compared(case)
        print(f"| {case.name} | {ours:.2f} | {theirs:.2f} {case.peer} | {theirs / ours:.2f}x |")
    first_checks()


if __name__ == "__main__":
    main()
