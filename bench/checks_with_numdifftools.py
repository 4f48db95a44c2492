"""The gradient of a function of one number by numdifftools, beside that of autograd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import autograd
import autograd.numpy as anp
import numdifftools
import numpy as np

from bench.gradient_check_cases import batch, inputs

VERSION = numdifftools.__version__


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

    def loss(flat: Any) -> Any:
        parts = anp.split(flat, cuts)
        t = [part.reshape(value.shape) for part, value in zip(parts, values, strict=True)]
        x = anp.tanh(anp.dot(image, t[0]) + t[1])
        x = anp.tanh(anp.dot(x, t[2]) + t[3])
        x = anp.dot(x, t[4]) + t[5]
        largest = anp.max(x, 1, keepdims=True)
        total = anp.log(anp.sum(anp.exp(x - largest), 1)) + largest[:, 0]
        return anp.mean(total - x[anp.arange(len(label)), label])

    def run() -> str:
        apart = np.abs(numdifftools.Gradient(loss)(point) - autograd.grad(loss)(point))
        return "pass" if apart.max() < 1e-6 else "fail"

    return run
