"""The gradient of one operator against its derivative along random directions."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fluidcore import core
from fluidcore.gradcheck.localise.local import Found, check_along, check_operator

X = np.random.default_rng(40).standard_normal((3, 4))
V = np.random.default_rng(41).standard_normal((3, 4))
RIGHT = V * np.cos(X)


def sine(count: int = 1) -> core.Function:
    return core.CallableFunction(lambda xs: [np.sin(xs[-1])], [X] * count)


def verdict(gradient: Any, function: core.Function | None = None, v=V, **options) -> Found:
    return check_along(function or sine(), np.asarray(gradient), [v], "x", 0, **options)[0]


def test_a_right_gradient_is_right_and_a_wrong_one_wrong() -> None:
    assert check_along(sine(), RIGHT, [V], "x", 0) == (Found.RIGHT, "")
    assert check_along(sine(), RIGHT, {"y": V}, "x", 0) == (Found.RIGHT, "")
    found, detail = check_along(sine(), 2 * RIGHT, [V], "x", 0)
    assert found is Found.WRONG
    actual, expected = (float(word) for word in (detail.split()[0], detail.split()[-1]))
    assert actual == pytest.approx(2 * expected, rel=1e-4)


def test_one_element_and_the_ninth_digit_are_seen() -> None:
    wrong = RIGHT.copy()
    wrong[1, 2] += 1e-4
    assert verdict(wrong) is Found.WRONG
    assert verdict(RIGHT * (1 + 1e-12)) is Found.RIGHT


def test_the_input_is_that_at_the_position() -> None:
    function = sine(3)
    assert verdict(RIGHT, function, position=2, count=3) is Found.RIGHT
    assert verdict(RIGHT, function, position=1, count=3) is Found.WRONG
    assert verdict(0 * RIGHT, function, position=1, count=3) is Found.RIGHT


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_comes_in_or_goes_out(bad: float) -> None:
    v = V.copy()
    v[0, 0] = bad
    text = "the gradient that comes in is not finite"
    assert check_along(sine(), RIGHT, [v], "x", 0) == (Found.UNDECIDED, text)
    wrong = RIGHT.copy()
    wrong[0, 0] = bad
    assert verdict(wrong) is Found.WRONG


def test_an_input_without_elements_is_undecided() -> None:
    empty = np.zeros((0, 4))
    function = core.CallableFunction(lambda xs: [np.sin(xs[0])], [empty])
    assert verdict(empty, function, v=empty) is Found.UNDECIDED


def seen(monkeypatch, value=1.0, error=0.0, low=None, high=None, scale=1.0, flags=0, **options):
    """The verdict on a gradient of 0 of an output of 0 along a direction with this derivative."""
    parts = {
        "value": value,
        "error": error,
        "low": value if low is None else low,
        "high": value if high is None else high,
        "scale": scale,
    }
    arrays = {name: np.array([[part]]) for name, part in parts.items()}
    found = SimpleNamespace(flags=np.array([flags], np.uint8), **arrays)
    monkeypatch.setattr(
        "fluidcore.gradcheck.localise.local.core",
        SimpleNamespace(differentiate_along=lambda *_: found),
    )
    y = options.pop("y", 0.0)
    function = SimpleNamespace(run=lambda: [np.array([y])])
    return check_along(function, np.zeros(1), [np.ones(1)], "x", 0, **options)[0]


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ({"value": 2.9e-5, "error": 1e-5}, Found.RIGHT),
        ({"value": 3.1e-5, "error": 1e-5}, Found.WRONG),
        ({"value": -3.1e-5, "error": 1e-5}, Found.WRONG),
        ({"value": 0.9e-9}, Found.RIGHT),
        ({"value": 1.1e-9}, Found.WRONG),
        ({"value": 5e-9, "scale": 6.0}, Found.RIGHT),
        ({"value": 1.0, "low": -1.0, "high": 2.0}, Found.RIGHT),
        ({"value": 1.0, "low": 0.1, "high": 2.0}, Found.WRONG),
        ({"value": -1.0, "low": -2.0, "high": -0.1}, Found.WRONG),
        ({"error": 0.99e-4, "value": 0.0}, Found.RIGHT),
        ({"error": 1.01e-4, "value": 0.0}, Found.UNDECIDED),
        ({"error": np.inf}, Found.UNDECIDED),
        ({"flags": 2}, Found.UNDECIDED),
        ({"flags": 4}, Found.UNDECIDED),
        ({"flags": 1, "value": 0.0}, Found.RIGHT),
        ({"flags": 1, "value": 0.0, "is_smooth": True}, Found.UNDECIDED),
        ({"flags": 8, "value": 0.0, "is_smooth": True}, Found.RIGHT),
        ({"value": 0.9e-3, "scale": 0.0, "y": 1e10}, Found.RIGHT),
        ({"value": 1.1e-3, "scale": 0.0, "y": 1e10}, Found.WRONG),
        ({"value": 1.1e-3, "scale": 0.0, "y": np.inf}, Found.WRONG),
    ],
)
def test_the_error_bar_the_scale_and_the_flags_decide(monkeypatch, parts, found: Found) -> None:
    assert seen(monkeypatch, **parts) is found


def along(monkeypatch, gradient: float, off: dict[int, float], error: float = 0.0) -> Found:
    """The verdict on a gradient that is off in some of the directions, the scale of f being 0."""
    calls = [0]

    def differentiate_along(function, directions, cotangents) -> SimpleNamespace:
        (d,) = directions
        value = np.array([[gradient * d[0] + off.get(calls[0], 0.0)]])
        calls[0] += 1
        bar = np.array([[error * abs(gradient * d[0])]])
        return SimpleNamespace(
            value=value, low=value, high=value, error=bar, scale=0 * value, flags=np.zeros(1)
        )

    monkeypatch.setattr(
        "fluidcore.gradcheck.localise.local.core",
        SimpleNamespace(differentiate_along=differentiate_along),
    )
    function = SimpleNamespace(run=lambda: [np.zeros(1)])
    return check_along(function, np.full(1, gradient), [np.ones(1)], "x", 0)[0]


def test_two_directions_are_looked_along(monkeypatch) -> None:
    assert along(monkeypatch, 0.0, {}) is Found.RIGHT
    assert along(monkeypatch, 0.0, {0: 1.0}) is Found.WRONG
    assert along(monkeypatch, 0.0, {1: 1.0}) is Found.WRONG
    assert along(monkeypatch, 0.0, {2: 1.0}) is Found.RIGHT


def test_the_gradient_itself_belongs_to_the_scale(monkeypatch) -> None:
    assert along(monkeypatch, 3.0, {}, 0.99e-4) is Found.RIGHT
    assert along(monkeypatch, 3.0, {}, 1.01e-4) is Found.UNDECIDED


MUL = core.OpDesc("elementwise_mul", {"X": ["x"], "Y": ["y"]}, {"Out": ["out"]}, {})
Y = X + 2
VALUES = {"x": X, "y": Y}
GRADIENTS = {("X", 0): V * Y, ("Y", 0): V * X}


def operator(gradients=GRADIENTS, cotangents=None) -> dict:
    found = check_operator(
        MUL, VALUES, {"out": V} if cotangents is None else cotangents, gradients, 0
    )
    return {place: verdict for place, (verdict, _) in found.items()}


def test_every_gradient_of_an_operator_is_judged() -> None:
    assert operator() == {("X", 0): Found.RIGHT, ("Y", 0): Found.RIGHT}
    wrong = {**GRADIENTS, ("Y", 0): V * Y}
    assert operator(wrong) == {("X", 0): Found.RIGHT, ("Y", 0): Found.WRONG}
    assert operator({("Y", 0): V * X}) == {("Y", 0): Found.RIGHT}


def test_no_gradient_that_comes_in_is_zero() -> None:
    zeros = {place: 0 * gradient for place, gradient in GRADIENTS.items()}
    assert operator(zeros, {}) == dict.fromkeys(zeros, Found.RIGHT)
    assert operator(GRADIENTS, {}) == dict.fromkeys(zeros, Found.WRONG)


def test_shapes_must_fit() -> None:
    assert operator(GRADIENTS, {"out": V[:2]}) == dict.fromkeys(GRADIENTS, Found.UNDECIDED)
    found = check_operator(MUL, VALUES, {"out": V}, {**GRADIENTS, ("X", 0): V[:2]}, 0)
    assert found["X", 0] == (Found.WRONG, "shape [2, 4] where it must be [3, 4]")
    assert found["Y", 0][0] is Found.RIGHT


def test_directions_have_few_digits() -> None:
    asked: list[np.ndarray] = []

    def f(xs):
        asked.append(xs[0].copy())
        return xs

    x = np.zeros_like(X)
    function = core.CallableFunction(f, [x])
    check_along(function, V, [V], "x", 0)
    moved = max(asked, key=lambda move: np.max(np.abs(move)))
    step = 2.0 ** np.floor(np.log2(np.max(np.abs(moved)))) / 2**10
    np.testing.assert_array_equal(moved / step, np.round(moved / step))
    assert (moved != 0).all()
