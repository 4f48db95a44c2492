"""Going back after an error: how far a block, or a whole program, had got."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fluidcore import core

if TYPE_CHECKING:
    from fluidcore.program.block import Block
    from fluidcore.program.program import Program


class Mark(NamedTuple):
    """How far a block had got, to be able to go back there."""

    block: Block
    num_ops: int
    num_created: int

    def rollback(self) -> None:
        """Removes the operators and variables added to the block since the mark."""
        desc = self.block.desc
        desc.remove_op(min(self.num_ops, desc.op_size()), desc.op_size())
        self.block.forget_since(self.num_created)


class Declaration(NamedTuple):
    """What was declared of a variable, to be able to declare it again."""

    desc: core.VarDesc
    shape: list[int]
    dtype: str
    stop_gradient: bool

    @classmethod
    def of(cls, desc: core.VarDesc) -> Declaration:
        """What is declared of the variable now."""
        return cls(desc, desc.shape(), desc.dtype(), desc.stop_gradient())

    def restore(self) -> None:
        """Declares it again."""
        self.desc.set_shape(self.shape)
        self.desc.set_dtype(self.dtype)
        self.desc.set_stop_gradient(self.stop_gradient)


class ProgramMark(NamedTuple):
    """How far a program had got: its blocks, and what is in those that are open."""

    program: Program
    current_idx: int
    num_blocks: int
    num_redeclared: int
    open_blocks: list[Mark]

    def rollback(self) -> None:
        """Removes the blocks, operators and variables added to the program since the mark."""
        self.program.forget_since(self.current_idx, self.num_blocks, self.num_redeclared)
        for mark in self.open_blocks:
            mark.rollback()


class ContentsMark:
    """What all blocks of a program hold, to be able to go back from any change but a removal.

    Args:
        program: The program.
        every_slot: Operators may be given other variables, not only those that run a block.
    """

    def __init__(self, program: Program, every_slot: bool = False) -> None:
        self._program = program
        self._blocks = [
            (block.mark(), block.desc.ops(), {desc.name() for desc in block.desc.all_vars()})
            for block in program.blocks
        ]
        self._slots = [
            (op, op.inputs(), op.outputs())
            for _, ops, _ in self._blocks
            for op in ops
            if every_slot or core.op_def(op.type()).runs_block
        ]

    def rollback(self) -> None:
        """Removes the blocks, operators and variables added to the program since the mark."""
        self._program.remove_blocks(len(self._blocks))
        for mark, ops, names in self._blocks:
            held = {id(op) for op in ops}
            desc = mark.block.desc
            for position, op in reversed(list(enumerate(desc.ops()))):
                if id(op) not in held:
                    desc.remove_op(position, position + 1)
            mark.block.forget_since(mark.num_created)
            added = (var.name() for var in desc.all_vars())
            desc.remove_vars([name for name in added if name not in names])
        for op, inputs, outputs in self._slots:
            for slot, args in inputs.items():
                op.set_input(slot, args)
            for slot, args in outputs.items():
                op.set_output(slot, args)
