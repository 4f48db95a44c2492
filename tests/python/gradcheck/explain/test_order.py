"""A gradient with the right elements in other places."""

import numpy as np
import pytest
from mismatches import explaining, mismatch, texts

from fluidcore.gradcheck.explain.order import moved, summed

RANDOM = np.random.default_rng(3)
G = RANDOM.standard_normal((3, 4))
SQUARE = RANDOM.standard_normal((4, 4))
CUBE = RANDOM.standard_normal((2, 3, 4))
ROW = RANDOM.standard_normal(6)


@pytest.mark.parametrize(
    ("a", "g", "text"),
    [
        (SQUARE.T, SQUARE, "A = Gᵀ"),
        (G.T.reshape(3, 4), G, "A = Gᵀ, read as if it had the shape of G"),
        (
            CUBE.transpose(2, 0, 1).reshape(2, 3, 4),
            CUBE,
            "A = G with its axes in the order (2, 0, 1), read as if it had the shape of G",
        ),
        (np.flip(CUBE), CUBE, "A = G in the reverse order"),
        (np.flip(CUBE, 1), CUBE, "A = G in the reverse order along axis 1"),
        (np.flip(CUBE, 2), CUBE, "A = G in the reverse order along axis 2"),
        (np.flip(ROW), ROW, "A = G in the reverse order"),
        (np.roll(ROW, 1), ROW, "A = G rolled by 1"),
        (np.roll(ROW, -1), ROW, "A = G rolled by -1"),
        (np.roll(ROW, 2), ROW, "A = G rolled by 2"),
        (np.roll(ROW, 4), ROW, "A = G rolled by 4"),
        (np.roll(G, 1, 1), G, "A = G rolled by 1 along axis 1"),
        (np.roll(G, -1, 0), G, "A = G rolled by -1 along axis 0"),
        (np.roll(G, 5), G, "A = G rolled by 5 in memory"),
    ],
)
def test_elements_in_another_order_are_recognized(a, g, text: str) -> None:
    assert explaining(moved, mismatch(a, g))[0] == text


@pytest.mark.parametrize(
    ("source", "g", "axis", "text"),
    [
        ([0, 2, 1, 3], G, 1, "the indices 1 and 2 of axis 1 are swapped"),
        ([0, 4, 2, 3, 1, 5], ROW, 0, "the elements [1] and [4] are swapped"),
        ([1, 2, 0, 3], G, 1, "A = G with the indices of axis 1 in the order [1, 2, 0, 3]"),
        ([2, 0, 1, 3, 4, 5], ROW, 0, "A = G with the indices in the order [2, 0, 1, 3, 4, 5]"),
    ],
)
def test_indices_in_another_order_are_looked_up(source, g, axis, text: str) -> None:
    assert explaining(moved, mismatch(np.take(g, source, axis), g)) == [text]


@pytest.mark.parametrize(("extent", "more"), [(8, ""), (9, " …")])
def test_a_long_order_is_cut_off(extent: int, more: str) -> None:
    g = RANDOM.standard_normal(extent)
    source = [2, 0, 1, *range(3, extent)]
    text = f"A = G with the indices in the order {source[:8]}{more}"
    assert explaining(moved, mismatch(g[source], g)) == [text]


def test_slices_that_are_not_those_of_the_right_gradient_are_no_order() -> None:
    a = G.copy()
    a[:, 1] = G[:, 2]
    assert explaining(moved, mismatch(a, G)) == []
    assert not any("indices" in text for text in texts(moved, mismatch(2 * G + 9, G)))
    a[0, 0] = np.nan
    assert not any("indices" in text for text in texts(moved, mismatch(a[:, ::-1], G)))


@pytest.mark.parametrize(("extent", "found"), [(64, True), (65, False)])
def test_axes_of_up_to_64_are_searched(extent: int, found: bool) -> None:
    g = RANDOM.standard_normal(extent)
    source = [0, 7, 2, 3, 4, 5, 6, 1, *range(8, extent)]
    told = texts(moved, mismatch(g[source], g))
    assert ("the elements [1] and [7] are swapped" in told) is found


