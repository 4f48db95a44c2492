"""What follows a product of matrices is done before its results are stored, and nobody sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from plans import draw_vectors, step_names

import fluidcore as fluid
from fluidcore import core, layers
from fluidcore.program import Variable

Model = Callable[[Variable], list[Variable]]
ROWS, COLUMNS = 50, 70


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = fluid.get_num_threads()
    yield
    fluid.set_num_threads(before)


def biased(x: Variable) -> list[Variable]:
    return [layers.fc(layers.fc(x, COLUMNS, act="relu"), 3, act="relu")]


def long_sums(x: Variable) -> list[Variable]:
    wide = layers.fc(x, 3000, act="relu")
    return [layers.fc(wide, COLUMNS) + x]


def residual(x: Variable) -> list[Variable]:
    return [layers.relu(layers.elementwise_add(x, layers.fc(x, COLUMNS)))]


def other_order(x: Variable) -> list[Variable]:
    """A sum with a residual comes first, which a bias can no more follow."""
    y = layers.fc(x, COLUMNS, bias_attr=False) + x
    return [layers.relu(y + layers.create_parameter([COLUMNS], "float32"))]


def in_place(x: Variable) -> list[Variable]:
    """The residual is where the sum goes."""
    x = layers.scale(x, 2.0)
    block = fluid.default_main_program().global_block()
    y = layers.fc(x, COLUMNS, bias_attr=False)
    block.append_op("elementwise_add", {"X": [x], "Y": [y]}, {"Out": [x]}, {"axis": -1})
    return [layers.tanh(x)]


def normalized(x: Variable) -> list[Variable]:
    return [layers.batch_norm(layers.fc(x, COLUMNS, bias_attr=False), act="relu", is_test=True)]


def fetched_inside(x: Variable) -> list[Variable]:
    y = layers.fc(x, COLUMNS)
    return [y, layers.relu(y)]


def with_its_operands(x: Variable) -> list[Variable]:
    """The bias is a part of what is multiplied, the residual all of it."""
    square = layers.create_parameter([COLUMNS, COLUMNS], "float32")
    row = layers.reshape(layers.slice(square, [0], [3], [4]), [COLUMNS])
    return [layers.relu(layers.mul(x, square) + row + x)]


def twice(x: Variable) -> list[Variable]:
    y = layers.fc(x, COLUMNS, bias_attr=False)
    return [layers.elementwise_add(y, y)]


def of_columns_that_are_rows(x: Variable) -> list[Variable]:
    """As many rows as columns, to each of which a number is added."""
    y = layers.mul(layers.transpose(x, [1, 0]), x)
    return [layers.elementwise_add(y, layers.create_parameter([COLUMNS], "float32"), axis=0)]


def transposed(x: Variable) -> list[Variable]:
    y = layers.matmul(x, layers.create_parameter([33, COLUMNS], "float32"), transpose_y=True)
    return [layers.relu(y + layers.create_parameter([33], "float32"))]


def of_batches(x: Variable) -> list[Variable]:
    x = layers.reshape(x, [5, 10, COLUMNS])
    shared = layers.matmul(x, layers.create_parameter([COLUMNS, 33], "float32"))
    shared = layers.relu(shared + layers.create_parameter([33], "float32"))
    own = layers.matmul(x, x, transpose_y=True)
    return [shared, layers.relu(own + layers.create_parameter([10], "float32"))]


def of_vectors(x: Variable) -> list[Variable]:
    """The first product is one with a vector, the second one of a vector."""
    mean = layers.reduce_mean(x, 0, keep_dim=True)
    return [layers.fc(x, 1, act="relu"), layers.fc(mean, 120, act="relu") * 2.0]


def calculated(x: Variable) -> list[Variable]:
    """Of weights that change from run to run."""
    weights = layers.scale(layers.create_parameter([COLUMNS, COLUMNS], "float32"), 2.0)
    return [layers.relu(layers.mul(x, weights) + layers.create_parameter([COLUMNS], "float32"))]


def trained(x: Variable) -> list[Variable]:
    x.stop_gradient = False
    hidden = layers.fc(layers.fc(x, COLUMNS, act="relu"), COLUMNS, act="relu")
    loss = layers.reduce_sum(layers.square(hidden + x))
    return [loss, *fluid.gradients([loss], [x])]


MODELS = [
    biased,
    long_sums,
    residual,
    other_order,
    in_place,
    normalized,
    fetched_inside,
    with_its_operands,
    twice,
    of_columns_that_are_rows,
    transposed,
    of_batches,
    of_vectors,
    calculated,
    trained,
]


def made(model: Model) -> list[Variable]:
    fluid.default_startup_program().random_seed = 3
    results = model(layers.data("x", [ROWS, COLUMNS], append_batch_size=False))
    fluid.Executor().run(fluid.default_startup_program())
    draw_vectors()
    return results


def run(results: list[Variable], first: float = 0) -> list[np.ndarray]:
    x = np.random.default_rng(0).standard_normal((ROWS, COLUMNS)).astype(np.float32)
    x[0, 0] = first
    values = fluid.Executor().run(feed={"x": x}, fetch_list=list(results))
    return [np.array(value) for value in values]


@pytest.mark.parametrize("model", MODELS)
def test_results_are_those_without(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    results = made(model)
    monkeypatch.setenv("FLUIDCORE_PASSES", "-epilogues")
    expected = run(results)
    for passes in ("", "-fuse_rows", "-views"):
        monkeypatch.setenv("FLUIDCORE_PASSES", passes)
        for value, same in zip(run(results), expected, strict=True):
            if model is not normalized:  # times a factor, in place of divided
                np.testing.assert_array_equal(value, same)
            np.testing.assert_allclose(value, same, rtol=0, atol=3e-6 * np.abs(same).max())


@pytest.mark.parametrize("model", MODELS)
def test_threads_change_no_bit(model: Model) -> None:
    results = made(model)
    values = []
    for count in (1, 2, 3):
        fluid.set_num_threads(count)
        values.append(run(results))
    for other in values[1:]:
        for value, same in zip(other, values[0], strict=True):
            np.testing.assert_array_equal(value, same)


# The library's own products of variables, which serve without AVX-512, take no bias.
IS_ONEDNNS = core.onednn_version() is not None and core.cpu_isa() == "avx512"
OF_VARIABLES = ["mul + elementwise_add", "relu"] if IS_ONEDNNS else ["elementwise_add + relu"]


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (calculated, OF_VARIABLES),
        (biased, ["mul + elementwise_add + relu"] * 2),
        (residual, ["mul + elementwise_add + elementwise_add + relu"]),
        (other_order, ["mul + elementwise_add", "elementwise_add + relu"]),
        (normalized, ["mul + batch_norm + relu"]),
        (fetched_inside, ["mul + elementwise_add", "relu"]),
        (of_vectors, ["reduce_mean", "mul", "mul + elementwise_add + relu"]),
    ],
)
def test_a_plan_names_what_a_product_does(model: Model, expected: list[str]) -> None:
    results = made(model)
    x = np.zeros((ROWS, COLUMNS), np.float32)
    names = step_names(fluid.Executor().plan(feed={"x": x}, fetch_list=list(results)))
    assert [name for name in names if name in expected] == expected


@pytest.mark.parametrize("model", [biased, residual, of_vectors, calculated])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_stays_so(
    model: Model, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = made(model)
    values = run(results, value)
    monkeypatch.setenv("FLUIDCORE_PASSES", "-epilogues")
    assert not all(np.isfinite(got).all() for got in values)
    for got, same in zip(values, run(results, value), strict=True):
        np.testing.assert_array_equal(got, same)


def test_changed_weights_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    results = made(biased)
    before = run(results)[0]
    for name in fluid.global_scope().local_var_names():
        tensor = fluid.global_scope().find_var(name).get_tensor()
        tensor.set(np.array(tensor) * 2)
    after = run(results)[0]
    assert not np.array_equal(before, after)
    monkeypatch.setenv("FLUIDCORE_PASSES", "-epilogues")
    np.testing.assert_array_equal(after, run(results)[0])
