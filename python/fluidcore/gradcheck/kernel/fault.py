"""The dtype under test against float64: is a difference rounding, or a fault of the kernel?

Both gradients are taken at the same points, close to x. Rounding errors differ from one point to
the next, so that their mean is small against their spread; a fault is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from fluidcore.gradcheck.kernel.bias import ALL, POINTS, Bias, Columns, bias, dithered
from fluidcore.gradcheck.measure.judge import Judgement, Mask, Reference, judge
from fluidcore.gradcheck.measure.modes import Indices, columns_of
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.target.calls import cast
from fluidcore.gradcheck.target.precision import TINY, UNIT
from fluidcore.gradcheck.target.target import Doubles

_CENTRES = 4
_CONFIRMED = 3  # of the centres
_SPREADS = 4.0
_UNITS = 4.0
_ERRORS = 6.0  # of a mean
_LITTLE = 0.5  # of the rounding that is always right


class KernelTest:
    """Compares the gradients of a target in its own dtype and in float64, for all inputs."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._unit = UNIT[session.target.dtype]
        self._tiny = TINY[session.target.dtype]
        self._around: tuple[list[Columns], list[Bias]] | None = None

    @cached_property
    def at_point(self) -> Bias:
        """At x, and at points that differ from it by the square root of a rounding unit."""
        target = self._session.target
        centre = [cast(part.value, target.dtype) for part in target.inputs]
        return bias(self._session, centre, "dither", itself=True)

    def around(self, k: int, elements: Indices) -> list[tuple[Doubles, Doubles, Doubles]]:
        """The same at other centres, further away: mean, spread and formula of some elements.

        Behind a saturated tanh the dither is too small to change an intermediate result, and its
        rounding error is then the same at all points; not at another centre.

        Of later inputs everything is kept, for they may be asked for next; of earlier ones nothing.
        """
        known = self._around
        if known is None or not _holds(known[0][k], elements):
            parts = self._session.target.inputs
            none = np.zeros(0, dtype=np.int64)
            kept = [none if j < k else elements if j == k else ALL for j in range(len(parts))]
            known = self._around = kept, [self._centre(q, kept) for q in range(_CENTRES)]
        columns = elements if isinstance(known[0][k], slice) else ALL
        return [one.of(k, columns) for one in known[1]]

    def _centre(self, q: int, kept: Sequence[Columns]) -> Bias:
        parts = self._session.target.inputs
        values, names = [part.value for part in parts], [part.name for part in parts]
        centre = dithered(self._session, values, names, f"centre {q}", power=0.25)
        name = f"dither at centre {q}"
        return bias(self._session, centre, name, itself=False, kept=kept)

    def judge(self, k: int, formula: Doubles, reference: Reference, elements: Indices) -> Judgement:
        """The verdict on elements of the gradient by input `k`.

        Args:
            k: Of the input.
            formula: [r, n], the gradient in float64.
            reference: What it was compared with; [r, n].
            elements: [n], which.
        """
        size = self._session.target.inputs[k].value.size
        mean, spread, _ = self.at_point.of(k, columns_of(elements, size))
        rounding = _UNITS * self._unit * reference.padded_scale + self._tiny
        tolerance = _SPREADS * spread + rounding
        found = judge(reference, formula + mean, tolerance, self._session.kernel_rules)
        same = (mean == 0) & (spread == 0) & (reference.error == 0)  # not a bit differs anywhere
        found = replace(found, unsure=found.unsure & (~same | found.at_kink))
        doubtful = judge(reference, found.analytical, rounding, self._session.kernel_rules).wrong
        doubtful &= ~found.at_kink & (spread <= _LITTLE * rounding)
        columns = np.flatnonzero((found.wrong | doubtful).any(0))
        if not columns.size:
            return found
        looked_at = self._looked_at(k, elements[columns])
        rounding = rounding[:, columns]
        wrong, limit = np.zeros_like(found.wrong), found.limit
        wrong[:, columns] = found.wrong[:, columns] & _confirmed(looked_at, rounding)
        if doubtful.any():
            least = _least_seen(looked_at, rounding)
            certain = doubtful[:, columns] & (np.abs(mean[:, columns]) > least)
            wrong[:, columns] |= certain
            limit = limit.copy()
            limit[:, columns] = np.where(certain, least, limit[:, columns])
        if self._session.config.on_kink == "fail":
            wrong |= found.wrong & found.at_kink
        return replace(found, wrong=wrong, limit=limit)

    def _looked_at(self, k: int, elements: Indices) -> Doubles:
        """[3, centres, r, elements]: mean, spread and formula; x itself is the first centre."""
        whole = [self.at_point.of(k, elements)]
        whole.extend(self.around(k, elements))
        return np.array([[part[j] for part in whole] for j in range(3)])


def _holds(kept: Columns, elements: Indices) -> bool:
    return isinstance(kept, slice) or np.array_equal(kept, elements)


def _least_seen(looked_at: Doubles, rounding: Doubles) -> Doubles:
    """[r, n]: what the mean of all centres can tell from rounding; inf where they disagree.

    Only for errors that spread no more than the rounding of a result does: the errors of lost
    digits need not have the mean 0.
    """
    means, spreads, _ = looked_at
    least: Doubles = rounding + _ERRORS * np.sqrt(np.sum(spreads**2, axis=0) / POINTS) / len(means)
    with np.errstate(invalid="ignore"):
        total = np.abs(np.mean(means, axis=0)) > least
        votes = np.sum(np.abs(means) > rounding, axis=0) >= len(means) - 1
    return np.where(total & votes & _is_steady(means), least, np.inf)


def _confirmed(looked_at: Doubles, rounding: Doubles) -> Mask:
    """Where most of the other centres show a fault, too, and all of them the same one."""
    means, spreads, formulas = looked_at
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        votes = np.sum(np.abs(means[1:]) > _SPREADS * spreads[1:] + rounding, axis=0)
        steady = _is_steady(means) | _is_steady(means / formulas)
    confirmed: Mask = (votes >= _CONFIRMED) & steady
    return confirmed


def _is_steady(means: Doubles) -> Mask:
    """Whether values of all centres are of one kind; rounding errors scatter around 0."""
    steady: Mask = np.abs(np.mean(means, axis=0)) > np.std(means, axis=0, ddof=1)
    return steady
