"""Random operators of a loop are replaced by what they did in one of its runs."""

import numpy as np
import pytest

from fluidcore import core
from fluidcore.gradcheck.localise.random_ops import without_chance

MASK = np.array([[1.0, 0.0, 1.0]], np.float32)


def dropout(**attrs) -> core.OpDesc:
    return core.OpDesc("dropout", {"X": ["x"]}, {"Out": ["y"], "Mask": ["m"]}, attrs)


@pytest.mark.parametrize("op", [dropout(), dropout(is_test=True)], ids=["training", "test"])
def test_a_dropout_multiplies_by_the_mask_that_it_has_written(op: core.OpDesc) -> None:
    found = without_chance(op, {"y": MASK, "m": MASK})
    assert found is not None
    product, values = found
    assert product.type() == "elementwise_mul"
    assert (product.inputs(), product.outputs()) == ({"X": ["x"], "Y": ["m"]}, {"Out": ["y"]})
    assert list(values) == ["m"]
    assert values["m"].dtype == np.float64
    np.testing.assert_array_equal(values["m"], MASK)


@pytest.mark.parametrize("written", [{}, {"y": MASK, "m": None}])
def test_without_its_mask_nothing_is_known_of_a_dropout(written) -> None:
    assert without_chance(dropout(), written) is None


def test_of_other_random_operators_nothing_is_known() -> None:
    op = core.OpDesc("gaussian_random", {}, {"Out": ["y"], "Mask": ["m"]}, {"shape": [1, 3]})
    assert without_chance(op, {"y": MASK, "m": MASK}) is None
