"""A gradient of a part of the outputs, or one that ignores its cotangent or its point."""

import numpy as np
import pytest
from mismatches import explaining, mismatch, texts

from fluidcore.gradcheck.explain.partial_gradient import cotangent, frozen, partial

RANDOM = np.random.default_rng(9)
X, V = RANDOM.standard_normal((3, 4)), RANDOM.standard_normal((3, 4))
G = V * np.cos(X)


def wrong(claims, **options):
    settings = {
        "xs": [X],
        "vs": [V],
        "f": lambda x: [np.sin(x)],
        "claims": lambda xs, vs: [claims(xs[0], vs[0])],
        **options,
    }
    return mismatch(claims(X, V), G, **settings)


@pytest.mark.parametrize(
    ("claims", "told"),
    [
        (lambda x, v: v, ["A = v: the cotangent is passed through"]),
        (lambda x, v: 1 + 0 * x, ["A = 1 everywhere", "A ignores its cotangent: A(v) = A(1)"]),
        (lambda x, v: np.cos(x), ["A ignores its cotangent: A(v) = A(1)"]),
        (lambda x, v: v * v * np.cos(x), ["A uses its cotangent twice: A(2v) = 4 A(v)"]),
        (lambda x, v: 3 * v * np.cos(x), []),
        (lambda x, v: 0 * x, []),
    ],
)
def test_what_is_made_of_the_cotangent(claims, told: list[str]) -> None:
    assert explaining(cotangent, wrong(claims)) == told


def test_a_fixed_cotangent_cannot_be_another() -> None:
    found = wrong(lambda x, v: np.cos(x), fixed_cotangent=True)
    assert not any("cotangent:" in text or "twice" in text for text in texts(cotangent, found))
    assert found.target.dtypes == []  # type: ignore[attr-defined]


def test_a_claim_that_does_not_repeat_itself_says_nothing_of_its_cotangent() -> None:
    found = mismatch(np.cos(X), G, xs=[X], vs=[V], claims=lambda xs, vs: [np.cos(xs[0]) + 1])
    assert texts(cotangent, found) == ["A = v: the cotangent is passed through", "A = 1 everywhere"]


def test_one_element_is_no_pattern_of_the_cotangent() -> None:
    one = mismatch([5.0], [1.0], vs=[np.full(1, 3.0)], claims=lambda xs, vs: [5 / 3 * vs[0]])
    assert texts(cotangent, one) == []
    other = mismatch([5.0, 6.0], [1.0, 1.0], vs=[np.ones(3)], claims=lambda xs, vs: [xs[0]])
    assert texts(cotangent, other) == ["A = 1 everywhere"]


W = RANDOM.standard_normal(4)


def f(w):
    return [np.sin(w) + np.zeros((3, 4))]


def broadcast(a, g, limit=1e-9, function=f, w=W, v=V):
    vs = v if isinstance(v, list) else [v]
    return mismatch(a, g, xs=[w], vs=vs, limit=limit, f=function, claims=lambda xs, vs: [a])


def by_row(rows) -> np.ndarray:
    return (V[rows] * np.cos(W)).reshape(-1, 4).sum(0)


@pytest.mark.parametrize(
    ("a", "text"),
    [
        (by_row(0), "A is the gradient of the first of axis 0 of the output alone"),
        (by_row(2), "A is the gradient of the last of axis 0 of the output alone"),
        (by_row([1, 2]), "A lacks the gradient of the first of axis 0 of the output"),
        (by_row([0, 1]), "A lacks the gradient of the last of axis 0 of the output"),
    ],
)
def test_a_part_of_the_outputs_alone_or_missing(a, text: str) -> None:
    told = explaining(partial, broadcast(a, by_row([0, 1, 2])))
    how = "a sum or a use of x is missing" if "alone" in text else "one contribution is missing"
    assert told == [f"{text}: {how}"]


