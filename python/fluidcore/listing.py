"""Operators as short lines for people; str(program) has every slot and attribute."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from fluidcore import core
from fluidcore.program import Block, Operator


def operator_lines(
    ops: Iterable[Operator], first: int = 0, width: int = 96, shapes: bool = False
) -> list[str]:
    """A line for each operator: what it reads, what it writes, attributes that are not defaults.

    A line that is too long goes on, indented, in the next one.

    Args:
        ops: Operators of a program.
        first: The number of the first one.
        width: Columns of a line.
        shapes: Whether to write the shape behind each result, "?" for what is not known yet.
    """
    lines: list[str] = []
    for number, op in enumerate(ops, first):
        lines += textwrap.wrap(
            f"{number:4}  {_text(op, shapes)}",
            width,
            subsequent_indent=" " * 10,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return lines


def _text(op: Operator, shapes: bool) -> str:
    definition = core.op_def(op.type)
    reads = [name for slot in definition.inputs for name in op.input(slot.name)]
    writes = [name for slot in definition.outputs for name in op.output(slot.name)]
    if shapes:
        writes = [name + _shape(op.block, name) for name in writes]
    text = f"{op.type}({', '.join(reads)}) -> {', '.join(writes)}"
    attrs = [
        f"{attr.name}={_value(attr.name, op.attr(attr.name))}"
        for attr in definition.attrs
        if op.has_attr(attr.name) and op.attr(attr.name) != attr.default
    ]
    return f"{text}  # {', '.join(attrs)}" if attrs else text


def _shape(block: Block, name: str) -> str:
    variable = block.find_var_recursive(name)
    if variable is None:
        return ""
    return f"[{', '.join('?' if extent < 0 else str(extent) for extent in variable.shape)}]"


def _value(attr: str, value: object) -> str:
    if attr.endswith("dtype") and isinstance(value, int):
        return core.dtype_name(value)
    return f"{value:g}" if isinstance(value, float) else str(value)
