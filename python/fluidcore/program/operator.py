"""Operator: a view of one operator of a block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fluidcore import core
from fluidcore.program.attributes import plain_attributes

if TYPE_CHECKING:
    from fluidcore.program.block import Block

_LONGEST = 200  # characters of an operator in a list; str(op) is complete


class Operator:
    """One operator of a block: its type, the variables in its slots, its attributes."""

    __slots__ = ("__weakref__", "block", "desc")

    def __init__(self, block: Block, desc: core.OpDesc) -> None:
        self.block = block
        self.desc = desc

    def __reduce__(self) -> tuple[Any, ...]:
        try:
            position = self.block.ops.index(self)
        except ValueError:
            raise core.InvalidArgument(
                f"{self.type}: an operator must be in its block to be pickled or copied, "
                "got one that was removed"
            ) from None
        return _operator_at, (self.block, position)

    @property
    def type(self) -> str:
        """The operator's type: "mul"."""
        return self.desc.type()

    @property
    def input_names(self) -> list[str]:
        """The names of the input slots."""
        return list(self.desc.inputs())

    @property
    def output_names(self) -> list[str]:
        """The names of the output slots."""
        return list(self.desc.outputs())

    def input(self, slot: str) -> list[str]:
        """The variables of an input slot; empty for a slot that was left out."""
        return self.desc.input(slot)

    def output(self, slot: str) -> list[str]:
        """The variables of an output slot; empty for a slot that was left out."""
        return self.desc.output(slot)

    @property
    def input_arg_names(self) -> list[str]:
        """The variables of all input slots."""
        return self.desc.input_arg_names()

    @property
    def output_arg_names(self) -> list[str]:
        """The variables of all output slots."""
        return self.desc.output_arg_names()

    @property
    def attr_names(self) -> list[str]:
        """The names of the attributes."""
        return self.desc.attr_names()

    def has_attr(self, name: str) -> bool:
        """Whether the operator has the attribute."""
        return self.desc.has_attr(name)

    def attr(self, name: str) -> Any:
        """The value of an attribute; core.NotFound if there is none of this name."""
        return self.desc.attr(name)

    def attr_type(self, name: str) -> core.AttrType:
        """The type of an attribute; core.NotFound if there is none of this name."""
        return core.attr_type(self.attr(name))

    def block_attr(self, name: str) -> int:
        """The index of the block that an attribute names."""
        return self.desc.block_attr(name)

    @property
    def idx(self) -> int:
        """The position in the block.

        Raises:
            ValueError: The operator was removed.
        """
        return self.block.ops.index(self)

    def has_kernel(self, op_type: str) -> bool:
        """Whether operators of this type calculate something by themselves."""
        return bool(core.op_def(op_type).kernels)

    def set_attr(self, name: str, value: Any) -> None:
        """Changes an attribute, and the shapes of the results with it.

        Raises:
            core.InvalidArgument: The value does not fit; the operator is as it was.
            core.NotFound: The operator has no such attribute.
        """
        plain = plain_attributes(self.type, {name: value})[name]
        trial = core.OpDesc(self.type, self.desc.inputs(), self.desc.outputs(), self.desc.attrs())
        trial.set_attr(name, plain)
        trial.infer_shape(self.block.desc)
        self.desc.set_attr(name, plain)

    def rename_input(self, old_name: str, new_name: str) -> None:
        """Reads `new_name` wherever `old_name` was read."""
        self.desc.rename_input(old_name, new_name)

    def rename_output(self, old_name: str, new_name: str) -> None:
        """Writes `new_name` wherever `old_name` was written."""
        self.desc.rename_output(old_name, new_name)

    @property
    def call_site(self) -> str:
        """Where the user added the operator: "train.py:41"; empty if unknown."""
        return self.desc.call_site()

    def to_string(self, throw_on_error: bool = False) -> str:
        """The operator as text; `throw_on_error` is accepted, as nothing can be missing."""
        del throw_on_error
        return str(self.desc)

    def __str__(self) -> str:
        return self.to_string()

    def __repr__(self) -> str:
        text = str(self.desc)
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _operator_at(block: Block, position: int) -> Operator:
    return block.ops[position]
