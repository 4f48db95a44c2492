"""lstm, gru and rnn against NumPy, one step after the other."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import fluidcore as fluid
from fluidcore import layers
from fluidcore.gradcheck import GradCheckConfig, GradientChecker

Array = NDArray[Any]
BATCH, TIME, FEATURES, SIZE = 3, 5, 4, 2
X = np.random.default_rng(0).standard_normal((BATCH, TIME, FEATURES))
LENGTHS = np.array([5, 0, 3])
LAYERS: dict[str, Callable[..., Any]] = {"lstm": layers.lstm, "gru": layers.gru, "rnn": layers.rnn}
GATES = {"lstm": 4, "gru": 3, "rnn": 1}
STATES = {"lstm": 2, "gru": 1, "rnn": 1}


@pytest.fixture(autouse=True)
def _programs():
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.scope_guard(fluid.Scope()):
        yield


def sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def step(kind: str, x: Array, states: Sequence[Array], p: dict[str, Array]) -> list[Array]:
    """The states of one example after a step; x is what the input gives."""
    recurrent = states[0] @ p["u"] + p.get("r", 0)
    if kind == "rnn":
        return [np.tanh(x + recurrent)]
    if kind == "gru":
        (xu, xr, xc), (ru, rr, rc) = np.split(x, 3), np.split(recurrent, 3)
        update = sigmoid(xu + ru)
        return [(1 - update) * states[0] + update * np.tanh(xc + sigmoid(xr + rr) * rc)]
    i, f, o, j = np.split(x + recurrent, 4)
    cell = sigmoid(f) * states[1] + sigmoid(i) * np.tanh(j)
    return [sigmoid(o) * np.tanh(cell), cell]


def direction(
    kind: str, xs: Array, first: Sequence[Array], p: dict[str, Array], is_reverse: bool
) -> tuple[Array, list[Array]]:
    """The results of one example, as many as steps count, and its last states."""
    states, results = list(first), np.zeros((len(xs), SIZE))
    for t in reversed(range(len(xs))) if is_reverse else range(len(xs)):
        states = step(kind, xs[t] @ p["w"] + p["b"], states, p)
        results[t] = states[0]
    return results, states


def expected(
    kind: str,
    parameters: dict[str, Array],
    num_layers: int,
    is_bidirec: bool,
    lengths: Array,
    first: list[Array],
) -> list[Array]:
    """What the layer returns, batch first."""
    directions = [False, True] if is_bidirec else [False]
    out = np.zeros((BATCH, TIME, len(directions) * SIZE))
    last = np.zeros((STATES[kind], num_layers * len(directions), BATCH, SIZE))
    for example, length in enumerate(lengths):
        xs = X[example, :length]
        for layer in range(num_layers):
            results = []
            for is_reverse in directions:
                key = f"p.{layer}.reverse." if is_reverse else f"p.{layer}."
                p = {n.removeprefix(key): v for n, v in parameters.items() if n.startswith(key)}
                at = layer * len(directions) + is_reverse
                given = [state[at, example] for state in first]
                result, states = direction(kind, xs, given, p, is_reverse)
                last[:, at, example] = states
                results.append(result)
            xs = np.concatenate(results, 1)
        out[example, :length] = xs
    return [out, *last]


def run(
    kind: str, time_major: bool = False, lengths: bool = False, init: bool = False, **kwargs: Any
) -> tuple[list[Array], dict[str, Array], list[Array]]:
    """The results, the parameters, and the first states."""
    x = np.ascontiguousarray(X.swapaxes(0, 1)) if time_major else X
    feed = {"x": x}
    given = layers.data("x", list(x.shape), dtype="float64", append_batch_size=False)
    if lengths:
        feed["lengths"] = LENGTHS
        kwargs["lengths"] = layers.data("lengths", [BATCH], dtype="int64", append_batch_size=False)
    count = kwargs.get("num_layers", 1) * (2 if kwargs.get("is_bidirec") else 1)
    first = [np.zeros((count, BATCH, SIZE))] * STATES[kind]
    if init:
        for i, name in enumerate(["init_h", "init_c"][: STATES[kind]]):
            first[i] = np.random.default_rng(i).standard_normal((count, BATCH, SIZE))
            shape = [count, BATCH, SIZE]
            kwargs[name] = layers.data(name, shape, dtype="float64", append_batch_size=False)
            feed[name] = first[i]
    bias = fluid.initializer.Normal(0.0, 0.5)
    results = LAYERS[kind](
        given,
        SIZE,
        time_major=time_major,
        param_attr="p",
        bias_attr=fluid.ParamAttr("p", initializer=bias),
        **kwargs,
    )
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    names = [p.name for p in fluid.default_main_program().global_block().all_parameters()]
    values = exe.run(feed=feed, fetch_list=[*results, *names])
    return values[: len(results)], dict(zip(names, values[len(results) :], strict=True)), first


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"time_major": True},
        {"init": True},
        {"is_bidirec": True},
        {"num_layers": 3},
        {"lengths": True},
        {"lengths": True, "init": True, "is_bidirec": True, "num_layers": 2},
    ],
    ids=lambda options: " ".join(options) or "plain",
)
def test_values_are_those_of_one_step_after_the_other(kind: str, options: dict[str, Any]) -> None:
    results, parameters, first = run(kind, **options)
    lengths = LENGTHS if options.get("lengths") else np.full(BATCH, TIME)
    wanted = expected(
        kind,
        parameters,
        options.get("num_layers", 1),
        options.get("is_bidirec", False),
        lengths,
        first,
    )
    if options.get("time_major"):
        wanted[0] = wanted[0].swapaxes(0, 1)
    for got, value in zip(results, wanted, strict=True):
        np.testing.assert_allclose(got, value, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", LAYERS)
def test_gradients_of_both_orders_are_proven(kind: str) -> None:
    x = layers.data("x", [2, 3, 2], dtype="float64", append_batch_size=False)
    lengths = layers.data("lengths", [2], dtype="int64", append_batch_size=False)
    results = LAYERS[kind](x, 2, lengths=lengths, is_bidirec=True)
    cost = sum((layers.mean(layers.sin(r)) for r in results[1:]), layers.mean(results[0]))
    fluid.append_backward(cost)
    fluid.Executor().run(fluid.default_startup_program())
    feed = {"x": X[:2, :3, :2], "lengths": np.array([3, 2])}
    checker = GradientChecker(GradCheckConfig(second_order=True))
    assert checker.check_program(fluid.default_main_program(), feed, cost)


def test_what_follows_an_example_does_not_matter() -> None:
    x = layers.data("x", [1, 3, 2], dtype="float64", append_batch_size=False)
    x.stop_gradient = False
    lengths = layers.data("lengths", [1], dtype="int64", append_batch_size=False)
    out, last_h, last_c = layers.lstm(x, 2, lengths=lengths, is_bidirec=True)
    (grad,) = fluid.gradients([layers.mean(out) + layers.mean(last_h) + layers.mean(last_c)], [x])
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    feed = {"x": X[:1, :3, :2].copy(), "lengths": np.array([2])}
    clean = exe.run(feed=feed, fetch_list=[out, last_h, last_c, grad])
    feed["x"][0, 2] = 1e300
    huge = exe.run(feed=feed, fetch_list=[out, last_h, last_c, grad])
    for value, other in zip(clean, huge, strict=True):
        np.testing.assert_array_equal(value, other)
    assert not clean[0][0, 2].any()
    assert not clean[3][0, 2].any()


def test_the_batch_and_the_number_of_steps_may_be_unknown() -> None:
    x = layers.data("x", [-1, -1, 4])
    out, last = layers.gru(x, 3)
    assert out.shape == (-1, -1, 3)
    assert last.shape == (1, -1, 3)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    for batch, time in ((2, 3), (1, 7), (0, 2)):
        feed = {"x": np.ones((batch, time, 4), np.float32)}
        values = exe.run(feed=feed, fetch_list=[out, last])
        assert values[0].shape == (batch, time, 3)
        np.testing.assert_array_equal(values[0][:, -1], values[1][0])


def test_a_name_is_that_of_all_parameters_and_shares_them() -> None:
    x = layers.data("x", [5, 4])
    for _ in range(2):
        layers.gru(x, 3, num_layers=1, is_bidirec=True, param_attr="net", bias_attr="net")
    names = [p.name for p in fluid.default_main_program().global_block().all_parameters()]
    ends = [f"0{way}.{part}" for way in ("", ".reverse") for part in "wubr"]
    assert names == [f"net.{end}" for end in ends]


def test_without_bias_there_are_two_weights() -> None:
    layers.lstm(layers.data("x", [5, 4]), 3, bias_attr=False)
    parameters = fluid.default_main_program().global_block().all_parameters()
    assert [tuple(p.shape) for p in parameters] == [(4, 12), (3, 12)]


def test_dropout_is_between_layers_alone() -> None:
    layers.rnn(layers.data("x", [5, 4]), 3, num_layers=3, dropout_prob=0.5)
    types = [op.type for op in fluid.default_main_program().global_block().ops]
    assert types.count("dropout") == 2


def test_lstm_unit_is_a_step_of_lstm() -> None:
    names = ("x", "h", "c")
    x, h, c = (layers.data(n, [3], dtype="float64") for n in names)
    hidden, cell = layers.lstm_unit(x, h, c, forget_bias=1.0, param_attr="w")
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    rng = np.random.default_rng(0)
    feed = {name: rng.standard_normal((2, 3)) for name in names}
    got = exe.run(feed=feed, fetch_list=[hidden, cell, "w"])
    gates = np.concatenate([feed["x"], feed["h"]], 1) @ got[2]
    i, f, o, j = np.split(gates, 4, axis=1)
    after = sigmoid(f + 1) * feed["c"] + sigmoid(i) * np.tanh(j)
    np.testing.assert_allclose(got[1], after, rtol=1e-12)
    np.testing.assert_allclose(got[0], sigmoid(o) * np.tanh(after), rtol=1e-12)


@pytest.mark.parametrize(
    ("shape", "kwargs", "message"),
    [
        ([4], {}, r"input must be \[batch, time, features\], floating, with known features, got"),
        ([-1, 5, -1], {}, r"input must be .* got 'x' float32 \[-1, 5, -1\]"),
        ([5, 4], {"size": 0}, "size must be a whole number of at least 1, got 0"),
        ([5, 4], {"num_layers": 0}, "num_layers must be a whole number of at least 1, got 0"),
        ([5, 4], {"param_attr": False}, "param_attr must not be False; the layer needs weights"),
    ],
)
def test_what_does_not_fit_is_an_error_and_leaves_nothing_behind(
    shape: list[int], kwargs: dict[str, Any], message: str
) -> None:
    x = layers.data("x", shape)
    before = str(fluid.default_main_program())
    with pytest.raises(fluid.core.InvalidArgument, match=f"^lstm: {message}"):
        layers.lstm(x, **{"size": 3, **kwargs})
    assert str(fluid.default_main_program()) == before


def test_lengths_and_first_states_must_fit_the_batch() -> None:
    x = layers.data("x", [2, 5, 4], append_batch_size=False)
    wrong = layers.data("wrong", [3, 1], dtype="int64", append_batch_size=False)
    message = r"^gru: lengths must be int32 or int64 \[batch\], where batch is 2, got 'wrong' int64"
    with pytest.raises(fluid.core.InvalidArgument, match=message):
        layers.gru(x, 3, lengths=wrong)
    state = layers.data("state", [1, 2, 4], append_batch_size=False)
    message = (
        r"^gru: a first state must be \[num_layers directions, batch, size\], here float32 "
        r"\[1, 2, 3\], got 'state' float32 \[1, 2, 4\]"
    )
    with pytest.raises(fluid.core.InvalidArgument, match=message):
        layers.gru(x, 3, init_h=state)
    with pytest.raises(TypeError, match=r"^gru: lengths must be a Variable, got list \[5, 5\]"):
        layers.gru(x, 3, lengths=[5, 5])  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("time", [0, -1], ids=["known", "not known"])
@pytest.mark.parametrize("given", [False, True], ids=["zeros", "given"])
def test_after_no_steps_the_states_are_the_first_ones(kind: str, time: int, given: bool) -> None:
    x = layers.data("x", [BATCH, time, FEATURES], append_batch_size=False)
    names = ["init_h", "init_c"][: STATES[kind]]
    shape = [4, BATCH, SIZE]
    init = {
        name: layers.data(name, shape, append_batch_size=False, stop_gradient=False)
        for name in (names if given else [])
    }
    out, *last = LAYERS[kind](x, SIZE, num_layers=2, is_bidirec=True, param_attr="p", **init)
    loss = layers.mean(sum(last[1:], last[0]))
    parameters = fluid.default_main_program().global_block().all_parameters()
    grads = fluid.gradients([loss], [*parameters, *init.values()])
    feed = {name: np.full(shape, 2.0 + i, np.float32) for i, name in enumerate(init)}
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    values = exe.run(
        feed={"x": np.zeros((BATCH, 0, FEATURES), np.float32), **feed},
        fetch_list=[out, *last, *grads],
    )
    assert values[0].shape == (BATCH, 0, 2 * SIZE)
    for name, value in zip(names, values[1 : 1 + len(names)], strict=True):
        np.testing.assert_array_equal(value, feed.get(name, np.zeros(shape)))
    found = values[1 + len(names) :]
    for parameter, grad in zip(parameters, found[: len(parameters)], strict=True):
        np.testing.assert_array_equal(grad, np.zeros(parameter.shape))
    for grad in found[len(parameters) :]:
        np.testing.assert_allclose(grad, np.full(shape, 1 / np.prod(shape)), rtol=1e-6)
