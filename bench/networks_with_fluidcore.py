"""The networks of the workloads, of fluidcore's layers.

Each function takes the examples and the first weights, whose names the parameters have and whose
shapes say how large the network is, and returns logits [labels, classes].
"""

from __future__ import annotations

from bench.workloads import BLOCKS, HEADS, Weights, depth
from fluidcore import layers
from fluidcore.program import Variable


def _fc(x: Variable, values: Weights, name: str, act: str | None = None, dims: int = 1) -> Variable:
    size = values[f"{name}.w"].shape[1]
    return layers.fc(x, size, dims, param_attr=f"{name}.w", bias_attr=f"{name}.b", act=act)


def _conv(x: Variable, values: Weights, name: str, stride: int, padding: int) -> Variable:
    channels, _, size, _ = values[f"{name}.w"].shape
    bias = f"{name}.b" if f"{name}.b" in values else False
    return layers.conv2d(x, channels, size, stride, padding, param_attr=f"{name}.w", bias_attr=bias)


def perceptron(x: Variable, values: Weights) -> Variable:
    """Three layers."""
    x = _fc(x, values, "l0", "relu")
    x = _fc(x, values, "l1", "relu")
    return _fc(x, values, "l2")


def lenet(x: Variable, values: Weights) -> Variable:
    """Two convolutions, and the perceptron."""
    for name, padding in (("c0", 2), ("c1", 0)):
        x = layers.pool2d(layers.relu(_conv(x, values, name, 1, padding)), 2, "max", 2)
    return perceptron(x, values)


def residual(x: Variable, values: Weights) -> Variable:
    """Blocks of two convolutions and a shortcut."""

    def conv_norm(x: Variable, name: str, stride: int = 1, act: str | None = None) -> Variable:
        x = _conv(x, values, name, stride, values[f"{name}.w"].shape[2] // 2)
        return layers.batch_norm(x, act=act, param_attr=f"{name}.scale", bias_attr=f"{name}.shift")

    x = conv_norm(x, "stem", act="relu")
    for index, (_, stride) in enumerate(BLOCKS):
        inner = conv_norm(x, f"b{index}.0", stride, "relu")
        inner = conv_norm(inner, f"b{index}.1")
        if f"b{index}.s.w" in values:
            x = conv_norm(x, f"b{index}.s", stride)
        x = layers.relu(layers.elementwise_add(inner, x))
    return _fc(layers.pool2d(x, pool_type="avg", global_pooling=True), values, "out")


def language_model(x: Variable, values: Weights) -> Variable:
    """Logits of the next word after each."""
    size = values["lstm.0.u"].shape[0]
    x = layers.embedding(x, values["table.w"].shape, param_attr="table.w")
    states, _, _ = layers.lstm(x, size, param_attr="lstm", bias_attr="lstm")
    return _fc(layers.reshape(states, [-1, size]), values, "out")


def transformer(x: Variable, values: Weights) -> Variable:
    """Attention and a perceptron in each layer; the mean of all steps at the end."""
    _, steps, features = x.shape

    def norm(x: Variable, name: str) -> Variable:
        return layers.layer_norm(
            x, begin_norm_axis=2, param_attr=f"{name}.scale", bias_attr=f"{name}.shift"
        )

    for index in range(depth(values)):
        qkv = _fc(norm(x, f"{index}.norm1"), values, f"{index}.qkv", dims=2)
        qkv = layers.reshape(qkv, [-1, steps, 3, HEADS, features // HEADS])
        parts = layers.split(layers.transpose(qkv, [2, 0, 3, 1, 4]), 3, dim=0)
        heads = [layers.reshape(part, [-1, HEADS, steps, features // HEADS]) for part in parts]
        mixed = layers.transpose(layers.scaled_dot_product_attention(*heads), [0, 2, 1, 3])
        mixed = layers.reshape(mixed, [-1, steps, features])
        x = layers.elementwise_add(x, _fc(mixed, values, f"{index}.mix", dims=2))
        inner = _fc(norm(x, f"{index}.norm2"), values, f"{index}.up", "gelu", dims=2)
        x = layers.elementwise_add(x, _fc(inner, values, f"{index}.down", dims=2))
    return _fc(layers.reduce_mean(norm(x, "norm"), dim=1), values, "out")
