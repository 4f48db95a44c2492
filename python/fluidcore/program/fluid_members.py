"""Members of programs, blocks and variables that Fluid had beside those that are needed here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from fluidcore import core

_KINDS = ("LOD_TENSOR", "LOD_TENSOR_ARRAY", "SELECTED_ROWS")


class ProgramMembers:
    """Of a Program."""

    def inference_optimize(self: Any) -> Any:
        """The program as `clone(for_test=True)` copies it."""
        return self.clone(for_test=True)

    @property
    def current_block_idx(self: Any) -> int:
        """The index of the block that layers append to."""
        index: int = self.current_block().idx
        return index

    def sync_with_cpp(self) -> None:
        """Does nothing: a Program is a view of its description, and cannot be behind it."""

    def copy_param_info_from(self: Any, other: Any) -> None:
        """Takes over how the parameters of another program are learnt.

        A program that was parsed from text knows its parameters, but not their regularizers, clips
        and learning rates, which are objects.

        Args:
            other: A program; parameters of the same name, shape and dtype are looked at.

        Raises:
            core.InvalidArgument: A parameter has another shape or dtype in the other program.
        """
        block = other.global_block()
        for parameter in self.all_parameters():
            twin = block.find_var(parameter.name)
            if twin is None or not twin.desc.is_parameter():
                continue
            if (twin.shape, twin.dtype) != (parameter.shape, parameter.dtype):
                raise core.InvalidArgument(
                    f"copy_param_info_from: '{parameter.name}' must be the same parameter in both "
                    f"programs, got {parameter!r} and {twin!r}"
                )
            parameter.trainable = twin.trainable
            parameter.stop_gradient = twin.stop_gradient
            vars(parameter).update(twin.settings())


class BlockMembers:
    """Of a Block."""

    def iter_parameters(self: Any) -> Iterator[Any]:
        """The parameters of this block, one after the other."""
        return iter(self.all_parameters())

    def slice_ops(self: Any, start: int, end: int) -> list[Any]:
        """The operators from position `start` to before `end`."""
        return list(self.ops[start:end])

    def delete_ops(self: Any, ops: Iterable[Any]) -> None:
        """Removes operators of this block; their variables stay.

        Raises:
            ValueError: One is not in this block; nothing has changed.
        """
        for position in sorted({self.ops.index(op) for op in ops}, reverse=True):
            self.desc.remove_op(position, position + 1)

    def sync_with_cpp(self) -> None:
        """Does nothing: a Block is a view of its description, and cannot be behind it."""

    def to_string(self: Any, throw_on_error: bool = False, with_details: bool = False) -> str:
        """The variables and operators, a line for each; the arguments are accepted."""
        del throw_on_error, with_details
        lines = [repr(variable) for variable in self.vars.values()] + [str(op) for op in self.ops]
        return "\n".join(lines)


class VariableMembers:
    """Of a Variable."""

    @property
    def type(self: Any) -> str:
        """Its kind, which equals one of `core.VarDesc.VarType`: LOD_TENSOR, or another."""
        kind: str = self.desc.type()
        return kind

    def set_kind(self: Any, kind: object) -> None:
        """Makes a variable one of the kinds that there are here.

        Args:
            kind: `core.VarDesc.VarType.LOD_TENSOR`, LOD_TENSOR_ARRAY or SELECTED_ROWS.

        Raises:
            core.InvalidArgument: Another kind.
        """
        names = core.VarDesc.VarType  # type: ignore[attr-defined]
        if kind not in [names[name] for name in _KINDS]:
            raise core.InvalidArgument(
                f"Variable '{self.name}': type must be {_KINDS[0]}, {_KINDS[1]} or {_KINDS[2]}, "
                f"as a program here holds no others, got {getattr(kind, 'name', kind)}"
            )
        self.desc.set_type(str.__str__(names(kind).value))

    @property
    def op(self: Any) -> Any:
        """The last operator of its block that writes the variable; None if none does."""
        ops = reversed(self.block.ops)
        return next((op for op in ops if self.name in op.output_arg_names), None)

    def to_string(self: Any, throw_on_error: bool = False, with_details: bool = False) -> str:
        """The variable as text; the arguments are accepted."""
        del throw_on_error, with_details
        return repr(self)
