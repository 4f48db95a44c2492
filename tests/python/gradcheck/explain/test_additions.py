"""A gradient with a term too much or too few, or a factor of each element's own."""

import numpy as np
import pytest
from mismatches import explaining, mismatch, texts

from fluidcore.gradcheck.explain.additions import along_axes, others, products, terms

RANDOM = np.random.default_rng(8)
G, V, X, Y = (RANDOM.standard_normal((3, 4)) for _ in range(4))


def wrong(a, **options):
    settings = {"vs": [V], "xs": [X, Y], "claims": lambda xs, vs: [a, 3 * Y], **options}
    return mismatch(a, G, **settings)


def test_swapped_gradients() -> None:
    claims = {"claims": lambda xs, vs: [Y, G]}
    assert explaining(others, wrong(Y, **claims)) == ["the gradients of x and y are swapped"]
    assert texts(others, wrong(Y, claims=lambda xs, vs: [G, Y])) == []
    assert texts(others, wrong(Y, claims=lambda xs, vs: [Y, G[:2]])) == []
    nothing = mismatch(Y, 0 * G, xs=[X, Y], vs=[V], claims=lambda xs, vs: [Y, 0 * G])
    assert texts(others, nothing) == []
    near = wrong(Y, claims=lambda xs, vs: [Y, G + 2e-9])
    assert texts(others, near) == []


@pytest.mark.parametrize(
    ("a", "text"),
    [
        (G + 0.25, "A = G + 0.25: a constant is added"),
        (G - 3, "A = G - 3: a constant is added"),
        (G - V, "A = G - v: the cotangent, as of a skip connection, is missing"),
        (G + V, "A = G + v: the cotangent, as of a skip connection, is too much"),
        (G + 0.5 * V, "A = G + 1/2 * v: the cotangent, as of a skip connection, is too much"),
        (G + 0.01 * X, "A = G + 0.01 * x: an input, as of a weight decay, is too much"),
        (G - 2 * Y, "A = G - 2 * y: an input, as of a weight decay, is missing"),
    ],
)
def test_a_term_too_much_or_too_few(a, text: str) -> None:
    assert text in explaining(terms, wrong(a, claims=lambda xs, vs: [a, X * X]))


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("off", "size"), [(9e-7, ""), (1.1e-6, "(1 + 1.1e-06) * ")])
def test_a_term_that_is_added_once_has_no_factor(sign: int, off: float, size: str) -> None:
    told = texts(terms, wrong(G + sign * (1 + off) * V))
    what = "+ {}v: the cotangent, as of a skip connection, is too much"
    if sign < 0:
        what = "- {}v: the cotangent, as of a skip connection, is missing"
    assert f"A = G {what.format(size)}" in told


def test_another_gradient_is_added() -> None:
    text = "A = G + (gradient of y): the gradient of another input, is too much"
    a = G + X * X
    assert explaining(terms, wrong(a, claims=lambda xs, vs: [a, X * X])) == [text]
    only_own = wrong(a, claims=lambda xs, vs: [X * X, np.ones(3)])
    assert explaining(terms, only_own) == []


def test_terms_need_two_elements_that_are_finite_and_shapes_that_fit() -> None:
    assert texts(terms, mismatch([2.0], [1.0])) == []
    assert "A = G + 1: a constant is added" in texts(terms, mismatch([2.0, 3.0], [1.0, 2.0]))
    a = G + 1
    a[0, 0] = np.inf
    assert texts(terms, wrong(a)) == []
    told = texts(terms, wrong(G + V, vs=[V.T], xs=[X, Y[0]], claims=lambda xs, vs: [G, Y[0]]))
    assert len(told) == 2  # a constant and x
    assert ": an input, as of a weight decay, is " in told[1]


def test_a_constant_is_fitted_by_what_is_known_best() -> None:
    limit = np.full((3, 4), 1e-9)
    limit[0, 0] = 1.0
    a = G + 0.25
    a[0, 0] += 0.9
    assert "A = G + 0.25: a constant is added" in explaining(terms, wrong(a, limit=limit))


