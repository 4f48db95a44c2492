"""The dtype under test against float64: is a difference rounding, or a fault of the kernel?

Both gradients are taken at the same points, close to x. Rounding errors differ from one point to
the next, so that their mean is small against their spread; a fault is the same everywhere.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from fluidcore.gradcheck.bias import POINTS, Bias, bias, dithered
from fluidcore.gradcheck.calls import cast
from fluidcore.gradcheck.judge import TINY, UNIT, Judgement, Mask, Reference, judge, padded
from fluidcore.gradcheck.modes import Indices
from fluidcore.gradcheck.session import Session
from fluidcore.gradcheck.target import Doubles

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

    @cached_property
    def at_point(self) -> Bias:
        """At x, and at points that differ from it by the square root of a rounding unit."""
        target = self._session.target
        centre = [cast(part.value, target.dtype) for part in target.inputs]
        return bias(self._session, centre, "dither", itself=True)

    @cached_property
    def around(self) -> list[Bias]:
        """The same at other centres, further away.

        Behind a saturated tanh the dither is too small to change an intermediate result, and its
        rounding error is then the same at all points; not at another centre.
        """
        values = [part.value for part in self._session.target.inputs]
        names = [part.name for part in self._session.target.inputs]
        found = []
        for q in range(_CENTRES):
            centre = dithered(self._session, values, names, f"centre {q}", power=0.25)
            found.append(bias(self._session, centre, f"dither at centre {q}", itself=False))
        return found

    def judge(self, k: int, formula: Doubles, reference: Reference, elements: Indices) -> Judgement:
        """The verdict on elements of the gradient by input `k`.

        Args:
            k: Of the input.
            formula: [r, n], the gradient in float64.
            reference: What it was compared with; [r, n].
            elements: [n], which.
        """
        mean, spread, _ = (part[:, elements] for part in self.at_point.of(k))
        rounding = _UNITS * self._unit * padded(reference.scale) + self._tiny
        tolerance = _SPREADS * spread + rounding
        found = judge(reference, formula + mean, tolerance, self._session.rules)
        same = (mean == 0) & (spread == 0) & (reference.error == 0)  # not a bit differs anywhere
        found = replace(found, unsure=found.unsure & (~same | found.at_kink))
        doubtful = judge(reference, formula + mean, rounding, self._session.rules).wrong
        doubtful &= ~found.at_kink & (spread <= _LITTLE * rounding)
        if not (found.wrong | doubtful).any():
            return found
        wrong = found.wrong & self._confirmed(k, rounding, elements)
        if doubtful.any():
            least = self._least_seen(k, rounding, elements)
            doubtful &= np.abs(mean) > least
            wrong |= doubtful
            found = replace(found, limit=np.where(doubtful, least, found.limit))
        if self._session.rules.on_kink == "fail":
            wrong |= found.wrong & found.at_kink
        return replace(found, wrong=wrong)

    def _least_seen(self, k: int, rounding: Doubles, elements: Indices) -> Doubles:
        """[r, n]: what the mean of all centres can tell from rounding; inf where they disagree.

        Only for errors that spread no more than the rounding of a result does: the errors of lost
        digits need not have the mean 0.
        """
        near = [[part[:, elements] for part in one.of(k)] for one in (self.at_point, *self.around)]
        means, spreads = (np.array([one[j] for one in near]) for j in range(2))
        least: Doubles = rounding + _ERRORS * np.sqrt(np.sum(spreads**2, axis=0) / POINTS) / len(
            near
        )
        with np.errstate(invalid="ignore"):
            total = np.abs(np.mean(means, axis=0)) > least
            votes = np.sum(np.abs(means) > rounding, axis=0) >= len(near) - 1
        return np.where(total & votes & _is_steady(means), least, np.inf)

    def _confirmed(self, k: int, rounding: Doubles, elements: Indices) -> Mask:
        """Where most of the other centres show a fault, too, and all of them the same one."""
        near = [[part[:, elements] for part in one.of(k)] for one in (self.at_point, *self.around)]
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            votes = sum(
                (np.abs(mean) > _SPREADS * spread + rounding).astype(int)
                for mean, spread, _ in near[1:]
            )
            means = np.array([mean for mean, _, _ in near])
            parts = means / np.array([formula for _, _, formula in near])
            steady = _is_steady(means) | _is_steady(parts)
        confirmed: Mask = (votes >= _CONFIRMED) & steady
        return confirmed


def _is_steady(means: Doubles) -> Mask:
    """Whether values of all centres are of one kind; rounding errors scatter around 0."""
    steady: Mask = np.abs(np.mean(means, axis=0)) > np.std(means, axis=0, ddof=1)
    return steady
