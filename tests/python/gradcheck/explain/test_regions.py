"""A gradient that is wrong only somewhere."""

import numpy as np
import pytest
from mismatches import explaining, mismatch, texts

from fluidcore.gradcheck.explain.regions import regional, scattered

G = np.random.default_rng(4).uniform(1, 2, (5, 6))
ROW = np.random.default_rng(5).uniform(1, 2, 8)
CUBE = np.random.default_rng(6).uniform(1, 2, (3, 4, 5))


def scaled(g, where, factor: float = 3.0) -> np.ndarray:
    a = g.copy()
    a[where] *= factor
    return a


@pytest.mark.parametrize(
    ("g", "where", "name"),
    [
        (G, (2, 3), "the element [2, 3] is"),
        (ROW, 3, "the element [3] is"),
        (G, (2, slice(None)), "index 2 of axis 0 is"),
        (G, (slice(None), 0), "index 0 of axis 1 is"),
        (G, (slice(None), -1), "index 5 of axis 1 is"),
        (G, (slice(3, None), slice(None)), "the last 2 of 5 of axis 0 are"),
        (G, (slice(0, 3), slice(None)), "the first 3 of 5 of axis 0 are"),
        (G, (slice(None), slice(2, 4)), "2 to 3 of axis 1 are"),
        (ROW, slice(5, None), "the last 3 of 8 elements are"),
        (ROW, slice(0, 5), "the first 5 of 8 elements are"),
        (ROW, slice(2, 6), "2 to 5 elements are"),
        (G, (slice(1, 3), slice(2, 5)), "the block [1:3, 2:5] is"),
        (CUBE, (slice(0, 2), slice(1, 3), 2), "the block [0:2, 1:3, 2:3] is"),
        (CUBE, (slice(None), 1), "index 1 of axis 1 is"),
    ],
)
def test_a_region_has_a_name(g, where, name: str) -> None:
    found = mismatch(scaled(g, where), g)
    assert explaining(regional, found) == [f"only {name} wrong: A = 3 * G there"]


def test_the_tail_in_memory_and_its_beginning() -> None:
    a, b = G.copy(), G.copy()
    a.flat[20:] *= 3
    b.flat[:10] *= 3
    tail = "only the last 10 of 30 elements are wrong: A = 3 * G there"
    assert explaining(regional, mismatch(a, G)) == [tail]
    start = "only the first 10 of 30 elements are wrong: A = 3 * G there"
    assert explaining(regional, mismatch(b, G)) == [start]


def test_the_border() -> None:
    a = 3 * G
    a[1:-1, 1:-1] = G[1:-1, 1:-1]
    name = "only the elements at the border are wrong: A = 3 * G there"
    assert explaining(regional, mismatch(a, G)) == [name]
    a = scaled(ROW, [0, 7])
    assert explaining(regional, mismatch(a, ROW))[0] == (
        "only the elements at the border are wrong: A = 3 * G there"
    )


def test_two_elements_are_swapped() -> None:
    a = G.copy()
    a[1, 2], a[3, 4] = G[3, 4], G[1, 2]
    assert explaining(regional, mismatch(a, G)) == [
        "the elements [1, 2] and [3, 4] are swapped",
    ]
    a[1, 2] += 0.1
    assert not any("swapped" in text for text in texts(regional, mismatch(a, G)))


def test_swapped_elements_have_the_errors_of_both() -> None:
    limit = np.full(8, 1e-9)
    limit[2], limit[5] = 0.01, 0.02
    a = ROW.copy()
    a[2], a[5] = ROW[5] + 0.029, ROW[2]
    swapped = "the elements [2] and [5] are swapped"
    assert swapped in texts(regional, mismatch(a, ROW, limit=limit))
    a[2] += 0.002
    assert swapped not in texts(regional, mismatch(a, ROW, limit=limit))


def test_more_than_half_of_a_region_must_be_wrong() -> None:
    a = scaled(G, (2, [0, 1, 5]))
    assert texts(regional, mismatch(a, G)) == []
    a = scaled(G, (2, [0, 1, 3, 5]))
    assert texts(regional, mismatch(a, G))[0].startswith("only index 2 of axis 0 is wrong")


def test_the_region_that_is_filled_most_is_named() -> None:
    a = scaled(G, (slice(0, 2), slice(0, 5)))
    (text,) = texts(regional, mismatch(a, G))
    assert text.startswith("only the block [0:2, 0:5] is wrong")


def test_wrong_elements_without_a_relation_explain_less() -> None:
    a = G.copy()
    a[2] = [9.0, -1.0, 0.3, 5.0, 8.0, -4.0]
    found = mismatch(a, G)
    (guess,) = regional(found)
    assert guess.text == "only index 2 of axis 0 is wrong"
    assert guess.most == found.score(guess) == 0.9


def test_without_a_right_element_there_is_no_region() -> None:
    assert texts(regional, mismatch(3 * G, G)) == []
    g = np.where(np.arange(30).reshape(5, 6) < 6, G, 0.0)  # a wrong factor leaves zeros right
    assert texts(regional, mismatch(3 * g, g)) == []
    for size, count in ((3.9, 0), (4.1, 1)):
        g = np.where(np.arange(8) < 2, ROW, size * 1e-3)
        a = scaled(g, slice(0, 2))
        assert len(texts(regional, mismatch(a, g, limit=1e-3))) == count


def test_nothing_wrong_is_nowhere() -> None:
    assert texts(regional, mismatch(G, G)) == texts(scattered, mismatch(G, G)) == []


@pytest.mark.parametrize(
    ("places", "shown"),
    [
        ([1], "[1]"),
        ([1, 4, 6], "[1], [4], [6]"),
        ([0, 1, 4, 6], "[0], [1], [4], …"),
    ],
)
def test_up_to_half_of_the_elements_may_be_scattered(places: list[int], shown: str) -> None:
    found = mismatch(scaled(ROW, places), ROW)
    name = f"only {len(places)} of 8 elements ({shown}) are wrong: A = 3 * G there"
    assert explaining(scattered, found) == [name]


def test_more_than_half_are_not_scattered() -> None:
    assert texts(scattered, mismatch(scaled(ROW, [0, 1, 2, 4, 6]), ROW)) == []


def test_a_number_has_no_regions() -> None:
    assert texts(regional, mismatch(np.array(2.0), np.array(1.0))) == []
