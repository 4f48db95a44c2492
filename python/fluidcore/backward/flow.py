"""How gradients may flow: variables, what reads them and what writes them.

Each variable is looked at once, in the block that has it, with the blocks inside of it: a source
reaches it from some operator on, and a target needs it up to some operator. A sub-block may run
many times. So what is written there is there for all of its steps, and what is read there is read
until its last one: seen from around, it happens at the operator that runs the sub-block.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Collection, Container, Iterable, Sequence
from typing import NamedTuple

from fluidcore.backward.operators import Body, ForwardOp
from fluidcore.backward.view import stopped_names


class _Span:
    """The time of an operator, with the operators of its sub-block: numbers in program order."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.end = start


class VariableFlow:
    """A variable in the block that has it.

    Attributes:
        since: When a source first reaches it.
        until: When what a target needs of it is read for the last time.
        readers: What may pass its gradient, by the time of reading.
        writers: The same, by the time of writing.
    """

    def __init__(self, name: str, block: BlockFlow, is_stopped: bool) -> None:
        self.name = name
        self.block = block
        self.is_stopped = is_stopped
        self.since = math.inf
        self.until = -math.inf
        self.readers: deque[tuple[_Span, Step]] = deque()
        self.writers: deque[tuple[_Span, Step]] = deque()


class Use(NamedTuple):
    """A variable as a block sees it.

    Attributes:
        span: Of the operator, in the block that has the variable, that this block is inside of;
            None in that block itself.
    """

    variable: VariableFlow
    block: BlockFlow
    span: _Span | None


class Step:
    """What passes gradients: an operator, or a value that goes into or out of a sub-block."""

    def __init__(self, span: _Span, inputs: list[Use], outputs: list[Use]) -> None:
        self.span = span
        self.inputs = inputs
        self.outputs = outputs
        self.is_reached = False
        self.is_needed = False

    def add_to_readers(self, uses: Iterable[Use]) -> None:
        """Lets the gradient pass that reaches one of these variables."""
        for use in uses:
            use.variable.readers.append((use.span or self.span, self))

    def add_to_writers(self) -> None:
        """Lets what is needed of the outputs be asked of this step."""
        for use in self.outputs:
            use.variable.writers.append((use.span or self.span, self))


class BlockFlow:
    """A block, as it is read.

    Attributes:
        outer: The block around.
        span: Of the operator that runs it.
        ops: The operators, each with what it is here.
        passed: The values that go in and out.
        written: The variables around that it writes.
        variables: The names that get a gradient.
    """

    def __init__(
        self, stopped: Container[str], outer: BlockFlow | None = None, span: _Span | None = None
    ) -> None:
        self.outer = outer
        self.span = span
        self.ops: list[tuple[ForwardOp, Step | BlockFlow]] = []
        self.passed: list[Step] = []
        self.written: list[Use] = []
        self.variables: set[str] = set()
        self._stopped = stopped
        self._uses: dict[str, Use] = {}

    def use(self, name: str) -> Use:
        """What a name means here."""
        found = self._uses.get(name)
        if found is None:
            variable = VariableFlow(name, self, name in self._stopped)
            found = self._uses[name] = Use(variable, self, None)
        return found

    def import_from_outside(self, names: Iterable[str]) -> None:
        """Makes names mean what they mean in the block around."""
        assert self.outer is not None
        for name in names:
            variable, _, span = self.outer.use(name)
            self._uses[name] = Use(variable, self, span or self.span)

    def need(self, name: str, home: BlockFlow) -> None:
        """Gives a variable a gradient here and in the blocks around, up to the one that has it."""
        block: BlockFlow | None = self
        while block is not None and name not in block.variables:
            block.variables.add(name)
            block = None if block is home else block.outer


class _Stopped:
    """The variables that gradients do not pass: by name anywhere, and of a sub-block."""

    def __init__(self, anywhere: Container[str], here: Collection[str]) -> None:
        self._anywhere = anywhere
        self._here = here

    def __contains__(self, name: object) -> bool:
        return name in self._here or name in self._anywhere


class Reader:
    """Reads blocks, in program order."""

    def __init__(self, stopped: Container[str], is_constant: Callable[[str], bool]) -> None:
        self._stopped = stopped
        self._is_constant = is_constant
        self._now = 0

    def _tick(self) -> int:
        self._now += 1
        return self._now

    def read(self, block: BlockFlow, ops: Sequence[ForwardOp]) -> None:
        """Fills a block."""
        for op in ops:
            span = _Span(self._tick())
            if op.body is not None:
                block.ops.append((op, self._read_body(op.body, block, span)))
                continue
            inputs = [block.use(name) for name in op.inputs]
            outputs = [block.use(name) for name in op.outputs]
            step = Step(span, inputs, outputs)
            block.ops.append((op, step))
            if not self._is_constant(op.type):
                step.add_to_readers(inputs)
            if op.has_arrays:  # it may take the place of something that was reached
                step.add_to_readers(outputs)
            step.add_to_writers()

    def _read_body(self, body: Body, outer: BlockFlow, span: _Span) -> BlockFlow:
        block = BlockFlow(_Stopped(self._stopped, stopped_names(body.block)), outer, span)
        block.import_from_outside(dict.fromkeys([*body.reads, *body.writes]))
        block.written = [block.use(name) for name in body.writes]
        passed = [(outer.use(around), block.use(name)) for around, name in body.sliced]
        passed += [(block.use(name), outer.use(around)) for around, name in body.stacked]
        passed += [(outer.use(state.initial), block.use(state.before)) for state in body.states]
        passed += [(block.use(state.after), block.use(state.before)) for state in body.states]
        block.passed = [Step(span, [source], [result]) for source, result in passed]
        for step in block.passed:
            step.add_to_writers()
        self.read(block, body.ops)
        span.end = self._tick()
        for step in block.passed:
            step.add_to_readers(step.inputs)
        return block


def reach(sources: Iterable[VariableFlow]) -> None:
    """Finds what the sources reach."""
    waiting = [(variable, -math.inf) for variable in sources]
    while waiting:
        variable, since = waiting.pop()
        if variable.is_stopped or since >= variable.since:
            continue
        variable.since = since
        readers = variable.readers
        while readers and readers[-1][0].end > since:
            _, step = readers.pop()
            if not step.is_reached:
                step.is_reached = True
                waiting += [(v, (span or step.span).start) for v, _, span in step.outputs]


def need(targets: Iterable[VariableFlow]) -> None:
    """Finds what the targets need of what was reached."""
    waiting = [(variable, math.inf) for variable in targets]
    while waiting:
        variable, until = waiting.pop()
        if until <= variable.until:
            continue
        variable.until = until
        writers = variable.writers
        while writers and writers[0][0].start < until:
            _, step = writers.popleft()
            if step.is_reached and not step.is_needed:
                step.is_needed = True
                for read, block, span in step.inputs:
                    end = (span or step.span).end
                    if read.since < end:
                        block.need(read.name, read.block)
                        waiting.append((read, end))
