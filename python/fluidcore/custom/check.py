"""What is checked of operators that are being added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from fluidcore import core
from fluidcore.base.dtypes import FLOATING
from fluidcore.program import Program

if TYPE_CHECKING:
    from fluidcore.custom.decomposition import Decomposition

_SHAPE = (3, 4)
Values: TypeAlias = "dict[str, np.ndarray[Any, Any]]"


def values_at(type: str, inputs: Sequence[str], examples: Mapping[str, Any]) -> Values:
    """Values of the inputs: the examples that are arrays, random numbers of those that are shapes.

    Raises:
        core.NotFound: An example is of no input.
    """
    for name in examples:
        if name not in inputs:
            raise core.NotFound(
                f"custom_op: {type}: examples must be of {', '.join(inputs)}, got '{name}'"
            )
    rng = np.random.default_rng(0)
    values: Values = {}
    for name in inputs:
        example = examples.get(name, _SHAPE)
        is_shape = isinstance(example, tuple)
        values[name] = rng.uniform(0.5, 1.5, example) if is_shape else np.asarray(example)
    return values


def has_gradient(type: str, values: Values, outputs: Sequence[str]) -> bool:
    """Whether an output depends on an input in a way that has a gradient."""
    op = core.OpDesc(type, {name: [name] for name in values}, {name: [name] for name in outputs})
    specs = {name: (value.shape, value.dtype.name) for name, value in values.items()}
    return bool(core.get_grad_op_desc(op, specs=specs)[0])


def check_definition(type: str, values: Values) -> None:
    """Checks the gradient at values of the inputs.

    Raises:
        GradientError: It is wrong, or cannot be judged.
    """
    # The checker is a library of its own, which most processes never ask for.
    from fluidcore.gradcheck import GradientChecker

    GradientChecker().check_op(type, values)


def check_decomposition(
    type: str, layers: Decomposition, values: Values, attrs: Mapping[str, Any]
) -> None:
    """Checks that `forward` calculates what the decomposition does.

    Both do so in float64, and must agree where float32 would tell the results apart: by no more
    than one unit of it, of the largest element, beside what the decomposition itself is off in it.

    Raises:
        core.InvalidArgument: They do not agree.
    """
    wide, narrow = (_cast(values, dtype) for dtype in ("float64", "float32"))
    expected, rough = (layers.calculated(v, attrs) for v in (wide, narrow))
    for slot, found in _forward(type, wide, list(expected), attrs).items():
        want = expected[slot].astype("float64")
        with np.errstate(all="ignore"):
            unit = np.finfo("float32").eps * np.abs(want).max(initial=0, where=np.isfinite(want))
            off = np.abs(found.astype("float64") - want)
            wrong = off > unit + np.nan_to_num(np.abs(rough[slot].astype("float64") - want))
            same = np.isfinite(want) & np.isfinite(found) | (found == want)
        wrong |= ~same & ~(np.isnan(found) & np.isnan(want))
        if wrong.any():
            at = np.unravel_index(np.nanargmax(np.where(wrong, np.nan_to_num(off), -1)), want.shape)
            place = "".join(f"[{', '.join(map(str, at))}]" if at else "")
            raise layers.error(
                f"must make what forward does, got {slot}{place} = {want[at]} of decompose, "
                f"{found[at]} of forward, in {np.count_nonzero(wrong)} of {want.size} elements "
                "they differ"
            )


def _cast(values: Values, dtype: str) -> Values:
    return {k: v.astype(dtype) if v.dtype.name in FLOATING else v for k, v in values.items()}


def _forward(
    type: str, values: Values, outputs: Sequence[str], attrs: Mapping[str, Any]
) -> dict[str, Any]:
    program = Program()
    block = program.global_block()
    inputs = {k: block.create_var(k, shape=v.shape, dtype=v.dtype.name) for k, v in values.items()}
    for variable in inputs.values():
        variable.desc.set_is_data(True)
    results = {slot: block.unique_name(slot) for slot in outputs}
    block.append_op(type, inputs, results, attrs)
    executor = core.Executor(core.CPUPlace())
    found = executor.run(program.desc, values, list(results.values()), core.Scope())
    return dict(zip(outputs, map(np.asarray, found), strict=True))


def check_examples(types: Sequence[str]) -> None:
    """Checks the gradients of operators at examples of their own, of several shapes.

    Raises:
        GradientError: One is wrong, or cannot be judged.
    """
    from fluidcore.gradcheck import GradientChecker, cases

    checked = [type for type in types if cases.has_case(type)]
    for report in GradientChecker().check_all_ops(checked, per_op=3):
        report.assert_ok()
