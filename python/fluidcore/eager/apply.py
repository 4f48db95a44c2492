"""Operators applied to tensors, at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.base.call_site import call_site, explain
from fluidcore.base.dtypes import FLOATING, numpy_dtype
from fluidcore.eager.arithmetic import OPERANDS
from fluidcore.eager.conversion import converted, converted_attributes
from fluidcore.eager.notes import Note, noted
from fluidcore.eager.operation import Operation, operation
from fluidcore.eager.record import Record
from fluidcore.eager.state import Precision, recording, running
from fluidcore.eager.tensor import Tensor


def apply(
    op_type: str,
    inputs: Mapping[str, Any],
    attrs: Mapping[str, Any] | None = None,
    outputs: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Runs an operator on tensors and remembers it, if a gradient may be asked for.

    Args:
        op_type: Type of the operator: "batch_norm".
        inputs: Slot -> Tensor, or a list of them; None for a slot that is left out.
        attrs: Attributes; those left out get their defaults.
        outputs: Slot -> how many results, for slots that hold a list.

    Returns:
        Slot -> Tensor, or a list of them, intermediate results left out.

    Raises:
        core.Error: The operator does not accept this; a note says where. Nothing is remembered.
    """
    made, results = _run(op_type, inputs, attrs or {}, outputs or {})
    remaining = iter(results)
    definition = core.op_def(op_type)
    found: dict[str, Any] = {}
    for slot in definition.outputs:
        if not slot.intermediate:
            tensors = [next(remaining) for _ in made.outputs[slot.name]]
            found[slot.name] = tensors if slot.list else tensors[0]
    return found


def apply_single(
    op_type: str, inputs: Mapping[str, Any], attrs: Mapping[str, Any], out: str | None = None
) -> Tensor:
    """Runs an operator; its result in slot `out`, or the first one."""
    made, results = _run(op_type, inputs, attrs, {})
    return results[0 if out is None else made.result_slots.index(out)]


def apply_all(
    op_type: str, inputs: Mapping[str, Any], attrs: Mapping[str, Any]
) -> Tensor | tuple[Tensor, ...]:
    """Runs an operator; its result, or all of them if there are several."""
    results = _run(op_type, inputs, attrs, {})[1]
    return results[0] if len(results) == 1 else tuple(results)


def _run(
    op_type: str, inputs: Mapping[str, Any], attrs: Mapping[str, Any], counts: Mapping[str, int]
) -> tuple[Operation, list[Tensor]]:
    precision = running.get()
    slots, tensors = _tensors(op_type, inputs, precision)
    if precision is not None:
        tensors = [converted(tensor, precision.dtype) for tensor in tensors]
        attrs = converted_attributes(op_type, attrs, precision)
    records = recording.get() and any(tensor.requires_grad for tensor in tensors)
    notes = noted.get()
    arrays = [tensor.array for tensor in tensors]
    try:
        forms = tuple([(array.shape, array.dtype) for array in arrays])
        made = operation(op_type, tuple(slots), forms, attrs, counts)
        records = records and not made.is_constant
        outputs = made.run(arrays, everything=records or notes is not None)
    except core.Error as error:
        explain(error, call_site())
        raise
    for array in outputs:
        array.flags.writeable = False
    if notes is not None:
        learnt = [tensor.array for tensor in tensors if tensor.requires_grad]
        notes.add(Note(made, arrays, outputs, call_site()), learnt)
        outputs = outputs if records else [outputs[i] for i in made.results]
    if not records:
        return made, [Tensor.of(array) for array in outputs]
    record = Record(made, arrays, tensors, outputs, call_site())
    return made, [Tensor.of(outputs[i], record, i) for i in made.results]


def _tensors(
    op_type: str, inputs: Mapping[str, Any], precision: Precision | None
) -> tuple[list[tuple[str, int]], list[Tensor]]:
    """How many tensors each slot has, and all of them; numbers and arrays become constants."""
    slots: list[tuple[str, int]] = []
    given: list[Any] = []
    like: Tensor | None = None
    for slot, value in inputs.items():
        if value is None:
            continue
        items = value if isinstance(value, (list, tuple)) else (value,)
        slots.append((slot, len(items)))
        given += items
        for item in items:
            if like is None and isinstance(item, Tensor):
                like = item
    return slots, [
        item if isinstance(item, Tensor) else _constant(op_type, item, like, precision)
        for item in given
    ]


def _constant(op_type: str, value: Any, like: Tensor | None, precision: Precision | None) -> Tensor:
    if isinstance(value, np.ndarray) or (like is None and isinstance(value, OPERANDS)):
        return Tensor(value)
    if like is None or not isinstance(value, OPERANDS):
        raise TypeError(
            f"{op_type}: inputs must be Tensors, arrays or numbers, got {type(value).__name__}"
        )
    dtype = like.dtype
    if dtype not in FLOATING and not float(value).is_integer():
        raise core.InvalidArgument(
            f"{op_type}: a number combined with a tensor of {dtype} must be whole, "
            f"got {value}; write x.astype('float32') first"
        )
    if precision is not None and dtype in FLOATING:
        dtype = precision.numbers or precision.dtype
    with np.errstate(over="ignore"):  # a number too large for 16 bits is infinite
        return Tensor.of(np.full([1] if like.shape else [], value, numpy_dtype(dtype)))
