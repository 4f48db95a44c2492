"""The large graphs as programs of PaddlePaddle."""

from __future__ import annotations

import os
from collections.abc import Iterator

os.environ.setdefault("GLOG_minloglevel", "2")

import paddle
from paddle import static

from bench.graphs import VALUE, WIDTH, factor

VERSION = paddle.__version__
paddle.enable_static()


def set_threads(count: int) -> None:
    """Building a program takes one thread."""


def _parameter() -> static.Variable:
    constant = paddle.nn.initializer.Constant(VALUE)
    return static.create_parameter([WIDTH], "float32", default_initializer=constant)


def _forward(kind: str, size: int) -> static.Variable:
    x = _parameter()
    if kind == "fan-out":
        return paddle.add_n([paddle.scale(x, factor(index)) for index in range(size)])
    if kind == "chain":
        for _ in range(size):
            x = paddle.tanh(x)
        return x
    for _ in range(size // 3):
        x = paddle.nn.functional.relu(paddle.add(paddle.multiply(x, _parameter()), _parameter()))
    return x


def build_graph(kind: str, size: int) -> Iterator[None]:
    """Builds the forward part, then the gradients of all parameters; yields after each."""
    with static.program_guard(static.Program(), static.Program()), paddle.utils.unique_name.guard():
        loss = paddle.mean(_forward(kind, size))
        yield
        assert static.append_backward(loss)
        yield
