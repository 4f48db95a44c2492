"""What follows a large product is done to some of its rows at a time, and nobody sees it."""

from collections.abc import Callable

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import core, layers
from fluidcore.program import Variable

pytestmark = pytest.mark.skipif(core.onednn_version() is None, reason="the pass needs oneDNN")
SKIP = "-rows_after"
RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((768, 32)).astype(np.float32)
IMAGES = RNG.standard_normal((2, 16, 32, 32)).astype(np.float32)


def rows() -> Variable:
    return layers.data("rows", [768, 32], append_batch_size=False)


def images() -> Variable:
    return layers.data("images", [2, 16, 32, 32], append_batch_size=False)


def with_bias_and_gelu() -> list[Variable]:
    return [layers.fc(rows(), 256, act="gelu")]


def with_layer_norm_of_a_sum() -> list[Variable]:
    x = rows()
    return [layers.layer_norm(layers.fc(x, 256) + layers.fc(x, 256), begin_norm_axis=1)]


def of_pixels() -> list[Variable]:
    first = layers.conv2d(images(), 96, 1, act="relu")
    return [layers.reduce_mean(layers.conv2d(first, 96, 1, act="tanh"), dim=[2, 3])]


def with_the_product_itself() -> list[Variable]:
    hidden = layers.fc(rows(), 256, bias_attr=False)
    return [hidden, layers.relu(hidden)]


def with_rows_of_other_rows() -> list[Variable]:
    hidden = layers.fc(rows(), 256, bias_attr=False)
    return [layers.flip(hidden, [0]) * 2.0 + hidden]


def into_its_own_operand() -> list[Variable]:
    x = layers.assign(rows())
    w = layers.create_parameter([32, 256], "float32")
    hidden = layers.relu(layers.mul(x, w))
    layers.assign(layers.slice(hidden, [1], [0], [32]), output=x)
    return [x, hidden]


MODELS = [
    with_bias_and_gelu,
    with_layer_norm_of_a_sum,
    of_pixels,
    with_the_product_itself,
    with_rows_of_other_rows,
    into_its_own_operand,
]


def run(
    model: Callable[[], list[Variable]], passes: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[np.ndarray], str]:
    """The results, twice, with another value of each parameter in between; and the plan."""
    monkeypatch.setenv("FLUIDCORE_PASSES", passes)
    main, startup, scope = fluid.Program(), fluid.Program(), fluid.Scope()
    main.random_seed = startup.random_seed = 3
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        fetches = model()
    block = main.global_block()
    feed = {
        name: value for name, value in [("rows", ROWS), ("images", IMAGES)] if block.has_var(name)
    }
    exe = fluid.Executor()
    exe.run(startup, scope=scope)
    results = exe.run(main, feed, fetches, scope=scope)
    for parameter in block.all_parameters():
        tensor = scope.find_var(parameter.name).get_tensor()
        tensor.set(np.asarray(tensor) * np.float32(1.5) + np.float32(0.1))
    results += exe.run(main, feed, fetches, scope=scope)
    return results, exe.plan(main, feed, fetches, scope=scope)


@pytest.mark.parametrize("model", MODELS)
def test_results_differ_by_rounding(
    model: Callable[[], list[Variable]], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, _ = run(model, SKIP, monkeypatch)
    got, _ = run(model, "", monkeypatch)
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    ("model", "line"),
    [
        (with_bias_and_gelu, "mul + elementwise_add + gelu"),
        (with_layer_norm_of_a_sum, "mul + elementwise_add"),
        (of_pixels, "conv2d + elementwise_add + relu"),
        (with_the_product_itself, "mul + relu"),
    ],
)
def test_one_step_does_a_product_and_what_follows_it(
    model: Callable[[], list[Variable]], line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert line not in run(model, SKIP, monkeypatch)[1]
    assert line in run(model, "", monkeypatch)[1]


@pytest.mark.parametrize("model", [with_bias_and_gelu, of_pixels])
def test_the_same_bits_on_any_number_of_threads(
    model: Callable[[], list[Variable]], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = fluid.get_num_threads()
    results = []
    for threads in (1, 2, 3):
        fluid.set_num_threads(threads)
        results.append(run(model, "", monkeypatch)[0])
    fluid.set_num_threads(before)
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)
