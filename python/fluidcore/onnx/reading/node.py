"""Node: what a rule sees of one node of an ONNX graph."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from fluidcore.onnx.package import onnx_package
from fluidcore.onnx.reading.budget import Budget
from fluidcore.onnx.reading.errors import KnownTooLate, Unsupported
from fluidcore.onnx.reading.symbols import Symbols
from fluidcore.onnx.reading.values import (
    Array,
    Constant,
    Extents,
    Items,
    Number,
    Open,
    Value,
    shape_of,
)
from fluidcore.program import Variable

_ABSENT = object()
# what ONNX once said of memory, and the precision of intermediate results
_HARMLESS = frozenset({"consumed_inputs", "stash_type"})


class Node:
    """One node: its inputs, and its attributes with the defaults of its opset.

    Args:
        proto: The NodeProto.
        opset: Version of the operator set of its domain.
        inputs: Its values; None for an input that is left out.
        attributes: AttributeProto by name, those of an enclosing function put in.
        where: What errors begin with: "model.onnx: node 'conv1' (Conv, opset 13)".
        variable: Makes a Variable of a constant.
        block: Reads the graph of an attribute, given its name and its inputs, into the current
            block; returns its outputs.
        symbols: Of open extents, by name of value.
        budget: How many numbers may still be made.
        read: The names that anything reads where the node is.
    """

    def __init__(
        self,
        proto: Any,
        opset: int,
        inputs: Sequence[Value | None],
        attributes: Mapping[str, Any],
        where: str,
        variable: Callable[[Constant], Variable],
        block: Callable[[str, Sequence[Value]], list[Value]],
        symbols: Symbols,
        budget: Budget,
        read: Collection[str],
    ) -> None:
        self.proto = proto
        self.opset = opset
        self.inputs = list(inputs)
        self.where = where
        self.attributes = attributes
        self.block = block
        self._variable = variable
        self._symbols = symbols
        self.budget = budget
        self._read = read
        self._asked: set[str] = set()

    @property
    def op_type(self) -> str:
        """The operator: "Conv"."""
        return str(self.proto.op_type)

    @property
    def num_inputs(self) -> int:
        """How many inputs are written, those that are left out in between included."""
        return len(self.inputs)

    def with_variables(self, variable: Callable[[Constant], Variable]) -> Node:
        """The same node, whose constants become Variables in another way."""
        copy = Node(
            self.proto,
            self.opset,
            self.inputs,
            self.attributes,
            self.where,
            variable,
            self.block,
            self._symbols,
            self.budget,
            self._read,
        )
        copy._asked = self._asked
        return copy

    # Outputs

    def writes(self, index: int) -> bool:
        """Whether an output has a name."""
        return len(self.proto.output) > index and self.proto.output[index] != ""

    def wants(self, index: int) -> bool:
        """Whether an output has a name, and something reads it."""
        return self.writes(index) and self.proto.output[index] in self._read

    @property
    def num_outputs(self) -> int:
        """How many outputs are written."""
        return len(self.proto.output)

    # Inputs

    def has(self, index: int) -> bool:
        """Whether an input is given."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def value(self, index: int) -> Value:
        """An input that must be given."""
        found = self.inputs[index] if index < len(self.inputs) else None
        if found is None:
            raise self.refuse(f"input {index} must be given", "none")
        return found

    def var(self, index: int) -> Variable:
        """An input as a Variable."""
        return self.as_variable(self.value(index))

    def as_variable(self, value: Value) -> Variable:
        """A value as a Variable."""
        if isinstance(value, Variable):
            return value
        if isinstance(value, Extents):
            raise self.refuse(
                "its inputs must not depend on extents that are known only at run time",
                f"{list(value.numbers)}; give dims or shapes to load",
            )
        if isinstance(value, Items):
            raise self.refuse("its inputs must be tensors", "a sequence of tensors")
        return self._variable(value)

    def optional_var(self, index: int) -> Variable | None:
        """An input as a Variable; None if it is left out."""
        return self.var(index) if self.has(index) else None

    def all_vars(self) -> list[Variable]:
        """All inputs as Variables."""
        return [self.var(i) for i in range(len(self.inputs))]

    def shape(self, index: int) -> tuple[int, ...]:
        """The shape of an input, -1 for extents known only at run time."""
        return shape_of(self.value(index))

    def known_shape(self, index: int) -> tuple[int, ...]:
        """The shape of an input whose extents must all be known."""
        shape = self.shape(index)
        if -1 in shape:
            raise self.refuse(
                f"the extents of input {index} must be known while the model is read",
                f"{list(shape)}; give dims or shapes to load",
            )
        return shape

    def constant(self, index: int) -> Array:
        """The elements of an input that must be known while the model is read."""
        value = self.value(index)
        if isinstance(value, Constant):
            return value.array
        if isinstance(value, Items):
            raise self.refuse(f"input {index} must be a tensor", "a sequence of tensors")
        name = self.proto.input[index]
        message = self._text(
            f"input {index} must be known while the model is read",
            f"'{name}', which is known only at run time; if it is an input of the graph, give "
            "constants to load",
        )
        raise KnownTooLate(message, name)

    def ints(self, index: int) -> list[int]:
        """The whole numbers of an input that must be known while the model is read."""
        return [int(number) for number in self.constant(index).ravel().tolist()]

    def open_shape(self, index: int) -> list[Number]:
        """The extents of an input, with symbols for those that are known only at run time."""
        value = self.value(index)
        shape = shape_of(value)
        if not isinstance(value, Variable):
            return list(shape)
        names = self._symbols.get(self.proto.input[index], ())
        symbols = list(names) if len(names) == len(shape) else [None] * len(shape)
        return [
            extent if extent >= 0 else Open(symbol or f"{value.name}[{axis}]", value, axis)
            for axis, (extent, symbol) in enumerate(zip(shape, symbols, strict=True))
        ]

    def extents(self, index: int) -> list[Number]:
        """The whole numbers of an input, as far as they are known."""
        value = self.value(index)
        if isinstance(value, Extents):
            return list(value.numbers)
        return list(self.ints(index))

    def number(self, index: int) -> float:
        """An input of one element that must be known while the model is read."""
        array = self.constant(index)
        if array.size != 1:
            raise self.refuse(f"input {index} must have one element", str(list(array.shape)))
        return float(array.reshape(-1)[0])

    # Attributes

    def attr(self, name: str, default: Any = _ABSENT) -> Any:
        """The value of an attribute.

        Args:
            name: Of the attribute.
            default: If the node does not have it; else it is that of the operator's opset, or an
                error.
        """
        self._asked.add(name)
        proto = self.attributes.get(name)
        if proto is not None:
            return self._plain(proto)
        if default is not _ABSENT:
            return default
        onnx = onnx_package()
        try:
            schema = onnx.defs.get_schema(self.op_type, self.opset, self.proto.domain)
        except onnx.defs.SchemaError as error:
            raise self.refuse("the operator must be one of its opset", error) from error
        declared = schema.attributes.get(name)
        if declared is None or not declared.default_value.name:
            raise self.refuse(f"attribute {name} must be given", "none")
        return self._plain(declared.default_value)

    def has_attr(self, name: str) -> bool:
        """Whether the node has an attribute."""
        self._asked.add(name)
        return name in self.attributes

    def ignore(self, *names: str) -> None:
        """Says that attributes do not matter to what a program calculates."""
        self._asked.update(names)

    def check_all_asked(self) -> None:
        """Refuses the node if it has an attribute that its rule does not know."""
        unknown = sorted(self.attributes.keys() - self._asked - _HARMLESS)
        if unknown:
            raise self.refuse("attributes must be ones that fluidcore knows here", unknown)

    def _plain(self, proto: Any) -> Any:
        value = onnx_package().helper.get_attribute_value(proto)
        if isinstance(value, bytes):
            return value.decode(errors="replace")
        if hasattr(value, "extend"):  # repeated fields of protobuf
            value = list(value)
        if isinstance(value, list):
            return [v.decode(errors="replace") if isinstance(v, bytes) else v for v in value]
        return value

    def flag(self, name: str, default: Any = _ABSENT) -> bool:
        """An attribute that is 0 or 1."""
        return bool(self.attr(name, default))

    def axis(self, name: str, rank: int, *, end: bool = False) -> int:
        """An attribute that is a dimension, counted from the front.

        Args:
            name: Of the attribute.
            rank: Of the tensor.
            end: Whether `rank` itself is allowed.
        """
        return self.dimension(self.attr(name), rank, name, end=end)

    def dimension(self, axis: int, rank: int, what: str = "axis", *, end: bool = False) -> int:
        """A dimension, counted from the front."""
        if not -rank <= axis < rank + end:
            raise self.refuse(f"{what} must be a dimension of a tensor of rank {rank}", str(axis))
        return axis + rank if axis < 0 else axis

    def dimensions(self, axes: Sequence[int], rank: int, what: str = "axes") -> list[int]:
        """Dimensions, counted from the front; each once."""
        found = [self.dimension(axis, rank, what) for axis in axes]
        if len(set(found)) != len(found):
            raise self.refuse(f"{what} must be different dimensions", str(list(axes)))
        return found

    # Errors

    def check_count(self, count: int) -> None:
        """Refuses the node if so many numbers are too many to be made while the model is read."""
        left = self.budget.left
        if not self.budget.spend(count):
            raise self.refuse(
                "a model must not need many more numbers that are known while it is read than it "
                f"has, here at most {left:,}",
                f"{count:,}",
            )

    def _text(self, must: str, got: str) -> str:
        return f"{self.where}: {must}, got {got}"

    def refuse(self, must: str, got: object) -> Unsupported:
        """The error that this node cannot be read."""
        return Unsupported(self._text(must, str(got)))

    def only(self, name: str, *values: Any) -> None:
        """Refuses the node unless an attribute has one of these values."""
        value = self.attr(name)
        if value not in values:
            allowed = " or ".join(map(repr, values))
            raise self.refuse(f"attribute {name} must be {allowed}", repr(value))


def constant(value: Any, dtype: Any = None) -> Constant:
    """A value that a rule knows."""
    return Constant(np.asarray(value, dtype))
