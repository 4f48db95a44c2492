"""The same seed gives the same losses, bit for bit."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers

RNG = np.random.default_rng(0)
FEED = {
    "image": RNG.standard_normal((64, 1, 28, 28)).astype(np.float32),
    "label": RNG.integers(0, 10, (64, 1)),
}


def network(dropout: float) -> tuple[fluid.Program, fluid.Program, fluid.Variable]:
    """A network whose operators are large enough for two threads."""
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 5
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        image = layers.data("image", [1, 28, 28])
        label = layers.data("label", [1], dtype="int64")
        x = image
        for channels in (8, 16):
            x = layers.conv2d(x, channels, 5, padding=2)
            x = layers.pool2d(layers.batch_norm(x, act="relu"), 2, "max", 2)
        x = layers.dropout(layers.fc(x, 256, act="relu"), dropout)
        loss = layers.mean(layers.softmax_with_cross_entropy(layers.fc(x, 10), label))
        fluid.optimizer.Momentum(0.05, 0.9).minimize(loss)
    return main, startup, loss


def losses(dropout: float, threads: int) -> list[float]:
    main, startup, loss = network(dropout)
    before = fluid.get_num_threads()
    fluid.set_num_threads(threads)
    try:
        exe, scope = fluid.Executor(), fluid.Scope()
        exe.run(startup, scope=scope)
        return [exe.run(main, FEED, [loss], scope)[0].item() for _ in range(8)]
    finally:
        fluid.set_num_threads(before)


@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_seed_gives_the_same_losses_in_every_run(threads: int) -> None:
    first = losses(0.3, threads)
    assert losses(0.3, threads) == first
    assert first[-1] < first[0]


def test_one_thread_and_two_give_the_same_losses() -> None:
    assert losses(0.0, 1) == losses(0.0, 2)
    assert losses(0.3, 1) == losses(0.3, 2)


def test_another_seed_gives_other_losses() -> None:
    main, startup, loss = network(0.0)
    startup.random_seed = 6
    exe, scope = fluid.Executor(), fluid.Scope()
    exe.run(startup, scope=scope)
    assert exe.run(main, FEED, [loss], scope)[0].item() != losses(0.0, 1)[0]
