"""Images lie with their channels last between convolutions, and nobody sees it."""

from collections.abc import Callable

import numpy as np
import pytest
from plans import step_names

import fluidcore as fluid
from fluidcore import core, layers
from fluidcore.program import Variable

pytestmark = pytest.mark.skipif(core.onednn_version() is None, reason="the pass needs oneDNN")
IMAGES = np.random.default_rng(0).standard_normal((4, 3, 9, 8)).astype(np.float32)
SKIP = "-channels_last"


def block(x: Variable) -> Variable:
    inner = layers.batch_norm(layers.conv2d(x, 32, 3, padding=1), act="relu")
    return layers.relu(x + layers.conv2d(inner, 32, 3, padding=1, bias_attr=False))


def plain(x: Variable) -> list[Variable]:
    return [layers.fc(block(layers.conv2d(x, 32, 3)), 5)]


def fetched_inside(x: Variable) -> list[Variable]:
    first = layers.conv2d(x, 32, 3)
    second = block(first)
    return [first, second, layers.pool2d(second, 2, pool_stride=2)]


def with_dropout(x: Variable) -> list[Variable]:
    dropped = layers.dropout(layers.conv2d(x, 32, 3), 0.3, seed=5)
    return [layers.fc(block(dropped), 5)]


def with_numbers_and_flips(x: Variable) -> list[Variable]:
    hidden = layers.conv2d(x, 32, 3)
    scaled = 2.0 * hidden + layers.create_parameter([1], "float32")
    return [layers.reduce_sum(layers.tanh(layers.flip(scaled, [2]) * scaled), dim=[1])]


def with_a_branch(x: Variable) -> list[Variable]:
    hidden = layers.conv2d(x, 32, 3)
    state = layers.assign(hidden)
    positive = layers.reduce_sum(x) > -1e9
    branch = layers.ConditionalBlock([positive], is_scalar_condition=True)
    with branch.block():
        layers.assign(hidden * 2.0, output=state)
    return [layers.fc(layers.relu(layers.conv2d(state, 32, 3)), 2)]


def with_triangles(x: Variable) -> list[Variable]:
    return [layers.reduce_sum(layers.tril(layers.conv2d(x, 32, 3)) * 3.0, dim=[2])]


def overwritten(x: Variable) -> list[Variable]:
    hidden = layers.conv2d(x, 32, 3)
    other = layers.conv2d(hidden, 32, 3)
    layers.assign(layers.zeros([4, 32, 7, 6], "float32"), output=hidden)
    return [layers.relu(hidden + 1.0), other]


def with_numbered_dimensions(x: Variable) -> list[Variable]:
    hidden = layers.conv2d(x, 32, 3)
    pooled = layers.reduce_mean(hidden, dim=[2, -1], keep_dim=True)
    halves = layers.split(hidden * pooled, 2, dim=1)
    rows = layers.data("rows", [3], dtype="int64", append_batch_size=False)
    rows.stop_gradient = True
    picked = layers.index_select(layers.concat([halves[1], halves[0]], axis=-3), rows, axis=2)
    return [layers.conv2d_transpose(picked, 4, filter_size=3), layers.reduce_max(picked, dim=[0])]


def with_rank_0(x: Variable) -> list[Variable]:
    two = layers.fill_constant([], "float32", 2.0)
    return [layers.fc(block(layers.conv2d(x, 32, 3) * two), 2)]


MODELS = [
    plain,
    fetched_inside,
    with_dropout,
    with_numbers_and_flips,
    with_a_branch,
    with_triangles,
    overwritten,
    with_numbered_dimensions,
    with_rank_0,
]


def run(
    model: Callable[[Variable], list[Variable]], passes: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[np.ndarray], str]:
    """The results, the gradients of all parameters and of the images, and the plan."""
    monkeypatch.setenv("FLUIDCORE_PASSES", passes)
    main, startup, scope = fluid.Program(), fluid.Program(), fluid.Scope()
    main.random_seed = startup.random_seed = 3
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        x = layers.data("x", [4, 3, 9, 8], append_batch_size=False)
        x.stop_gradient = False
        results = model(x)
        terms = [layers.reduce_mean(layers.square(result)) for result in results]
        pairs = fluid.append_backward(layers.sums(terms))
        fetches = [*results, *(g for _, g in pairs if g is not None), "x@GRAD"]
    exe = fluid.Executor()
    exe.run(startup, scope=scope)
    feed = {"x": IMAGES, "rows": np.array([4, 0, 4])}
    feed = {name: value for name, value in feed.items() if main.global_block().has_var(name)}
    plan = exe.plan(main, feed, fetches, scope=scope)
    return exe.run(main, feed, fetches, scope=scope), plan


