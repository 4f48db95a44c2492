"""The values that variables have in the middle of a run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from fluidcore import core
from fluidcore.gradcheck.program.network import Network
from fluidcore.gradcheck.program.places import inner_block, positions
from fluidcore.gradcheck.target.target import Array
from fluidcore.program.op_slots import list_all_effects
from fluidcore.program.variable import ARRAY

_RECORD = "@RECORD@"


class Moment(NamedTuple):
    """A variable before or after an operator.

    Attributes:
        op: Name of the operator.
        after: Whether it has run.
        variable: Its name in the operator's block.
    """

    op: str
    after: bool
    variable: str


class Recording(NamedTuple):
    """A run.

    Attributes:
        network: What was run: what the recorded values need.
        values: In the order of the run; those of the outermost block have one element.
    """

    network: Network
    values: Mapping[Moment, list[Array]]


def can_be_recorded(desc: core.ProgramDesc, index: int, name: str) -> bool:
    """Whether a name is a tensor that has a value in a block; of some only the shape is known."""
    block = desc.block(index)
    forward = block.forward_block_idx()
    if not block.has_var(name) and forward >= 0 and desc.block(forward).has_var(name):
        return False
    var = block.find_var_recursive(name)
    return var is not None and var.type() != ARRAY


def record(
    desc: core.ProgramDesc,
    moments: Collection[Moment],
    values: Mapping[str, Array],
    scope: core.Scope,
    dtype: str | None,
) -> Recording:
    """Runs a program and keeps values of variables that are overwritten, or live in a block.

    Args:
        desc: The program; its operators have names.
        moments: Of what can be recorded.
        values: What is fed.
        scope: Where other values are.
        dtype: What everything floating is made; None keeps each.

    Raises:
        core.Error: The program cannot be run.
    """
    where = positions(desc)
    copy = desc.clone()
    names = {moment: f"{_RECORD}{i}" for i, moment in enumerate(moments)}
    unsure = _maybe_unset(desc)
    inner = {
        moment: name
        for moment, name in names.items()
        if where[moment.op][0] > 0 or moment.variable in unsure
    }
    outer = {moment: name for moment, name in names.items() if moment not in inner}
    _insert(copy, names, where, set(inner))
    lengths = [_append_length(copy, name) for name in inner.values()]
    wanted = [*outer.values(), *lengths]
    network = Network(copy, values, wanted, scope=scope, dtype=dtype, copies=True)
    found = network.run(wanted)
    result = {moment: [value] for moment, value in zip(outer, found, strict=False)}
    counts = [int(value.item()) for value in found[len(outer) :]]
    reads = [
        _append_read(network.program, name, i)
        for name, count in zip(inner.values(), counts, strict=True)
        for i in range(count)
    ]
    elements = iter(network.run(reads) if reads else [])
    for moment, count in zip(inner, counts, strict=True):
        result[moment] = [next(elements) for _ in range(count)]
    return Recording(network, result)


def _insert(
    desc: core.ProgramDesc,
    names: Mapping[Moment, str],
    where: Mapping[str, tuple[int, int]],
    inner: Collection[Moment],
) -> None:
    def place(moment: Moment) -> int:
        return where[moment.op][1] + moment.after

    for moment in sorted(names, key=place, reverse=True):
        block, _ = where[moment.op]
        like = desc.block(block).find_var_recursive(moment.variable)
        record = desc.block(0).var(names[moment])
        record.set_dtype(like.dtype())
        record.set_shape(like.shape())
        op = desc.block(block).insert_op(place(moment))
        read = {"X": [moment.variable]}
        if moment not in inner:
            op.copy_from(core.OpDesc("assign", read, {"Out": [names[moment]]}, {}))
            continue
        record.set_type(ARRAY)
        array = {"Array": [names[moment]]}
        op.copy_from(core.OpDesc("push_to_array", read | array, {"ArrayOut": [names[moment]]}, {}))
    list_all_effects(desc, reversed(range(desc.num_blocks())))


def _maybe_unset(desc: core.ProgramDesc) -> set[str]:
    """What is written by blocks that may not run: only `push_to_array` may read it then."""
    return {
        name
        for op in desc.block(0).ops()
        if inner_block(op) is not None
        for name in op.output_arg_names()
    }


def _append_length(desc: core.ProgramDesc, array: str) -> str:
    name = f"{array}@LENGTH"
    desc.block(0).add_op("lod_array_length", {"X": [array]}, {"Out": [name]}, {})
    return name


def _append_read(desc: core.ProgramDesc, array: str, index: int) -> str:
    block = desc.block(0)
    name = f"{array}@{index}"
    number = {"shape": [1], "value": float(index), "dtype": core.dtype_number("int64")}
    block.add_op("fill_constant", {}, {"Out": [f"{name}@I"]}, number)
    block.add_op("read_from_array", {"X": [array], "I": [f"{name}@I"]}, {"Out": [name]}, {})
    return name
