"""Programs on a GPU as on the CPU: random ones with their gradients, and models that train."""

from collections.abc import Callable

import numpy as np
import pytest
from fluid_programs import INPUTS, build
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_programs import programs

import fluidcore as fluid
from fluidcore import core, layers

GPU = fluid.CUDAPlace(0)
CPU = fluid.CPUPlace()
RUNS = 3  # the first prepares, the second records what the third replays


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(programs, st.integers(0, 3))
def test_a_random_program_has_the_results_and_gradients_of_the_cpu(statements, counter) -> None:
    main, loss = build(statements)
    with fluid.program_guard(main, fluid.Program()):
        found = fluid.gradients(loss, [main.global_block().var(name) for name in INPUTS])
    fetches = [loss, *(grad for grad in found if grad is not None)]
    rng = np.random.default_rng(7)
    feed = {name: rng.uniform(-1.2, 1.2, shape) for name, shape in INPUTS.items()}
    feed["t"] = np.array([counter])
    expected = fluid.Executor(CPU).run(main, feed=feed, fetch_list=fetches)
    exe = fluid.Executor(GPU, allow_cpu_fallback=True)
    for _ in range(RUNS):
        for want, got in zip(expected, exe.run(main, feed=feed, fetch_list=fetches), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


def lenet(layout: str) -> fluid.Variable:
    image = layers.data("image", [1, 12, 12] if layout == "NCHW" else [12, 12, 1])
    label = layers.data("label", [1], dtype="int64")
    hidden = layers.conv2d(image, 6, 3, padding=1, data_format=layout)
    hidden = layers.batch_norm(hidden, act="relu", data_layout=layout)
    hidden = layers.pool2d(hidden, 2, "max", 2, data_format=layout)
    hidden = layers.conv2d(hidden, 8, 3, stride=2, act="relu", data_format=layout)
    hidden = layers.pool2d(hidden, 2, "avg", 1, data_format=layout)
    loss = layers.softmax_with_cross_entropy(layers.fc(hidden, 4), label)
    return layers.mean(loss)


def depthwise(layout: str) -> fluid.Variable:
    image = layers.data("image", [1, 12, 12] if layout == "NCHW" else [12, 12, 1])
    label = layers.data("label", [1], dtype="int64")
    hidden = layers.conv2d(image, 8, 1, act="relu", data_format=layout)
    hidden = layers.conv2d(hidden, 8, 3, padding=1, groups=8, data_format=layout)
    hidden = layers.conv2d(hidden, 16, 3, padding=2, dilation=2, groups=1, data_format=layout)
    hidden = layers.pool2d(hidden, 1, "avg", global_pooling=True, data_format=layout)
    return layers.mean(layers.softmax_with_cross_entropy(layers.fc(hidden, 4), label))


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("network", [lenet, depthwise])
def test_a_convolutional_network_trains_as_on_the_cpu(
    network: Callable[[str], fluid.Variable], layout: str
) -> None:
    fluid.default_startup_program().random_seed = 3
    loss = network(layout)
    fluid.optimizer.Momentum(0.1, 0.9).minimize(loss)
    rng = np.random.default_rng(0)
    feed = {
        "image": rng.normal(size=(10, 12, 12, 1)).astype("float32"),
        "label": rng.integers(0, 4, size=(10, 1)),
    }
    if layout == "NCHW":
        feed["image"] = feed["image"].transpose(0, 3, 1, 2).copy()
    losses = {}
    for place in (CPU, GPU):
        scope = core.Scope()
        fluid.Executor(CPU).run(fluid.default_startup_program(), scope=scope)
        scope.to(place)
        exe = fluid.Executor(place)  # without the CPU's help
        losses[place] = [
            exe.run(feed=feed, fetch_list=[loss], scope=scope)[0].item() for _ in range(6)
        ]
    on_cpu, on_gpu = losses.values()
    assert on_cpu[-1] < on_cpu[0]
    np.testing.assert_allclose(on_gpu, on_cpu, rtol=1e-5)


@pytest.mark.parametrize(
    "optimizer",
    [
        lambda: fluid.optimizer.SGD(0.1),
        lambda: fluid.optimizer.Adam(0.05),
        lambda: fluid.optimizer.Adagrad(0.1),
    ],
)
def test_a_sparse_embedding_trains_as_on_the_cpu(
    optimizer: Callable[[], fluid.optimizer.Optimizer],
) -> None:
    fluid.default_startup_program().random_seed = 3
    ids = layers.data("ids", [4], dtype="int64")
    embedded = layers.embedding(ids, [50, 6], is_sparse=True)
    loss = layers.mean(layers.square(layers.reduce_sum(embedded, dim=1) - 1.0))
    optimizer().minimize(loss)
    feeds = [
        {"ids": np.random.default_rng(seed).integers(0, 50 if seed else 5, size=(9, 4))}
        for seed in range(4)
    ]
    tables = []
    for place in (CPU, GPU):
        scope = core.Scope()
        fluid.Executor(CPU).run(fluid.default_startup_program(), scope=scope)
        scope.to(place)
        exe = fluid.Executor(place)
        for feed in feeds * 2:
            exe.run(feed=feed, fetch_list=[loss], scope=scope)
        tables.append(np.array(scope.find_var("embedding_0.w_0").get_tensor()))
    np.testing.assert_allclose(tables[1], tables[0], rtol=1e-5, atol=1e-6)


def test_gradients_are_checked_on_the_device() -> None:
    from fluidcore.gradcheck import GradCheckConfig, GradientChecker

    checker = GradientChecker(GradCheckConfig(device="cuda", second_order=True))
    report = checker.check_op("softmax", {"X": np.random.default_rng(0).normal(size=(3, 5))})
    assert report
    assert "on cuda:0" in str(report)
    assert {result.place for result in report.results} == {"gpu"}
