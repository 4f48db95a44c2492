"""Whole networks, initialized, run and saved; some of the examples."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
from saved import Saved, saved

import fluidcore as fluid
from fluidcore import layers, nets
from fluidcore.demo import network

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def lenet() -> Saved:
    x = image = layers.data("image", [1, 28, 28])
    for filters in (6, 16):
        x = nets.simple_img_conv_pool(x, filters, 5, 2, 2, act="relu")
    return saved([layers.fc(x, 10, act="softmax")], **{image.name: normal(2, 1, 28, 28)})


def demo() -> Saved:
    made = network.build(0)
    with fluid.program_guard(made.main, made.startup):
        return saved([made.prediction], image=normal(3, 1, 8, 8))


def resnet18() -> Saved:
    image = layers.data("image", [3, 32, 32])
    scores = example("resnet18").resnet18(image, 8)
    return saved([layers.softmax(scores)], image=normal(2, 3, 32, 32))


def gpt() -> Saved:
    module = example("gpt")
    letters = layers.data("letters", [module.TIME, 1], dtype="int64")
    codes = np.random.default_rng(0).integers(0, 30, (2, module.TIME, 1))
    return saved([module.gpt(letters, 30)], letters=codes)


def unet() -> Saved:
    image = layers.data("image", [1, 32, 32])
    return saved([example("unet").unet(image)], image=normal(2, 1, 32, 32))


def lstm() -> Saved:
    letters = layers.data("letters", [9, 1], dtype="int64")
    states, _, _ = layers.lstm(layers.embedding(letters, [30, 8]), 16, num_layers=2)
    codes = np.random.default_rng(0).integers(0, 30, (2, 9, 1))
    return saved([layers.fc(states, 30, num_flatten_dims=2, act="softmax")], letters=codes)


NETWORKS = [lenet, demo, resnet18, gpt, unet, lstm]
