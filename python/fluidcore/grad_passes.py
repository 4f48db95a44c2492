"""The passes of append_backward over plain operator descriptions.

Each takes a list of operators and returns one; none changes what it is given.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from fluidcore import core

EMPTY = core.EMPTY_VAR_NAME
Slots = Mapping[str, list[str]]


def _names(slots: Slots) -> list[str]:
    return [name for names in slots.values() for name in names if name != EMPTY]


class ForwardOp(NamedTuple):
    """An operator of the forward block.

    Attributes:
        type: Type of the operator.
        inputs: Names read, of all slots.
        outputs: Names written, of all slots.
        position: Index in its block.
        desc: The operator itself, for its gradient maker.
    """

    type: str
    inputs: list[str]
    outputs: list[str]
    position: int = 0
    desc: core.OpDesc | None = None


class GradOp(NamedTuple):
    """An operator of the gradient.

    Attributes:
        type: Type of the operator.
        inputs: Slot -> names.
        outputs: Slot -> names, @EMPTY@ for a gradient that is not wanted.
        attrs: Attributes of an operator without `desc`.
        cotangents: Which inputs are gradients that come in: name -> forward variable.
        desc: Where type, attributes and, unless `renamed`, the slots come from.
        renamed: Whether the slots differ from those of `desc`.
        call_site: Where the user wrote the forward operator.
    """

    type: str
    inputs: Slots
    outputs: Slots
    attrs: Mapping[str, Any] = {}
    cotangents: Mapping[str, str] = {}
    desc: core.OpDesc | None = None
    renamed: bool = False
    call_site: str = ""

    def input_names(self) -> list[str]:
        """Names read, of all slots."""
        return _names(self.inputs)

    def output_names(self) -> list[str]:
        """Names written, of all slots; with repeats."""
        return _names(self.outputs)


class Path(NamedTuple):
    """The operators between the sources and the targets.

    Attributes:
        ops: In execution order.
        variables: Those that get a gradient.
    """

    ops: list[ForwardOp]
    variables: set[str]


def ops_on_path(
    ops: Sequence[ForwardOp],
    sources: Iterable[str],
    targets: Iterable[str],
    stopped: Collection[str] = frozenset(),
    is_constant: Callable[[str], bool] = lambda op_type: False,
) -> Path:
    """Keeps the operators through which a source reaches a target.

    Args:
        ops: The operators of a block, in execution order.
        sources: Variables whose gradient is wanted.
        targets: Variables to differentiate.
        stopped: Variables that gradients do not pass.
        is_constant: Whether operators of a type stop gradients.
    """
    reached = {name for name in sources if name not in stopped}
    forward = []
    for op in ops:
        if reached.isdisjoint(op.inputs) or is_constant(op.type):
            continue
        passed = [name for name in op.outputs if name not in stopped]
        if passed:
            reached.update(passed)
            forward.append(op)
    needed = set(targets) & reached
    path = []
    for op in reversed(forward):
        if not needed.isdisjoint(op.outputs):
            needed.update(name for name in op.inputs if name in reached)
            path.append(op)
    return Path(path[::-1], needed)


def check_written_once(ops: Iterable[ForwardOp], path: Path) -> None:
    """Checks that every variable with a gradient has one value along the path.

    Raises:
        core.InvalidArgument: A variable is overwritten between two operators of the path.
    """
    on_path = {op.position for op in path.ops}
    writes: Counter[str] = Counter()
    seen: dict[str, int] = {}

    def check(op: ForwardOp, names: Iterable[str]) -> None:
        for name in names:
            if name in path.variables and seen.setdefault(name, writes[name]) != writes[name]:
                raise core.InvalidArgument(
                    f"append_backward: a variable must be written once between the parameters and "
                    f"the loss, got '{name}' written again by '{op.type}'; "
                    "let the operator write a new variable"
                )

    for op in ops:
        if op.position not in on_path:
            writes.update(op.outputs)
            continue
        check(op, op.inputs)
        writes.update(set(op.outputs))
        check(op, op.outputs)


def check_values_kept(
    ops: Iterable[ForwardOp], reads: Iterable[tuple[ForwardOp, Iterable[str]]]
) -> None:
    """Checks that the values a gradient reads are still those that its forward operator saw.

    Args:
        ops: The operators of the forward block.
        reads: Forward operators, and the names whose values their gradients read.

    Raises:
        core.InvalidArgument: A value was overwritten after the forward operator.
    """
    last_write = {name: op for op in ops for name in op.outputs}
    for forward, names in reads:
        for name in names:
            writer = last_write.get(name)
            if writer is not None and writer.position > forward.position:
                raise core.InvalidArgument(
                    f"append_backward: the gradient of '{forward.type}' needs the value of "
                    f"'{name}' that '{forward.type}' saw, got one overwritten by '{writer.type}'; "
                    "let that operator write a new variable, or call append_backward before it"
                )


def remove_no_grad_branches(ops: Iterable[GradOp], available: Iterable[str]) -> list[GradOp]:
    """Drops operators that calculate nothing but zeros, and makes the zeros that are still read.

    Args:
        ops: Gradient operators in execution order.
        available: Gradients that exist before the first of them.

    Returns:
        The operators of which an output is wanted and an incoming gradient is there; before one
        that misses another gradient, a fill_zeros_like.
    """
    produced = set(available)
    kept: list[GradOp] = []
    for op in ops:
        outputs = op.output_names()
        incoming = [name for name in op.input_names() if name in op.cotangents]
        missing = dict.fromkeys(name for name in incoming if name not in produced)
        if not outputs or (incoming and all(name in missing for name in incoming)):
            continue
        for name in missing:
            like = {"X": [op.cotangents[name]]}
            kept.append(GradOp("fill_zeros_like", like, {"Out": [name]}, call_site=op.call_site))
        kept.append(op)
        produced.update(missing, outputs)
    return kept


def sum_partials(ops: Sequence[GradOp]) -> list[GradOp]:
    """Gives every partial gradient its own name and sums them after the last one.

    before:  mul_grad -> x@GRAD           relu_grad -> x@GRAD
    after:   mul_grad -> x@GRAD@RENAME@0  relu_grad -> x@GRAD@RENAME@1
             sum(x@GRAD@RENAME@0, x@GRAD@RENAME@1) -> x@GRAD
    """
    uses = Counter(chain.from_iterable(op.output_names() for op in ops))
    partials: dict[str, list[str]] = defaultdict(list)

    def own_name(name: str) -> str:
        if uses[name] < 2:
            return name
        own = f"{name}@RENAME@{len(partials[name])}"
        partials[name].append(own)
        return own

    result: list[GradOp] = []
    for op in ops:
        shared = [name for name in dict.fromkeys(op.output_names()) if uses[name] > 1]
        if not shared:
            result.append(op)
            continue
        outputs = {slot: [own_name(name) for name in names] for slot, names in op.outputs.items()}
        result.append(op._replace(outputs=outputs, renamed=True))
        for name in shared:
            if len(partials[name]) == uses[name]:
                terms = {"X": partials[name]}
                result.append(GradOp("sum", terms, {"Out": [name]}, call_site=op.call_site))
    return result
