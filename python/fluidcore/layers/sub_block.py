"""What every layer with a block inside needs: its operator, its condition, its outer variables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from fluidcore import core
from fluidcore.base.checks import is_whole
from fluidcore.layers.helper import check_variable
from fluidcore.program import Block, Operator, Variable, default_main_program
from fluidcore.program.arguments import Argument
from fluidcore.program.op_slots import list_effects


def append_block_op(
    op_type: str,
    block: Block,
    inputs: Mapping[str, Argument],
    outputs: Mapping[str, Argument],
    attrs: Mapping[str, Any],
) -> Operator:
    """Appends the operator that runs `block` to the block around it.

    Args:
        op_type: Type of the operator.
        block: A complete sub-block.
        inputs: What the operator itself reads.
        outputs: What the operator itself writes.
        attrs: Attributes beside the block.
    """
    program = block.program
    parent = program.block(block.parent_idx)
    all_attrs = {"sub_block": core.BlockIndex(block.idx), **attrs}
    op = parent.append_op(op_type, inputs, outputs, all_attrs)
    list_effects(core.EffectsOfBlocks(program.desc), op.desc)
    return op


def check_condition(layer: str, argument: str, value: object) -> Variable:
    """The condition of a block.

    Raises:
        TypeError: It is no Variable.
        core.InvalidArgument: It is not bool, has not one element, or is of another program.
    """
    check_variable(layer, argument, value)
    assert isinstance(value, Variable)
    known = -1 not in value.shape
    if value.dtype != "bool" or (known and math.prod(value.shape) != 1):
        raise core.InvalidArgument(
            f"{layer}: {argument} must be bool with one element, got {value.dtype} "
            f"{list(value.shape)} for '{value.name}'; write less_than(i, n) or another comparison"
        )
    check_seen(layer, argument, value)
    return value


def check_seen(layer: str, argument: str, value: Variable, block: Block | None = None) -> None:
    """Raises core.InvalidArgument unless `block`, or the current one, can use the variable."""
    program = default_main_program()
    block = program.current_block() if block is None else block
    if value.block.program is not program:
        raise core.InvalidArgument(
            f"{layer}: {argument} must belong to the default main program, "
            f"got '{value.name}' of another one"
        )
    if not block.has_var_recursive(value.name):
        raise core.InvalidArgument(
            f"{layer}: {argument} must be a variable of block {block.idx} or of a block around "
            f"it, got '{value.name}' of block {value.block.idx}; make it there"
        )


def check_max_steps(layer: str, max_steps: int | None) -> dict[str, int]:
    """The attribute of that name, if it is given."""
    if max_steps is None:
        return {}
    if not is_whole(max_steps) or max_steps < 0:
        raise core.InvalidArgument(
            f"{layer}: max_steps must be a whole number of at least 0, got {max_steps!r}"
        )
    return {"max_steps": int(max_steps)}


def check_callable(layer: str, argument: str, value: object) -> None:
    """Raises TypeError unless `value` can be called."""
    if not callable(value):
        raise TypeError(
            f"{layer}: {argument} must be a function, got {type(value).__name__} {value!r}"
        )
