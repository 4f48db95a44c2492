"""What may be wrong with a wrong gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from fluidcore.gradcheck.explain.additions import along_axes, others, products, terms
from fluidcore.gradcheck.explain.factors import fitted, named, not_finite, zero
from fluidcore.gradcheck.explain.fanout import branches, twice
from fluidcore.gradcheck.explain.mismatch import Guess, Mismatch
from fluidcore.gradcheck.explain.narrower_dtype import rounded
from fluidcore.gradcheck.explain.order import moved, summed
from fluidcore.gradcheck.explain.partial_gradient import cotangent, frozen, partial
from fluidcore.gradcheck.explain.regions import regional, scattered
from fluidcore.gradcheck.report.data import Hypothesis
from fluidcore.gradcheck.target.target import Doubles, Target

_SHOWN = 5
_LEAST = 0.5  # a guess that explains less is not worth a line

# Simple reasons first: the first that explains everything is the best.
_KINDS: tuple[Callable[[Mismatch], Iterator[Guess]], ...] = (
    not_finite,
    zero,
    cotangent,
    named,
    others,
    rounded,
    moved,
    regional,
    summed,
    fitted,
    terms,
    products,
    branches,
    twice,
    partial,
    along_axes,
    frozen,
    scattered,
)


def explain(
    target: Target,
    k: int,
    analytical: Doubles,
    numerical: Doubles,
    cotangents: Sequence[Sequence[Any]],
    limit: Any,
) -> tuple[Hypothesis, ...]:
    """Guesses at what is wrong with the gradient by an input, the best first.

    In the texts A is the claimed gradient, G the right one, v the cotangent.

    Args:
        target: What was checked; its gradient is calculated a few times more.
        k: The input.
        analytical: The claimed gradient, float64, of the input's shape.
        numerical: The right one.
        cotangents: The first is that of both, an array for each output.
        limit: How far they may be apart, for all elements or each.

    Returns:
        At most five, and only those that explain everything if there are any; none if nothing is
        wrong.
    """
    shape = target.inputs[k].value.shape
    a, g = (np.asarray(x, np.float64).reshape(shape) for x in (analytical, numerical))
    limits = np.array(np.broadcast_to(np.asarray(limit, np.float64), shape))
    vs = [np.asarray(v, np.float64) for v in cotangents[0]]
    mismatch = Mismatch(target, k, a, g, vs, limits)
    if not np.any(mismatch.wrong):
        return ()
    # Where A is small, any small multiple of G is near it: that names no reason.
    nothing = mismatch.score(mismatch.guess("", np.zeros_like(g)))
    least = max(_LEAST, (1 + nothing) / 2)
    found: list[Hypothesis] = []
    for kind in _KINDS:
        for guess in _tried(kind, mismatch):
            score = mismatch.score(guess)
            if score >= least:
                found.append(Hypothesis(round(score, 3), guess.text))
        if any(hypothesis.score == 1 for hypothesis in found):
            break
    found.sort(key=lambda hypothesis: -hypothesis.score)
    # Beside what explains everything, what explains less says nothing.
    found = [hypothesis for hypothesis in found if hypothesis.score == 1] or found
    return tuple({hypothesis.text: hypothesis for hypothesis in found}.values())[:_SHOWN]


def _tried(kind: Callable[[Mismatch], Iterator[Guess]], mismatch: Mismatch) -> Iterator[Guess]:
    """The guesses of a kind; a function that fails elsewhere than at its point has none."""
    try:
        with np.errstate(all="ignore"):
            yield from kind(mismatch)
    except Exception:  # whatever the user's function raises for another cotangent or point
        return