def test_every_output_and_both_ends_of_every_axis_are_parts() -> None:
    def two(w):
        return [np.sin(w) + np.zeros((1, 4)), w * w]

    g = W * 0 + 1.0
    told = texts(partial, broadcast(2 * g, g, function=two, v=[V[:1], V[0]]))
    parts = [text.removeprefix("A is the gradient of ") for text in told[::2]]
    assert [part.partition(" alone")[0] for part in parts] == [
        "output 0",
        "the first of axis 1 of output 0",
        "the last of axis 1 of output 0",
        "output 1",
        "the first element of output 1",
        "the last element of output 1",
    ]


def test_a_number_has_no_parts() -> None:
    found = broadcast(W + 1, W, function=lambda w: [w.sum()], v=np.ones(()))
    assert texts(partial, found) == []
    nothing = np.zeros(0)
    assert texts(partial, broadcast(nothing, nothing, w=nothing, v=[V, V])) == []


def test_of_many_elements_128_are_compared() -> None:
    w = RANDOM.standard_normal(129)
    v = RANDOM.standard_normal((2, 129))
    a, g = v[0] * np.cos(w), v.sum(0) * np.cos(w)
    function = lambda w: [np.sin(w) + np.zeros((2, len(w)))]  # noqa: E731
    for size in (128, 129):
        found = broadcast(a[:size], g[:size], function=function, w=w[:size], v=v[:, :size])
        guess = next(iter(partial(found)))
        assert guess.elements is not None
        assert len(set(guess.elements.tolist())) == 128
        assert guess.elements.tolist() == sorted(guess.elements.tolist())
        assert found.score(guess) == 1


def test_at_most_24_parts_are_tried() -> None:
    outputs = [V[0]] * 10
    found = broadcast(W + 1, W, function=lambda w: [w] * 10, v=outputs)
    assert len(texts(partial, found)) == 2 * 24


def test_error_bars_of_the_parts_are_allowed_for_thrice() -> None:
    found = broadcast(by_row(0), by_row([0, 1, 2]), limit=0.0)
    guess = next(iter(partial(found)))
    least = 1e-13 * np.abs(guess.value)
    assert (guess.limit > least).all()
    assert (guess.limit < 1e-9).all()


def test_values_of_another_point_do_not_change() -> None:
    def stale(x, v):
        return v * np.cos(0.3)

    text = "A does not change with x: it is made of values of another point"
    found = wrong(stale)
    (guess,) = frozen(found)
    assert guess.text == text
    assert guess.most == found.score(guess) == 0.8
    assert texts(frozen, wrong(lambda x, v: v * np.sin(x))) == []
    assert texts(frozen, wrong(lambda x, v: 0 * x)) == []


def test_the_gradient_of_a_linear_function_need_not_change() -> None:
    found = wrong(lambda x, v: 3 * v, f=lambda x: [2 * x + 1])
    assert texts(frozen, found) == []
    product = {"xs": [X, 1 + X], "claims": lambda xs, vs: [3 * V, X], "f": lambda x, y: [x * y]}
    assert len(texts(frozen, mismatch(3 * V, V * (1 + X), vs=[V], **product))) == 1


def test_a_gradient_with_a_zero_may_be_of_another_point() -> None:
    a = X.copy()
    a[0, 0] = 0.0
    found = mismatch(a, G, xs=[X], vs=[V], claims=lambda xs, vs: [a], f=lambda x: [np.sin(x)])
    assert len(texts(frozen, found)) == 1
    assert texts(frozen, mismatch(0 * a, G, xs=[X], vs=[V], claims=lambda xs, vs: [0 * a])) == []


def test_a_gradient_at_0_that_is_another_elsewhere_changes_with_x() -> None:
    found = mismatch(0 * X + 1, G, xs=[0 * X], vs=[V], claims=lambda xs, vs: [xs[0] + 1])
    assert texts(frozen, found) == []


@pytest.mark.parametrize(("off", "told"), [(3.9, True), (4.1, False)])
def test_four_limits_are_allowed_for_a_cotangent_that_counts_twice(off: float, told: bool) -> None:
    def claims(x, v):
        return v * v * x + off * 1e-3 * (np.abs(v - 2 * V).max() == 0)

    found = texts(cotangent, wrong(claims, limit=1e-3))
    assert any("twice" in text for text in found) is told
