"""Elements that are differentiated by in one run, each in a copy of the point of its own.

That is what a coloured check does with rows: the copies do not depend on each other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fluidcore import core
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.target.calls import flat
from fluidcore.gradcheck.target.target import SHADOW, Array, Doubles, Run

_NUMBERS = 2**20  # in the copies and their outputs
_SAME = 2.0**-40  # of the largest output: an operator on a batch may add in another order


def batch_size(session: Session, k: int, count: int) -> int:
    """How many of `count` elements by input `k` go into a batch; 0: f is not run on batches."""
    if session.dtype != SHADOW or not session.has_batches or count < session.target.smallest_batch:
        return 0
    numbers = session.target.inputs[k].value.size + sum(y.size for y in session.outputs)
    return _NUMBERS // max(numbers, 1)


def differentiate_batch(
    session: Session, k: int, elements: Array, noise: Doubles | None, *, once: bool = False
) -> core.Derivatives | None:
    """The derivatives by some elements; None where f does not run on batches.

    Args:
        session: The check, in float64.
        k: Of the input.
        elements: [b], of the flattened input.
        noise: [m], of the outputs; None for rounding alone.
        once: Whether one central difference is enough.
    """
    run = session.target.batched(k, elements, session.dtype)
    x = np.asarray(session.calls.point(session.dtype)[k]).reshape(-1)[elements]
    ys = None if run is None else _same_outputs(run, x, session.outputs)
    session.has_batches = ys is not None
    if run is None or ys is None:
        session.calls.forwards += run is not None
        return None

    def remembering(xs: Sequence[Doubles]) -> list[Array]:
        return ys if np.array_equal(xs[0], x) else run(xs)

    found = core.differentiate(
        core.CallableFunction(remembering, [x]),
        0,
        (_copied(session.cotangent(i), x.size) for i in range(session.num_cotangents)),
        noise=None if noise is None else _copied(_split(noise, session.outputs), x.size),
        rows=x.size,
        once=once,
    )
    if found.failure is not None:  # f raises where one copy is outside of its domain
        session.calls.forwards += found.evaluations
        return None
    return found


def _same_outputs(run: Run, x: Doubles, outputs: Sequence[Array]) -> list[Array] | None:
    """Those at x, if they are the same for every copy as without a batch."""
    try:
        ys = run([x])
    except Exception:  # whatever a framework raises where it has no rule for a batch
        return None
    if [y.shape for y in ys] != [(x.size, *y.shape) for y in outputs]:
        return None
    with np.errstate(invalid="ignore"):
        apart = [np.max(np.abs(a - b), initial=0.0) for a, b in zip(ys, outputs, strict=True)]
    size = np.max(np.abs(flat(outputs)), initial=0.0)
    return ys if np.max(apart, initial=0.0) <= _SAME * size else None


def _copied(parts: Sequence[Array], count: int) -> Doubles:
    """The numbers of each output, once for every copy."""
    return np.concatenate([np.tile(flat([part]), count) for part in parts])


def _split(numbers: Doubles, outputs: Sequence[Array]) -> list[Doubles]:
    ends = np.cumsum([y.size for y in outputs])
    return np.split(numbers, ends[:-1])
