"""What follows a convolution is done before its results are stored, and nobody sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from plans import draw_vectors, step_names

import fluidcore as fluid
from fluidcore import core, layers
from fluidcore.program import Variable

pytestmark = pytest.mark.skipif(
    core.onednn_version() is None, reason="channels come last only with oneDNN"
)
IMAGES = np.random.default_rng(0).standard_normal((3, 64, 16, 14)).astype(np.float32)


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = fluid.get_num_threads()
    yield
    fluid.set_num_threads(before)


def conv(x: Variable, bias: bool = True) -> Variable:
    return layers.conv2d(x, 64, 3, padding=1, bias_attr=None if bias else False)


def biased(x: Variable) -> list[Variable]:
    x = conv(x)
    return [conv(layers.relu(conv(layers.relu(x))) + x)]


def normalized(x: Variable) -> list[Variable]:
    x = layers.batch_norm(conv(x, bias=False), act="relu")
    inner = layers.batch_norm(conv(x, bias=False))
    return [conv(layers.relu(layers.elementwise_add(x, inner)))]


def biased_and_normalized(x: Variable) -> list[Variable]:
    return [conv(layers.batch_norm(conv(x), act="relu"))]


def fetched_inside(x: Variable) -> list[Variable]:
    hidden = conv(x)
    other = layers.relu(hidden)
    return [conv(other), hidden, other]


def twice(x: Variable) -> list[Variable]:
    hidden = conv(x)
    return [conv(layers.elementwise_add(hidden, hidden))]


def overwritten(x: Variable) -> list[Variable]:
    """The image of a convolution is where its results go in the end."""
    image = conv(x)
    block = fluid.default_main_program().global_block()
    result = layers.conv2d(image, 64, 3, padding=1)
    block.append_op("relu", {"X": [result]}, {"Out": [image]}, {})
    return [conv(image)]


MODELS = [biased, normalized, biased_and_normalized, fetched_inside, twice, overwritten]
SAME_BITS = [biased, fetched_inside, twice, overwritten]


def made(model: Callable[[Variable], list[Variable]]) -> tuple[fluid.Program, list[Variable]]:
    """For inference, with statistics that are not those that a batch norm begins with."""
    fluid.default_startup_program().random_seed = 3
    results = model(layers.data("x", [64, 16, 14]))
    fluid.Executor().run(fluid.default_startup_program())
    draw_vectors()
    return fluid.default_main_program().clone(for_test=True), results


def run(
    program: fluid.Program, results: list[Variable], monkeypatch: pytest.MonkeyPatch, skipped: str
) -> list[np.ndarray]:
    monkeypatch.setenv("FLUIDCORE_PASSES", skipped)
    return [
        np.array(value) for value in fluid.Executor().run(program, {"x": IMAGES}, list(results))
    ]


@pytest.mark.parametrize("model", MODELS)
def test_results_are_those_without(
    model: Callable[[Variable], list[Variable]], monkeypatch: pytest.MonkeyPatch
) -> None:
    program, results = made(model)
    expected = run(program, results, monkeypatch, "-epilogues")
    for other in ("", "-fuse_rows", "-views"):
        for value, same in zip(run(program, results, monkeypatch, other), expected, strict=True):
            if model in SAME_BITS:
                np.testing.assert_array_equal(value, same)
            np.testing.assert_allclose(value, same, rtol=0, atol=3e-6 * np.abs(same).max())


@pytest.mark.parametrize("model", MODELS)
def test_threads_change_no_bit(
    model: Callable[[Variable], list[Variable]], monkeypatch: pytest.MonkeyPatch
) -> None:
    program, results = made(model)
    values = []
    for count in (1, 2, 3):
        fluid.set_num_threads(count)
        values.append(run(program, results, monkeypatch, ""))
    for other in values[1:]:
        for value, same in zip(other, values[0], strict=True):
            np.testing.assert_array_equal(value, same)


def test_a_part_of_a_variable_is_added(monkeypatch: pytest.MonkeyPatch) -> None:
    x = layers.data("x", [4, 16, 14, 64], append_batch_size=False)
    first, second = layers.split(layers.scale(x, 2.0), 2, dim=0)
    y = layers.conv2d(first, 64, 3, padding=1, bias_attr=False, data_format="NHWC")
    own = layers.slice(y, [0], [0], [1]) + y
    results = [layers.relu(y + second), layers.relu(own)]
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    feed = {"x": np.random.default_rng(0).standard_normal((4, 16, 14, 64)).astype(np.float32)}
    for fetched in (results[:1], results[1:], results):
        monkeypatch.setenv("FLUIDCORE_PASSES", "-epilogues,-views")
        expected = fluid.Executor().run(feed=feed, fetch_list=fetched)
        monkeypatch.delenv("FLUIDCORE_PASSES")
        for value, same in zip(
            fluid.Executor().run(feed=feed, fetch_list=fetched), expected, strict=True
        ):
            np.testing.assert_array_equal(np.array(value), np.array(same))


def names(program: fluid.Program, results: list[Variable]) -> list[str]:
    return step_names(fluid.Executor().plan(program, {"x": IMAGES}, list(results)))


def test_a_plan_names_what_a_convolution_does() -> None:
    assert names(*made(normalized)) == [
        "transpose",
        "conv2d + batch_norm + relu",
        "conv2d + batch_norm + elementwise_add + relu",
        "conv2d + elementwise_add",
        "transpose",
    ]


def test_a_batch_norm_of_a_batch_is_calculated_by_itself() -> None:
    x = layers.data("x", [64, 16, 14])
    y = conv(layers.batch_norm(conv(x, bias=False), act="relu"), bias=False)
    fluid.Executor().run(fluid.default_startup_program())
    assert names(fluid.default_main_program(), [y]) == [
        "transpose",
        "conv2d",
        "batch_norm",
        "batch_norm + relu",
        "conv2d",
        "transpose",
    ]


def test_a_batch_norm_of_other_channels_than_filters_is_calculated_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its channels are the lines of images that have as many of them as filters."""
    x = layers.data("x", [64, 16, 64])
    y = layers.conv2d(x, 64, 3, padding=1, bias_attr=False, data_format="NHWC")
    y = layers.batch_norm(y, act="relu", is_test=True, data_layout="NCHW", param_attr="scale")
    fluid.Executor().run(fluid.default_startup_program())
    rng = np.random.default_rng(2)
    scale = fluid.global_scope().find_var("scale").get_tensor()
    scale.set(rng.uniform(0.5, 2, 64).astype(np.float32))
    feed = {"x": rng.standard_normal((2, 64, 16, 64)).astype(np.float32)}
    (value,) = fluid.Executor().run(feed=feed, fetch_list=[y])
    monkeypatch.setenv("FLUIDCORE_PASSES", "-epilogues")
    (same,) = fluid.Executor().run(feed=feed, fetch_list=[y])
    np.testing.assert_array_equal(np.array(value), np.array(same))


