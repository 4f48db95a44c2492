"""The functions whose gradients are checked, as arrays: the same for every framework. All float64.

A filter is [out, in, height, width], images are [batch, channels, height, width].
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]
Arrays = dict[str, Doubles]

SINE = 4_000  # elements
ELEMENTS = 1_000_000
RESNET_BLOCKS = (64, 64, 128, 128, 256, 256, 512, 512)  # channels of each residual block
RESNET_IMAGE = (2, 3, 64, 64)
RESNET_CLASSES = 1_000
STEP = 1e-6  # of plain differences, as in torch

_MLP = (32, 64, 32, 10)
_BATCH = 8
_SHAPES: dict[str, dict[str, tuple[int, ...]]] = {
    "matmul": {"x": (32, 64), "y": (64, 32)},
    "conv2d": {"x": (2, 3, 16, 16), "w": (8, 3, 3, 3)},
    "lstm": {
        **{"x": (4, 32), "h": (4, 32), "c": (4, 32)},
        **{"wih": (32, 128), "whh": (32, 128), "b": (128,)},
    },
    "mlp": {
        name: shape
        for k in range(3)
        for name, shape in ((f"w{k}", _MLP[k : k + 2]), (f"b{k}", _MLP[k + 1 : k + 2]))
    },
    "softmax": {"x": (64, 36), "w": (36, 64)},
    "sin": {"x": (SINE,)},
    "tanh": {"x": (ELEMENTS,)},
}
TITLES = {
    "matmul": "matmul 32x64 · 64x32",
    "conv2d": "conv2d (2,3,16,16) · (8,3,3,3)",
    "lstm": "LSTM cell (4, 32)",
    "mlp": "MLP 32-64-32-10, batch 8",
    "sin": "sin, 4,000 elements",
    "softmax": "softmax(gelu(x w)), (64,36) · (36,64)",
    "tanh": "tanh, 1,000,000 elements",
    "resnet": "ResNet-18, 64x64, batch 2",
}


def inputs(case: str) -> Arrays:
    """What is differentiated by."""
    random = np.random.RandomState(0)
    if case == "resnet":
        return dict(_resnet_parameters(random))
    scale = 0.3 if case in ("matmul", "conv2d", "lstm", "mlp") else 1.0
    return {name: random.randn(*shape) * scale for name, shape in _SHAPES[case].items()}


def batch(case: str) -> tuple[Doubles, npt.NDArray[np.int64]]:
    """What a network reads besides, and the labels [batch]."""
    random = np.random.RandomState(7)
    if case == "resnet":
        image = random.randn(*RESNET_IMAGE)
        return image, random.randint(0, RESNET_CLASSES, RESNET_IMAGE[0])
    return random.randn(_BATCH, _MLP[0]), random.randint(0, _MLP[-1], _BATCH)


class ResNetBlock(NamedTuple):
    """Two convolutions 3x3 around which the input is led, through a third one if it must change."""

    name: str
    before: int
    channels: int
    stride: int

    @property
    def changes(self) -> bool:
        """Whether the output has another shape than the input."""
        return self.stride != 1 or self.before != self.channels


def resnet_blocks() -> Iterator[ResNetBlock]:
    """The eight blocks of a ResNet-18."""
    before = RESNET_BLOCKS[0]
    for k, channels in enumerate(RESNET_BLOCKS):
        yield ResNetBlock(f"b{k}", before, channels, 1 if channels == before else 2)
        before = channels


def _resnet_parameters(random: np.random.RandomState) -> Iterator[tuple[str, Doubles]]:
    def convolution(name: str, out: int, before: int, size: int) -> Iterator[tuple[str, Doubles]]:
        """A filter, then scale and shift of the normalization after it."""
        deviation = np.sqrt(2 / (before * size * size))
        yield f"{name}.w", random.randn(out, before, size, size) * deviation
        yield f"{name}.scale", 1 + 0.1 * random.randn(out)
        yield f"{name}.shift", 0.1 * random.randn(out)

    yield from convolution("stem", RESNET_BLOCKS[0], 3, 7)
    for block in resnet_blocks():
        yield from convolution(f"{block.name}.0", block.channels, block.before, 3)
        yield from convolution(f"{block.name}.1", block.channels, block.channels, 3)
        if block.changes:
            yield from convolution(f"{block.name}.2", block.channels, block.before, 1)
    features = RESNET_BLOCKS[-1]
    yield "fc.w", random.randn(features, RESNET_CLASSES) / np.sqrt(features)
    yield "fc.b", 0.1 * random.randn(RESNET_CLASSES)
