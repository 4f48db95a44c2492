"""What the names of gradients say."""

import pytest

from fluidcore import core
from fluidcore.gradcheck.localise.names import is_gradient, is_part_of, is_sum_of_parts, variable_of


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("x@GRAD", "x"),
        ("x@GRAD@RENAME@0", "x"),
        ("x@GRAD@RENAME@12@RENAME@3", "x"),
        ("x@GRAD@CARRY", "x"),
        ("x@GRAD@STEP_3", "x"),
        ("x@GRAD@VERSION@2", "x"),
        ("x@GRAD@GRAD", "x@GRAD"),
        ("x", "x"),
        ("x_1", "x_1"),
        ("x@GRAD@CUT", "x@GRAD@CUT"),
    ],
)
def test_a_gradient_is_named_after_its_variable(name: str, variable: str) -> None:
    assert variable_of(name) == variable
    assert is_gradient(name) == ("@GRAD" in name)


def test_parts_of_a_gradient_have_its_variable() -> None:
    assert is_part_of("x@GRAD@RENAME@0", "x@GRAD")
    assert is_part_of("x@GRAD@CARRY", "x@GRAD")
    assert not is_part_of("x@GRAD", "x@GRAD")
    assert not is_part_of("y@GRAD@RENAME@0", "x@GRAD")
    assert not is_part_of("y@GRAD@CARRY", "x@GRAD")


def op(kind: str, *names: str) -> core.OpDesc:
    return core.OpDesc(kind, {"X": list(names)}, {"Out": ["x@GRAD"]}, {})


def test_a_sum_of_parts_has_a_part_of_its_result() -> None:
    assert is_sum_of_parts(op("sum", "x@GRAD@RENAME@0", "x@GRAD@RENAME@1"))
    assert is_sum_of_parts(op("sum", "y@GRAD", "x@GRAD@RENAME@1"))
    assert not is_sum_of_parts(op("sum", "y@GRAD", "w@GRAD"))
    assert not is_sum_of_parts(op("relu", "x@GRAD@RENAME@0"))
