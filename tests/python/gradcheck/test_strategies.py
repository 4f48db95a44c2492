"""Strategies of hypothesis."""

import subprocess
import sys

import pytest
from hypothesis import find, given, settings

from fluidcore import core
from fluidcore.gradcheck import cases, strategies
from fluidcore.gradcheck.all_ops import check_example
from fluidcore.gradcheck.cases.example import OpExample


@given(strategies.inputs("softmax"))
@settings(max_examples=10, deadline=None)
def test_the_examples_of_an_operator_pass(example: OpExample) -> None:
    assert example.type == "softmax"
    check_example(example).assert_ok()


def test_a_failure_shrinks_to_the_first_example() -> None:
    found = find(strategies.inputs("matmul", "float32"), lambda example: True)
    assert str(found) == str(cases.examples("matmul", 0, "float32")[0])


def test_an_operator_or_dtype_without_examples_is_an_error() -> None:
    with pytest.raises(core.NotFound, match="adam: "):
        strategies.inputs("adam")
    with pytest.raises(core.InvalidArgument, match="conv2d: the dtype must be one of"):
        strategies.inputs("conv2d", "int64")


def test_hypothesis_is_imported_only_when_a_strategy_is_made() -> None:
    code = "import sys, fluidcore.gradcheck.strategies; sys.exit('hypothesis' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
