"""Variables of inner blocks that gradients do not pass: they keep the values of one run.

A variable of the outermost block keeps its value by being given. In a loop it has another value in
each step: those of one run are recorded, and read again, one after the other, in every later run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fluidcore import core
from fluidcore.backward.operators import op_traits
from fluidcore.base.dtypes import FLOATING
from fluidcore.gradcheck.program.appended_ops import first_gradient_op
from fluidcore.gradcheck.program.places import mark_places
from fluidcore.gradcheck.program.recording import Moment, can_be_recorded, record
from fluidcore.gradcheck.target.target import Array
from fluidcore.program.op_slots import inner_blocks, list_all_effects
from fluidcore.program.variable import ARRAY

REPLAYED = "@REPLAYED@"  # what names of recorded values start with
_UNUSED, _STEPS, _NUMBER, _ONE = "@UNUSED", "@STEPS", "@NUMBER", "@ONE"


class Site(NamedTuple):
    """An operator, by its indices, that writes a variable which gradients do not pass."""

    block: int
    op: int
    variable: str


def replay_frozen(
    desc: core.ProgramDesc,
    outputs: Sequence[str],
    inputs: Iterable[str],
    stopped: Collection[str],
    values: Mapping[str, Any],
    scope: core.Scope,
) -> dict[str, Array]:
    """Changes a program so that such variables of inner blocks keep the values that they have now.

    `stopped` are constants beside the variables with `stop_gradient`; `values` are fed, and others
    in `scope`. Returns what must be fed, too.
    """
    sites = frozen_sites(desc, outputs, inputs, stopped)
    if not sites:
        return {}
    marked = desc.clone()
    mark_places(marked)
    moments = [Moment(f"{site.block}:{site.op}", True, site.variable) for site in sites]
    found = record(marked, moments, values, scope, None)
    fed: dict[str, Array] = {}
    for site in sorted(sites, reverse=True):  # an operator that is inserted moves those after it
        _read_in_place_of(desc, site)
    for site, moment in zip(sites, moments, strict=True):
        fed |= _keep(desc, site, found.values[moment])
    list_all_effects(desc, reversed(range(desc.num_blocks())))
    return fed


def frozen_sites(
    desc: core.ProgramDesc, outputs: Sequence[str], inputs: Iterable[str], stopped: Collection[str]
) -> list[Site]:
    """Where blocks of the forward program calculate, from inputs, what backward takes for constant.

    Only what a forward operator reads: no mask that is kept for a gradient operator.
    """
    ops = list(_forward_ops(desc, outputs))
    read = {name for _, _, op in ops for name in op.input_arg_names()}
    moved = _reached(desc, ops, inputs)
    sites: list[Site] = []
    for block, position, op in ops:
        traits = op_traits(op.type())
        if block == 0 or traits.runs_block or traits.arrays:
            continue
        if moved.isdisjoint(op.input_arg_names()):
            continue
        for name in op.output_arg_names():
            var = desc.block(block).find_var_recursive(name)
            if var is None or var.dtype() not in FLOATING or name not in read:
                continue
            is_constant = traits.is_constant or var.stop_gradient() or name in stopped
            if is_constant and name not in outputs and can_be_recorded(desc, block, name):
                sites.append(Site(block, position, name))
    return sites


def _forward_ops(
    desc: core.ProgramDesc, outputs: Sequence[str]
) -> Iterator[tuple[int, int, core.OpDesc]]:
    """Block, index and operator: all before the gradient of the output, and in their blocks."""
    ops = desc.block(0).ops()
    ends = [end for name in outputs if (end := first_gradient_op(ops, name)) is not None]
    waiting = [(0, i, op) for i, op in enumerate(ops[: min(ends, default=len(ops))])]
    while waiting:
        block, position, op = waiting.pop(0)
        yield block, position, op
        for inner in inner_blocks(op):
            waiting += [(inner, i, each) for i, each in enumerate(desc.block(inner).ops())]


def _reached(
    desc: core.ProgramDesc, ops: Sequence[tuple[int, int, core.OpDesc]], inputs: Iterable[str]
) -> set[str]:
    """What depends on the inputs, as far as names tell: rather too much than too little."""
    moved = set(inputs)
    before = -1
    while len(moved) > before:
        before = len(moved)
        for _, _, op in ops:
            if not moved.isdisjoint(op.input_arg_names()):
                moved.update(op.output_arg_names())
                for inner in inner_blocks(op):
                    moved.update(_handed_in(desc.block(inner)))
    return moved


def _handed_in(block: core.BlockDesc) -> set[str]:
    """What a block is given by the operator that runs it, as the step inputs of a recurrent one."""
    written = {name for op in block.ops() for name in op.output_arg_names()}
    return {var.name() for var in block.all_vars()} - written


def _name(site: Site) -> str:
    return f"{REPLAYED}{site.block}:{site.op}:{site.variable}"


def _read_in_place_of(desc: core.ProgramDesc, site: Site) -> None:
    """Lets the operator write another variable, and reads a recorded value after it."""
    block = desc.block(site.block)
    like = block.find_var_recursive(site.variable)
    block.op(site.op).rename_output(site.variable, site.variable + _UNUSED)
    unused = block.var(site.variable + _UNUSED)
    unused.set_dtype(like.dtype())
    unused.set_shape(like.shape())
    name = _name(site)
    steps, number = name + _STEPS, name + _NUMBER
    index = block.var(number)
    index.set_dtype("int64")
    index.set_shape([1])
    index.set_stop_gradient(True)
    # A step of a recurrent network keeps no number for the next one, but it can make a list longer.
    ops = (
        ("push_to_array", {"X": [name + _ONE], "Array": [steps]}, {"ArrayOut": [steps]}),
        ("lod_array_length", {"X": [steps]}, {"Out": [number]}),
        ("read_from_array", {"X": [name], "I": [number]}, {"Out": [site.variable]}),
    )
    for op_type, read, written in reversed(ops):
        block.insert_op(site.op + 1).copy_from(core.OpDesc(op_type, read, written, {}))


def _keep(desc: core.ProgramDesc, site: Site, found: Sequence[Array]) -> dict[str, Array]:
    """Puts the recorded values into an array, at the beginning; returns what must be fed."""
    name, like = _name(site), desc.block(site.block).find_var_recursive(site.variable)
    shape = list(like.shape())
    _declare(desc, name, like.dtype(), shape).set_type(ARRAY)
    _declare(desc, name + _STEPS, "int64", [1]).set_type(ARRAY)
    _declare(desc, name + _ONE, "int64", [1])
    one = {"shape": [1], "value": 1.0, "dtype": core.dtype_number("int64")}
    ops = [core.OpDesc("fill_constant", {}, {"Out": [name + _ONE]}, one)]
    fed = {f"{name}@{i}": value for i, value in enumerate(found)}
    for i, value in enumerate(fed.values()):
        _declare(desc, f"{name}@{i}", like.dtype(), list(value.shape))
    for each in (*list(fed)[:1], *fed):  # there is an element 0, which nothing reads
        slots = {"X": [each], "Array": [name]}
        ops.append(core.OpDesc("push_to_array", slots, {"ArrayOut": [name]}, {}))
    for op in reversed(ops):
        desc.block(0).insert_op(0).copy_from(op)
    return fed


def _declare(desc: core.ProgramDesc, name: str, dtype: str, shape: list[int]) -> core.VarDesc:
    var = desc.block(0).var(name)
    var.set_dtype(dtype)
    var.set_shape(shape)
    var.set_stop_gradient(True)
    return var
