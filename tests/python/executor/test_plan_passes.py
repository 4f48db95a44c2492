"""With every pass and without: the same bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = fluid.get_num_threads()
    yield
    fluid.set_num_threads(before)


def executors(monkeypatch: pytest.MonkeyPatch) -> Iterator[fluid.Executor]:
    """Without passes, and with them on one and on several threads."""
    monkeypatch.setenv("FLUIDCORE_PASSES", "-fuse_rows,-views")
    yield fluid.Executor()
    monkeypatch.delenv("FLUIDCORE_PASSES")
    for count in (1, 2, 3):
        fluid.set_num_threads(count)
        yield fluid.Executor()


def bits(arrays: list[Any]) -> list[bytes]:
    return [np.asarray(array).tobytes() for array in arrays]


Parts = list[fluid.Variable]


def random_step(rng: np.random.Generator, made: Parts) -> fluid.Variable:
    """An operator on some of the variables, all of [rows, columns], [rows, 1] or [columns]."""
    x = made[rng.integers(len(made))]
    wide = [v for v in made if len(v.shape) == 2]
    kind = rng.integers(7)
    if kind == 0:
        return getattr(layers, rng.choice(["tanh", "relu", "sigmoid", "square", "abs"]))(x)
    if kind == 1:
        return layers.scale(x, float(rng.normal()))
    if kind == 2:
        full = [v for v in wide if v.shape[1] > 1]
        return layers.reduce_mean(full[rng.integers(len(full))], dim=-1, keep_dim=True)
    if kind == 3:
        return layers.softmax(wide[rng.integers(len(wide))])
    if kind == 4:
        return layers.reshape(layers.reshape(x, [-1]), list(x.shape))
    first, second = (wide[rng.integers(len(wide))], x) if len(x.shape) == 1 else (x, x)
    if kind == 5:
        second = made[rng.integers(len(made))]
        first = wide[rng.integers(len(wide))]
    op = rng.choice(["elementwise_add", "elementwise_mul", "elementwise_sub", "elementwise_max"])
    return getattr(layers, op)(first, second)


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_and_their_gradients(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.choice([3, 40, 700])), int(rng.choice([2, 17, 128]))
    shapes = {"x": [rows, columns], "y": [rows, 1], "z": [columns], "w": [rows, columns]}
    inputs = [
        layers.data(name, shape, append_batch_size=False, stop_gradient=False)
        for name, shape in shapes.items()
    ]
    made = list(inputs)
    for _ in range(15):
        made.append(random_step(rng, made))
    gradients = fluid.gradients([made[-1], made[-2], made[-4]], inputs)
    fetches = [made[-1], made[8], *(g for g in gradients if g is not None)]
    feed = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    first, *others = (
        bits(exe.run(feed=feed, fetch_list=fetches)) for exe in executors(monkeypatch)
    )
    for other in others:
        assert other == first


def perceptron() -> fluid.Variable:
    x, label = layers.data("x", [24]), layers.data("label", [1], dtype="int64")
    hidden = layers.dropout(layers.fc(x, 40, act="tanh"), 0.5, seed=3)
    hidden = layers.layer_norm(layers.fc(hidden, 40, act="gelu"))
    return layers.mean(layers.softmax_with_cross_entropy(layers.fc(hidden, 5), label))


def composed_norm() -> fluid.Variable:
    x, label = layers.data("x", [24]), layers.data("label", [1], dtype="int64")
    hidden = layers.fc(x, 64)
    middle = hidden - layers.reduce_mean(hidden, dim=-1, keep_dim=True)
    spread = layers.reduce_mean(middle * middle, dim=-1, keep_dim=True)
    hidden = layers.swish(middle / layers.sqrt(spread + 1e-5))
    return layers.mean(layers.cross_entropy(layers.fc(hidden, 5, act="softmax"), label))


def loop() -> fluid.Variable:
    x, label = layers.data("x", [24]), layers.data("label", [1], dtype="int64")
    weight = layers.create_parameter([24, 24], "float32")
    rnn = layers.StaticRNN()
    steps = layers.stack([x, x * 0.5, x * 0.25])
    with rnn.step():
        now = rnn.step_input(steps)
        state = rnn.memory(shape=[-1, 24], batch_ref=steps, ref_batch_dim_idx=1)
        new = layers.tanh(layers.mul(state, weight) + now) * layers.sigmoid(now)
        rnn.update_memory(state, new)
        rnn.step_output(new)
    out = layers.reduce_sum(rnn(), dim=0)
    return layers.mean(layers.softmax_with_cross_entropy(layers.fc(out, 5), label))


def images() -> fluid.Variable:
    """A convolution of few filters, its bias, activation and pooling."""
    x, label = layers.data("x", [24]), layers.data("label", [1], dtype="int64")
    x = layers.reshape(layers.fc(x, 2 * 14 * 12), [-1, 2, 14, 12])
    x = layers.pool2d(layers.conv2d(x, 5, 3, padding=1, act="relu"), 2, "max", 2)
    return layers.mean(layers.softmax_with_cross_entropy(layers.fc(x, 5), label))


@pytest.mark.parametrize("network", [perceptron, composed_norm, loop, images])
@pytest.mark.parametrize(
    "optimizer", [lambda: fluid.optimizer.Adam(0.01), lambda: fluid.optimizer.Momentum(0.1, 0.9)]
)
def test_training_leaves_the_same_parameters(
    network: Callable[[], fluid.Variable],
    optimizer: Callable[[], Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fluid.default_startup_program().random_seed = 5
    fluid.default_main_program().random_seed = 5
    loss = network()
    optimizer().minimize(loss)
    rng = np.random.default_rng(0)
    feed = {
        "x": rng.normal(size=(300, 24)).astype(np.float32),
        "label": rng.integers(0, 5, (300, 1)),
    }
    results = []
    for exe in executors(monkeypatch):
        scope = fluid.Scope()
        exe.run(fluid.default_startup_program(), scope=scope)
        losses = [exe.run(feed=feed, fetch_list=[loss], scope=scope)[0] for _ in range(3)]
        names = sorted(scope.local_var_names())
        held = [np.array(scope.find_var(name).get_tensor()) for name in names]
        results.append(bits([*losses, *held]))
    for other in results[1:]:
        assert other == results[0]


def test_a_variable_that_is_overwritten_in_place_keeps_its_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = layers.data("x", [5000], append_batch_size=False)
    y = layers.scale(x, 2.0)
    before = layers.tanh(y)
    layers.assign(before * y, y)
    after = y + before
    feed = {"x": np.linspace(-1, 1, 5000, dtype=np.float32)}
    fetches = [before, y, after]
    first, *others = (
        bits(exe.run(feed=feed, fetch_list=fetches)) for exe in executors(monkeypatch)
    )
    for other in others:
        assert other == first


def test_an_error_after_a_step_of_several_operators_leaves_the_scope(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = layers.create_global_var([300], 1.0, "float32", persistable=True, name="kept")
    index = layers.data("index", [1], dtype="int64", append_batch_size=False)
    layers.assign(layers.tanh(kept * 2.0) + 1.0, kept)
    out = layers.gather(kept, index)
    for exe in executors(monkeypatch):
        scope = fluid.Scope()
        exe.run(fluid.default_startup_program(), scope=scope)
        with pytest.raises(fluid.InvalidArgument, match="gather: "):
            exe.run(feed={"index": np.array([300])}, fetch_list=[out], scope=scope)
        assert (np.array(scope.find_var("kept").get_tensor()) == 1.0).all()


def test_the_first_nan_is_traced_to_its_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    x = layers.data("x", [4])
    y = layers.relu(layers.log(layers.scale(x, 1.0)))
    monkeypatch.setenv("FLUIDCORE_CHECK_NAN", "1")
    with pytest.raises(fluid.InvalidArgument, match=r"^log: output "):
        fluid.Executor().run(feed={"x": -np.ones((1, 4), np.float32)}, fetch_list=[y])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fuse_rows", "each pass must be switched off, as in \"-fuse_rows\", got 'fuse_rows'"),
        (
            "-fuse",
            "a pass that is skipped must be one of channels_last, epilogues, fuse_rows, "
            "transposes, views, got 'fuse'",
        ),
    ],
)
def test_passes_that_there_are_not_are_an_error(
    text: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLUIDCORE_PASSES", text)
    x = layers.data("x", [4])
    with pytest.raises(fluid.InvalidArgument, match=message):
        fluid.Executor().run(feed={"x": np.ones((1, 4), np.float32)}, fetch_list=[layers.relu(x)])


def test_a_plan_names_the_operators_that_are_done_together() -> None:
    x = layers.data("x", [300])
    y = layers.mul(layers.relu(layers.scale(x, 2.0)), layers.create_parameter([300, 4], "float32"))
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    text = exe.plan(feed={"x": np.ones((8, 300), np.float32)}, fetch_list=[y])
    block, both, activated, product, result, temporaries = text.splitlines()
    assert block == "block 0:"
    assert both.startswith("  scale + relu: 2 from operator 0 of block 0 (scale), added at ")
    assert activated == "    relu_0.tmp_0 float32 [8, 300], at 0"
    assert product.startswith("  mul: operator 2 of block 0 (mul), added at ")
    assert result == "    mul_0.tmp_0 float32 [8, 4], in the result"
    assert temporaries == f"temporaries: {8 * 300 * 4} bytes"


def test_a_convolution_of_few_filters_runs_with_what_follows_it() -> None:
    x = layers.data("x", [1, 28, 28])
    y = layers.pool2d(layers.conv2d(x, 6, 5, padding=2, act="relu"), 2, "max", 2)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    text = exe.plan(feed={"x": np.ones((32, 1, 28, 28), np.float32)}, fetch_list=[y])
    _, step, result, temporaries = text.splitlines()
    name, note = step.split(": ", 1)
    assert name == "  conv2d + elementwise_add + relu + pool2d"
    assert note.startswith("4 from operator 0 of block 0 (conv2d), added at ")
    assert result == "    pool2d_0.tmp_0 float32 [32, 6, 14, 14], in the result"
    assert temporaries == "temporaries: 0 bytes"


def test_a_convolution_overwrites_its_image_only_when_it_was_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = layers.data("x", [1, 20, 20])
    image = layers.scale(x, 1.0)
    y = layers.relu(layers.conv2d(image, 1, 3, padding=1, bias_attr=False))
    layers.assign(y, image)
    again = layers.scale(image, 1.0)
    fluid.default_startup_program().random_seed = 1
    feed = {"x": np.random.default_rng(0).normal(size=(40, 1, 20, 20)).astype(np.float32)}
    results = []
    for exe in executors(monkeypatch):
        scope = fluid.Scope()
        exe.run(fluid.default_startup_program(), scope=scope)
        results.append(bits(exe.run(feed=feed, fetch_list=[again], scope=scope)))
    for other in results[1:]:
        assert other == results[0]
