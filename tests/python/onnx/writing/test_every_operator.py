"""Every operator that has an ONNX form gives what fluidcore calculates, wherever it runs.

The programs are those of the table of operators, tests/python/ops.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import onnx
import pytest
from every_case import every_case
from faults import onnxruntime_fault, reference_fault
from op_case import TOLERANCE, OpCase, assert_close
from op_runner import Array, OneOp
from runtimes import by_onnxruntime, by_reference, checked

from fluidcore import core
from fluidcore.onnx.writing import to_model
from fluidcore.onnx.writing.program import is_update
from fluidcore.onnx.writing.rules import NO_FORM, RULES
from fluidcore.program import Program
from fluidcore.program.collective import is_collective

# Cases that have no form, though their operator has one.
REFUSED = {
    r"grid_sample .*derivative=\[1": (
        r"grid_sample: derivative must be \[0, 0\] to have an ONNX form, got \[1, [01]\]"
    ),
    r"max_pool2d_with_index X\[2,3,7,5\] ksize=\[3,2\] adaptive=True": (
        r"max_pool2d_with_index: adaptive windows must be of one size to have an ONNX form, got "
        r"\[3, 2\] of X \[2, 3, 7, 5\]"
    ),
    r"max_pool3d_with_index X\[1,2,5,4,3\] ksize=\[2,4,2\] adaptive=True": (
        r"max_pool3d_with_index: adaptive windows must be of one size to have an ONNX form, got "
        r"\[2, 4, 2\] of X \[1, 2, 5, 4, 3\]"
    ),
}
DOCS = Path(__file__).parents[4] / "docs"
TENSOR_OPS = sorted({case.type for case in every_case()} & RULES.keys())
every_type = pytest.mark.parametrize("op_type", TENSOR_OPS)


class Run(NamedTuple):
    """A program of one operator, what it calculates, and the same as an ONNX model."""

    case: OpCase
    feed: dict[str, Array]
    names: list[str]
    wanted: list[Array]
    model: onnx.ModelProto
    tolerance: float

    def compare(self, results: list[Array]) -> None:
        for name, want, got in zip(self.names, self.wanted, results, strict=True):
            assert got.dtype == want.dtype, (self.case, name)
            assert got.shape == want.shape, (self.case, name)
            assert_close(got, want, self.tolerance, f"{self.case}: {name}")


def is_refused(case: OpCase) -> bool:
    return any(re.match(pattern, str(case)) for pattern in REFUSED)


def runs(op_type: str, dtype: str = "float32", unknown: bool = False) -> Iterator[Run]:
    """The cases of an operator as models.

    Args:
        op_type: Its type.
        dtype: Of its floating inputs.
        unknown: Whether the first extent of each input is not known.
    """
    for case in every_case():
        dtypes = case.dtypes_to_test()
        if case.type != op_type or is_refused(case) or dtype not in (*dtypes, "float32"):
            continue
        one, expected = case.build(dtype if dtype in dtypes else dtypes[0])
        names = [name for slot in expected for name in one.op.output(slot)]
        if not names or (unknown and not forgets_first_extents(one)):
            continue
        if one.op.has_attr("is_test"):
            one.op.set_attr("is_test", True)
        program = Program.from_desc(one.program)
        wanted = one.run(names)
        model = checked(to_model(program, list(one.values), names, one.scope))
        used = max(TOLERANCE.get(wanted[0].dtype.name, 0), 1e-5)
        yield Run(case, one.values, names, wanted, model, used * (1 if used < 1e-3 else 4))


@functools.cache
def known_runs(op_type: str) -> tuple[Run, ...]:
    """The cases in float32, made once for all tests."""
    return tuple(runs(op_type))


def forgets_first_extents(one: OneOp) -> bool:
    """Declares first extents unknown; False if the operator must know them."""
    for name in one.values:
        var = one.block.var(name)
        var.set_shape([-1, *var.shape()[1:]] if var.shape() else [])
    try:
        one.op.infer_shape(one.block)
    except core.InvalidArgument:
        return False
    return True


@every_type
def test_the_model_gives_what_the_program_gives(op_type: str) -> None:
    for run in known_runs(op_type):
        if reference_fault(run.case) is None:
            run.compare(by_reference(run.model, run.feed))


@every_type
def test_onnx_runtime_gives_what_the_program_gives(op_type: str) -> None:
    pytest.importorskip("onnxruntime")
    for run in known_runs(op_type):
        if onnxruntime_fault(run.case) is None:
            run.compare(by_onnxruntime(run.model, run.feed))


@every_type
def test_a_model_whose_batch_is_not_known_gives_the_same(op_type: str) -> None:
    # The reference implementation of Resize needs the extents of all dimensions.
    runtime = by_onnxruntime if op_type == "interpolate" else by_reference
    for run in runs(op_type, unknown=True):
        if reference_fault(run.case) is None:
            run.compare(runtime(run.model, run.feed))


@every_type
def test_a_model_of_16_bits_gives_the_same(op_type: str) -> None:
    for run, _ in zip(runs(op_type, "bfloat16"), range(3), strict=False):
        if reference_fault(run.case) is None:
            run.compare(by_reference(run.model, run.feed))


@pytest.mark.parametrize("case", [c for c in every_case() if is_refused(c)], ids=str)
def test_what_has_no_form_is_refused(case: OpCase) -> None:
    one, expected = case.build("float32")
    names = [name for slot in expected for name in one.op.output(slot)]
    message = next(text for pattern, text in REFUSED.items() if re.match(pattern, str(case)))
    with pytest.raises(core.InvalidArgument, match=f"^onnx.save: {message}$"):
        to_model(Program.from_desc(one.program), list(one.values), names, one.scope)


def test_a_new_operator_has_a_rule_or_a_reason_to_have_none() -> None:
    pages = {path.stem for path in (DOCS / "operators").glob("*.md")} - {"README"}
    others = {name for name in pages if is_update(name) or is_collective(name)}
    assert pages == RULES.keys() | NO_FORM.keys() | others
    assert not RULES.keys() & (NO_FORM.keys() | others)


def test_the_page_names_what_has_no_form_and_counts_what_has() -> None:
    page = (DOCS / "onnx.md").read_text(encoding="utf-8")
    assert f"{len(RULES)} of fluidcore's {len(RULES) + len(NO_FORM)} operators" in page
    assert [name for name in NO_FORM if f"`{name}`" not in page] == []


@pytest.mark.parametrize("op_type", sorted({case.type for case in every_case()} & NO_FORM.keys()))
def test_an_operator_without_a_form_is_refused_with_its_reason(op_type: str) -> None:
    case = next(case for case in every_case() if case.type == op_type)
    one, _ = case.build(case.dtypes_to_test()[0])
    names = [names[0] for names in one.op.outputs().values()]
    message = f"onnx.save: {op_type}: the operator must have an ONNX form, got one without: "
    with pytest.raises(core.InvalidArgument, match=re.escape(message + NO_FORM[op_type])):
        to_model(Program.from_desc(one.program), list(one.values), names[:1], one.scope)
