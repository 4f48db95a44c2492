"""What Python and NumPy ask of a Variable says what to write instead."""

import math

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers

X = np.array([[1.0, -2.0, 3.0]], np.float32)
KNOWN = "the value of Variable 'x' is known only when the program runs; "


@pytest.fixture
def x():
    return layers.data("x", [3])


CUT = "cut it with layers.unstack, or fetch it with Executor.run"
FETCH = "fetch it with Executor.run"
REFUSED = {
    "float": (float, FETCH),
    "int": (int, FETCH),
    "complex": (complex, FETCH),
    "floor": (math.floor, FETCH),
    "range": (range, FETCH),
    "index": (lambda x: [1, 2][x], FETCH),
    "list": (list, CUT),
    "loop": (lambda x: [row for row in x], CUT),  # noqa: C416
    "unpacking": (lambda x: [*x], CUT),
    "in": (lambda x: 1.0 in x, "fetch it with Executor.run and look into the array"),
    "assignment": (
        lambda x: x.__setitem__(0, 1.0),
        "write all of it with layers.assign(value, output=x)",
    ),
    "len": (len, "its declared extents are in x.shape, -1 where they are not known"),
    "asarray": (np.asarray, "fetch it with Executor.run, which returns arrays"),
    "list of it": (
        lambda x: np.array([x, x]),
        "fetch it with Executor.run, which returns arrays",
    ),
    "format": (
        lambda x: f"{x:.3f}",
        "fetch it with Executor.run, and format what comes back",
    ),
    "exp": (np.exp, "write layers.exp"),
    "abs of NumPy": (np.abs, "write layers.abs"),
    "maximum": (lambda x: np.maximum(x, 0), "write layers.elementwise_max"),
    "sum": (np.sum, "write it with the operators of layers, or fetch it with Executor.run"),
    "log1p": (np.log1p, "write it with the operators of layers, or fetch it with Executor.run"),
    "bool": (
        bool,
        "branch with layers.cond, loop with layers.while_loop, fetch it with Executor.run, or "
        "compare with None",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_a_value_says_what_to_write(x, name):
    ask, cure = REFUSED[name]
    with pytest.raises(TypeError) as raised:
        ask(x)
    assert str(raised.value) == KNOWN + cure
    assert fluid.default_main_program().global_block().ops == ()


def test_what_needs_no_value_works(x):
    assert str(x) == f"{x}" == repr(x)
    assert (x == None) is False  # noqa: E711
    assert x != "x"
    assert x in (None, x)
    assert {x: 1}[x] == 1
    assert fluid.default_main_program().global_block().ops == ()


def test_a_comparison_is_an_operator_and_has_no_truth_value(x):
    y = layers.data("y", [3])
    results = [x == y, x != 1, np.float32(1) == x, (x < y) | (x == 1), (x < y) & ~(x == 1)]
    values = fluid.Executor().run(feed={"x": X, "y": X[:, ::-1]}, fetch_list=results)
    a, b = X, X[:, ::-1]
    for value, expected in zip(
        values, [a == b, a != 1, a == 1, (a < b) | (a == 1), (a < b) & (a != 1)], strict=True
    ):
        np.testing.assert_array_equal(value, expected)
    for asked in (lambda: x in [y], lambda: [y].index(x), lambda: "same" if x == y else "other"):
        with pytest.raises(TypeError, match=r"known only when the program runs; branch with"):
            asked()
    with pytest.raises(TypeError, match="feed the array as a Variable"):
        np.ones(2) == x  # noqa: B015


def test_numbers_of_numpy_and_its_functions_for_operators_append_them(x):
    results = [np.float32(2) * x, np.multiply(x, 2), np.subtract(1.0, x), np.float64(4) > x, abs(x)]
    values = fluid.Executor().run(feed={"x": X}, fetch_list=results)
    for value, wanted in zip(values, [2 * X, 2 * X, 1 - X, X < 4, abs(X)], strict=True):
        np.testing.assert_array_equal(value, wanted)


def test_an_array_still_says_how_to_feed_it(x):
    for combine in (lambda: np.ones(3) + x, lambda: x * np.ones(3)):
        with pytest.raises(
            TypeError, match="Variable 'x' cannot be combined with an array; feed the"
        ):
            combine()
