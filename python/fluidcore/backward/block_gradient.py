"""The gradient of one block: its names, its values, and which of them exist."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from fluidcore import core
from fluidcore.backward.arguments import Callback
from fluidcore.backward.names import GradientNames
from fluidcore.backward.operators import ForwardOp
from fluidcore.backward.passes import NoGradBranches
from fluidcore.backward.path import Path
from fluidcore.backward.values import ForwardValues, Insertions
from fluidcore.backward.versions import Version, Versions
from fluidcore.backward.view import declare_like, elements_read, is_array
from fluidcore.program import Block
from fluidcore.program.variable import ARRAY


class Shared:
    """What the blocks of one append_backward have in common.

    Args:
        effects: Of the forward blocks, and of gradient blocks when they are complete.
        insertions: What the forward blocks need.
        sources: Variables whose gradient is wanted.
        leaves: Those of them that are persistable.
        callbacks: Called after each appended operator.
        checkpoints: Variables of the outermost block between which values are calculated again.

    Attributes:
        no_grad_dict: Index of a forward block -> names whose gradients are not wanted.
        rows: Variable of the outermost block -> arrays to which the gradient blocks inside push
            selected rows of its gradient, until they are joined.
    """

    def __init__(
        self,
        effects: core.EffectsOfBlocks,
        insertions: Insertions,
        sources: frozenset[str],
        leaves: frozenset[str],
        callbacks: Sequence[Callback] = (),
        checkpoints: frozenset[str] = frozenset(),
    ) -> None:
        self.effects = effects
        self.insertions = insertions
        self.sources = sources
        self.leaves = leaves
        self.callbacks = callbacks
        self.checkpoints = checkpoints
        self.no_grad_dict: dict[int, set[str]] = {}
        self.rows: dict[str, list[str]] = {}


class BlockGradient:
    """The gradient operators of one forward block.

    Args:
        forward: The forward block.
        ops: Its operators.
        path: Those to differentiate.
        target: Where the gradient operators go: the block itself, or its gradient block.
        shared: What all blocks have in common.
        outer: The gradient of the block around; None for the outermost one.
        op: The operator of that block whose sub-block this is.
    """

    def __init__(
        self,
        forward: Block,
        ops: Sequence[ForwardOp],
        path: Path,
        target: Block,
        shared: Shared,
        outer: BlockGradient | None = None,
        op: ForwardOp | None = None,
    ) -> None:
        self.forward = forward
        self.ops = ops
        self.path = path
        self.target = target
        self.shared = shared
        self.outer = outer
        self.op = op
        read = {name for op in path.ops for name in op.inputs}
        shared.no_grad_dict[forward.idx] = read - path.variables
        names_of_arrays = {name for name in path.variables if is_array(forward, name)}
        self.versions = Versions(
            ops,
            {op.position for op in path.ops},
            shared.leaves,
            self._exists,
            names_of_arrays,
        )
        self.names = GradientNames(target, self.versions)
        self.arrays = {name: self._array_gradient(name) for name in sorted(names_of_arrays)}
        self.values: ForwardValues = ForwardValues(
            forward,
            self.versions,
            self.names,
            shared.insertions,
            outer.values if outer is not None else None,
            op,
        )
        self.carried: set[str] = set()
        self.branches = NoGradBranches(self._arrays_with_gradients(), set(self.arrays.values()))

    def inside(self, op: ForwardOp, path: Path, target: Block) -> BlockGradient:
        """The gradient of the sub-block of an operator of this block."""
        assert op.body is not None
        return BlockGradient(op.body.block, op.body.ops, path, target, self.shared, self, op)

    # Names

    @property
    def produced(self) -> set[str]:
        """The gradients that exist so far."""
        return self.branches.produced

    def gradient_before(self, op: ForwardOp, name: str) -> str:
        """The gradient of what an operator found in a variable."""
        return self.arrays.get(name) or self.names.gradient(name, self.versions.read(op, name))

    def gradient_after(self, op: ForwardOp, name: str) -> str:
        """The gradient of what an operator left in a variable."""
        return self.arrays.get(name) or self.names.gradient(name, self.versions.written(op, name))

    def has_value_before(self, op: ForwardOp, name: str) -> bool:
        """Whether a variable has a value when an operator runs."""
        writer = self.versions.writer(name, self.versions.read(op, name))
        made = writer is not None and writer < op.position
        return made or self._exists(name) or name in self.shared.sources

    def complete_gradients(self) -> dict[str, str]:
        """Gradient -> variable, each value's once: in the block of the operator that makes it.

        The gradient of a value that comes from around the block, or from a block inside, is only a
        part of it here. What is in a variable from the start belongs to the block that has it.
        """
        return {
            grad: name
            for grad, name in self.names.grad_to_var.items()
            if self._is_made_here(name, self.names.version_of[grad])
        }

    def _is_made_here(self, name: str, version: Version) -> bool:
        writer = self.versions.writer(name, version)
        if writer is None:
            return self.outer is None or self.forward.has_var(name)
        body = self.ops[writer].body
        return body is None or name not in body.writes

    def declare_carry(self, name: str) -> str:
        """A new variable of the target block that holds a gradient between steps."""
        variable = self.names.fresh(
            self.shared.insertions.fresh(f"{core.grad_var_name(name)}@CARRY")
        )
        declare_like(self.target, variable, name, self.forward)
        self.carried.add(variable)
        return variable

    def remove_carries(self, variables: Collection[str]) -> None:
        """Removes variables that hold nothing between steps."""
        self.carried.difference_update(variables)
        self.target.desc.remove_vars(list(variables))

    def remove_variables(self) -> None:
        """Removes, after an error, what was added to the target block."""
        self.shared.insertions.undo_variables()
        desc = self.target.desc
        made = [*self.names.produced, *self.carried, *self.arrays.values()]
        desc.remove_vars([name for name in dict.fromkeys(made) if desc.has_var(name)])

    def _exists(self, name: str) -> bool:
        if self.op is not None and self.op.body is not None and name in self.op.body.given:
            return True
        desc = self.forward.desc.find_var(name)
        return desc is None or desc.persistable() or desc.is_data()

    def _arrays_with_gradients(self) -> set[str]:
        """The gradients of arrays around the block that a step may find something in."""
        if self.outer is None:
            return set()
        around = {name for name in self.arrays if not self.forward.has_var(name)}
        # The gradient of an element that one step reads may come from a later step.
        indexed = around & elements_read(self.ops)
        found = {name for name in around if self.arrays[name] in self.outer.produced}
        return {self.arrays[name] for name in indexed | found}

    def _array_gradient(self, name: str) -> str:
        if self.outer is not None and not self.forward.has_var(name):
            return self.outer.arrays[name]
        fresh = self.shared.insertions.fresh(core.grad_var_name(name))
        grad = self.names.fresh(fresh)
        declare_like(self.target, grad, name, self.forward).set_type(ARRAY)
        return grad
