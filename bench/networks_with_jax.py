"""The networks of the workloads in JAX, as a JAX user would write them for speed.

Each function takes the examples, the weights and the running means and variances of batch norms,
and returns logits [labels, classes] and the new means and variances. Images are [batch, height,
width, channels], filters [height, width, in, out].
"""

from __future__ import annotations

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from bench.workloads import BLOCKS, HEADS, Weights, depth

Arrays = dict[str, jax.Array]
State = dict[str, tuple[jax.Array, jax.Array]]


def arrays(values: Weights) -> Arrays:
    """The first weights."""
    filters_last = {
        name: value.transpose(2, 3, 1, 0) if value.ndim == 4 else value
        for name, value in values.items()
    }
    return {name: jnp.asarray(value) for name, value in filters_last.items()}


def examples(values: np.ndarray) -> jax.Array:
    """The examples as JAX wants them."""
    return jnp.asarray(values.transpose(0, 2, 3, 1) if values.ndim == 4 else values)


def first_state(values: Weights) -> State:
    """The means and variances before the first step."""
    names = [name.removesuffix(".scale") for name in values if name.endswith(".scale")]
    filters = [name for name in names if f"{name}.w" in values]
    sizes = {name: len(values[f"{name}.scale"]) for name in filters}
    return {name: (jnp.zeros(size), jnp.ones(size)) for name, size in sizes.items()}


def _fc(x: jax.Array, w: Arrays, name: str) -> jax.Array:
    return x @ w[f"{name}.w"] + w[f"{name}.b"]


def _conv(x: jax.Array, filters: jax.Array, stride: int, padding: int) -> jax.Array:
    layout = ("NHWC", "HWIO", "NHWC")
    pads = [(padding, padding)] * 2
    return lax.conv_general_dilated(x, filters, (stride, stride), pads, dimension_numbers=layout)


def perceptron(x: jax.Array, w: Arrays, state: State) -> tuple[jax.Array, State]:
    """Three layers."""
    x = jax.nn.relu(_fc(x, w, "l0"))
    x = jax.nn.relu(_fc(x, w, "l1"))
    return _fc(x, w, "l2"), state


def lenet(x: jax.Array, w: Arrays, state: State) -> tuple[jax.Array, State]:
    """Two convolutions, and the perceptron."""
    window = (1, 2, 2, 1)
    for name, padding in (("c0", 2), ("c1", 0)):
        x = jax.nn.relu(_conv(x, w[f"{name}.w"], 1, padding) + w[f"{name}.b"])
        x = lax.reduce_window(x, -jnp.inf, lax.max, window, window, "VALID")
    return perceptron(x.transpose(0, 3, 1, 2).reshape(len(x), -1), w, state)


def residual(x: jax.Array, w: Arrays, state: State) -> tuple[jax.Array, State]:
    """Blocks of two convolutions and a shortcut; normalized by the batch, as in training."""
    after: State = {}

    def conv_norm(x: jax.Array, name: str, stride: int = 1) -> jax.Array:
        filters = w[f"{name}.w"]
        x = _conv(x, filters, stride, filters.shape[0] // 2)
        mean = x.mean((0, 1, 2))
        variance = (x * x).mean((0, 1, 2)) - mean * mean
        before = state[name]
        after[name] = (0.9 * before[0] + 0.1 * mean, 0.9 * before[1] + 0.1 * variance)
        factor = lax.rsqrt(variance + 1e-5) * w[f"{name}.scale"]
        return x * factor + (w[f"{name}.shift"] - mean * factor)

    x = jax.nn.relu(conv_norm(x, "stem"))
    for index, (_, stride) in enumerate(BLOCKS):
        inner = jax.nn.relu(conv_norm(x, f"b{index}.0", stride))
        inner = conv_norm(inner, f"b{index}.1")
        if f"b{index}.s.w" in w:
            x = conv_norm(x, f"b{index}.s", stride)
        x = jax.nn.relu(inner + x)
    return _fc(x.mean((1, 2)), w, "out"), after


def language_model(x: jax.Array, w: Arrays, state: State) -> tuple[jax.Array, State]:
    """Logits of the next word after each."""
    projected = w["table.w"][x] @ w["lstm.0.w"] + w["lstm.0.b"]
    size = w["lstm.0.u"].shape[0]

    def step(
        before: tuple[jax.Array, jax.Array], gates: jax.Array
    ) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
        hidden, cell = before
        enter, forget, output, candidate = jnp.split(gates + hidden @ w["lstm.0.u"], 4, 1)
        cell = jax.nn.sigmoid(forget) * cell + jax.nn.sigmoid(enter) * jnp.tanh(candidate)
        hidden = jax.nn.sigmoid(output) * jnp.tanh(cell)
        return (hidden, cell), hidden

    zeros = jnp.zeros((len(x), size))
    _, states = lax.scan(step, (zeros, zeros), projected.transpose(1, 0, 2))
    return _fc(states.transpose(1, 0, 2).reshape(-1, size), w, "out"), state


def transformer(x: jax.Array, w: Arrays, state: State) -> tuple[jax.Array, State]:
    """Attention and a perceptron in each layer; the mean of all steps at the end."""
    batch, steps, features = x.shape
    size = features // HEADS

    def norm(x: jax.Array, name: str) -> jax.Array:
        centred = x - x.mean(-1, keepdims=True)
        variance = (centred**2).mean(-1, keepdims=True)
        return centred * lax.rsqrt(variance + 1e-5) * w[f"{name}.scale"] + w[f"{name}.shift"]

    for index in range(depth(w)):
        qkv = _fc(norm(x, f"{index}.norm1"), w, f"{index}.qkv")
        q, k, v = qkv.reshape(batch, steps, 3, HEADS, size).transpose(2, 0, 3, 1, 4)
        mixed = jax.nn.softmax(q @ k.swapaxes(-1, -2) * size**-0.5) @ v
        mixed = mixed.transpose(0, 2, 1, 3).reshape(batch, steps, features)
        x = x + _fc(mixed, w, f"{index}.mix")
        inner = _fc(norm(x, f"{index}.norm2"), w, f"{index}.up")
        x = x + _fc(jax.nn.gelu(inner, approximate=False), w, f"{index}.down")
    return _fc(norm(x, "norm").mean(1), w, "out"), state
