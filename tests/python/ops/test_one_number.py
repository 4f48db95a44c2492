"""Where a result is one number its shape is [], [1] or [1, 1], as the guide says."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from every_case import every_case
from op_case import OpCase
from op_runner import run_op

from fluidcore import core

GUIDE = Path(__file__).parents[3] / "docs" / "program.md"
RULE = GUIDE.read_text(encoding="utf-8").partition("## One number")[2].partition("\n## ")[0]
REDUCING, COLUMNS = (
    set(re.findall(r"`(\w+)`", part))
    for part in RULE.partition("gives `[1]`")[2].split("gives `[1, 1]`")
)


def of_numbers(case: OpCase) -> bool:
    """Whether all inputs are without dimensions, and the operator does not make some."""
    if case.type in {"stack", "flatten", "one_hot"}:
        return False
    shapes = {"shape", "axes", "axis", "expand_times", "repeat_times"}
    return (
        bool(case.arrays())
        and not any(a.ndim for a in case.arrays())
        and not (shapes & case.attrs.keys())
    )


CASES = [case for case in every_case() if of_numbers(case)]


def shapes_of(case: OpCase) -> set[tuple[int, ...]]:
    one, _ = case.build(case.dtypes_to_test()[0])
    definition = core.op_def(case.type)
    names = [n for s in definition.outputs if not s.intermediate for n in one.op.output(s.name)]
    names = [name for name in names if name != core.EMPTY_VAR_NAME]
    return {value.shape for value in one.run(names)}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_made_of_numbers_is_a_number(case: OpCase) -> None:
    rank = 1 if case.type in REDUCING else 2 if case.type in COLUMNS else 0
    assert shapes_of(case) == {(1,) * rank}


@pytest.mark.parametrize("op_type", sorted(REDUCING - {"is_empty"}))
def test_what_reduces_all_of_a_tensor_gives_one_element(op_type: str) -> None:
    dtype = bool if op_type in {"reduce_all", "reduce_any"} else np.float64
    attrs = {"reduce_all": True} if op_type.startswith(("reduce", "logsumexp")) else {}
    assert run_op(op_type, {"X": np.ones((2, 3), dtype)}, attrs)["Out"].shape == (1,)
    if attrs:
        assert run_op(op_type, {"X": np.ones(3, dtype)}, {"dim": [0]})["Out"].shape == (1,)


def test_the_product_of_two_vectors_is_a_number() -> None:
    assert run_op("matmul", {"X": np.ones(3), "Y": np.ones(3)})["Out"].shape == ()
