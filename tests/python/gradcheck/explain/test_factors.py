"""A gradient that is a multiple of the right one, or nothing, or not a number."""

import numpy as np
import pytest
from mismatches import explaining, mismatch, texts

from fluidcore.gradcheck.explain.factors import (
    fit,
    fitted,
    named,
    not_finite,
    relation,
    signed,
    weights,
    written,
    zero,
)

G = np.array([[1.0, -2.0, 0.5], [3.0, 0.25, -1.0]])


def with_bad(**places) -> np.ndarray:
    a = G.copy()
    for value, indices in places.items():
        a.flat[indices] = float(value)
    return a


@pytest.mark.parametrize(
    ("a", "text"),
    [
        (with_bad(nan=[4]), "A is nan in the one element [1, 1]"),
        (with_bad(inf=[2, 4]), "A is inf in 2 of 6 elements, the first at [0, 2]"),
        (with_bad(inf=[5], nan=[3]), "A is not finite in 2 of 6 elements, the first at [1, 0]"),
        (0 * G + np.nan, "A is nan everywhere"),
    ],
)
def test_what_is_not_finite_is_named_with_its_place(a, text: str) -> None:
    assert explaining(not_finite, mismatch(a, G)) == [text]


def test_what_is_finite_is_not() -> None:
    assert texts(not_finite, mismatch(2 * G, G)) == []
    two = mismatch([np.nan, np.nan], [1.0, 2.0])
    assert explaining(not_finite, two) == ["A is nan everywhere"]
    one = mismatch([np.nan], [1.0])
    assert explaining(not_finite, one) == ["A is nan in the one element [0]"]


def test_nothing_arrives() -> None:
    assert explaining(zero, mismatch(0 * G, G)) == ["A = 0: no gradient arrives"]
    assert texts(zero, mismatch(np.eye(2, 3), G)) == []


@pytest.mark.parametrize(
    ("factor", "text"),
    [
        (-1.0, "A = -G: the sign is wrong"),
        (-2.0, "A = -2 * G"),
        (-0.5, "A = -G / 2"),
        (6.0, "A = 6 * G: a factor that is the number of elements of the input"),
        (1 / 6, "A = G / 6: a factor that is the number of elements of the input"),
        (3.0, "A = 3 * G: a factor that is the extent of axis 1 of x"),
        (5.0, "A = 5 * G: a factor that is the number of outputs"),
        (0.2, "A = G / 5: a factor that is the number of outputs"),
        (2.0, "A = 2 * G: the gradient is twice too large"),
        (0.5, "A = G / 2: the gradient is half of what it must be"),
    ],
)
def test_usual_factors_and_sizes_have_names(factor: float, text: str) -> None:
    found = mismatch(factor * G, G, vs=[np.ones((5, 1))])
    assert explaining(named, found) == [text]


def test_sizes_are_those_of_outputs_and_inputs_but_never_1() -> None:
    found = mismatch(G, G, vs=[np.ones((7, 1)), np.ones(4)], xs=[G, np.ones((1, 9))])
    sizes = {
        11: "the number of outputs",
        6: "the number of elements of the input",
        7: "the extent of axis 0 of an output",
        4: "the extent of axis 0 of an output",
        2: "the extent of axis 0 of x",
        3: "the extent of axis 1 of x",
        9: "the extent of axis 1 of y",
    }
    told = texts(named, found)
    for size, what in sizes.items():
        if size == 2:
            continue  # the usual factor has a name of its own
        assert f"A = {size} * G: a factor that is {what}" in told
        assert f"A = G / {size}: a factor that is {what}" in told
    assert len(told) == 2 * len(sizes) + 3
    assert not any("A = 1 * G" in text or "G / 1:" in text for text in told)


def test_any_one_factor_is_fitted() -> None:
    assert explaining(fitted, mismatch(1.1 * G, G)) == ["A = 11/10 * G"]
    assert explaining(fitted, mismatch([1.1, 0.0], [1.0, 0.0])) == []
    assert texts(fitted, mismatch([1.1, 0.0], [1.0, 0.0])) == []
    assert explaining(fitted, mismatch([1.1, 2.2], [1.0, 2.0])) == ["A = 11/10 * G"]


def test_a_fit_weighs_elements_by_what_is_known_of_them() -> None:
    a, g = np.array([2.0, 3.0]), np.array([1.0, 1.0])
    assert fit(a, g, np.array([1.0, 1.0])) == pytest.approx(2.5)
    weight = weights(np.array([1.0, 3.0]))
    np.testing.assert_allclose(weight, [4.0, 4 / 9])
    expected = (weight[0] * 2 + weight[1] * 3) / weight.sum()
    assert fit(a, g, np.array([1.0, 3.0])) == pytest.approx(expected)
    assert fit(np.array([2.0, np.nan]), g, np.ones(2)) == 2.0
    assert fit(a, np.array([1.0, np.inf]), np.ones(2)) == 2.0


