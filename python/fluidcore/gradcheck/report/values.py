"""Numbers, positions and foreign text as reports show them."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable

from fluidcore.gradcheck.report.data import ElementError, ResultData
from fluidcore.gradcheck.report.phrases import SEVERITY
from fluidcore.gradcheck.verdict import Reason, Verdict

_SMALLEST = 1e-8  # relative errors divide by no less
_BLIND = 1.0  # above it not even a gradient of 0 is seen to be wrong
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069"
    "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)


def printable(text: str) -> str:
    """Text that neither commands a terminal nor breaks XML: what would is shown as U+FFFD."""
    return _UNPRINTABLE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


def one_line(text: str, limit: int = 400) -> str:
    """The text on one line, shortened in its middle if it is longer than `limit`."""
    line = " ".join(printable(text).split())
    half = (limit - 5) // 2
    return line if len(line) <= limit else f"{line[:half]} ... {line[-half:]}"


def short(value: float) -> str:
    """Three digits: for errors."""
    return f"{value:.3g}"


def precise(value: float) -> str:
    """Ten digits: for values that are compared."""
    return f"{value:.10g}"


def shape_text(shape: tuple[int, ...]) -> str:
    """For example "[4, 5]"."""
    return str(list(shape))


def multi_index(index: int, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Where an element of the flattened array is; None if it has no such element."""
    if not 0 <= index < math.prod(shape):
        return None
    position: list[int] = []
    for extent in reversed(shape):
        index, rest = divmod(index, extent)
        position.insert(0, rest)
    return tuple(position)


def lists_directions(result: ResultData) -> bool:
    """Whether the elements that a result lists are directions.

    A directional check that fails lists the wrong elements that it has found.
    """
    return result.mode == "directional" and result.verdict is not Verdict.FAIL


def place_of(error: ElementError, result: ResultData) -> str:
    """Where in its input an element is, for example "[2, 1]"."""
    if lists_directions(result):
        return f"direction {error.index}"
    position = multi_index(error.index, result.shape)
    return f"element {error.index}" if position is None else shape_text(position)


def difference(error: ElementError) -> float:
    """|analytical - numerical|; NaN where that cannot be said."""
    return abs(error.analytical - error.numerical)


def relative(error: ElementError) -> float:
    """The difference relative to the larger of the two values, or to 1e-8."""
    larger = max(abs(error.analytical), abs(error.numerical), _SMALLEST)
    return difference(error) / larger


def worst_first(errors: Iterable[ElementError]) -> list[ElementError]:
    """The wrong ones, then the undecided ones; of each the largest relative error first."""
    return sorted(errors, key=_rank)


def _rank(error: ElementError) -> tuple[int, float, float, int]:
    """A NaN is as bad as an infinity; where relative errors are equal, absolute ones decide."""
    by = (relative(error), difference(error))
    far, off = (-math.inf if math.isnan(value) else -value for value in by)
    return SEVERITY[error.verdict], far, off, error.index


def is_seen(error: float) -> bool:
    """Whether a relative error says anything: a gradient of 0 is off by 1."""
    return error <= _BLIND


def seen(resolution: float) -> str:
    """The smallest relative error that would have been reported, in a word or two."""
    if not is_seen(resolution):
        return "nothing"
    return f"{resolution:.2g}" if resolution > 0 else "anything"


def sight(result: ResultData) -> str:
    """Which error would have been seen."""
    if result.verdict is not Verdict.PASS and result.num_elements == 0:
        return "nothing was compared"
    if Reason.NON_FINITE in result.reasons and not result:
        return "not finite"
    if not is_seen(result.resolution):
        if result.verdict is Verdict.FAIL:
            return "smaller errors may be hidden"
        return judged(result) or "no error would have been seen"
    if result.resolution <= 0:
        return "any error would have been seen"
    text = f"an error of {seen(result.resolution)} would have been seen"
    single = result.min_detectable_99
    if 2 * result.resolution < single:
        text += f", in a single element {seen(single)}"
    return ", ".join(part for part in (text, judged(result)) if part)


def judged(result: ResultData) -> str:
    """How many elements a PASS is about, "" if all of them."""
    if not result.num_open:
        return ""
    return f"only {result.num_passed} of {result.num_elements} could be judged"


def escaped(text: str) -> str:
    """Text that HTML shows as it is."""
    return html.escape(printable(text))
