"""Operators as short lines for people; str(program) has every slot and attribute."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from fluidcore import core
from fluidcore.program import Block, Operator
from fluidcore.program.op_slots import inner_blocks

_INDENT = " " * 10
_NESTED = " " * 6
_LEAST_WIDTH = 40
_MAX_DEPTH = 64


def operator_lines(
    ops: Iterable[Operator], first: int = 0, width: int = 98, shapes: bool = False
) -> list[str]:
    """A line for each operator: what it reads, what it writes, attributes that are not defaults.

    A line that is too long goes on, indented, in the next one. The operators of a sub-block follow,
    indented, the operator that runs it; they are numbered from 0.

    Args:
        ops: Operators of a program.
        first: The number of the first one.
        width: Columns of a line.
        shapes: Whether to write its shape behind each new result; "?" is not known before a run.
    """
    return list(_lines(ops, first, width, shapes, set(), 0))


def _lines(
    ops: Iterable[Operator], first: int, width: int, shapes: bool, shown: set[int], depth: int
) -> Iterator[str]:
    for number, op in enumerate(ops, first):
        yield from _wrapped(f"{number:4}  ", _parts(op, shapes), width)
        blocks = op.block.program.blocks
        for index in inner_blocks(op.desc):
            if index in shown or index >= len(blocks) or depth == _MAX_DEPTH:
                continue  # in a program that cannot be run
            shown.add(index)
            narrower = max(width - len(_NESTED), _LEAST_WIDTH)
            for line in _lines(blocks[index].ops, 0, narrower, shapes, shown, depth + 1):
                yield _NESTED + line


def _parts(op: Operator, shapes: bool) -> list[str]:
    """What is read, what is written, and the attributes, if there are any."""
    definition = core.op_def(op.type)
    reads = [name for slot in definition.inputs for name in op.input(slot.name)]
    writes = [name for slot in definition.outputs for name in op.output(slot.name)]
    if shapes:
        writes = [name + _shape(op.block, name) for name in writes]
    parts = [f"{op.type}({', '.join(reads)})", f"-> {', '.join(writes)}"]
    attrs = [
        f"{attr.name}={_value(attr.name, op.attr(attr.name))}"
        for attr in definition.attrs
        if op.has_attr(attr.name) and op.attr(attr.name) != attr.default
    ]
    return [*parts, f" # {', '.join(attrs)}"] if attrs else parts


def _wrapped(number: str, parts: list[str], width: int) -> list[str]:
    """One line if it fits, else a new one before a part that does not fit, else within it."""
    lines = [number + parts[0]]
    for part in parts[1:]:
        if len(lines[-1]) + 1 + len(part) <= width:
            lines[-1] += f" {part}"
        else:
            lines.append(_INDENT + part.lstrip())
    return [piece for line in lines for piece in _folded(line, width)]


def _folded(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    return textwrap.wrap(
        line,
        width,
        subsequent_indent=_INDENT + "   ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _shape(block: Block, name: str) -> str:
    variable = block.find_var_recursive(name)
    if variable is None or variable.persistable:
        return ""
    return f"[{','.join('?' if extent < 0 else str(extent) for extent in variable.shape)}]"


def _value(attr: str, value: object) -> str:
    if attr.endswith("dtype") and isinstance(value, int):
        return core.dtype_name(value)
    if isinstance(value, core.BlockIndex):
        return f"block {value.value}"
    if isinstance(value, list):
        return f"[{','.join(map(str, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value)
