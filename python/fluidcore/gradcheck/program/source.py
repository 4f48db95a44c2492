"""What can be differentiated: an operator, a block, a program, or their descriptions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from fluidcore import core
from fluidcore.program import Block, Operator, Program
from fluidcore.program.op_slots import inner_blocks

Source: TypeAlias = "Operator | core.OpDesc | Program | core.ProgramDesc | Block | core.BlockDesc"


@dataclass(frozen=True)
class Ops:
    """Operators in execution order, and where they are.

    Attributes:
        who: What messages call them.
        ops: The operators.
        block: The block that declares their variables, if there is one.
        program: The program of the block, where it is known.
    """

    who: str
    ops: list[core.OpDesc]
    block: core.BlockDesc | None
    program: core.ProgramDesc | None

    @classmethod
    def of(cls, source: Source) -> Ops:
        """The operators of any Source; TypeError for anything else."""
        if isinstance(source, Operator):
            block = source.block
            return cls(source.type, [source.desc], block.desc, block.program.desc)
        program = source.program.desc if isinstance(source, Block) else None
        desc: Any = source.desc if isinstance(source, (Program, Block)) else source
        if isinstance(desc, core.OpDesc):
            return cls(desc.type(), [desc], None, None)
        if isinstance(desc, core.ProgramDesc):
            return cls("program", desc.block(0).ops(), desc.block(0), desc)
        if isinstance(desc, core.BlockDesc):
            return cls(f"block {desc.id()}", desc.ops(), desc, program)
        raise TypeError(
            f"op must be an Operator, a Program, a Block or one of their descriptions, "
            f"got {type(source).__name__}; GradientChecker().check_op takes a type and its inputs"
        )

    def has_blocks(self) -> bool:
        """Whether an operator runs a block."""
        return any(True for op in self.ops for _ in inner_blocks(op))

    def program_of_blocks(self) -> core.ProgramDesc:
        """A copy of the program whose outermost block has these operators only.

        Raises:
            core.InvalidArgument: They are not in the outermost block of a known program.
        """
        if self.program is None or self.block is None or self.block.id() != 0:
            raise core.InvalidArgument(
                f"{self.who}: operators that run a block must be in the outermost block of a "
                f"Program, got {self.block!r}; give the Program"
            )
        kept = {id(op) for op in self.ops}
        gone = [i for i, op in enumerate(self.program.block(0).ops()) if id(op) not in kept]
        copy = self.program.clone()
        for position in reversed(gone):
            copy.block(0).remove_op(position, position + 1)
        return copy

    def declared(self, name: str) -> core.VarDesc | None:
        """What the block says about a variable; None if nothing."""
        return self.block.find_var_recursive(name) if self.block is not None else None

    def names(self) -> set[str]:
        """The variables that the operators read or write, and those that the block declares."""
        names = {n for op in self.ops for n in (*op.input_arg_names(), *op.output_arg_names())}
        if self.block is not None:
            names.update(var.name() for var in self.block.all_vars())
        return names

    def overwritten(self, given: Iterable[str]) -> set[str]:
        """Those of `given` that are results: the first operator with the name does not read it."""
        undecided = set(given)
        results = set()
        for op in self.ops:
            undecided.difference_update(op.input_arg_names())
            written = undecided.intersection(op.output_arg_names())
            results |= written
            undecided -= written
        return results

    def needed(self, outputs: Iterable[str], given: set[str]) -> list[core.OpDesc]:
        """The operators that `outputs` depend on; what calculates `given` results is left out."""
        wanted = set(outputs) - given
        kept = []
        for op in reversed(self.ops):
            written = op.output_arg_names()
            if wanted.isdisjoint(written):
                continue
            wanted.difference_update(written)
            wanted.update(name for name in op.input_arg_names() if name not in given)
            kept.append(op)
        return kept[::-1]
