"""Program: nested blocks of operators and variables; the default programs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from fluidcore import core
from fluidcore.base.checks import is_whole
from fluidcore.program.arguments import variable_names
from fluidcore.program.block import Block
from fluidcore.program.collective import make_test
from fluidcore.program.fluid_members import ProgramMembers
from fluidcore.program.mark import Declaration, ProgramMark
from fluidcore.program.pictures import Pictures
from fluidcore.program.prints import Print
from fluidcore.program.pruning import prune
from fluidcore.program.step_counter import stop_counting
from fluidcore.program.variable import Parameter, Variable


class Program(ProgramMembers, Pictures):
    """A model as data: operators and variables in nested blocks.

    A program can be read, printed, saved, transformed and run. Printing gives a line for each
    variable and operator. It can be pickled, and copied with `clone` or `copy`; its blocks,
    operators and variables are pickled as parts of it.
    """

    prints: tuple[Print, ...] = ()  # of layers.Print

    def __init__(self) -> None:
        self._view(core.ProgramDesc())

    @classmethod
    def from_desc(cls, desc: core.ProgramDesc) -> Program:
        """A view of a description; the two share it from now on."""
        program = cls.__new__(cls)
        program._view(desc)
        return program

    def _view(self, desc: core.ProgramDesc) -> None:
        self.desc = desc
        self._blocks: list[Block] = []
        self._current_idx = 0
        self._redeclared: list[Declaration] = []
        self._origin = os.urandom(8)  # the same for the copies of a program
        self.given_names: set[str] = set()  # by unique_name, in any block

    # Blocks

    @property
    def num_blocks(self) -> int:
        """The number of blocks."""
        return self.desc.num_blocks()

    @property
    def blocks(self) -> list[Block]:
        """All blocks by index."""
        while len(self._blocks) < self.desc.num_blocks():
            self._blocks.append(Block(self, len(self._blocks)))
        return self._blocks

    def block(self, index: int) -> Block:
        """The block of this index; core.NotFound if there is none."""
        if not 0 <= index < len(self._blocks):
            self.desc.block(index)
            return self.blocks[index]
        return self._blocks[index]

    def global_block(self) -> Block:
        """The outermost block."""
        return self.block(0)

    def current_block(self) -> Block:
        """The block that layers append to."""
        return self.block(self._current_idx)

    def create_block(self, parent_idx: int | None = None) -> Block:
        """Adds a block inside `parent_idx` (the current block) and makes it the current one."""
        parent = self._current_idx if parent_idx is None else parent_idx
        self._current_idx = self.desc.append_block(parent).id()
        return self.current_block()

    def rollback(self) -> None:
        """Makes the parent of the current block the current one."""
        parent = self.current_block().parent_idx
        if parent < 0:
            raise core.InvalidArgument("the outermost block has no parent to go back to")
        self._current_idx = parent

    @contextmanager
    def sub_block(self) -> Iterator[Block]:
        """Layers inside the `with` append to a new block inside the current one."""
        with self.inside(self.block(self.desc.append_block(self._current_idx).id())) as block:
            yield block

    @contextmanager
    def inside(self, block: Block) -> Iterator[Block]:
        """Layers inside the `with` append to `block`."""
        outside, self._current_idx = self._current_idx, block.idx
        try:
            yield block
        finally:
            self._current_idx = outside

    # Going back after an error

    def mark(self) -> ProgramMark:
        """How far the program has got; `rollback` goes back there."""
        marks = [block.mark() for block in self.current_block().outward()]
        redeclared = len(self._redeclared)
        return ProgramMark(self, self._current_idx, self.num_blocks, redeclared, marks)

    def remember(self, declaration: Declaration) -> None:
        """What a variable was, so that going back declares it again."""
        self._redeclared.append(declaration)

    def forget_since(self, current_idx: int, num_blocks: int, num_redeclared: int) -> None:
        """Removes the blocks added since, and declares variables as they were."""
        self.remove_blocks(num_blocks)
        self._current_idx = current_idx
        while len(self._redeclared) > num_redeclared:
            self._redeclared.pop().restore()

    def remove_blocks(self, first: int) -> None:
        """Removes the blocks from this index on; no operator that stays may name one of them."""
        if self.num_blocks > first:
            self.desc.remove_blocks(first)
            del self._blocks[first:]

    # Contents

    def list_vars(self) -> Iterator[Variable]:
        """The variables of all blocks."""
        for block in self.blocks:
            yield from block.vars.values()

    def all_parameters(self) -> list[Parameter]:
        """The parameters, in order of creation."""
        return self.global_block().all_parameters()

    @property
    def random_seed(self) -> int:
        """The seed of random operators without one of their own; 0: a new one per Executor."""
        return self.desc.random_seed()

    @random_seed.setter
    def random_seed(self, seed: int) -> None:
        if not is_whole(seed):
            raise TypeError(f"random_seed must be a whole number, got {seed!r}")
        if not 0 <= seed < 2**64:
            raise core.InvalidArgument(f"random_seed must be in [0, 2**64), got {seed}")
        self.desc.set_random_seed(int(seed))

    # Whole programs

    def clone(self, for_test: bool = False) -> Program:
        """A copy that can be changed independently.

        Args:
            for_test: Sets `is_test` in every operator that has it, in all blocks; and its runs are
                not counted by the step counter of learning-rate schedules.
        """
        copy = type(self).from_desc(self.desc.clone())
        copy.__setstate__(self._state())
        copy._current_idx = 0
        if for_test:
            stop_counting(copy.desc.block(0))
            for twin in copy.blocks:
                for op in twin.desc.ops():
                    if op.has_attr("is_test"):
                        make_test(op)
        return copy

    def is_copy_of(self, other: Program) -> bool:
        """Whether the two are one program, or copies of one: they have the same variables."""
        return self._origin == other._origin or self.desc is other.desc

    def __copy__(self) -> Program:
        return self.clone()

    def _state(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """What there is beside the description: of the program, and of each block."""
        own = {name: value for name, value in vars(self).items() if name not in _VIEWS}
        return own | {"given_names": set(self.given_names)}, [b.state() for b in self.blocks]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_desc, (self.desc,), self._state()

    def __setstate__(self, state: tuple[dict[str, Any], list[dict[str, Any]]]) -> None:
        own, of_blocks = state
        vars(self).update(own)
        for block, settings in zip(self.blocks, of_blocks, strict=True):
            block.restore(settings)

    def prune(
        self, targets: Variable | str | Iterable[Variable | str], feeds: Iterable[str] = ()
    ) -> Program:
        """A copy with only what the targets need, in all blocks.

        Operators of a sub-block that only serve what is left out, the history that gradients read
        for example, are left out too; so are blocks that are not run, and the others are numbered
        anew.

        Args:
            targets: The variables that must still be calculated.
            feeds: Names of variables that will be given: what calculates them is left out.

        Raises:
            core.NotFound: A target does not exist.
            core.InvalidArgument: A target belongs to another program that is no copy of this one.
        """
        if isinstance(targets, (Variable, str)):
            targets = [targets]
        wanted = variable_names("prune: targets", targets, self)
        pruned = self.clone()
        block = pruned.global_block()
        for name in wanted:
            block.var(name)
        kept = prune(pruned.desc, wanted, frozenset(feeds))
        pruned._blocks = [pruned._blocks[index] for index in kept]
        for index, block in enumerate(pruned._blocks):
            block.desc = pruned.desc.block(index)
        return pruned

    def to_string(self, throw_on_error: bool = False, with_details: bool = False) -> str:
        """The program as text, a line for each variable and operator.

        Args:
            throw_on_error: Accepted for Fluid's sake; nothing can be missing.
            with_details: Accepted for Fluid's sake; the text is always complete.
        """
        del throw_on_error, with_details
        return str(self.desc)

    def serialize_to_string(self) -> str:
        """The program as JSON, as saved in program.json."""
        return self.desc.serialize_to_string()

    @staticmethod
    def parse_from_string(text: str | bytes) -> Program:
        """The program that `serialize_to_string` wrote; nothing in the text is executed.

        Raises:
            core.InvalidArgument: The text is damaged or was written by a newer version.
        """
        if isinstance(text, str):
            text = text.encode(errors="surrogatepass")  # what is not UTF-8, the parser refuses
        elif not isinstance(text, bytes):
            raise TypeError(f"parse_from_string: text must be a str, got {type(text).__name__}")
        return Program.from_desc(core.ProgramDesc.parse_from_string(text))

    def __str__(self) -> str:
        return self.to_string()

    def __repr__(self) -> str:
        ops = sum(block.desc.op_size() for block in self.blocks)
        return f"Program({self.num_blocks} blocks, {ops} operators)"


_VIEWS = frozenset({"desc", "_blocks", "_redeclared"})  # which a copy has of its own
