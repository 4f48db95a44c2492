"""Recurrent layers beside PyTorch's, forward and a step: `python -m bench.recurrent`.

Needs an interpreter that has torch and fluidcore. Both take turns, on the same threads; the fastest
of their runs counts. A step is the loss and the gradients of all weights.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

import fluidcore as fluid
from bench.timing import best_of
from fluidcore import layers

SIZES = [(32, 20, 128), (32, 20, 256), (1, 50, 64), (64, 35, 512)]  # batch, steps, features = size
KINDS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "lstm": (layers.lstm, torch.nn.LSTM),
    "gru": (layers.gru, torch.nn.GRU),
    "rnn": (layers.rnn, torch.nn.RNN),
}


def ours(kind: str, shape: Sequence[int]) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """What calculates the states, and what makes a step."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup):
        x = layers.data("x", list(shape), append_batch_size=False)
        states = KINDS[kind][0](x, shape[-1])[0]
        forward = main.clone()
        loss = layers.reduce_sum(states)
        gradients = [gradient for _, gradient in fluid.append_backward(loss)]
    scope, exe = fluid.Scope(), fluid.Executor()
    exe.run(startup, scope=scope)
    feed = {"x": np.random.default_rng(0).standard_normal(shape, dtype=np.float32)}
    return (
        lambda: exe.run(forward, feed, [states], scope=scope),
        lambda: exe.run(main, feed, [loss, *gradients], scope=scope),
    )


def theirs(kind: str, shape: Sequence[int]) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """The same in PyTorch."""
    module = KINDS[kind][1](shape[-1], shape[-1], batch_first=True)
    x = torch.randn(*shape)

    def forward() -> None:
        with torch.no_grad():
            module(x)

    def step() -> None:
        module.zero_grad()
        module(x)[0].sum().backward()

    return forward, step


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.recurrent", description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    threads = parser.parse_args().threads
    torch.set_num_threads(threads)
    fluid.set_num_threads(threads)
    columns = "ms | torch, ms | torch / fluidcore"
    print(f"| batch x steps x size | {columns} | step, {columns} |")
    print("|---" * 7 + "|")
    for kind in KINDS:
        for shape in SIZES:
            (a, b), (c, d) = ours(kind, shape), theirs(kind, shape)
            times = best_of([a, c])
            steps = best_of([b, d])
            texts = [
                f"{1e3 * mine:.2f} | {1e3 * other:.2f} | {other / mine:.2f}x"
                for mine, other in (times, steps)
            ]
            print(
                f"| {kind} {shape[0]} x {shape[1]} x {shape[2]} | {' | '.join(texts)} |", flush=True
            )


if __name__ == "__main__":
    main()
