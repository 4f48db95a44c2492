"""Blocks that run or do not: ConditionalBlock and Switch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType

from fluidcore import core
from fluidcore.layers.helper import LayerHelper, check_variables, restored_on_error
from fluidcore.layers.logic import logical_and, logical_not
from fluidcore.layers.sub_block import append_block_op, check_condition, check_seen
from fluidcore.program import Block, Variable, default_main_program


def append_conditional_block(
    block: Block, inputs: Sequence[Variable], is_scalar_condition: bool
) -> None:
    """Appends the operator that runs a complete sub-block, or does not."""
    attrs = {"is_scalar_condition": is_scalar_condition}
    append_block_op("conditional_block", block, {"X": inputs}, {}, attrs)


class ConditionalBlock:
    """Runs a block if a condition is true, or if there is something to work on.

    What the block shall leave behind, it writes into variables made before it. A variable that
    only the block writes has no value where the block was not run; reading it then is an error.

    Args:
        inputs: With is_scalar_condition the condition, one bool; else the block runs if each of
            these has elements.
        is_scalar_condition: Which of the two.
        name: Accepted for Fluid's sake.

    Raises:
        TypeError: `inputs` are no Variables.
        core.InvalidArgument: There is no input, or the condition is not one bool.

    Example:
        branch = layers.ConditionalBlock([layers.less_than(step, warm_up)], True)
        with branch.block():
            layers.assign(low, output=learning_rate)
    """

    def __init__(
        self, inputs: Sequence[Variable], is_scalar_condition: bool = False, name: str | None = None
    ) -> None:
        self._helper = LayerHelper("conditional_block", name)
        self._inputs = check_variables("conditional_block", "inputs", inputs)
        self._is_scalar = bool(is_scalar_condition)
        self._done = False
        self._check()

    def _check(self) -> None:
        if not self._inputs or (self._is_scalar and len(self._inputs) != 1):
            wanted = "the condition alone" if self._is_scalar else "at least one Variable"
            raise core.InvalidArgument(
                f"conditional_block: inputs must be {wanted}, got {len(self._inputs)}"
            )
        for item in self._inputs:
            if self._is_scalar:
                check_condition("conditional_block", "the condition", item)
            else:
                check_seen("conditional_block", "every item of inputs", item)

    @contextmanager
    def block(self) -> Iterator[None]:
        """The layers inside the `with` are what is run or not."""
        self._check()
        if self._done:
            raise core.InvalidArgument(
                "conditional_block: block() must be entered once, got a second time; "
                "make another ConditionalBlock"
            )
        with restored_on_error():
            with default_main_program().sub_block() as block:
                yield
            append_conditional_block(block, self._inputs, self._is_scalar)
        self._done = True


class Switch:
    """Runs the block of the first case whose condition is true, else that of the default.

    What the blocks shall leave behind, they write into variables made before them.

    Args:
        name: Accepted for Fluid's sake.

    Raises:
        TypeError: A condition is no Variable.
        core.InvalidArgument: A condition is not one bool; a case comes after the default, within
            another, or in another block of the program than the first one; there is no case
            before the default.

    Example:
        with layers.Switch() as switch:
            with switch.case(layers.less_than(step, warm_up)):
                layers.assign(low, output=learning_rate)
            with switch.default():
                layers.assign(high, output=learning_rate)
    """

    def __init__(self, name: str | None = None) -> None:
        self._helper = LayerHelper("switch", name)
        self._none_yet: Variable | None = None  # whether no case so far was the one
        self._open = False
        self._has_default = False

    def __enter__(self) -> Switch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        del kind, error, trace

    @contextmanager
    def case(self, condition: Variable) -> Iterator[None]:
        """The layers inside the `with` run if this is the first condition that is true.

        Args:
            condition: One bool.
        """
        check_condition("switch", "the condition of a case", condition)
        self._check_place("a case")
        with restored_on_error():
            chosen, none_yet = self._conditions(condition)
            with self._branch(chosen):
                yield
        self._none_yet = none_yet

    @contextmanager
    def default(self) -> Iterator[None]:
        """The layers inside the `with` run if no condition is true."""
        self._check_place("the default")
        if self._none_yet is None:
            raise core.InvalidArgument(
                "switch: the default must come after the cases, got no case before it"
            )
        with restored_on_error(), self._branch(self._none_yet):
            yield
        self._has_default = True

    def _conditions(self, condition: Variable) -> tuple[Variable, Variable]:
        """Whether this case is chosen; whether neither it nor one before it is."""
        # Both before the block, which may write the condition.
        otherwise = logical_not(condition)
        if self._none_yet is None:
            return condition, otherwise
        return logical_and(self._none_yet, condition), logical_and(self._none_yet, otherwise)

    @contextmanager
    def _branch(self, condition: Variable) -> Iterator[None]:
        self._open = True
        try:
            with default_main_program().sub_block() as block:
                yield
        finally:
            self._open = False
        append_conditional_block(block, [condition], is_scalar_condition=True)

    def _check_place(self, what: str) -> None:
        if self._open:
            raise core.InvalidArgument(
                f"switch: {what} must stand beside the other cases, got one within a case; "
                "leave that case first, or make another Switch"
            )
        if self._has_default:
            raise core.InvalidArgument(
                f"switch: the default must be the last, got {what} after it; put the default last"
            )
        block = default_main_program().current_block()
        if block is not self._helper.block:
            raise core.InvalidArgument(
                f"switch: {what} must stand in the block where the Switch was made, block "
                f"{self._helper.block.idx}, got block {block.idx}"
            )