def told(rolled: str, g) -> list[int]:
    return [
        int(text.split()[5])
        for text in texts(moved, mismatch(g, g))
        if text.startswith("A = G rolled") and text.endswith(rolled)
    ]


def test_all_shifts_are_tried_up_to_32_and_then_the_nearest() -> None:
    assert told("", RANDOM.standard_normal(2)) == [1]
    assert told("", RANDOM.standard_normal(3)) == [1, -1]
    assert told("", RANDOM.standard_normal(5)) == [1, -1, 2, 3]
    assert told("", RANDOM.standard_normal(32)) == [1, -1, *range(2, 31)]
    assert told("", RANDOM.standard_normal(33)) == [1, -1]
    assert told("along axis 1", G) == [1, -1, 2]
    assert told("in memory", G) == [1, -1, *range(2, 11)]
    assert told("along axis 0", G[:1]) == []
    assert texts(moved, mismatch([1.0], [2.0])) == []
    assert texts(moved, mismatch(1.0, 2.0)) == []


@pytest.mark.parametrize("g", [ROW, G, CUBE], ids=["1", "2", "3"])
def test_no_order_is_tried_twice(g) -> None:
    found = texts(moved, mismatch(g + 1, g))
    assert len(set(found)) == len(found)


def test_axes_are_tried_in_every_order_up_to_four_of_them() -> None:
    def orders(rank: int) -> list[str]:
        g = RANDOM.standard_normal((2,) * rank)
        return [text for text in texts(moved, mismatch(g, g)) if "its axes" in text]

    assert len(orders(3)) == 5
    assert len(orders(4)) == 23
    assert orders(5) == [
        "A = G with its axes in the order (0, 1, 2, 4, 3)",
        "A = G with its axes in the order (4, 3, 2, 1, 0)",
    ]


@pytest.mark.parametrize(
    ("reduce", "what"),
    [
        (lambda g: g[:, :1], "the first of G"),
        (lambda g: g[:, -1:], "the last of G"),
        (lambda g: g.sum(1, keepdims=True), "the sum of G"),
        (lambda g: g.mean(1, keepdims=True), "the mean of G"),
    ],
)
def test_a_reduction_too_much_is_recognized(reduce, what: str) -> None:
    found = mismatch(0 * G + reduce(G), G)
    assert explaining(summed, found) == [f"A is {what} along axis 1, everywhere"]


def test_an_axis_of_one_element_has_no_reduction() -> None:
    told = texts(summed, mismatch(G[:1], G[:1]))
    assert len(told) == 4
    assert all("along axis 1" in text for text in told)


@pytest.mark.parametrize("g", [np.tril(SQUARE), np.stack([SQUARE, SQUARE.T @ SQUARE + SQUARE])])
def test_a_gradient_of_symmetric_matrices_is_recognized(g) -> None:
    both = (g + np.swapaxes(g, -1, -2)) / 2
    (text,) = explaining(summed, mismatch(both, g))
    assert text.startswith("A = (G + Gᵀ) / 2: x is taken for symmetric")
    assert explaining(summed, mismatch(2 * both, g)) == []


def test_errors_move_with_the_elements() -> None:
    limit = np.zeros(6)
    limit[0] = 0.5
    found = mismatch(np.roll(ROW, 1), ROW, limit=limit)
    (guess,) = (guess for guess in moved(found) if guess.text == "A = G rolled by 1")
    np.testing.assert_allclose(guess.limit, [0.5, 0.5, 0, 0, 0, 0], atol=1e-12)


def test_along_an_axis_of_one_element_nothing_can_be_reversed() -> None:
    g = np.arange(3.0).reshape(1, 3)
    found = [text for text in texts(moved, mismatch(2 * g, g)) if "reverse" in text]
    assert found == [
        "A = G in the reverse order",
        "A = G in the reverse order along axis 1",
    ]
