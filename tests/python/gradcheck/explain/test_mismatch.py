"""How much a guess explains of the difference between two gradients."""

import numpy as np
import pytest
from mismatches import mismatch

from fluidcore.gradcheck.explain.mismatch import Guess, close, place

A, G = [2.0, 4.0], [1.0, 1.0]


def score(value, a=A, g=G, limit=1e-9, **options) -> float:
    found = mismatch(a, g, limit=1e-9)
    bound = np.broadcast_to(np.asarray(limit, float), np.shape(value))
    return found.score(Guess("", np.asarray(value, float), bound, **options))


def test_everything_is_explained_within_the_limit() -> None:
    assert score(A) == 1.0
    assert score(A, most=0.7) == 0.7
    assert score([2.0, 4.0 + 0.9e-3], limit=1e-3) == 1.0
    assert score([2.0, 4.0 + 1.1e-3], limit=1e-3) < 0.99


def test_what_is_left_is_compared_with_all_there_was() -> None:
    assert score([1.0, 4.0]) == pytest.approx(0.99 * 0.75)
    assert score([1.0, 4.0], most=0.5) == pytest.approx(0.5 * 0.75)
    assert score([2.0, 2.0]) == pytest.approx(0.99 * 0.5)
    assert score([2.0, 40.0]) == 0.0


def test_less_than_half_of_the_way_is_no_explanation() -> None:
    assert score([1.0, 3.0]) == pytest.approx(0.99 * 0.5)
    assert score([1.0, 2.9]) == 0.0
    assert score([1.0, 1.0], limit=9.0) == 0.0


def test_what_is_not_finite_must_be_so_in_the_guess() -> None:
    for bad in (np.nan, np.inf):
        assert score([bad, 1.0], a=[bad, 1.0]) == 1.0
        assert score([3.0, 1.0], a=[bad, 1.0]) == 0.0
        assert score([bad, 2.0], a=[bad, 1.0]) == 0.0
    assert score([np.nan, 4.0], a=[np.nan, 4.0]) == 1.0
    assert score([np.nan, 2.5], a=[np.nan, 4.0]) == pytest.approx(0.99 * 0.5)


def test_only_known_elements_are_compared() -> None:
    assert score([9.0, 4.0], elements=np.array([1])) == 1.0
    assert score([9.0, 4.0], elements=np.array([0, 1])) == 0.0


def test_errors_of_a_guess_grow_with_its_gain() -> None:
    found = mismatch(A, G, limit=[0.5, 0.25])
    for gain, factor in ((1.0, 1.0), (0.1, 1.0), (-3.0, 3.0)):
        guess = found.guess("text", np.array([2e13, -4e13]), gain)
        np.testing.assert_allclose(guess.limit, np.array([0.5, 0.25]) * factor + [2, 4])
    assert (guess.text, guess.elements, guess.most) == ("text", None, 1.0)
    assert found.guess("", found.g, most=0.5).most == 0.5


def test_an_element_is_wrong_beyond_the_limit() -> None:
    found = mismatch([1.5, 0.49, np.nan, 1.51], [1.0] * 4, limit=0.5)
    assert found.wrong.tolist() == [False, True, True, True]


@pytest.mark.parametrize(("has_shadow", "dtype"), [(True, "float64"), (False, "float32")])
def test_claims_are_calculated_in_float64_where_they_can_be(has_shadow: bool, dtype: str) -> None:
    seen = []

    def claims(xs, vs):
        seen.extend(part.dtype.name for part in (*xs, *vs))
        return [2 * xs[0] * vs[0]]

    x, v = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    found = mismatch(A, G, xs=[x], vs=[v], claims=claims, dtype="float32", has_shadow=has_shadow)
    (claimed,) = found.claimed
    assert claimed.dtype == np.float64
    assert claimed.tolist() == [6.0, 16.0]
    assert seen == [dtype, dtype]
    assert found.target.dtypes == [dtype]  # type: ignore[attr-defined]
    assert found.dtype == dtype


def test_arrays_are_close_within_a_limit_if_they_have_one_shape() -> None:
    assert close(np.array([1.0, 2.0]), np.array([1.5, 2.0]), 0.5)
    assert not close(np.array([1.0, 2.0]), np.array([1.51, 2.0]), 0.5)
    assert not close(np.array([1.0, 2.0]), np.array([1.49, 2.5]), np.array([0.5, 0.4]))
    assert not close(np.ones(2), np.ones((2, 1)), 9.0)
    assert not close(np.array([np.nan]), np.array([np.nan]), 9.0)
    assert close(np.array([1.0 + 0.9e-13]), np.array([1.0]), 0.0)
    assert not close(np.array([1.0 + 1.2e-13]), np.array([1.0]), 0.0)


def test_a_place_is_named_by_its_indices() -> None:
    assert place(5, (2, 3)) == "[1, 2]"
    assert place(0, ()) == "[]"
