"""Trainings of classifiers of images have the losses of PyTorch, step by step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import datasets, layers

torch = pytest.importorskip("torch")
from torch_twins import STEPS, Array, Twin, mean_loss, named, torch_in_float64, transposed  # noqa: E402

nn, functional = torch.nn, torch.nn.functional
BATCH = 16


@pytest.fixture(autouse=True)
def float64_modules() -> Iterator[None]:
    with torch_in_float64():
        yield


def digit_batches() -> list[dict[str, Array]]:
    data = datasets.digits()
    starts = [i % 2 * BATCH for i in range(STEPS)]  # few enough to learn in so few steps
    pieces = [slice(start, start + BATCH) for start in starts]
    return [
        {"image": data.train_images[p].astype(np.float64), "label": data.train_labels[p]}
        for p in pieces
    ]


def digits_as_variables() -> tuple[fluid.Variable, fluid.Variable]:
    image = layers.data("image", [1, 8, 8], dtype="float64")
    return image, layers.data("label", [1], dtype="int64")


def perceptron(optimizer: fluid.optimizer.Optimizer, eps: float = 1e-8) -> Twin:
    image, label = digits_as_variables()
    hidden = layers.fc(image, 32, act="relu", **named("1"))
    loss = mean_loss(layers.fc(hidden, 10, **named("3")), label)
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    return Twin(
        loss,
        module,
        lambda batch: functional.cross_entropy(module(batch["image"]), batch["label"][:, 0]),
        lambda arrays: transposed(arrays, "weight"),
        optimizer,
        torch.optim.Adam(module.parameters(), lr=0.01, eps=eps),
        digit_batches(),
    )


def test_a_perceptron_with_adam():
    perceptron(fluid.optimizer.Adam(0.01, epsilon_mode="after")).assert_same_curves()


def test_adam_with_an_epsilon_that_counts():
    adam = fluid.optimizer.Adam(0.01, epsilon=1e-3, epsilon_mode="after")
    perceptron(adam, eps=1e-3).assert_same_curves()


def test_the_epsilon_of_fluid_gives_another_curve_where_it_counts():
    ours, theirs = perceptron(fluid.optimizer.Adam(0.01, epsilon=1e-3), eps=1e-3).train()
    assert ours[0] == pytest.approx(theirs[0], rel=1e-12)
    assert ours[-1] != pytest.approx(theirs[-1], rel=1e-3)


def lenet(image: fluid.Variable) -> fluid.Variable:
    x = layers.conv2d(image, 6, 3, padding=1, act="relu", **named("0"))
    x = layers.pool2d(x, 2, "max", 2)
    x = layers.conv2d(x, 16, 3, padding=1, act="relu", **named("3"))
    x = layers.pool2d(x, 2, "max", 2)
    x = layers.fc(x, 32, act="relu", **named("7"))
    return layers.fc(x, 10, **named("9"))


def test_lenet_with_momentum():
    image, label = digits_as_variables()
    module = nn.Sequential(
        *(nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(6, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)),
    )
    twin = Twin(
        mean_loss(lenet(image), label),
        module,
        lambda batch: functional.cross_entropy(module(batch["image"]), batch["label"][:, 0]),
        lambda arrays: transposed(arrays, "7.weight", "9.weight"),
        fluid.optimizer.Momentum(0.1, momentum=0.9),
        torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9),
        digit_batches(),
    )
    twin.assert_same_curves()
