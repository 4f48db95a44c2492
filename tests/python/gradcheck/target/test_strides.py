"""Copies that lie in memory as their originals do, or as nobody expects."""

import numpy as np
import pytest

from fluidcore.gradcheck.target.strides import same_strides, strided, with_gaps

X = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    ("array", "numbers"),
    [
        (X, 6),
        (X.T, 6),
        (X[:, ::2], 6),
        (X[::-1, ::-1], 6),
        (X[:, ::-1].T, 6),
        (np.broadcast_to(X[0], (4, 3)), 3),
        (np.array(2.0), 1),
        (X.astype(np.float32)[::-1], 6),
    ],
)
def test_a_copy_has_the_strides_of_its_original_and_no_more_memory_than_they_span(
    array: np.ndarray, numbers: int
) -> None:
    copy = same_strides(array)
    np.testing.assert_array_equal(copy, array)
    assert (copy.strides, copy.dtype) == (array.strides, array.dtype)
    assert not np.shares_memory(copy, array)
    memory = copy if copy.base is None else copy.base
    assert memory.size <= numbers


def test_strides_may_be_those_of_another_array() -> None:
    copy = strided(X, (-8, 16))
    np.testing.assert_array_equal(copy, X)
    assert copy.strides == (-8, 16)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (2, 3, 4), (0, 2)])
def test_with_gaps_nothing_is_contiguous(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).standard_normal(shape)
    copy = with_gaps(x)
    np.testing.assert_array_equal(copy, x)
    is_contiguous = copy.flags.c_contiguous or copy.flags.f_contiguous
    assert is_contiguous == (x.size <= 1)
