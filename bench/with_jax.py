"""The workloads compiled, and the large graphs traced, by JAX."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np
from jax import numpy as jnp

from bench import networks_with_jax
from bench.graphs import VALUE, WIDTH, factor
from bench.networks_with_jax import Arrays, State
from bench.workloads import Workload, batch, weights

VERSION = jax.__version__
BACKWARD_REPEATS_FORWARD = True  # a gradient is traced together with its function


def set_threads(count: int) -> None:
    """Tracing takes one thread; what is compiled, as many as the process is pinned to."""


def _first_moments(workload: Workload, values: Arrays) -> Any:
    def zeros() -> Arrays:
        return jax.tree.map(jnp.zeros_like, values)

    if workload.optimizer == "sgd":
        return ()
    return zeros() if workload.optimizer == "momentum" else (zeros(), zeros(), 0.0)


def _updated(workload: Workload, values: Arrays, moments: Any, gradients: Arrays) -> Any:
    """The values and moments after a step of the optimizer."""
    s = workload.settings
    if workload.optimizer == "sgd":
        return jax.tree.map(lambda p, g: p - s["lr"] * g, values, gradients), ()
    if workload.optimizer == "momentum":
        moments = jax.tree.map(lambda v, g: s["momentum"] * v + g, moments, gradients)
        return jax.tree.map(lambda p, v: p - s["lr"] * v, values, moments), moments
    beta1, beta2 = s["beta1"], s["beta2"]
    first, second, steps = moments
    first = jax.tree.map(lambda m, g: beta1 * m + (1 - beta1) * g, first, gradients)
    second = jax.tree.map(lambda v, g: beta2 * v + (1 - beta2) * g * g, second, gradients)
    steps += 1
    rate, scale = s["lr"] / (1 - beta1**steps), 1 - beta2**steps

    def update(p: jax.Array, m: jax.Array, v: jax.Array) -> jax.Array:
        return p - rate * m / (jnp.sqrt(v / scale) + s["epsilon"])

    return jax.tree.map(update, values, first, second), (first, second, steps)


def train_step(workload: Workload) -> Callable[[], float]:
    """A function that makes one training step and returns the loss before it."""
    examples, labels = batch(workload)
    network = getattr(networks_with_jax, workload.network)

    def loss_of(
        values: Arrays, state: State, x: jax.Array, y: jax.Array
    ) -> tuple[jax.Array, State]:
        logits, state = network(x, values, state)
        logarithms = jax.nn.log_softmax(logits)
        return -jnp.take_along_axis(logarithms, y[:, None], 1).mean(), state

    @partial(jax.jit, donate_argnums=(0, 1, 2))
    def train(values: Arrays, state: State, moments: Any, x: jax.Array, y: jax.Array) -> Any:
        with_gradients = jax.value_and_grad(loss_of, has_aux=True)
        (loss, state), gradients = with_gradients(values, state, x, y)
        values, moments = _updated(workload, values, moments, gradients)
        return values, state, moments, loss

    first = weights(workload)
    values = networks_with_jax.arrays(first)
    carried = [values, networks_with_jax.first_state(first), _first_moments(workload, values)]
    x, y = networks_with_jax.examples(examples), jnp.asarray(labels)

    def step() -> float:
        *carried[:], loss = train(*carried, x, y)
        return float(loss)

    return step


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
