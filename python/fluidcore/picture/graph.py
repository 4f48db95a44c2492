"""What a picture shows of a block: its operators, and which values pass from one to another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from fluidcore import core
from fluidcore.base.definitions import remembered
from fluidcore.picture.roles import Role, roles

MAX_DEPTH = 64  # of blocks in blocks; a program that nests deeper cannot be run


class Value(NamedTuple):
    """A variable: its name, "float32 [?, 10]", and whether it lives between runs."""

    name: str
    label: str
    persistable: bool
    kind: str  # "parameter", "data", "state" or ""


@dataclass(frozen=True, eq=False)
class Op:
    """One operator.

    Attributes:
        id: Unique in the program: "0.3" is operator 3 of block 0.
        number: Position in its block.
        type: "mul".
        role: The part of the program that it belongs to.
        inputs: Names of variables by slot.
        outputs: The same of the results.
        attrs: Attributes as text.
        notable: The names of those that are not defaults.
        site: Where the user added it: "train.py:41", or "".
        blocks: What it runs.
    """

    id: str
    number: int
    type: str
    role: Role
    inputs: Mapping[str, list[str]]
    outputs: Mapping[str, list[str]]
    attrs: Mapping[str, str]
    notable: frozenset[str]
    site: str
    blocks: tuple[Graph, ...]

    @property
    def reads(self) -> list[str]:
        """The variables of all input slots, each once."""
        return _names(self.inputs)

    @property
    def writes(self) -> list[str]:
        """The variables of all output slots, each once."""
        return _names(self.outputs)


class Flow(NamedTuple):
    """A value that an operator reads: who wrote it last; None: it comes from outside."""

    source: int | None
    target: int
    name: str


@dataclass(frozen=True, eq=False)
class Graph:
    """A block: its operators in order, what passes between them, and the variables they name."""

    block: int
    ops: list[Op]
    flows: list[Flow]
    values: dict[str, Value]

    @cached_property
    def into(self) -> list[list[Flow]]:
        """What each operator reads."""
        found: list[list[Flow]] = [[] for _ in self.ops]
        for flow in self.flows:
            found[flow.target].append(flow)
        return found


def read_graph(program: core.ProgramDesc) -> Graph:
    """The outermost block of a program; blocks that operators run are in these."""
    return _block(program, 0, None, set(), 0)


def every_op(graph: Graph) -> Iterator[tuple[Graph, Op]]:
    """The operators of a block and of all blocks in it, outer ones first, with their block."""
    for op in graph.ops:
        yield graph, op
        for inner in op.blocks:
            yield from every_op(inner)


def inner_blocks(op: core.OpDesc) -> list[int]:
    """The indices of the blocks that an operator runs."""
    return [v.value for v in op.attrs().values() if isinstance(v, core.BlockIndex)]


def find_var(program: core.ProgramDesc, block: int, name: str) -> core.VarDesc | None:
    """The variable that a name means in a block, as Block.find_var_recursive."""
    while block >= 0:
        desc = program.block(block)
        found = desc.find_var(name)
        if found is None and desc.forward_block_idx() >= 0:
            found = program.block(desc.forward_block_idx()).find_var(name)
        if found is not None:
            return found
        block = desc.parent()
    return None


def _block(
    program: core.ProgramDesc, index: int, role: Role | None, seen: set[int], depth: int
) -> Graph:
    """A block that several operators run, as in a damaged program, is shown once."""
    seen.add(index)
    descs = program.block(index).ops()
    parts = roles(program.block(index)) if role is None else [role] * len(descs)
    ops = [
        _op(program, index, number, desc, part, seen, depth)
        for number, (desc, part) in enumerate(zip(descs, parts, strict=True))
    ]
    values: dict[str, Value] = {}
    flows: list[Flow] = []
    written: dict[str, int] = {}
    for op in ops:
        for name in (*op.reads, *op.writes):
            if name not in values:
                values[name] = _value(name, find_var(program, index, name))
        flows += [Flow(written.get(name), op.number, name) for name in op.reads]
        written.update(dict.fromkeys(op.writes, op.number))
    return Graph(index, ops, flows, values)


def _op(
    program: core.ProgramDesc,
    block: int,
    number: int,
    desc: core.OpDesc,
    role: Role,
    seen: set[int],
    depth: int,
) -> Op:
    attrs = desc.attrs()
    defaults = _defaults(desc.type())
    blocks = [
        _block(program, index, role, seen, depth + 1)
        for index in inner_blocks(desc)
        if index not in seen and 0 <= index < program.num_blocks() and depth < MAX_DEPTH
    ]
    return Op(
        id=f"{block}.{number}",
        number=number,
        type=desc.type(),
        role=role,
        inputs=desc.inputs(),
        outputs=desc.outputs(),
        attrs={name: attr_text(name, value) for name, value in attrs.items()},
        notable=frozenset(n for n, v in attrs.items() if n not in defaults or v != defaults[n]),
        site=desc.call_site(),
        blocks=tuple(blocks),
    )


@remembered
def _defaults(op_type: str) -> dict[str, object]:
    if op_type not in core.op_types():
        return {}
    return {attr.name: attr.default for attr in core.op_def(op_type).attrs if not attr.required}


def attr_text(name: str, value: object) -> str:
    """An attribute as people read it: element types by name, lists without spaces."""
    if name.endswith("dtype") and isinstance(value, int):
        return str(core.dtype_name(value))
    if isinstance(value, core.BlockIndex):
        return f"block {value.value}"
    if isinstance(value, list):
        shown = ",".join(f"{v:g}" if isinstance(v, float) else str(v) for v in value[:16])
        return f"[{shown}]" if len(value) <= 16 else f"[{shown},...] ({len(value)})"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _value(name: str, desc: core.VarDesc | None) -> Value:
    if desc is None:
        return Value(name, "", False, "")
    kind = "parameter" if desc.is_parameter() else "data" if desc.is_data() else ""
    if not kind and desc.persistable():
        kind = "state"
    label = f"{desc.dtype()} {shape_text(desc.shape())}"
    if desc.type() != "lod_tensor":
        label += {"lod_tensor_array": " array", "selected_rows": " rows"}.get(desc.type(), "")
    return Value(name, label, desc.persistable(), kind)


def shape_text(shape: list[int]) -> str:
    """A shape as "[?,10]"; "?" is not known before a run."""
    return f"[{','.join('?' if extent < 0 else str(extent) for extent in shape)}]"


def _names(slots: Mapping[str, list[str]]) -> list[str]:
    found = (name for names in slots.values() for name in names if name != core.EMPTY_VAR_NAME)
    return list(dict.fromkeys(found))
