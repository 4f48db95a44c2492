"""A gradient with one contribution twice, or without it."""

import numpy as np
import pytest
from mismatches import explaining, mismatch, texts

from fluidcore.gradcheck.explain.fanout import branches, twice

RANDOM = np.random.default_rng(12)
X, Y, V, W = (RANDOM.standard_normal((3, 4)) for _ in range(4))


def by_way_of_y(factor: float, **options):
    """x v + y v is right; the second term comes by way of y."""

    def claims(xs, vs):
        return [X * vs[0] + factor * xs[1] * vs[0], 0 * Y]

    settings = {"xs": [X, Y], "vs": [V], "claims": claims, **options}
    return mismatch(claims([X, Y], [V])[0], X * V + Y * V, **settings)


def test_what_arrives_by_way_of_another_input_is_added_twice() -> None:
    text = "the gradient of x by way of y is added twice"
    assert explaining(twice, by_way_of_y(2.0)) == [text]
    for factor in (0.0, 3.0, 1.5):
        assert texts(twice, by_way_of_y(factor)) == [text]
        assert explaining(twice, by_way_of_y(factor)) == []


def test_an_input_of_zeros_brings_nothing() -> None:
    assert texts(twice, by_way_of_y(2.0, xs=[X, 0 * Y])) == []
    half = np.where(np.arange(12).reshape(3, 4) % 2, Y, 0.0)
    found = by_way_of_y(2.0, xs=[X, half], claims=lambda xs, vs: [X * V + 2 * Y * V, 0 * Y])
    assert len(texts(twice, found)) == 1


def test_a_gradient_that_does_not_repeat_itself_says_nothing() -> None:
    found = mismatch(X, Y, xs=[X, Y], vs=[V], claims=lambda xs, vs: [X + 1, Y])
    assert texts(twice, found) == []


@pytest.mark.parametrize("k", [0, 1])
def test_what_one_of_several_outputs_brings_is_added_twice(k: int) -> None:
    factors = [2.0 if k == j else 1.0 for j in range(2)]

    def claims(xs, vs):
        return [X * (factors[0] * vs[0] + factors[1] * vs[1])]

    found = mismatch(claims([X], [V, W])[0], X * (V + W), xs=[X], vs=[V, W], claims=claims)
    assert texts(twice, found) == [f"the gradient of output {j} is added twice" for j in range(2)]
    assert explaining(twice, found) == [f"the gradient of output {k} is added twice"]


def test_one_output_alone_is_not_another() -> None:
    found = mismatch(2 * V, V, xs=[X], vs=[V], claims=lambda xs, vs: [2 * vs[0]])
    assert texts(twice, found) == []


def test_a_part_that_is_not_finite_explains_nothing() -> None:
    def claims(xs, vs):
        return [X + 2 * Y if xs[1].any() else np.full_like(X, np.nan), Y]

    found = mismatch(X + 2 * Y, X + Y, xs=[X, Y], vs=[V], claims=claims)
    assert len(texts(twice, found)) == 1
    assert explaining(twice, found) == []


USES = "where x is used several times"


@pytest.mark.parametrize(("factor", "what"), [(1, "+"), (-1, "-")])
def test_a_product_with_an_input_is_too_much_or_missing(factor: float, what: str) -> None:
    g = X * X
    found = mismatch(g + factor * V * Y, g, xs=[X, Y], vs=[V])
    fault = "is added twice" if what == "+" else "is missing"
    assert explaining(branches, found) == [
        f"A = G {what} v * y: a partial gradient {fault}, {USES}"
    ]


SQUARE = [RANDOM.standard_normal((3, 3)) for _ in range(4)]


@pytest.mark.parametrize(
    ("text", "product"),
    [
        ("v @ yᵀ", lambda v, y: v @ y.T),
        ("yᵀ @ v", lambda v, y: y.T @ v),
        ("v @ y", lambda v, y: v @ y),
        ("vᵀ @ y", lambda v, y: v.T @ y),
    ],
)
def test_products_of_matrices(text: str, product) -> None:
    x, y, v, g = SQUARE
    found = mismatch(g + product(v, y), g, xs=[x, y], vs=[v])
    expected = f"A = G + {text}: a partial gradient is added twice, {USES}"
    assert explaining(branches, found) == [expected]


def test_products_must_have_the_shape_of_the_gradient() -> None:
    g = RANDOM.standard_normal((3, 3))
    found = mismatch(2 * g, g, xs=[g, Y], vs=[V])
    told = {text.split(":")[0] for text in texts(branches, found)}
    assert told == {"A = G + v @ yᵀ", "A = G - v @ yᵀ"}
    g = RANDOM.standard_normal((4, 4))
    found = mismatch(2 * g, g, xs=[g, Y], vs=[V])
    told = {text.split(":")[0] for text in texts(branches, found)}
    assert told == {f"A = G {sign} {one}" for sign in "+-" for one in ("yᵀ @ v", "vᵀ @ y")}


@pytest.mark.parametrize(
    ("shape", "axes"), [((4,), (0,)), ((1, 4), (0,)), ((3, 1), (1,)), ((1, 1), (0, 1))]
)
def test_a_product_is_summed_over_axes_that_were_broadcast(shape, axes) -> None:
    part = np.sum(V * Y, axis=axes).reshape(shape)
    g = np.ones(shape)
    found = mismatch(g - part, g, xs=[np.ones(shape), Y], vs=[V])
    text = f"A = G - sum(v * y): a partial gradient is missing, {USES}"
    assert text in explaining(branches, found)


def test_an_axis_of_another_length_was_not_broadcast() -> None:
    for shape in ((2, 4), (3, 2), (2, 1), (1, 3, 4)):
        g = np.ones(shape)
        found = mismatch(g, 2 * g, xs=[g, Y], vs=[V])
        assert not any("sum" in text for text in texts(branches, found))


def test_limits_grow_with_the_other_factor() -> None:
    g = X * X
    for kind, found, gain in (
        (branches, mismatch(g, g, xs=[X, 3 * Y / np.abs(Y).max()], vs=[V], limit=1e-3), 5.0),
        (twice, by_way_of_y(2.0, limit=1e-3), 2.0),
    ):
        guess = list(kind(found))[-1]
        expected = found.guess(guess.text, guess.value, gain=gain)
        np.testing.assert_allclose(guess.limit, expected.limit, rtol=1e-12)
        assert (guess.limit > found.guess(guess.text, guess.value, gain=gain - 1).limit).all()
