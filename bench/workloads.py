"""Weights, batches and optimizers as NumPy arrays: the same for every framework.

A weight of a fully connected layer is [in, out], a filter [out, in, height, width]; images are
[batch, channels, height, width]. The gates of an LSTM are input, forget, output, candidate.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Weights = dict[str, npt.NDArray[np.float32]]

HEADS = 4  # of the transformer's attention
BLOCKS = (  # channels and stride of the residual network's, each of two convolutions
    (64, 1),
    (64, 1),
    (128, 2),
    (128, 1),
    (256, 2),
    (256, 1),
    (512, 2),
    (512, 1),
)


class Layer(NamedTuple):
    """Weights that belong together.

    Attributes:
        kind: `fc` and `conv` have a weight `name.w` and a bias `name.b`, `conv_norm` a filter
            `name.w` and the batch norm's `name.scale` and `name.shift`, `norm` the latter two,
            `embedding` a table `name.w`, `lstm` the weights `name.0.w` of the input, `name.0.u` of
            the state and the bias `name.0.b`.
        name: Of the layer.
        shape: Of the weight; of an LSTM the features and the size of a state.
    """

    kind: str
    name: str
    shape: tuple[int, ...]


class Workload(NamedTuple):
    """A network and how it is trained.

    Attributes:
        title: What a table says.
        network: The function of `networks_with_*.py` that calculates the logits.
        optimizer: `sgd`, `momentum` or `adam`.
        settings: Of the optimizer.
        batch: Examples of a step.
        example: Shape of one.
        layers: What has weights.
        vocabulary: If not 0, an example is a text of such numbers, and each word's label the next.
    """

    title: str
    network: str
    optimizer: str
    settings: dict[str, float]
    batch: int
    example: tuple[int, ...]
    layers: tuple[Layer, ...]
    vocabulary: int = 0


def perceptron(*sizes: int) -> tuple[Layer, ...]:
    """Fully connected layers `l0`, `l1`, ... from each size to the next."""
    return tuple(Layer("fc", f"l{index}", pair) for index, pair in enumerate(pairwise(sizes)))


def residual() -> tuple[Layer, ...]:
    """A ResNet-18 for 32x32: a block's convolutions are `b0.0` and `b0.1`, its shortcut `b0.s`."""
    layers = [Layer("conv_norm", "stem", (64, 3, 3, 3))]
    before = 64
    for index, (channels, stride) in enumerate(BLOCKS):
        layers.append(Layer("conv_norm", f"b{index}.0", (channels, before, 3, 3)))
        layers.append(Layer("conv_norm", f"b{index}.1", (channels, channels, 3, 3)))
        if stride != 1 or channels != before:
            layers.append(Layer("conv_norm", f"b{index}.s", (channels, before, 1, 1)))
        before = channels
    return (*layers, Layer("fc", "out", (before, 10)))


def language_model(vocabulary: int, features: int, size: int) -> tuple[Layer, ...]:
    """An embedding, an LSTM, and logits of all words."""
    return (
        Layer("embedding", "table", (vocabulary, features)),
        Layer("lstm", "lstm", (features, size)),
        Layer("fc", "out", (size, vocabulary)),
    )


def transformer(depth: int, features: int, inner: int) -> tuple[Layer, ...]:
    """Layers that normalize first: `0.norm1`, `0.qkv`, `0.mix`, `0.norm2`, `0.up`, `0.down`, ..."""
    layers = (
        (
            Layer("norm", f"{index}.norm1", (features,)),
            Layer("fc", f"{index}.qkv", (features, 3 * features)),
            Layer("fc", f"{index}.mix", (features, features)),
            Layer("norm", f"{index}.norm2", (features,)),
            Layer("fc", f"{index}.up", (features, inner)),
            Layer("fc", f"{index}.down", (inner, features)),
        )
        for index in range(depth)
    )
    end = (Layer("norm", "norm", (features,)), Layer("fc", "out", (features, 10)))
    return (*chain.from_iterable(layers), *end)


