"""Loops: While, and while_loop in terms of functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from fluidcore import core
from fluidcore.base.checks import extents_agree
from fluidcore.layers.arrays import is_array
from fluidcore.layers.constants import fill_number, number_dtype
from fluidcore.layers.helper import LayerHelper, atomic, restored_on_error
from fluidcore.layers.nested import Row, describe, leaves, pack, rows
from fluidcore.layers.sub_block import (
    append_block_op,
    check_callable,
    check_condition,
    check_max_steps,
    check_seen,
)
from fluidcore.program import Block, Variable, default_main_program


class While:
    """Runs a block as long as a condition is true.

    The block must write the condition; what it shall leave behind, it writes into variables made
    before it (`assign(x, output=y)`, `increment(i)`, `array_write`). What the layers in it make
    lives for one step.

    Args:
        cond: One bool, made before the loop.
        max_steps: A loop that goes on for longer is an error; None for a million.
        name: Accepted for Fluid's sake.

    Raises:
        TypeError: `cond` is no Variable.
        core.InvalidArgument: `cond` is not one bool; on leaving the block, nothing in it writes
            the condition. The program is then as it was before the block.

    Example:
        cond = layers.less_than(i, n)
        loop = layers.While(cond)
        with loop.block():
            layers.assign(total + x, output=total)
            layers.increment(i)
            layers.less_than(i, n, cond=cond)
    """

    def __init__(
        self, cond: Variable, max_steps: int | None = None, name: str | None = None
    ) -> None:
        self._attrs = check_max_steps("while", max_steps)
        self._helper = LayerHelper("while", name)
        self._cond = check_condition("while", "cond", cond)
        self._done = False

    @contextmanager
    def block(self) -> Iterator[None]:
        """The layers inside the `with` are what is repeated."""
        check_condition("while", "cond", self._cond)
        if self._done:
            raise core.InvalidArgument(
                "while: block() must be entered once, got a second time; make another While"
            )
        with restored_on_error():
            with default_main_program().sub_block() as block:
                yield
            append_while(block, self._cond, self._attrs)
        self._done = True


def append_while(block: Block, cond: Variable, attrs: dict[str, int]) -> None:
    """Appends the operator that repeats a complete sub-block."""
    _, written = core.EffectsOfBlocks(block.program.desc).of(block.idx)
    if cond.name not in written:
        raise core.InvalidArgument(
            f"while: the block must update its condition '{cond.name}', got a block that never "
            f"writes it; write less_than(i, n, cond={cond.name}) or assign(new, {cond.name}) in it"
        )
    append_block_op("while", block, {"Condition": cond}, {}, attrs)


@atomic
def while_loop(
    cond: Callable[..., Variable],
    body: Callable[..., Any],
    loop_vars: Sequence[Any],
    max_steps: int | None = None,
    name: str | None = None,
) -> Any:
    """Calculates `loop_vars = body(*loop_vars)` as long as `cond(*loop_vars)` is true.

    Args:
        cond: Is given the loop variables, and returns one bool.
        body: Is given the loop variables, and returns what they are in the next step: the same
            structure, shapes and dtypes. Tensor arrays are changed in place.
        loop_vars: Variables, numbers, and tuples, lists and dicts of these. They stay as they are:
            the loop works on copies. A whole number becomes int64 [1], another one float32 [1].
        max_steps: A loop that goes on for longer is an error; None for a million.
        name: Name of the layer; None makes one up.

    Returns:
        The loop variables after the last step, in the structure of `loop_vars`.

    Raises:
        TypeError: An argument is not what it must be.
        core.InvalidArgument: `cond` does not return one bool, or `body` something that differs
            from the loop variables; the message says where: `out[1]['h']`.

    Example:
        i, total = layers.while_loop(
            lambda i, total: layers.less_than(i, n),
            lambda i, total: (i + 1, total + x),
            [layers.zeros([1], "int64"), layers.zeros([1], "float32")],
        )
    """
    check_callable("while_loop", "cond", cond)
    check_callable("while_loop", "body", body)
    if not isinstance(loop_vars, (list, tuple)) or not loop_vars:
        raise TypeError(
            "while_loop: loop_vars must be a list or a tuple of at least one item, "
            f"got {loop_vars!r}"
        )
    attrs = check_max_steps("while_loop", max_steps)
    helper = LayerHelper("while_loop", name)
    given = leaves("while_loop", "loop_vars", "the caller", loop_vars)
    carried = [_copy(helper, row) for row in given]
    variables = pack(loop_vars, iter(carried))
    condition = helper.append("assign", {"X": _condition(cond, variables)})
    with helper.main_program.sub_block() as block:
        result = body(*variables)
        if not isinstance(result, (list, tuple)):
            result = [result]
        labels = {"loop_vars": variables, "body": result}
        _assign_all(block, rows("while_loop", "out", labels))
        again = _condition(cond, variables)
        if again is not condition:
            block.append_op("assign", {"X": again}, {"Out": condition})
    append_while(block, condition, attrs)
    return variables


def _condition(cond: Callable[..., Any], variables: Sequence[Any]) -> Variable:
    return check_condition("while_loop", "what cond returns", cond(*variables))


def _copy(helper: LayerHelper, row: Row) -> Variable:
    """A loop variable of the loop's own."""
    (leaf,) = row.leaves
    if not isinstance(leaf, Variable):
        out = helper.variable([1], number_dtype("while_loop", row))
        fill_number("while_loop", row.path, leaf, out, helper.block)
        return out
    check_seen("while_loop", row.path, leaf)
    if is_array(leaf):
        return leaf
    return helper.append("assign", {"X": leaf})


def _assign_all(block: Block, results: Sequence[Row]) -> None:
    """Writes the loop variables, as if all at once."""
    carried = {row.leaves[0].name for row in results}
    moves: list[tuple[Any, Variable, str]] = []
    for row in results:
        variable, new = row.leaves
        _check_alike(row)
        if new is variable:
            continue
        if isinstance(new, Variable) and new.name in carried:  # it may be written before it is read
            new = block.append_single("assign", {"X": new}, key="while_loop.tmp")
        moves.append((new, variable, row.path))
    for new, variable, path in moves:
        if isinstance(new, Variable):
            block.append_op("assign", {"X": new}, {"Out": variable})
        else:
            fill_number("while_loop", path, new, variable, block)


def _check_alike(row: Row) -> None:
    variable, new = row.leaves
    if is_array(variable) or is_array(new):
        if new is not variable:
            raise core.InvalidArgument(
                f"while_loop: {row.path} must be the tensor array that the loop variable is, got "
                f"another one; write array_write(x, i, array=...)"
            )
        return
    if not isinstance(new, Variable):
        return
    check_seen("while_loop", row.path, new)
    if new.dtype != variable.dtype or not extents_agree(new.shape, variable.shape):
        raise core.InvalidArgument(
            f"while_loop: {row.path} must have the shape and dtype of the loop variable, "
            f"{describe(variable)}, got {describe(new)} from body"
        )
