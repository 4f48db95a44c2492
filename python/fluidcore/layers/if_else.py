"""IfElse: some rows go through one block, the others through another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from fluidcore import core
from fluidcore.base.checks import extents_agree
from fluidcore.layers.conditional_block import append_conditional_block
from fluidcore.layers.helper import LayerHelper, atomic, check_variable, restored_on_error
from fluidcore.layers.nested import describe
from fluidcore.layers.sub_block import check_seen
from fluidcore.program import Block, Variable, default_main_program


class _Branch:
    """One of the two blocks.

    Attributes:
        inputs: The rows that it was given.
        outputs: Variables around the block that it writes its results into.
        done: Whether its block is complete.
    """

    def __init__(self) -> None:
        self.inputs: list[Variable] = []
        self.outputs: list[Variable] = []
        self.done = False


class IfElse:
    """Sends each row of its inputs through one of two blocks, and puts the results together.

    Args:
        cond: [N, 1] or [N], bool: the rows where it is true go through the true block.
        name: Accepted for Fluid's sake.

    Raises:
        TypeError: `cond`, an input or an output is no Variable.
        core.InvalidArgument: `cond` is not bool of that shape; an input or an output stands
            outside of the blocks; a block is missing, has no input, or is there twice; the
            outputs of the blocks differ in number, shape or dtype.

    Example:
        branches = layers.IfElse(layers.less_than(x, zero))
        with branches.true_block():
            branches.output(layers.scale(branches.input(x), scale=-1.0))
        with branches.false_block():
            branches.output(branches.input(x))
        (absolute,) = branches()
    """

    def __init__(self, cond: Variable, name: str | None = None) -> None:
        self._helper = LayerHelper("if_else", name)
        check_variable("if_else", "cond", cond)
        shape = cond.shape
        if cond.dtype != "bool" or not (
            len(shape) == 1 or (len(shape) == 2 and shape[1] in (1, -1))
        ):
            raise core.InvalidArgument(
                f"if_else: cond must be bool [N, 1] or [N], got {cond.dtype} {list(shape)} for "
                f"'{cond.name}'; write less_than(x, limit) or another comparison"
            )
        check_seen("if_else", "cond", cond)
        self._cond = cond
        self._parent = self._helper.block
        self._branches = {"true_block": _Branch(), "false_block": _Branch()}
        self._inside: str | None = None
        self._splits: dict[str, tuple[int, Variable, Variable]] = {}
        self._start = self._parent.desc.op_size()

    def true_block(self) -> AbstractContextManager[None]:
        """The layers inside the `with` are given the rows where the condition is true."""
        return self._block("true_block")

    def false_block(self) -> AbstractContextManager[None]:
        """The layers inside the `with` are given the other rows."""
        return self._block("false_block")

    @contextmanager
    def _block(self, which: str) -> Iterator[None]:
        branch = self._branches[which]
        if self._inside is not None:
            raise core.InvalidArgument(
                f"if_else: {which} must stand beside the other block, got it inside of "
                f"{self._inside}; leave that first, or make another IfElse"
            )
        if branch.done:
            raise core.InvalidArgument(
                f"if_else: {which} must be entered once, got a second time; make another IfElse"
            )
        block = default_main_program().current_block()
        if block is not self._parent:
            raise core.InvalidArgument(
                f"if_else: {which} must stand in the block where the IfElse was made, block "
                f"{self._parent.idx}, got block {block.idx}"
            )
        splits = dict(self._splits)
        self._inside = which
        try:
            with restored_on_error():
                with default_main_program().sub_block() as inner:
                    yield
                self._close(which, inner)
        except BaseException:
            self._branches[which] = _Branch()
            self._splits = splits
            raise
        finally:
            self._inside = None

    def _close(self, which: str, block: Block) -> None:
        branch = self._branches[which]
        if not branch.inputs:
            raise core.InvalidArgument(
                f"if_else: {which} must be given rows, got a block without input(x); "
                "write input(x) for what it works on"
            )
        append_conditional_block(block, branch.inputs, is_scalar_condition=False)
        branch.done = True

    def _branch(self, what: str) -> _Branch:
        if self._inside is None:
            raise core.InvalidArgument(
                f"if_else: {what} must be called inside true_block() or false_block(), "
                "got a call outside"
            )
        return self._branches[self._inside]

    def input(self, x: Variable) -> Variable:
        """The rows of x that this block is given.

        Args:
            x: [N, ...], made before the block.

        Returns:
            [rows, ...].
        """
        branch = self._branch("input(x)")
        check_variable("if_else", "x", x)
        check_seen("if_else", "x of input", x, self._parent)
        rows = self._split(x)[0 if self._inside == "true_block" else 1]
        if all(rows is not known for known in branch.inputs):
            branch.inputs.append(rows)
        return rows

    def _split(self, x: Variable) -> tuple[Variable, Variable]:
        """The rows of both blocks; divided once as long as nothing writes x."""
        desc = self._parent.desc
        known = self._splits.get(x.name)
        if known is not None:
            position, *parts = known
            if not self._is_written(x, position):
                return parts[0], parts[1]
        names = [self._helper.temporary() for _ in range(2)]
        self._parent.append_op(
            "split_lod_tensor",
            {"X": x, "Mask": self._cond},
            {"OutTrue": names[0], "OutFalse": names[1]},
        )
        true_rows, false_rows = (self._parent.var(name) for name in names)
        self._splits[x.name] = (desc.op_size(), true_rows, false_rows)
        return true_rows, false_rows

    def _is_written(self, variable: Variable, since: int) -> bool:
        ops = self._parent.desc.ops()[since:]
        return any(variable.name in op.output_arg_names() for op in ops)

    def output(self, *outs: Variable) -> None:
        """What this block makes of its rows.

        Args:
            outs: [rows, ...] each; the same number in both blocks, alike in shape and dtype.
        """
        branch = self._branch("output(...)")
        if not outs:
            raise core.InvalidArgument("if_else: output must be given Variables, got none")
        for out in outs:
            check_variable("if_else", "every output", out)
            check_seen("if_else", "every output", out)
        for out in outs:
            outside = self._parent.create_var(
                self._helper.temporary(), shape=out.shape, dtype=out.dtype
            )
            default_main_program().current_block().append_op("assign", {"X": out}, {"Out": outside})
            branch.outputs.append(outside)

    @atomic
    def __call__(self) -> list[Variable]:
        """The outputs of the two blocks, each row from the block that it went through.

        Returns:
            For each output: [N, ...].
        """
        if self._inside is not None:
            raise core.InvalidArgument(
                f"if_else: the result must be asked for after the blocks, got a call inside of "
                f"{self._inside}"
            )
        for which, branch in self._branches.items():
            if not branch.done:
                raise core.InvalidArgument(
                    f"if_else: there must be a true_block and a false_block, got no {which}"
                )
        if self._is_written(self._cond, self._start):
            raise core.InvalidArgument(
                f"if_else: cond must stay as it is until the result is asked for, got "
                f"'{self._cond.name}', which is written in between; write assign(cond) first"
            )
        true, false = (branch.outputs for branch in self._branches.values())
        if not true or len(true) != len(false):
            raise core.InvalidArgument(
                "if_else: both blocks must have the same number of outputs, at least one, got "
                f"{len(true)} from true_block, {len(false)} from false_block; call output(...)"
            )
        return [self._merge(i, *pair) for i, pair in enumerate(zip(true, false, strict=True))]

    def _merge(self, i: int, true: Variable, false: Variable) -> Variable:
        if (
            true.dtype != false.dtype
            or not true.shape
            or not extents_agree([-1, *true.shape[1:]], [-1, *false.shape[1:]])
        ):
            raise core.InvalidArgument(
                f"if_else: output {i} must be rows of the same shape and dtype in both blocks, got "
                f"{describe(true)} from true_block, {describe(false)} from false_block"
            )
        inputs = {"X": self._cond, "Mask": self._cond, "InTrue": true, "InFalse": false}
        return self._helper.append("merge_lod_tensor", inputs)
