"""Tests of fluidcore.base.numbers."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore.base.dtypes import numpy_dtype
from fluidcore.base.numbers import as_numbers, is_plain


def test_pythons_numbers_are_plain_and_those_of_numpy_are_not():
    assert all(map(is_plain, [1, 1.5, True, [1, 2], (1, [2]), range(3)]))
    assert not any(map(is_plain, [np.float64(1), np.int32(1), np.zeros(2), np.bool_(True)]))


@pytest.mark.parametrize(
    "value", [3, [1.5, 2], np.float16(2), np.zeros(2, "uint8"), np.ones(2, numpy_dtype("bfloat16"))]
)
def test_numbers_are_arrays(value):
    np.testing.assert_array_equal(as_numbers("x", "sample 0", value), value)


def test_what_is_no_number_is_shown_and_cut_short():
    with pytest.raises(fluid.InvalidArgument) as caught:
        as_numbers("'x'", "sample 3", "a" * 100)
    assert str(caught.value) == f"'x' must be numbers, got str '{'a' * 56}... in sample 3"
