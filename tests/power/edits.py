"""Bugs of a backward program: its operators read, do or leave out something wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from fluidcore import core
from fluidcore.program.op_slots import inner_blocks

_GRAD = core.GRAD_VAR_SUFFIX
_LINKS = ("forward_block_idx", "sub_block", "max_steps")  # attributes that are no mathematics


@dataclass(frozen=True)
class Edit:
    """A way to make one operator of a backward program wrong.

    Attributes:
        name: For example "reads Out for X".
        block: Index of the operator's block.
        op: Its index in the block.
        op_type: Its type.
        change: Changes the operator.
    """

    name: str
    block: int
    op: int
    op_type: str
    change: Callable[[core.OpDesc], None]

    def applied(self, program: core.ProgramDesc) -> core.ProgramDesc | None:
        """A copy of the program with the bug; None where it could not even be built."""
        wrong = program.clone()
        block = wrong.block(self.block)
        op = block.op(self.op)
        before = [_form(block, name) for name in op.output_arg_names()]
        try:
            self.change(op)
            op.infer_shape(block)
        except core.Error:
            return None
        after = [_form(block, name) for name in op.output_arg_names()]
        return wrong if sorted(before) == sorted(after) else None


def backward_edits(
    program: core.ProgramDesc, first: int = 0, first_block: int = 1
) -> Iterator[Edit]:
    """Every edit of the operators that write gradients.

    Args:
        program: Forward and backward.
        first: Index in block 0 of the first operator of backward.
        first_block: Index of its first inner block. What is before belongs to the function, also
            where that takes a gradient itself.
    """
    for index in (0, *range(first_block, program.num_blocks())):
        block = program.block(index)
        for position, op in enumerate(block.ops()):
            if index == 0 and position < first:
                continue
            if not any(_GRAD in name for name in op.output_arg_names()):
                continue
            if next(inner_blocks(op), None) is not None:
                continue  # what its block does is edited there
            make = partial(Edit, block=index, op=position, op_type=op.type())
            for name, change in _changes(block, op):
                yield make(name=name, change=change)


Named = tuple[str, Callable[[core.OpDesc], None]]


def _changes(block: core.BlockDesc, op: core.OpDesc) -> Iterator[Named]:
    yield from _wrong_reads(block, op)
    yield from _swapped_writes(block, op)
    yield from _wrong_attrs(op)
    yield from _wrong_types(op)
    if op.type() == "sum":
        yield from _wrong_sums(op)


def _wrong_reads(block: core.BlockDesc, op: core.OpDesc) -> Iterator[Named]:
    """One slot reads what another slot reads."""
    single = {slot: names[0] for slot, names in op.inputs().items() if len(names) == 1}
    for slot, name in single.items():
        for other_slot, other in single.items():
            if slot != other_slot and name != other and _form(block, name) == _form(block, other):
                yield f"{slot} reads {other_slot}", partial(_set_input, slot=slot, names=[other])


def _swapped_writes(block: core.BlockDesc, op: core.OpDesc) -> Iterator[Named]:
    written = [(slot, names[0]) for slot, names in op.outputs().items() if len(names) == 1]
    wanted = [(slot, name) for slot, name in written if name != core.EMPTY_VAR_NAME]
    for i, (slot, name) in enumerate(wanted):
        for other_slot, other in wanted[i + 1 :]:
            if _form(block, name) == _form(block, other):
                change = partial(_swap_outputs, a=slot, b=other_slot)
                yield f"{slot} and {other_slot} swapped", change


def _wrong_attrs(op: core.OpDesc) -> Iterator[Named]:
    for attr in op.attr_names():
        if attr in _LINKS or attr.endswith("dtype"):
            continue
        for value in _other_values(op.attr(attr)):
            yield f"{attr} is {value}", partial(_set_attr, name=attr, value=value)


def _other_values(value: Any) -> list[Any]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1]
    if isinstance(value, float):
        return [value * 1.1 + 0.01, 1.0 - value]
    if isinstance(value, list) and len(value) > 1 and value != value[::-1]:
        return [value[::-1]]
    return []


def _wrong_types(op: core.OpDesc) -> Iterator[Named]:
    """The gradient of another operator with the same slots."""
    for other in _alike().get(_signature(op.type()), ()):
        if other != op.type() and op.type().endswith("_grad"):
            yield f"it is {other}", partial(_set_type, op_type=other)


def _wrong_sums(op: core.OpDesc) -> Iterator[Named]:
    names = op.input("X")
    for i, name in enumerate(names):
        rest = names[:i] + names[i + 1 :]
        yield f"{name} is left out", partial(_set_input, slot="X", names=rest)
        yield f"{name} counts twice", partial(_set_input, slot="X", names=[*names, name])


def _set_input(op: core.OpDesc, slot: str, names: list[str]) -> None:
    op.set_input(slot, names)


def _set_type(op: core.OpDesc, op_type: str) -> None:
    op.set_type(op_type)


def _swap_outputs(op: core.OpDesc, a: str, b: str) -> None:
    names = op.output(a)
    op.set_output(a, op.output(b))
    op.set_output(b, names)


def _set_attr(op: core.OpDesc, name: str, value: Any) -> None:
    op.set_attr(name, value)


def _form(block: core.BlockDesc, name: str) -> tuple[str, str, list[int]]:
    variable = block.find_var_recursive(name)
    return (
        ("", "", []) if variable is None else (variable.type(), variable.dtype(), variable.shape())
    )


Signature = tuple[frozenset[str], frozenset[str], frozenset[str]]


def _signature(op_type: str) -> Signature:
    definition = core.op_def(op_type)
    return (
        frozenset(slot.name for slot in definition.inputs),
        frozenset(slot.name for slot in definition.outputs),
        frozenset(attr.name for attr in definition.attrs),
    )


@cache
def _alike() -> dict[Signature, list[str]]:
    """The gradient operators that could be mistaken for each other."""
    alike: dict[Signature, list[str]] = {}
    for op_type in core.op_types():
        if op_type.endswith("_grad"):
            alike.setdefault(_signature(op_type), []).append(op_type)
    return alike
