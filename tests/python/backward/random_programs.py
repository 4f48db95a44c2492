"""Random programs: nested blocks, fan-out, in-place writes, arrays, clips, unused results.

A program is drawn as plain data, a tuple of statements, and then built with fluidcore or run step
by step with PyTorch. All values are vectors of three elements that stay within [-1.5, 1.5].
"""

from __future__ import annotations

from dataclasses import dataclass

import hypothesis.strategies as st

CLIP = 0.05
SIZE = 3
STEPS = 3  # of the sequence


@dataclass(frozen=True)
class Unary:
    """`into` (or a new variable) = f(x)."""

    f: str
    x: int
    into: int | None = None


@dataclass(frozen=True)
class Binary:
    """`into` (or a new variable) = f(x, y) / 2."""

    f: str
    x: int
    y: int
    into: int | None = None


@dataclass(frozen=True)
class Constant:
    """`into` = a constant."""

    into: int


@dataclass(frozen=True)
class Split:
    """A new variable: half of x and y one after the other; the other half is unused."""

    x: int
    y: int


@dataclass(frozen=True)
class Stop:
    """A new variable: a copy of x that stops gradients."""

    x: int


@dataclass(frozen=True)
class Clipped:
    """A new variable: tanh(x), with an error clip for this value and all later ones."""

    x: int


@dataclass(frozen=True)
class ThroughArray:
    """A new variable: the mean of x, written to an array over y, and y, written beside."""

    x: int
    y: int


@dataclass(frozen=True)
class Slope:
    """A new variable: tanh of the gradient of the last value with respect to x."""

    x: int


@dataclass(frozen=True)
class Loop:
    """Runs the statements `trips` times; `functional`: a while_loop that carries one variable."""

    trips: int
    body: tuple
    carried: int
    functional: bool


@dataclass(frozen=True)
class Branch:
    """Runs the statements if the counter of the loop around is less than `limit`."""

    limit: int
    body: tuple


@dataclass(frozen=True)
class Choose:
    """A new variable: the last one of one of two lists of statements."""

    limit: int
    then: tuple
    otherwise: tuple


@dataclass(frozen=True)
class Scan:
    """A new variable: the mean over time of a recurrent block that starts from x.

    The memory, its new value and what each step gives have error clips.
    """

    x: int
    body: tuple
    is_reverse: bool = False


_index = st.integers(0, 7)
_into = st.none() | _index
_simple = st.one_of(
    st.builds(Unary, st.sampled_from(["tanh", "sigmoid"]), _index, _into),
    st.builds(Binary, st.sampled_from(["add", "sub", "mul"]), _index, _index, _into),
    st.builds(Binary, st.sampled_from(["add", "sub", "mul"]), _index, _index, _into),
    st.builds(Constant, _index),
    st.builds(Split, _index, _index),
    st.builds(ThroughArray, _index, _index),
)
_special = st.one_of(_simple, _simple, st.builds(Stop, _index), st.builds(Clipped, _index))


def _statements(leaf, depth):
    kinds = [leaf, leaf]
    if depth > 0:
        inner = _statements(leaf, depth - 1)
        limit = st.integers(0, 3)
        kinds += [
            st.builds(Loop, st.integers(0, 3), inner, _index, st.booleans()),
            st.builds(Branch, limit, inner),
            st.builds(Choose, limit, inner, inner),
            st.builds(Scan, _index, inner),
        ]
    return st.lists(st.one_of(kinds), min_size=1, max_size=3 if depth < 3 else 5).map(tuple)


_smooth = st.one_of(_simple, _simple, _simple, st.builds(Slope, _index))
smooth_programs = _statements(_smooth, 3)  # their gradients can be had from differences
programs = _statements(_special, 3)