def test_changed_statistics_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    program, results = made(normalized)
    exe = fluid.Executor()
    before = np.array(exe.run(program, {"x": IMAGES}, list(results))[0])
    for name in fluid.global_scope().local_var_names():
        tensor = fluid.global_scope().find_var(name).get_tensor()
        if np.array(tensor).ndim == 1:
            tensor.set(np.array(tensor) * np.float32(1.5))
    after = np.array(exe.run(program, {"x": IMAGES}, list(results))[0])
    (expected,) = run(program, results, monkeypatch, "-epilogues")
    assert not np.allclose(after, before)
    np.testing.assert_allclose(after, expected, rtol=0, atol=3e-6 * np.abs(expected).max())


def test_the_first_nan_is_traced_to_its_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    program, results = made(normalized)
    for name in fluid.global_scope().local_var_names():
        if name.startswith("batch_norm_0.w"):
            tensor = fluid.global_scope().find_var(name).get_tensor()
            tensor.set(np.full_like(np.array(tensor), np.nan))
    monkeypatch.setenv("FLUIDCORE_CHECK_NAN", "1")
    with pytest.raises(fluid.InvalidArgument, match=r"^batch_norm: output 'batch_norm_0"):
        fluid.Executor().run(program, {"x": IMAGES}, list(results))