ADAM = {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}
_MOMENTUM = {"lr": 0.01, "momentum": 0.9}
TRAINING = {
    "a": Workload(
        "MLP 64-128-128-10, batch 32, SGD",
        "perceptron",
        "sgd",
        {"lr": 0.1},
        32,
        (64,),
        perceptron(64, 128, 128, 10),
    ),
    "b": Workload(
        "MLP 784-1024-1024-10, batch 128, Adam",
        "perceptron",
        "adam",
        ADAM,
        128,
        (784,),
        perceptron(784, 1024, 1024, 10),
    ),
    "c": Workload(
        "LeNet 1x28x28, batch 64, Momentum",
        "lenet",
        "momentum",
        _MOMENTUM,
        64,
        (1, 28, 28),
        (
            Layer("conv", "c0", (6, 1, 5, 5)),
            Layer("conv", "c1", (16, 6, 5, 5)),
            *perceptron(400, 120, 84, 10),
        ),
    ),
    "d": Workload(
        "ResNet-18 3x32x32, batch 32, Momentum",
        "residual",
        "momentum",
        _MOMENTUM,
        32,
        (3, 32, 32),
        residual(),
    ),
    "e": Workload(
        "LSTM 256, vocabulary 2000, 20 x 32 steps, SGD",
        "language_model",
        "sgd",
        {"lr": 0.5},
        20,
        (32,),
        language_model(2000, 128, 256),
        vocabulary=2000,
    ),
    "f": Workload(
        "transformer, 2 layers of 128, 16 x 64 steps, Adam",
        "transformer",
        "adam",
        ADAM,
        16,
        (64, 128),
        transformer(2, 128, 512),
    ),
}
CHAIN = 1000  # operators, alternately a product and a sum of two vectors of four elements


def weights(workload: Workload) -> Weights:
    """First weights, normal with variance 1 / fan-in; biases and shifts are 0, scales 1."""
    random = np.random.RandomState(0)
    result: Weights = {}
    for layer in workload.layers:
        result |= _first_values(layer, random)
    return result


def _first_values(layer: Layer, random: np.random.RandomState) -> Weights:
    kind, name, shape = layer

    def normal(shape: tuple[int, ...], variance: float) -> npt.NDArray[np.float32]:
        return np.asarray(random.randn(*shape) * np.sqrt(variance), np.float32)

    def constant(value: float, size: int) -> npt.NDArray[np.float32]:
        return np.full(size, value, np.float32)

    if kind == "embedding":
        return {f"{name}.w": normal(shape, 0.01)}
    if kind == "lstm":
        features, size = shape
        return {
            f"{name}.0.w": normal((features, 4 * size), 1 / size),
            f"{name}.0.u": normal((size, 4 * size), 1 / size),
            f"{name}.0.b": constant(0, 4 * size),
        }
    if kind == "norm":
        return {f"{name}.scale": constant(1, *shape), f"{name}.shift": constant(0, *shape)}
    if kind == "fc":
        return {f"{name}.w": normal(shape, 1 / shape[0]), f"{name}.b": constant(0, shape[1])}
    fan_in = int(np.prod(shape[1:]))
    if kind == "conv":
        return {f"{name}.w": normal(shape, 1 / fan_in), f"{name}.b": constant(0, shape[0])}
    norm = _first_values(Layer("norm", name, shape[:1]), random)
    return {f"{name}.w": normal(shape, 2 / fan_in), **norm}


def batch(
    workload: Workload, size: int | None = None
) -> tuple[npt.NDArray[np.float32 | np.int64], npt.NDArray[np.int64]]:
    """Random examples [size, ...], and a label for each row of the logits; the workload's batch."""
    random = np.random.RandomState(1)
    size = size or workload.batch
    if workload.vocabulary:
        (steps,) = workload.example
        text = random.randint(0, workload.vocabulary, (size, steps + 1)).astype(np.int64)
        return np.ascontiguousarray(text[:, :-1]), text[:, 1:].reshape(-1)
    examples = random.randn(size, *workload.example).astype(np.float32)
    return examples, random.randint(0, 10, size).astype(np.int64)


def depth(names: Iterable[str]) -> int:
    """How many layers the transformer with these weights has."""
    return sum(name.endswith(".qkv.w") for name in names)


def chain_inputs() -> tuple[npt.NDArray[np.float32], ...]:
    """The first vector, the factor and the summand of the chain, [4] each."""
    return tuple(np.full(4, value, np.float32) for value in (2.0, 0.999, 0.001))
