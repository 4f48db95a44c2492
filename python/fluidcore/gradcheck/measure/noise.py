"""How far f and its gradient repeat themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.target.calls import flat
from fluidcore.gradcheck.target.precision import UNIT
from fluidcore.gradcheck.target.target import Doubles

_MORE = 8  # runs that measure a spread, once there is one
_STOCHASTIC = 1e-3


@dataclass(frozen=True)
class Noise:
    """What was measured.

    Attributes:
        forward: [m], the noise of the outputs that error bars must allow for; None: rounding alone.
        backward: For each input [n], the standard deviation of its gradient.
        stochastic: Whether f is random, not just inexact.
        detail: What was seen, "" if every run gave the same bits.
        repeats: Whether all runs of the gradient are known to have given the same bits.
    """

    forward: Doubles | None
    backward: list[Doubles]
    stochastic: bool
    detail: str
    repeats: bool = False


def measure(session: Session) -> Noise:
    """Runs f and the gradient again, and looks for rounding errors inside a float32 f."""
    spread, stochastic, detail = _spread(session)
    backward, repeats = ([], False) if stochastic else _backward(session)
    noise = 4 * spread
    if session.dtype == "float32" and not stochastic:
        inner = session.inner_noise.near
        noise = noise if inner is None else np.maximum(noise, inner)
    rounding = session.target.rounding
    if rounding is not None:
        noise = np.maximum(noise, UNIT[session.dtype] * rounding.outputs)
        least = zip(backward, rounding.gradients, strict=bool(backward))
        backward = [np.maximum(spread, UNIT[session.dtype] * one) for spread, one in least]
        repeats = False
    return Noise(noise if noise.any() else None, backward, stochastic, detail, repeats)


def _spread(session: Session) -> tuple[Doubles, bool, str]:
    first = flat(session.outputs)
    runs = [first]
    wanted = session.config.replicates
    repeats = True
    while len(runs) < wanted:
        again = session.calls.again(session.outputs, session.dtype)
        runs.append(flat(again))
        if runs[-1].size != first.size:
            return np.zeros_like(first), True, "f has outputs of other shapes in a second run"
        if repeats and not _equal(runs[-1], first):
            repeats, wanted = False, max(wanted, _MORE)
    if repeats:
        return np.zeros_like(first), False, ""
    with np.errstate(invalid="ignore"):
        spread = np.nan_to_num(_deviation(runs), nan=np.inf)
    size = float(np.max(np.abs(first), initial=0.0))
    worst = float(np.max(spread))
    stochastic = not worst <= _STOCHASTIC * size
    ulps = worst / (2 * UNIT[session.dtype] * size) if size else np.inf
    how = "is random" if stochastic else "does not repeat itself"
    text = f"f {how}: {worst:.2g} apart in {len(runs)} runs, {ulps:.2g} ulps of the largest output"
    return (np.zeros_like(first) if stochastic else spread), stochastic, text


def _backward(session: Session) -> tuple[list[Doubles], bool]:
    dtype = session.dtype
    runs = [session.gradients(0, dtype)]
    wanted = session.config.replicates
    if wanted == 2 and _scales(session):
        return [_zeros(part) for part in runs[0]], True
    repeats = True
    while len(runs) < wanted:
        runs.append(session.gradient_of(session.cotangent(0), dtype))
        if repeats and not _same(runs[-1], runs[0]):
            repeats, wanted = False, max(wanted, _MORE)
    if repeats:
        return [_zeros(part) for part in runs[0]], True
    with np.errstate(invalid="ignore"):
        return [_deviation([run[k] for run in runs]) for k in range(len(runs[0]))], False


def _scales(session: Session) -> bool:
    """Whether −2 times the cotangent, which is audited anyway, gives −2 times the gradient.

    Then a second run has given the same bits.
    """
    is_audited = session.config.audits and not session.target.fixed_cotangent
    return is_audited and session.scales(session.dtype)


def _zeros(part: Doubles) -> Doubles:
    return np.broadcast_to(np.zeros(()), part.shape)  # of large gradients none is stored


def _deviation(runs: list[Doubles]) -> Doubles:
    same = np.max(runs, axis=0) == np.min(runs, axis=0)  # np.std may leave a rounding error
    deviation: Doubles = np.where(same, 0.0, np.std(runs, axis=0, ddof=1))
    return deviation


def _same(a: list[Doubles], b: list[Doubles]) -> bool:
    return all(_equal(x, y) for x, y in zip(a, b, strict=True))


def _equal(a: Doubles, b: Doubles) -> bool:
    return np.array_equal(a, b) or np.array_equal(a, b, equal_nan=True)
