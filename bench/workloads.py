"""Weights, batches and optimizers as NumPy arrays: the same for every framework.

A weight of a fully connected layer is [in, out], a filter [out, in, height, width]; images are
[batch, channels, height, width].
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Weights = dict[str, npt.NDArray[np.float32]]


class Workload(NamedTuple):
    """A network and how it is trained."""

    title: str
    optimizer: str
    settings: dict[str, float]
    batch: int
    image: tuple[int, ...]  # shape of one example
    layers: tuple[tuple[str, tuple[int, ...]], ...]  # name of a layer, shape of its weight


TRAINING = {
    "a": Workload(
        "MLP 64-128-128-10, batch 32, SGD",
        "sgd",
        {"lr": 0.1},
        32,
        (64,),
        (("l0", (64, 128)), ("l1", (128, 128)), ("l2", (128, 10))),
    ),
    "b": Workload(
        "MLP 784-1024-1024-10, batch 128, Adam",
        "adam",
        {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8},
        128,
        (784,),
        (("l0", (784, 1024)), ("l1", (1024, 1024)), ("l2", (1024, 10))),
    ),
    "c": Workload(
        "LeNet 1x28x28, batch 64, Momentum",
        "momentum",
        {"lr": 0.01, "momentum": 0.9},
        64,
        (1, 28, 28),
        (
            ("c0", (6, 1, 5, 5)),
            ("c1", (16, 6, 5, 5)),
            ("l0", (400, 120)),
            ("l1", (120, 84)),
            ("l2", (84, 10)),
        ),
    ),
}
CHAIN = 1000  # operators, alternately a product and a sum of two vectors of four elements


def weights(workload: Workload) -> Weights:
    """First weights `name.w`, normal with variance 1 / fan-in, and biases `name.b`, zero."""
    random = np.random.RandomState(0)
    result: Weights = {}
    for name, shape in workload.layers:
        is_filter = len(shape) == 4
        fan_in = int(np.prod(shape[1:])) if is_filter else shape[0]
        scale = np.sqrt(1.0 / fan_in)
        result[f"{name}.w"] = (random.randn(*shape) * scale).astype(np.float32)
        result[f"{name}.b"] = np.zeros(shape[0] if is_filter else shape[1], np.float32)
    return result


def batch(workload: Workload) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Random examples [batch, ...] and labels [batch] of 10 classes."""
    random = np.random.RandomState(1)
    images = random.randn(workload.batch, *workload.image).astype(np.float32)
    return images, random.randint(0, 10, workload.batch).astype(np.int64)


def chain_inputs() -> tuple[npt.NDArray[np.float32], ...]:
    """The first vector, the factor and the summand of the chain, [4] each."""
    return tuple(np.full(4, value, np.float32) for value in (2.0, 0.999, 0.001))
