"""Where gradient operators find the values that the forward operators saw."""

from __future__ import annotations

from typing import NamedTuple

from fluidcore import core
from fluidcore.backward.names import GradientNames
from fluidcore.backward.operators import ForwardOp, GradOp
from fluidcore.backward.versions import ONLY, Version, Versions
from fluidcore.backward.view import declare_like, variable_seen
from fluidcore.program import Block
from fluidcore.program.variable import ARRAY


class Insertion(NamedTuple):
    """An operator to be added to a forward block, before the one at `position`."""

    position: int
    desc: core.OpDesc


class Insertions:
    """What append_backward adds to forward blocks so that values are kept."""

    def __init__(self, root: Block) -> None:
        self.root = root
        self.by_block: dict[int, list[Insertion]] = {}
        self.variables: list[str] = []  # of the root block
        self._taken = {v.name() for b in root.program.blocks for v in b.desc.all_vars()}

    def add(self, block: Block, position: int, desc: core.OpDesc) -> None:
        """Remembers an operator."""
        self.by_block.setdefault(block.idx, []).append(Insertion(position, desc))

    def fresh(self, name: str) -> str:
        """The name, or with a number behind it if any block has it.

        What sub-blocks use from outside of them must not be hidden by a variable of theirs.
        """
        final, count = name, 0
        while final in self._taken or self.root.desc.has_var_recursive(final):
            final, count = f"{name}_{count}", count + 1
        self._taken.add(final)
        return final

    def declare(self, name: str, like: core.VarDesc, array: bool = False) -> str:
        """Creates a variable of the root block whose name starts with `name`."""
        final = self.fresh(name)
        desc = self.root.desc.var(final)
        desc.set_dtype(like.dtype())
        desc.set_shape(like.shape())
        if array:
            desc.set_type(ARRAY)
        self.variables.append(final)
        return final

    def apply(self) -> None:
        """Adds the operators; nothing is looked up by position any more."""
        program = self.root.program
        for idx, insertions in self.by_block.items():
            block = program.block(idx).desc
            for insertion in sorted(insertions, key=lambda item: item.position, reverse=True):
                block.insert_op(insertion.position).copy_from(insertion.desc)

    def undo_variables(self) -> None:
        """Removes the variables after an error."""
        self.root.desc.remove_vars([n for n in self.variables if self.root.desc.has_var(n)])


class ForwardValues:
    """Finds the values of one forward block for the gradient operators in another.

    A value that is still there is read under its name. One that is overwritten later in the same
    block is copied before. The values of a sub-block, which may run many times, are pushed on a
    tensor array in each step, and popped by the gradient block.

    Args:
        forward: The forward block.
        versions: Of its variables.
        names: Of the gradients in the block of the gradient operators.
        insertions: Collects what the forward blocks need.
        outer: The values of the block around the forward block; None if the gradient operators are
            in the forward block itself.
        op: The operator of that block whose sub-block this is.
    """

    def __init__(
        self,
        forward: Block,
        versions: Versions,
        names: GradientNames,
        insertions: Insertions,
        outer: ForwardValues | None = None,
        op: ForwardOp | None = None,
    ) -> None:
        self.forward = forward
        self.versions = versions
        self.names = names
        self.insertions = insertions
        self.outer = outer
        self.op = op
        self.pops: list[GradOp] = []
        self.slices: list[tuple[str, str]] = []  # sequence -> the variable of the step's slice
        self._found: dict[tuple[str, int], str] = {}

    def is_local(self, name: str) -> bool:
        """Whether a variable belongs to the forward block."""
        return self.forward.desc.has_var(name)

    def name(self, name: str, version: Version) -> str:
        """The name under which a gradient operator reads a value."""
        key = (name, version.value)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._find(name, version)
        return found

    def value_seen(self, op: ForwardOp, name: str) -> str:
        """The name under which gradient operators read what an operator saw or made."""
        return self.name(name, self.versions.seen(op, name, is_new=False))

    def _find(self, name: str, version: Version) -> str:
        if self.outer is None:
            is_last = version.value == self.versions.at_end(name).value
            return name if is_last else self._copy(name, version)
        assert self.op is not None
        if not self.is_local(name) and name not in self.versions.writers:
            return self.outer.name(name, self.outer.versions.read(self.op, name))
        assert self.op.body is not None
        sequences = {inner: outer for outer, inner in self.op.body.sliced}
        if name in sequences and name not in self.versions.several:
            return self._slice(name, sequences[name])
        return self._pop(name, version)

    def _slice(self, name: str, sequence: str) -> str:
        """Lets the gradient block, too, get the slices of a sequence."""
        assert self.outer is not None
        assert self.op is not None
        local = self._local(name, ONLY)
        self.slices.append((self.outer.value_seen(self.op, sequence), local))
        return local

    def _copy(self, name: str, version: Version) -> str:
        position = self.versions.overwriter(name, version)
        copy = self.insertions.declare(
            f"{name}@VERSION@{version.value}", variable_seen(self.forward, name)
        )
        site = self.forward.desc.op(position).call_site()
        op = core.OpDesc("assign", {"X": [name]}, {"Out": [copy]}, {})
        op.set_call_site(site)
        self.insertions.add(self.forward, position, op)
        return copy

    def _pop(self, name: str, version: Version) -> str:
        local = self._local(name, version)
        writer = self.versions.writer(name, version)
        made = None if writer is None else self.forward.desc.op(writer)
        if made is not None and _is_made_from_nothing(made):
            outputs = {slot: [local] for slot in made.outputs()}
            self.pops.append(GradOp(made.type(), {}, outputs, desc=made, renamed=True))
            return local
        stack = self.insertions.declare(
            f"{local}@STEPS", variable_seen(self.forward, name), array=True
        )
        position = 0 if writer is None else writer + 1
        push = core.OpDesc(
            "push_to_array", {"X": [name], "Array": [stack]}, {"ArrayOut": [stack]}, {}
        )
        if made is not None:
            push.set_call_site(made.call_site())
        self.insertions.add(self.forward, position, push)
        self.pops.append(
            GradOp("pop_from_array", {"Array": [stack]}, {"Out": [local], "ArrayOut": [stack]})
        )
        return local

    def _local(self, name: str, version: Version) -> str:
        """A variable of the gradient block for a value of the forward block."""
        is_last = version.value == self.versions.at_end(name).value
        parent = self.names.block.program.block(self.names.block.parent_idx)
        local = name
        if not (is_last and self.is_local(name)) or parent.desc.has_var_recursive(name):
            local = self.names.fresh(f"{name}@VERSION@{version.value}")
        declare_like(self.names.block, local, name, self.forward)
        return local


def _is_made_from_nothing(op: core.OpDesc) -> bool:
    """Whether an operator always gives the same, so that its result need not be kept."""
    return not op.input_arg_names() and op.type() == "fill_constant"
