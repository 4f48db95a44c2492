"""Bugs that any gradient can have."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from fluidcore.gradcheck.target.target import Doubles
from tests.power.bug import Bug, Point

SEVERITIES = (1.0, 0.5, 0.1, 0.05, 0.01, 0.003, 0.001, 0.0003)

Change = Callable[[Doubles], "Doubles | None"]


def generic_bugs() -> Iterator[Bug]:
    """Every generic bug, those with a size at every severity."""
    for severity in SEVERITIES:
        for name, make in _SIZED.items():
            yield Bug(f"{name} {severity:g}", severity, _without_point(make(severity)))
    for name, change in _WHOLE.items():
        yield Bug(name, 1.0, _without_point(change))
    for name, seen in _SEEING.items():
        yield Bug(name, 1.0, seen)


def _without_point(change: Change) -> Callable[[Doubles, Point], Doubles | None]:
    return lambda gradient, point: change(gradient)


def _largest(gradient: Doubles) -> int:
    return int(np.argmax(np.abs(gradient)))


def _one_element(severity: float) -> Change:
    def change(gradient: Doubles) -> Doubles | None:
        if gradient.size == 0:
            return None
        wrong = gradient.copy()
        wrong.flat[_largest(gradient)] *= 1 + severity
        return wrong

    return change


def _last_element(severity: float) -> Change:
    def change(gradient: Doubles) -> Doubles | None:
        if gradient.size == 0:
            return None
        wrong = gradient.copy()
        wrong.flat[-1] *= 1 - severity
        return wrong

    return change


def _all_larger(severity: float) -> Change:
    return lambda gradient: gradient * (1 + severity)


def _all_smaller(severity: float) -> Change:
    return lambda gradient: gradient * (1 - severity)


def _bias(severity: float) -> Change:
    def change(gradient: Doubles) -> Doubles | None:
        return (
            gradient + severity * np.sqrt(np.mean(np.square(gradient))) if gradient.size else None
        )

    return change


def _border(severity: float) -> Change:
    def change(gradient: Doubles) -> Doubles | None:
        if gradient.ndim == 0 or gradient.shape[-1] < 2:
            return None
        wrong = gradient.copy()
        wrong[..., -1] *= 1 + severity
        return wrong

    return change


_SIZED: dict[str, Callable[[float], Change]] = {
    "one element too large by": _one_element,
    "last element too small by": _last_element,
    "all too large by": _all_larger,
    "all too small by": _all_smaller,
    "a bias of": _bias,
    "a border too large by": _border,
}


def _negated(gradient: Doubles) -> Doubles:
    return -gradient


def _one_negated(gradient: Doubles) -> Doubles | None:
    return _one_element(-2.0)(gradient)


def _one_nan(gradient: Doubles) -> Doubles | None:
    return _one_element(math.nan)(gradient)


def _swapped(gradient: Doubles) -> Doubles | None:
    if gradient.size < 2:
        return None
    wrong = gradient.copy()
    i, j = int(np.argmax(gradient)), int(np.argmin(gradient))
    wrong.flat[i], wrong.flat[j] = gradient.flat[j], gradient.flat[i]
    return wrong


def _no_tail(gradient: Doubles) -> Doubles | None:
    wrong = gradient.copy()
    wrong.flat[gradient.size // 2 :] = 0
    return wrong


def _backwards(gradient: Doubles) -> Doubles:
    return gradient.ravel()[::-1].reshape(gradient.shape)


def _rolled(gradient: Doubles) -> Doubles:
    return np.roll(gradient.ravel(), 1).reshape(gradient.shape)


def _transposed(gradient: Doubles) -> Doubles | None:
    if gradient.ndim < 2 or gradient.shape[-1] != gradient.shape[-2]:
        return None
    return gradient.swapaxes(-1, -2)


def _read_transposed(gradient: Doubles) -> Doubles | None:
    if gradient.ndim < 2 or gradient.shape[-1] == gradient.shape[-2]:
        return None
    return gradient.swapaxes(-1, -2).reshape(gradient.shape)


def _first_row(gradient: Doubles) -> Doubles | None:
    if gradient.ndim < 2 or gradient.shape[0] < 2:
        return None
    return np.broadcast_to(gradient[:1], gradient.shape).copy()


def _batch_factor(gradient: Doubles) -> Doubles | None:
    return gradient / gradient.shape[0] if gradient.ndim and gradient.shape[0] > 1 else None


def _summed_not_mean(gradient: Doubles) -> Doubles | None:
    return gradient * gradient.size if gradient.size > 1 else None


def _half_precision(gradient: Doubles) -> Doubles:
    return gradient.astype(np.float16).astype(np.float64)


_WHOLE: dict[str, Change] = {
    "zero": np.zeros_like,
    "the wrong sign": _negated,
    "the wrong sign of one element": _one_negated,
    "a NaN": _one_nan,
    "two elements swapped": _swapped,
    "the second half missing": _no_tail,
    "the order reversed": _backwards,
    "the order rolled": _rolled,
    "the transpose": _transposed,
    "the axes confused": _read_transposed,
    "the first row everywhere": _first_row,
    "a batch factor": _batch_factor,
    "a sum for a mean": _summed_not_mean,
    "a half precision result": _half_precision,
}


def _ignores_cotangent(gradient: Doubles, point: Point) -> Doubles | None:
    return point.ones()


def _stale(gradient: Doubles, point: Point) -> Doubles | None:
    return point.moved()


def _cotangent_itself(gradient: Doubles, point: Point) -> Doubles | None:
    same = [v for v in point.vs if v.shape == gradient.shape]
    return same[0].copy() if same else None


def _times_input(gradient: Doubles, point: Point) -> Doubles | None:
    return gradient * point.xs[point.k]


_SEEING: dict[str, Callable[[Doubles, Point], Doubles | None]] = {
    "its cotangent ignored": _ignores_cotangent,
    "a stale input": _stale,
    "its cotangent passed through": _cotangent_itself,
    "a spurious factor x": _times_input,
}
