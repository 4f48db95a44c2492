"""Whole networks run elsewhere and give the same to 1e-5."""

from collections.abc import Callable

import numpy as np
import pytest
from networks import NETWORKS
from runtimes import RUNTIMES, by_reference, checked
from saved import Saved, every_runtime

import fluidcore as fluid
from fluidcore import eager, layers
from fluidcore.eager import nn
from fluidcore.onnx.writing import to_model


@every_runtime
@pytest.mark.parametrize("network", NETWORKS, ids=lambda build: build.__name__)
def test_the_network_gives_the_same(network: Callable[[], Saved], runtime: str) -> None:
    network().agrees(runtime, 1e-5)


@every_runtime
def test_a_module_is_traced_and_saved(runtime: str) -> None:
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm(4), nn.ReLU(), nn.Flatten())
    x = np.random.default_rng(0).standard_normal((2, 1, 6, 6)).astype(np.float32)
    net(eager.tensor(x))  # which moves the running mean
    net.eval()
    traced = eager.trace(net, eager.tensor(x))
    model = checked(to_model(traced.program, traced.feeds, traced.fetches, traced.scope))
    assert "1.running_mean" in [value.name for value in model.graph.initializer]
    (got,) = RUNTIMES[runtime](model, {traced.feeds[0]: x})
    np.testing.assert_allclose(got, traced.run(x)[0], rtol=1e-5, atol=1e-6)


def test_products_in_16_bits_stay_so() -> None:
    image, label = layers.data("image", [1, 8, 8]), layers.data("label", [1], dtype="int64")
    hidden = layers.batch_norm(layers.conv2d(image, 8, 3, act="relu"))
    scores = layers.fc(hidden, 10)
    loss = layers.mean(layers.softmax_with_cross_entropy(scores, label))
    fluid.amp.decorate(fluid.optimizer.SGD(0.1)).minimize(loss)
    exe, main = fluid.Executor(), fluid.default_main_program()
    exe.run(fluid.default_startup_program())
    feed = {"image": np.random.default_rng(0).random((2, 1, 8, 8), np.float32)}
    test = main.clone(for_test=True).prune([scores], ["image"])
    (want,) = exe.run(test, feed=feed, fetch_list=[scores.name])
    (got,) = by_reference(checked(to_model(main, [image], [scores])), feed)
    np.testing.assert_allclose(got, want, rtol=0.02, atol=0.02)
