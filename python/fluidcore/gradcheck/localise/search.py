"""Goes through the gradient operators of a program, and stops at the first that is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from fluidcore import core
from fluidcore.base.dtypes import FLOATING
from fluidcore.gradcheck.localise.alignment import Aligned
from fluidcore.gradcheck.localise.blame import Blame, blame_for_edit, blame_for_extra
from fluidcore.gradcheck.localise.local import Found, check_operator
from fluidcore.gradcheck.localise.names import is_sum_of_parts, variable_of
from fluidcore.gradcheck.localise.observed import Observed
from fluidcore.gradcheck.localise.operator_run import Slot, as_double, places_of, run_one
from fluidcore.gradcheck.localise.random_ops import without_chance
from fluidcore.gradcheck.localise.reference import OF, Pair
from fluidcore.gradcheck.program.places import inner_block
from fluidcore.gradcheck.target.target import Array
from fluidcore.gradcheck.verdict import Reason

_MOST_RUNS = 8  # of an operator in a loop that are looked at
_DIGITS = 1e-9


class Search:
    """Judges the gradient operators of one run, in float64, in the order in which they ran."""

    def __init__(self, seen: Observed, aligned: Aligned, pair: Pair, seed: int) -> None:
        self._seen = seen
        self._aligned = aligned
        self._pair = pair
        self._seed = seed

    def first_wrong(self) -> Blame | None:
        """Whom to blame; None if every operator by itself is right."""
        for name in self._in_order(0):
            runs = self._seen.runs(name)
            for run in _some(runs):
                blame = self._judge(name, run)
                if blame is not None:
                    return blame
        return None

    def first_change(self) -> Blame | None:
        """The first operator that does not belong there and changes a gradient."""
        for name in self._in_order(0):
            if name in self._aligned.twins:
                continue
            for run in _some(self._seen.runs(name)):
                op = self._seen.ops[name]
                blame = self._judge_extra(name, op, run, self._written(name, op, run))
                if blame is not None:
                    return blame
        return None

    def _in_order(self, block: int) -> Iterator[str]:
        """The gradient operators, those of a block before the operator that runs it."""
        for op in self._pair.actual.block(block).ops():
            if op.call_site() in self._pair.forward:
                continue
            inner = inner_block(op)
            if inner is not None:
                yield from self._in_order(inner)
            yield op.call_site()

    def _judge(self, name: str, run: int) -> Blame | None:
        op = self._seen.ops[name]
        twin = self._aligned.twins.get(name)
        written = self._written(name, op, run)
        if twin is None:
            return self._judge_extra(name, op, run, written)
        if inner_block(op) is not None:
            return None  # what its block does has been judged
        edited = not same(op, twin)
        numeric = self._against_differences(name, op, twin, run, written)
        wrong = {slot for slot, (found, _) in numeric.items() if found is Found.WRONG}
        if edited:
            expected = self._expected(name, twin, run)
            right = self._found_right(twin, numeric)
            differing = [
                v
                for v, value in written.items()
                if v not in right and differ(value, expected.get(v))
            ]
            if differing:
                return blame_for_edit(self._pair, self._aligned, name, op, twin, differing[0])
        if wrong:
            slot = min(wrong)
            grad = self._gradients_of(twin)[slot]
            found = next((s for s, names in op.outputs().items() if grad in names), "")
            detail = f"'{grad}' is {numeric[slot][1]}"
            return Blame(name, op.type(), found, grad, Reason.MISMATCH, detail)
        return None

    def _found_right(
        self, twin: core.OpDesc, numeric: Mapping[Slot, tuple[Found, str]]
    ) -> set[str]:
        """The gradients that differences of the forward operator confirm."""
        slots = self._gradients_of(twin)
        return {slots[slot] for slot, (found, _) in numeric.items() if found is Found.RIGHT}

    def _gradients_of(self, twin: core.OpDesc) -> dict[Slot, str]:
        forward = self._forward_op(twin)
        return {} if forward is None else _gradient_slots(forward, twin)

    def _written(self, name: str, op: core.OpDesc, run: int) -> dict[str, Array]:
        found = {v: self._seen.at(name, v, run, after=True) for v in op.output_arg_names()}
        return {v: value for v, value in found.items() if value is not None}

    def _judge_extra(
        self, name: str, op: core.OpDesc, run: int, written: Mapping[str, Array]
    ) -> Blame | None:
        known = self._aligned.written.get(self._seen.where[name][0], set())
        for variable, value in written.items():
            before = self._seen.at(name, variable, run)
            if variable in known and before is not None and differ(value, before):
                return blame_for_extra(name, op, variable)
        return None

    def _expected(self, name: str, twin: core.OpDesc, run: int) -> dict[str, Array]:
        """What the reference's operator makes of the values that are there."""
        forward = self._forward_op(twin)
        values = None if forward is None else self._values_of(forward, name, run)
        values = (values or {}) | self._seen.before(name, twin.input_arg_names(), run)
        try:
            return run_one(twin, values)
        except (core.Error, KeyError):
            return {}

    def _against_differences(
        self, name: str, op: core.OpDesc, twin: core.OpDesc, run: int, written: Mapping[str, Array]
    ) -> dict[Slot, tuple[Found, str]]:
        """What differences of the forward operator say of the gradients that were written."""
        forward = self._forward_op(twin)
        if forward is None or is_sum_of_parts(twin):
            return {}
        if inner_block(forward) is not None:
            return {}
        values = self._values_of(forward, name, run)
        if values is None:
            return {}
        repeated = forward
        if core.op_def(forward.type()).is_random and self._seen.is_inner(name):
            drawn = {
                v: self._seen.at(forward.call_site(), v, self._undone(forward, name, run), True)
                for v in forward.output_arg_names()
            }
            again = without_chance(forward, drawn)
            if again is None:
                return {}
            repeated, factors = again
            values |= factors
        cotangents = {}
        for grad in twin.input_arg_names():
            variable = variable_of(grad)
            if variable != grad and variable in forward.output_arg_names():
                value = self._seen.at(name, grad, run)
                if value is None:
                    return {}
                cotangents[variable] = value
        gradients = {
            slot: written[grad]
            for slot, grad in _gradient_slots(forward, twin).items()
            if grad in written
        }
        if not cotangents or not gradients:
            return {}
        try:
            return check_operator(repeated, values, cotangents, gradients, self._seed)
        except core.Error:
            return {}

    def _forward_op(self, twin: core.OpDesc) -> core.OpDesc | None:
        name = twin.call_site().removeprefix(OF)
        return self._seen.ops.get(name) if name in self._pair.forward else None

    def _values_of(self, forward: core.OpDesc, name: str, run: int) -> dict[str, Array] | None:
        """What the forward operator read in the run that this run of a gradient operator undoes."""
        undone = self._undone(forward, name, run)
        values = self._seen.before(forward.call_site(), forward.input_arg_names(), undone)
        if undone < 0 or len(values) < len(set(forward.input_arg_names()) - {core.EMPTY_VAR_NAME}):
            return None
        return {variable: as_double(value) for variable, value in values.items()}

    def _undone(self, forward: core.OpDesc, name: str, run: int) -> int:
        """The run of a forward operator that a run of its gradient operator undoes."""
        return self._seen.runs(forward.call_site()) - 1 - run if self._seen.is_inner(name) else 0


