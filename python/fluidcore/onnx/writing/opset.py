"""The operator set that models are written in, and what its operators take."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import NamedTuple

from fluidcore.onnx.package import onnx_package

# Of December 2023, the first one that has Gelu and a GridSample of all that ours does; what runs
# models has it by now. What came later are fused forms (RMSNormalization, Attention) of what is
# written here as several nodes, and bfloat16 for some operators, which are calculated in float32.
OPSET = 20
IR_VERSION = 9  # of the same release

TENSOR_TYPES = {
    "bool": "tensor(bool)",
    "int16": "tensor(int16)",
    "int32": "tensor(int32)",
    "int64": "tensor(int64)",
    "float16": "tensor(float16)",
    "float32": "tensor(float)",
    "float64": "tensor(double)",
    "bfloat16": "tensor(bfloat16)",
}
_DTYPES = {text: dtype for dtype, text in TENSOR_TYPES.items()}
# Where an operator does not take a dtype: those that hold all its numbers, the nearest first.
_WIDER = {
    "bool": ("int32", "float32"),
    "int16": ("int32", "int64", "float32"),
    "int32": ("int64", "float64"),
    "float16": ("float32",),
    "bfloat16": ("float32",),
}


class Signature(NamedTuple):
    """What one operator of ONNX takes and gives.

    Attributes:
        inputs: The type of each input: "T", or "tensor(int64)"; the last counts for all further
            ones.
        outputs: Likewise.
        allowed: For each "T" the dtypes that it may stand for.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    allowed: dict[str, tuple[str, ...]]

    def kind(self, index: int) -> str:
        """The type of an input."""
        return self.inputs[min(index, len(self.inputs) - 1)]

    def dtype(self, kind: str, bound: dict[str, str]) -> str | None:
        """The dtype of what has a type, where some stand for dtypes; None: any of several."""
        if kind in bound:
            return bound[kind]
        allowed = self.allowed.get(kind, (_DTYPES.get(kind, ""),))
        return allowed[0] if len(allowed) == 1 and allowed[0] else None

    def takes(self, kind: str, dtype: str) -> str | None:
        """The dtype itself, or the nearest wider one that is allowed; None: there is none."""
        if kind.startswith("seq") or kind == "S":  # of sequences
            return dtype
        allowed = self.allowed.get(kind, (_DTYPES.get(kind, ""),))
        return next((each for each in (dtype, *_WIDER.get(dtype, ())) if each in allowed), None)


@functools.cache
def signature(op_type: str) -> Signature:
    """That of an operator of ONNX in the set `OPSET`."""
    schema = onnx_package().defs.get_schema(op_type, OPSET)
    return Signature(
        tuple(each.type_str for each in schema.inputs),
        tuple(each.type_str for each in schema.outputs),
        {each.type_param_str: _known(each.allowed_type_strs) for each in schema.type_constraints},
    )


def _known(types: Iterable[str]) -> tuple[str, ...]:
    return tuple(_DTYPES[text] for text in types if text in _DTYPES)