@pytest.mark.parametrize(
    ("a", "text"),
    [
        (G * V, "A = G * v: a factor v too much"),
        (G * Y, "A = G * y: a factor y too much"),
        (G / V, "A = G / v: a factor v is missing"),
        (G / X, "A = G / x: a factor x is missing"),
        (np.abs(G), "A = |G|: the sign is lost"),
        (np.sign(G), "A = sign(G): the size is lost"),
        (np.maximum(G, 0), "A = max(G, 0): what is negative is lost"),
        (np.minimum(G, 0), "A = min(G, 0): what is positive is lost"),
        (np.clip(G, -0.5, 0.5), "A = clip(G, ±0.5): it is clipped"),
    ],
)
def test_a_factor_of_each_element(a, text: str) -> None:
    assert explaining(products, wrong(a)) == [text]


def test_a_factor_of_0_cannot_be_missing() -> None:
    zero = X.copy()
    zero[1, 1] = 0.0
    told = texts(products, wrong(G * Y, xs=[zero, Y]))
    assert "A = G * x: a factor x too much" in told
    assert "A = G / x: a factor x is missing" not in told
    assert "A = G / y: a factor y is missing" in told


def test_products_need_two_elements_and_shapes_that_fit() -> None:
    assert texts(products, mismatch([2.0], [1.0])) == []
    assert "A = |G|: the sign is lost" in texts(products, mismatch([2.0, 3.0], [1.0, 2.0]))
    assert len(texts(products, wrong(5 * G, vs=[V.T], xs=[X[0], Y[:1]]))) == 4


@pytest.mark.parametrize(("count", "found"), [(1, False), (2, True)])
def test_two_elements_must_be_clipped(count: int, found: bool) -> None:
    g = np.array([0.1, -0.2, 0.3, 0.1])
    g[:count] = [2.0, -3.0][:count]
    told = texts(products, mismatch(np.clip(g, -0.3, 0.3), g))
    assert ("A = clip(G, ±0.3): it is clipped" in told) is found


def test_limits_of_terms_are_those_of_two_gradients() -> None:
    a = G + 0.5 * V
    guesses = list(terms(wrong(a, limit=1e-3, xs=[X], claims=lambda xs, vs: [a])))
    assert len(guesses) == 3
    for guess in guesses:
        np.testing.assert_allclose(guess.limit, 2e-3)


def test_limits_of_products_grow_with_the_factor() -> None:
    guesses = {guess.text[:9]: guess for guess in products(wrong(G * V, limit=1e-3))}
    np.testing.assert_allclose(guesses["A = G * v"].limit, 1e-3 * max(1.0, np.abs(V).max()))
    np.testing.assert_allclose(guesses["A = G / x"].limit, 1e-3 * max(1.0, (1 / np.abs(X)).max()))


@pytest.mark.parametrize("axis", [0, 1])
def test_what_is_the_same_along_an_axis(axis: int) -> None:
    shape = (1, 4) if axis == 0 else (3, 1)
    offset = RANDOM.standard_normal(shape)
    text = f"A - G is the same along axis {axis}: a sum or mean over it is missing"
    assert explaining(along_axes, wrong(G + offset)) == [text]
    text = f"A / G is the same along axis {axis}: a factor depends on the other axes"
    assert explaining(along_axes, wrong(G * (2 + offset))) == [text]


def test_axes_need_three_elements_and_a_second_axis() -> None:
    row = RANDOM.standard_normal(5)
    assert texts(along_axes, mismatch(row + 1, row)) == []
    assert len(texts(along_axes, mismatch(G[:2] + 1, G[:2]))) == 2
    assert len(texts(along_axes, mismatch(G + 1, G))) == 4
    a = G + 1
    a[0, 0] = np.nan
    assert texts(along_axes, mismatch(a, G)) == []


def test_limits_along_axes_are_those_of_two() -> None:
    shift, ratio = list(along_axes(mismatch(3 * G[:2], G[:2], limit=1e-3)))
    np.testing.assert_allclose(shift.limit, 2e-3)
    np.testing.assert_allclose(ratio.limit, 6e-3)


def test_rows_of_zeros_have_the_ratio_1() -> None:
    g = G.copy()
    g[1] = 0.0
    factors = np.array([[2.0], [1.0], [5.0]])
    text = "A / G is the same along axis 1: a factor depends on the other axes"
    assert text in explaining(along_axes, mismatch(g * factors, g))
