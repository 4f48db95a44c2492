"""The table of operators is complete."""

import math
from pathlib import Path

import pytest
from every_case import every_case

from fluidcore import core
from fluidcore.program.collective import is_collective


def is_control_flow(op_type: str) -> bool:
    """No function from tensors to tensors: has a block, arrays, selected rows, or other ranks."""
    if is_collective(op_type):
        return True
    definition = core.op_def(op_type)
    slots = [*definition.inputs, *definition.outputs]
    return definition.runs_block or any(slot.array or slot.only_rows for slot in slots)


CONTROL_FLOW = [name for name in core.op_types() if is_control_flow(name)]
NEVER_RUNS = "feed"  # test_feed_ops.py
FORWARD = [
    name
    for name in core.op_types()
    if not name.endswith("_grad") and name not in (*CONTROL_FLOW, NEVER_RUNS)
]
CANNOT_BE_EMPTY = {"increment", "mean"}  # need an element; what mean does is in its own test


def test_every_operator_has_a_case() -> None:
    assert set(FORWARD) == {case.type for case in every_case()}


def test_every_operator_of_control_flow_has_a_test_of_its_own() -> None:
    folder = Path(__file__).resolve().parents[2] / "cpp" / "ops"
    files = (
        "array_ops",
        "batch_statistics",
        "collective_copies",
        "collective_sums",
        "control_flow",
        "recurrent",
        "selected_rows_ops",
    )
    text = "".join((folder / f"{name}_test.cc").read_text(encoding="utf-8") for name in files)
    assert [name for name in CONTROL_FLOW if f'"{name}"' not in text] == []


@pytest.mark.parametrize("op_type", FORWARD)
def test_every_attribute_is_tried_away_from_its_default(op_type: str) -> None:
    cases = [case for case in every_case() if case.type == op_type]
    tried = {
        name
        for case in cases
        for attr in core.op_def(op_type).attrs
        for name in [attr.name]
        if name in case.attrs and (attr.required or case.attrs[name] != attr.default)
    }
    assert tried == {attr.name for attr in core.op_def(op_type).attrs}


@pytest.mark.parametrize("op_type", [name for name in FORWARD if name not in CANNOT_BE_EMPTY])
def test_every_operator_is_tried_with_nothing_in_it(op_type: str) -> None:
    def is_empty(shape: list[int] | tuple[int, ...]) -> bool:
        return math.prod(shape) == 0

    assert any(
        any(is_empty(array.shape) for array in case.arrays())
        or is_empty(case.attrs.get("shape", [1]))
        or (not case.inputs and any(is_empty(a.shape) for a in case.expected_arrays()))
        for case in every_case()
        if case.type == op_type
    )


@pytest.mark.parametrize("op_type", [name for name in core.op_types() if name.endswith("_grad")])
def test_every_gradient_operator_belongs_to_an_operator(op_type: str) -> None:
    assert op_type.removesuffix("_grad") in core.op_types()


@pytest.mark.parametrize("op_type", core.op_types())
def test_every_operator_and_slot_is_documented(op_type: str) -> None:
    definition = core.op_def(op_type)
    parts = [definition, *definition.inputs, *definition.outputs, *definition.attrs]
    assert all(part.doc for part in parts)


def test_every_case_has_its_own_name() -> None:
    names = [str(case) for case in every_case()]
    assert len(set(names)) == len(names), sorted({n for n in names if names.count(n) > 1})
