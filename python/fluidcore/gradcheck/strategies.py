"""Strategies of hypothesis: examples of operators, for property-based tests.

from hypothesis import given
from fluidcore.gradcheck import strategies

@given(strategies.inputs("softmax"))
def test_softmax_has_the_right_gradient(example):
    check_example(example).assert_ok()

hypothesis is imported when a strategy is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fluidcore.base.dtypes import DTypeLike
from fluidcore.gradcheck import cases
from fluidcore.gradcheck.cases.example import OpExample

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_SEEDS = 2**16


def inputs(op_type: str, dtype: DTypeLike = "float64") -> SearchStrategy[OpExample]:
    """Examples of an operator; shrinks to the typical shape of the first seed.

    Args:
        op_type: An operator that `cases.has_case`.
        dtype: Of what is floating.

    Raises:
        core.NotFound: There are no examples of this operator.
        core.InvalidArgument: The operator is not made for `dtype`.
    """
    from hypothesis import strategies as st

    number = len(cases.examples(op_type, 0, dtype))

    def example(seed: int, index: int) -> OpExample:
        made = cases.examples(op_type, seed, dtype)
        return made[index % len(made)]

    return st.builds(example, st.integers(0, _SEEDS - 1), st.integers(0, number - 1))
