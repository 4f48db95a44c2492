"""What the operators of a sub-block may do to the variables around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fluidcore import core
from fluidcore.base.checks import extents_agree
from fluidcore.program.mark import Declaration

if TYPE_CHECKING:
    from fluidcore.program.block import Block


class OuterWrites:
    """The outer variables that an operator of a sub-block is about to write.

    Whoever reads such a variable cannot know whether the block was run, so what is declared of it
    stays as it is; only a variable that was made without a shape gets the one that is written
    first.

    Args:
        block: The sub-block.
        outputs: Slot -> names.
    """

    def __init__(self, block: Block, outputs: Mapping[str, Sequence[str]]) -> None:
        self._block = block
        self._declared: list[Declaration] = []
        self._undeclared: list[Declaration] = []
        for name in dict.fromkeys(name for args in outputs.values() for name in args):
            if block.desc.has_var(name):
                continue
            home = next((around for around in block.outward() if around.has_var(name)), None)
            if home is None:
                continue
            before = Declaration.of(home.var(name).desc)
            known = before.shape or name not in home.undeclared
            (self._declared if known else self._undeclared).append(before)

    def keep_declared(self, op: core.OpDesc, created: Sequence[str]) -> None:
        """Checks what the operator, which was just added, made of the outer variables.

        Args:
            op: The operator.
            created: The variables that were created for it.

        Raises:
            core.InvalidArgument: It gives a variable another shape or element type; the operator
                has been removed.
        """
        for before in self._declared:
            shape, dtype = before.desc.shape(), before.desc.dtype()
            before.restore()
            if dtype == before.dtype and extents_agree(shape, before.shape):
                continue
            self._remove(op, created)
            raise core.InvalidArgument(
                f"{op.type()}: a variable of an outer block must keep its shape and dtype, got "
                f"{dtype} {shape} for '{before.desc.name()}', which is "
                f"{before.dtype} {before.shape}"
            )
        for before in self._undeclared:
            self._block.program.remember(before)

    def _remove(self, op: core.OpDesc, created: Sequence[str]) -> None:
        for before in (*self._declared, *self._undeclared):
            before.restore()
        desc = self._block.desc
        position = next(i for i, other in enumerate(desc.ops()) if other is op)
        desc.remove_op(position, position + 1)
        desc.remove_vars([name for name in created if desc.has_var(name)])