def same(op: core.OpDesc, twin: core.OpDesc) -> bool:
    """Whether two operators are alike, but for the numbers of their blocks."""
    attrs, others = op.attrs(), twin.attrs()
    return (
        op.type() == twin.type()
        and op.inputs() == twin.inputs()
        and op.outputs() == twin.outputs()
        and all(
            isinstance(value, core.BlockIndex) or value == others.get(key)
            for key, value in attrs.items()
        )
    )


def differ(value: Array, expected: Array | None) -> bool:
    """Whether two values are not the same up to rounding; unknown ones are the same."""
    if expected is None:
        return False
    if value.shape != expected.shape:
        return True
    if value.dtype.name not in FLOATING:
        return not np.array_equal(value, expected)
    scale = float(np.max(np.abs(expected), initial=0.0))
    with np.errstate(invalid="ignore"):
        return not np.allclose(value, expected, rtol=_DIGITS, atol=_DIGITS * scale, equal_nan=True)


def _gradient_slots(forward: core.OpDesc, twin: core.OpDesc) -> dict[Slot, str]:
    """Place in an input slot of a forward operator -> its gradient that an operator writes."""
    found: dict[Slot, str] = {}
    places = list(places_of(forward.inputs()))
    for (slot, i), grad in places_of(twin.outputs()):
        variable = variable_of(grad)
        if variable == grad:
            continue
        fitting = [place for place, name in places if name == variable]
        own = (slot.removesuffix(core.GRAD_VAR_SUFFIX), i)
        if own in fitting:
            found[own] = grad
        elif len(fitting) == 1:
            found[fitting[0]] = grad
    return found


def _some(runs: int) -> list[int]:
    """Some runs of an operator, the first and the last among them."""
    if runs <= _MOST_RUNS:
        return list(range(runs))
    return sorted({round(i * (runs - 1) / (_MOST_RUNS - 1)) for i in range(_MOST_RUNS)})
