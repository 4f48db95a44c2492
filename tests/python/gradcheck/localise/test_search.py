"""When two operators, or two values, are the same."""

import numpy as np
import pytest

from fluidcore import core
from fluidcore.gradcheck.localise.search import differ, same


def scale(x: str = "x", out: str = "y", **attrs) -> core.OpDesc:
    return core.OpDesc("scale", {"X": [x]}, {"Out": [out]}, {"scale": 2.0, **attrs})


def test_operators_are_the_same_if_all_but_the_numbers_of_their_blocks_is() -> None:
    assert same(scale(), scale())
    assert not same(scale("z"), scale())
    assert not same(scale(out="z"), scale())
    assert not same(scale(scale=3.0), scale())
    relu = core.OpDesc("relu", {"X": ["x"]}, {"Out": ["y"]}, {})
    tanh = core.OpDesc("tanh", {"X": ["x"]}, {"Out": ["y"]}, {})
    assert same(relu, relu)
    assert not same(relu, tanh)
    a, b = scale(), scale()
    a.set_attr("sub_block", core.BlockIndex(1))
    b.set_attr("sub_block", core.BlockIndex(2))
    assert same(a, b)


VALUE = np.array([[4.0, -1.0], [0.0, 2.0]])


@pytest.mark.parametrize(
    ("value", "expected", "are_other"),
    [
        (VALUE, VALUE, False),
        (VALUE, None, False),
        (VALUE, VALUE[:1], True),
        (VALUE, VALUE.reshape(-1), True),
        (VALUE + 1e-3, VALUE, True),
        (VALUE * (1 + 1e-12), VALUE, False),
        (np.array([1, 2]), np.array([1, 2]), False),
        (np.array([1, 3]), np.array([1, 2]), True),
        (np.array([True]), np.array([False]), True),
        (np.array([np.nan, 1.0]), np.array([np.nan, 1.0]), False),
        (np.array([np.nan, 1.0]), np.array([2.0, 1.0]), True),
        (np.array([np.inf]), np.array([np.inf]), False),
        (np.array([np.inf]), np.array([-np.inf]), True),
        (np.zeros((0, 2)), np.zeros((0, 2)), False),
        (np.array([1e-12, 1.0]), np.array([0.0, 1.0]), False),
    ],
)
def test_values_differ_by_more_than_rounding(value, expected, are_other: bool) -> None:
    assert differ(value, expected) is are_other
