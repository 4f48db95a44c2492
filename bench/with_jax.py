"""The large graphs traced by JAX."""

from __future__ import annotations

import os
from collections.abc import Iterator

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np
from jax import numpy as jnp

from bench.graphs import VALUE, WIDTH, factor

VERSION = jax.__version__
BACKWARD_REPEATS_FORWARD = True  # a gradient is traced together with its function


def set_threads(count: int) -> None:
    """Tracing takes one thread."""


def build_graph(kind: str, size: int) -> Iterator[None]:
    """Traces the forward part, then that and the gradients of all parameters; yields after each."""
    vector = np.full(WIDTH, VALUE, np.float32)
    layers = [(vector, vector) for _ in range(size // 3 if kind == "layers" else 0)]

    def loss(x: jax.Array, layers: list[tuple[jax.Array, jax.Array]]) -> jax.Array:
        if kind == "fan-out":
            return sum(x * np.float32(factor(index)) for index in range(size)).mean()
        if kind == "chain":
            for _ in range(size):
                x = jnp.tanh(x)
        for w, b in layers:
            x = jax.lax.max(x * w + b, np.float32(0))
        return x.mean()

    jax.make_jaxpr(loss)(vector, layers)
    yield
    jax.make_jaxpr(jax.grad(loss, argnums=(0, 1)))(vector, layers)
    yield