def test_a_fit_needs_something_and_may_not_be_huge() -> None:
    one = np.ones(1)
    assert fit(one, 0 * one, one) is None
    assert fit(1e6 * one, one, one) == 1e6
    assert fit(-1.01e6 * one, one, one) is None
    assert fit(0 * one, one, one) == 0.0


def test_weights_have_bounds() -> None:
    assert weights(np.zeros(3)).tolist() == [1.0] * 3
    assert weights(np.zeros(0)).tolist() == []
    np.testing.assert_allclose(weights(np.array([0.0, 1.0, 1.0])), [1e6, 1.0, 1.0])
    np.testing.assert_allclose(weights(np.array([2.0, 2.0, 4.0])), [1.0, 1.0, 0.25])


FLAT = np.array([1.0, -2.0, 0.5, 3.0])


@pytest.mark.parametrize(
    ("a", "text"),
    [
        (0 * FLAT, "A = 0 there"),
        (0 * FLAT + np.nan, "A is nan there"),
        (np.array([np.nan, np.inf, 1, 1]), None),
        (-FLAT, "A = -G there"),
        (2 * FLAT, "A = 2 * G there"),
        (FLAT / 2, "A = G / 2 there"),
        (-2 * FLAT, "A = -2 * G there"),
        (1.5 * FLAT, "A = 3/2 * G there"),
        (FLAT[::-1], "in the reverse order there"),
        (FLAT + 0.25, "A = G + 0.25 there"),
        (FLAT - 2, "A = G - 2 there"),
        (0 * FLAT + 7, "A = 7 there"),
        (np.array([1.0, 5.0, -2.0, 0.3]), None),
    ],
)
def test_what_some_elements_are_to_others(a, text: str | None) -> None:
    assert relation(a, FLAT, np.full(4, 1e-9)) == text


def test_a_relation_holds_within_the_limit() -> None:
    limit = np.full(4, 1e-3)
    off = np.array([1.0, 0.0, 0.0, 0.0])
    assert relation(-FLAT + 0.9e-3 * off, FLAT, limit) == "A = -G there"
    assert relation(-FLAT + 1.2e-3 * off, FLAT, limit) != "A = -G there"
    assert relation(2 * FLAT + 1.9e-3 * off, FLAT, limit) == "A = 2 * G there"
    assert relation(2 * FLAT + 2.1e-3 * off, FLAT, limit) != "A = 2 * G there"
    assert relation(FLAT[::-1] + 1.9e-3 * off, FLAT, limit) == "in the reverse order there"
    assert relation(FLAT[::-1] + 2.1e-3 * off, FLAT, limit) is None
    assert relation(0 * FLAT + 7 - 0.9e-3 * off[::-1], FLAT, limit) == "A = 7 there"
    assert relation(0 * FLAT + 7 - 1.1e-3 * off[::-1], FLAT, limit) is None


def test_one_element_is_a_multiple() -> None:
    assert relation(np.array([7.0]), np.array([0.0]), np.array([1e-9])) == "A = G + 7 there"
    assert relation(np.array([7.0]), np.array([2.0]), np.array([1e-9])) == "A = 7/2 * G there"


@pytest.mark.parametrize(
    ("c", "text"),
    [
        (1.5, "3/2"),
        (-0.75, "-3/4"),
        (4.0, "4"),
        (1 / 12, "1/12"),
        (1 / 13, "0.0769231"),
        (1.1, "11/10"),
        (1.5 * (1 + 0.9e-9), "3/2"),
        (1.5 * (1 + 1.2e-9), "1.5"),
        (1e-7, "1e-07"),
        (1.0, "1"),
        (1.0001, "1.0001"),
        (1 + 1.234e-5, "(1 + 1.234e-05)"),
        (1 - 2.0**-40, "(1 - 9.095e-13)"),
        (-1 - 2.0**-20, "-(1 + 9.537e-07)"),
    ],
)
def test_simple_factors_are_fractions(c: float, text: str) -> None:
    assert written(c) == text


def test_terms_have_a_sign() -> None:
    assert [signed(x) for x in (0.5, -2.0, 0.0, 12345.6)] == ["+ 0.5", "- 2", "+ 0", "+ 1.235e+04"]


def test_a_factor_of_a_part_is_told_within_the_limits() -> None:
    g = np.array([1.0, -2.0, 3.0, 5.0])
    off = np.array([1e-3, -1e-3, -1e-3, 1e-3])
    assert relation(2.71828 * g + 3 * off, g, np.full(4, 1e-3)) == "A = 2.71866 * G there"
    assert relation(2.71828 * g + 9 * off, g, np.full(4, 1e-3)) is None
