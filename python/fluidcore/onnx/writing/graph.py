"""A graph of ONNX in the making: values, and the nodes that give them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fluidcore import core
from fluidcore.base.dtypes import numpy_dtype
from fluidcore.onnx.writing.opset import signature

Array: TypeAlias = np.ndarray[Any, Any]


class Value:
    """A tensor of a graph, or a sequence: an input, a constant, or what a node gives.

    Attributes:
        dtype: "float32".
        shape: Extents, -1 where they are not known; None: not even the rank is.
        hint: What it is called, if that is free; "" for the name of its node's type.
        array: Of a constant, what it is.
        is_sequence: Whether it is a sequence of such tensors.
        is_stored: Of a constant, whether it lives between runs, as parameters do.
    """

    __slots__ = ("array", "dtype", "hint", "is_sequence", "is_stored", "shape")

    def __init__(
        self,
        dtype: str,
        shape: Sequence[int] | None = None,
        hint: str = "",
        array: Array | None = None,
    ) -> None:
        self.dtype = dtype
        self.shape = None if shape is None else tuple(shape)
        self.hint = hint
        self.array = array
        self.is_sequence = self.is_stored = False

    @property
    def rank(self) -> int:
        """The number of dimensions, which must be known."""
        assert self.shape is not None
        return len(self.shape)


class Node(NamedTuple):
    """One node.

    Attributes:
        op_type: "MatMul".
        inputs: None for one that is left out.
        outputs: As many as are wanted.
        attrs: Numbers, strings, lists of these, arrays or graphs.
        site: Where the user added what it is made of: "train.py:41".
    """

    op_type: str
    inputs: tuple[Value | None, ...]
    outputs: tuple[Value, ...]
    attrs: dict[str, Any]
    site: str


# What a rule may give for an input: a number has the dtype of the inputs beside it.
Given: TypeAlias = "Value | bool | int | float | Sequence[int] | Array | np.generic | None"


class Graph:
    """Nodes in the order of a run, and what goes in and out of them.

    A graph inside a node sees the values of the graphs around it.
    """

    def __init__(self) -> None:
        self.inputs: list[Value] = []
        self.outputs: list[Value] = []
        self.nodes: list[Node] = []
        self.site = ""  # of the nodes that are added next

    def add(
        self, op_type: str, inputs: Sequence[Given], outputs: int = 1, **attrs: Any
    ) -> list[Value]:
        """Appends a node.

        Where the operator does not take a dtype, inputs and outputs are cast to a wider one and
        back, as fluidcore calculates, too.

        Args:
            op_type: Of ONNX: "MatMul".
            inputs: Values, numbers, lists of whole numbers, arrays; None for what is left out.
            outputs: How many.
            **attrs: The attributes; `to` and `dtype` are names of dtypes.

        Returns:
            The outputs.
        """
        taken = signature(op_type)
        inputs = [
            constant(given) if isinstance(given, (np.ndarray, np.generic)) else given
            for given in inputs
        ]
        kinds = [taken.kind(i) for i in range(len(inputs))]
        bound: dict[str, str] = {}
        for kind, given in zip(kinds, inputs, strict=True):
            if isinstance(given, Value) and bound.setdefault(kind, given.dtype) != given.dtype:
                raise AssertionError(f"{op_type}: {kind} is {bound[kind]} and {given.dtype}")
        used = {kind: self._taken(op_type, kind, dtype) for kind, dtype in bound.items()}
        values = [
            self._input(given, taken.dtype(kind, used))
            for kind, given in zip(kinds, inputs, strict=True)
        ]
        dtype = _said(attrs)
        results = []
        for i in range(outputs):
            kind = taken.outputs[min(i, len(taken.outputs) - 1)]
            found = taken.dtype(kind, used) or dtype
            assert found, f"{op_type}: the dtype of output {i} is unknown"
            results.append(Value(found))
        self.nodes.append(Node(op_type, tuple(values), tuple(results), attrs, self.site))
        wide = {kind: dtype for kind, dtype in bound.items() if used[kind] != dtype}
        return [
            self.cast(value, wide.get(taken.outputs[min(i, len(taken.outputs) - 1)], value.dtype))
            for i, value in enumerate(results)
        ]

    def append(
        self, op_type: str, inputs: Sequence[Value | None], outputs: Sequence[Value], **attrs: Any
    ) -> None:
        """Appends a node whose outputs are known, as of one that runs graphs."""
        self.nodes.append(Node(op_type, tuple(inputs), tuple(outputs), attrs, self.site))

    def cast(self, value: Value, dtype: str) -> Value:
        """The value in another dtype; the value itself if it has this one."""
        if value.dtype == dtype:
            return value
        if value.array is not None:
            return constant(value.array, dtype)
        (made,) = self.add("Cast", [value], to=dtype)
        made.shape = value.shape
        return made

    def _taken(self, op_type: str, kind: str, dtype: str) -> str:
        """The dtype in which an operator takes one.

        Raises:
            core.InvalidArgument: It takes none that has all its numbers.
        """
        found = signature(op_type).takes(kind, dtype)
        if found is None:
            allowed = ", ".join(signature(op_type).allowed[kind])
            raise core.InvalidArgument(
                f"onnx.save: the {op_type} of ONNX must be given one of {allowed}, got {dtype}"
            )
        return found

    def _input(self, given: Given, dtype: str | None) -> Value | None:
        if given is None:
            return None
        if isinstance(given, Value):
            return given if dtype is None else self.cast(given, dtype)
        return constant(given, dtype or "int64")


def sequence(dtype: str, shape: Sequence[int] | None = None, hint: str = "") -> Value:
    """A value that is a sequence of tensors."""
    made = Value(dtype, shape, hint)
    made.is_sequence = True
    return made


def like(value: Value, hint: str = "") -> Value:
    """Another value of the same kind and dtype, of any shape."""
    return sequence(value.dtype, hint=hint) if value.is_sequence else Value(value.dtype, hint=hint)


def _said(attrs: dict[str, Any]) -> str | None:
    """The dtype that attributes say."""
    found = attrs.get("to") or attrs.get("dtype")
    value = attrs.get("value")
    return value.dtype.name if found is None and isinstance(value, np.ndarray) else found


def constant(given: Any, dtype: str | None = None) -> Value:
    """A value that is known: a number, a list or an array, in a dtype; None: that of the array."""
    array = np.array(given, dtype=None if dtype is None else numpy_dtype(dtype))
    return Value(array.dtype.name, array.shape, array=array)
