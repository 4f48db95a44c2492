"""The gradient of a function of one number by numdifftools, beside one written by hand."""

from __future__ import annotations

from collections.abc import Callable

import numdifftools
import numpy as np
import numpy.typing as npt

from bench.gradient_check_cases import batch, inputs

VERSION = numdifftools.__version__

Doubles = npt.NDArray[np.float64]


def set_threads(count: int) -> None:
    """There is nothing to set: NumPy's threads are those of the environment."""


def check(case: str, mode: str) -> Callable[[], str]:
    """A function that compares the two gradients of the MLP and returns the verdict."""
    if case != "mlp":
        raise NotImplementedError(f"numdifftools: must check the MLP, got {case}")
    image, label = batch(case)
    values = list(inputs(case).values())
    cuts = np.cumsum([value.size for value in values])[:-1]
    point = np.concatenate([value.reshape(-1) for value in values])
    rows = np.arange(len(label))

    def parameters(flat: Doubles) -> list[Doubles]:
        parts = np.split(flat, cuts)
        return [part.reshape(value.shape) for part, value in zip(parts, values, strict=True)]

    def layers(t: list[Doubles]) -> tuple[Doubles, Doubles, Doubles]:
        """The two hidden layers, and the logits less the logarithm of their sum."""
        first = np.tanh(image @ t[0] + t[1])
        second = np.tanh(first @ t[2] + t[3])
        logits = second @ t[4] + t[5]
        shifted = logits - logits.max(1, keepdims=True)
        return first, second, shifted - np.log(np.exp(shifted).sum(1, keepdims=True))

    def loss(flat: Doubles) -> float:
        return -float(layers(parameters(flat))[2][rows, label].mean())

    def gradient(flat: Doubles) -> Doubles:
        t = parameters(flat)
        first, second, logs = layers(t)
        d = np.exp(logs)
        d[rows, label] -= 1
        d /= len(label)
        found = [second.T @ d, d.sum(0)]
        for hidden, before, weight in ((second, first, t[4]), (first, image, t[2])):
            d = (d @ weight.T) * (1 - hidden**2)
            found = [before.T @ d, d.sum(0), *found]
        return np.concatenate([part.reshape(-1) for part in found])

    def run() -> str:
        apart = np.abs(numdifftools.Gradient(loss)(point) - gradient(point))
        return "pass" if apart.max() < 1e-6 else "fail"

    return run