@pytest.mark.parametrize("model", MODELS)
def test_results_and_gradients_differ_by_rounding(
    model: Callable[[Variable], list[Variable]], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, before = run(model, SKIP, monkeypatch)
    got, after = run(model, "", monkeypatch)
    assert after.count("transpose:") > before.count("transpose:")
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b, atol=2e-5 * max(1.0, float(np.abs(b).max())))


def test_images_are_transposed_at_the_borders_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLUIDCORE_PASSES", "-fuse_rows")
    x = layers.data("x", [3, 9, 8])
    hidden = layers.conv2d(x, 32, 3, bias_attr=False)
    for _ in range(3):
        hidden = layers.relu(layers.batch_norm(layers.conv2d(hidden, 32, 3, padding=1)))
    out = layers.fc(layers.pool2d(hidden, 7, "avg", global_pooling=True), 2)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    text = exe.plan(feed={"x": IMAGES}, fetch_list=[out])
    types = step_names(text)
    again = ["conv2d", "elementwise_add", "batch_norm", "relu"]
    ends = ["transpose", "mul + elementwise_add"]
    assert types == ["transpose", "conv2d", *again * 3, "pool2d", *ends]
    assert "@NHWC float32 [4, 7, 6, 32], at " in text


def test_dimensions_that_an_attribute_numbers_are_numbered_anew() -> None:
    x = layers.data("x", [3, 9, 8])
    hidden = layers.conv2d(x, 32, 3)
    scaled = hidden * layers.sigmoid(layers.reduce_mean(hidden, dim=[2, 3], keep_dim=True))
    doubled = layers.concat([scaled + layers.fill_constant([], "float32", 3.0), hidden], axis=1)
    out = layers.conv2d(doubled, 32, 3)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    assert exe.plan(feed={"x": IMAGES}, fetch_list=[out]).count("transpose:") == 2


def test_few_filters_stay_as_they_are() -> None:
    x = layers.data("x", [3, 9, 8])
    y = layers.conv2d(x, 6, 3)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    assert "transpose" not in exe.plan(feed={"x": IMAGES}, fetch_list=[y])


def test_filters_of_one_of_many_channels_stay_where_nothing_else_asks_for_it() -> None:
    x = layers.data("x", [32, 9, 8])
    alone = layers.conv2d(x, 32, 3, groups=32)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    feed = {"x": np.zeros((4, 32, 9, 8), np.float32)}
    assert "transpose" not in exe.plan(feed=feed, fetch_list=[alone])
    after = layers.conv2d(layers.conv2d(x, 32, 1), 32, 3, groups=32)
    exe.run(fluid.default_startup_program())
    text = exe.plan(feed=feed, fetch_list=[after])
    assert text.count("transpose:") == 2


def test_the_same_bits_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    before = fluid.get_num_threads()
    results = []
    for threads in (1, 2, 3):
        fluid.set_num_threads(threads)
        results.append(run(plain, "", monkeypatch)[0])
    fluid.set_num_threads(before)
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_errors_speak_of_the_program_as_it_was_written() -> None:
    x = layers.data("x", [-1, -1, 9, 8], append_batch_size=False)
    w = layers.create_parameter([32, 3, 3, 3], "float32")
    block = fluid.default_main_program().global_block()
    block.append_op("conv2d", {"Input": x, "Filter": w}, {"Output": "y"})
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    with pytest.raises(fluid.InvalidArgument, match=r"got Input \[4, 5, 9, 8\], Filter"):
        exe.run(feed={"x": np.ones((4, 5, 9, 8), np.float32)}, fetch_list=["y"])


def test_a_search_for_nan_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLUIDCORE_CHECK_NAN", "1")
    x = layers.data("x", [3, 9, 8])
    y = layers.conv2d(x, 32, 3)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    with pytest.raises(fluid.Error, match=r"conv2d_0\.tmp_0"):
        exe.run(feed={"x": IMAGES * np.float32(np.nan)}, fetch_list=[y])
