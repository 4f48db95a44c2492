"""The plots of one gradient: steps, Taylor remainder, and how large its errors are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from fluidcore.gradcheck.report.data import ElementError, Level
from fluidcore.gradcheck.report.phrases import count
from fluidcore.gradcheck.report.svg import BOTTOM, LEFT, RIGHT, TOP, LogAxis, curve, plot
from fluidcore.gradcheck.report.values import difference

_ABOVE_NOISE = 10.0
_FEWEST = 3  # levels that make a slope


def usable(levels: Sequence[Level]) -> list[Level]:
    """Those whose numbers are finite, the largest step first."""
    finite = [level for level in levels if level.step > 0 and all(map(math.isfinite, level))]
    return sorted(finite, key=lambda level: -level.step)


def taylor_slope(levels: Sequence[Level]) -> float | None:
    """The power of the step with which the Taylor remainder falls: 2 where the gradient is right.

    Args:
        levels: As `usable` returns them; the longest run of them above the noise counts.

    Returns:
        None if fewer than three levels in a row are above the noise.
    """
    runs = [list(run) for is_above, run in groupby(levels, _is_above_noise) if is_above]
    best = max(runs, key=len, default=[])
    if len(best) < _FEWEST or best[0].step == best[-1].step:
        return None
    points = [(math.log(level.step), math.log(level.remainder)) for level in best]
    middle = sum(x for x, _ in points) / len(points)
    spread = sum((x - middle) ** 2 for x, _ in points)
    return sum((x - middle) * y for x, y in points) / spread


def _is_above_noise(level: Level) -> bool:
    return level.remainder > _ABOVE_NOISE * level.noise * level.step


def figure(title: str, picture: str, caption: str) -> str:
    """A picture with a title above and an explanation below; both are HTML."""
    return f"<figure><b>{title}</b>{picture}<figcaption>{caption}</figcaption></figure>"


def step_plot(levels: Sequence[Level]) -> str:
    """|A - D_h| against h: how far the claimed slope is from the difference quotient."""
    levels = usable(levels)
    if len(levels) < 2:
        return ""
    settled = min(levels, key=lambda level: _uncertainty(levels, level)).difference
    claimed = [(level.step, level.remainder / level.step) for level in levels]
    central = [(level.step, abs(level.difference - settled)) for level in levels]
    noise = [(level.step, level.noise) for level in levels]
    if not any(value > 0 for _, value in claimed):
        return figure("Step size", "", "The claimed slope is exact at every step.")
    x = LogAxis.across(step for step, _ in claimed)
    drawn = (("c3", noise, False), ("c2", central, True), ("c1", claimed, True))
    y = LogAxis.upwards(value for _, points, _ in drawn for _, value in points)
    body = "".join(
        curve(style, [(x.at(step), y.at(value)) for step, value in points if value > 0], marks)
        for style, points, marks in drawn
    )
    caption = (
        '<span class="k1">●</span> |A &minus; D<sub>h</sub>|, the claimed slope against the '
        'one-sided difference: it falls with h if A is right <span class="k2">●</span> the central '
        'difference against its best value <span class="k3">┄</span> rounding'
    )
    return figure(
        "Step size", plot("error against step size", x, y, "step h", "error", body), caption
    )


def _uncertainty(levels: Sequence[Level], level: Level) -> float:
    """How far a level is from the next finer one, and its noise."""
    finer = [other.difference for other in levels if other.step < level.step]
    return level.noise + abs(level.difference - finer[0]) if finer else math.inf


def taylor_plot(levels: Sequence[Level]) -> str:
    """|f(x + hd) - f(x) - h⟨A, d⟩| against h, with the slopes 1 and 2."""
    levels = usable(levels)
    points = [(level.step, level.remainder) for level in levels if level.remainder > 0]
    if len(points) < 2:
        return ""
    x = LogAxis.across(step for step, _ in points)
    y = LogAxis.upwards(value for _, value in points)
    step, value = points[0]
    body = ""
    for power in (1, 2):
        guide = [(s, value * (s / step) ** power) for s, _ in points]
        inside = [(x.at(s), y.at(v)) for s, v in guide if v > 0 and math.log10(v) >= y.low]
        body += curve("c3", [inside[0], inside[-1]], False)
        left, bottom = inside[len(inside) // 2]
        name = ("h¹", "h²")[power - 1]
        body += f'<text class="left" x="{left - 4}" y="{bottom - 4}">{name}</text>'
    body += curve("c1", [(x.at(s), y.at(v)) for s, v in points])
    slope = taylor_slope(levels)
    said = "All of it is rounding" if slope is None else f"It falls like h<sup>{slope:.2f}</sup>"
    caption = f"{said}; h² if the gradient is right, h¹ if it is wrong."
    drawn = plot("Taylor remainder against step size", x, y, "step h", "remainder", body)
    return figure("Taylor remainder", drawn, caption)


def histogram(errors: Sequence[ElementError]) -> str:
    """How many elements have which |A - G|, in half decades, over their error bars."""
    found = [difference(error) for error in errors]
    bars = Counter(_half_decade(value) for value in found if 0 < value < math.inf)
    limits = Counter(_half_decade(e.error_bar) for e in errors if 0 < e.error_bar < math.inf)
    if not bars:
        return ""
    keys = [*bars, *limits]
    x = LogAxis(math.floor(min(keys) / 2), math.ceil((max(keys) + 1) / 2), LEFT + 4, RIGHT)
    tallest = max(*bars.values(), *limits.values(), 1)
    body = f'<path class="bar" d="{_columns(bars, x, tallest, "z")}"/>'
    if limits:
        body += f'<path class="outline" d="{_columns(limits, x, tallest, "")}"/>'
    caption = '<span class="k1">■</span> elements by |A &minus; G|'
    if limits:
        caption += ' <span class="k2">□</span> by their error bars'
    if exact := sum(value == 0 for value in found):
        caption += f"; {count(exact, 'element')} without a difference"
    if lost := sum(not math.isfinite(value) for value in found):
        caption += f"; {count(lost, 'element')} not finite"
    flat = LogAxis(0, 1, BOTTOM, BOTTOM)
    label = f"up to {count(tallest, 'element')}"
    drawn = plot("histogram of the differences", x, flat, "difference", label, body)
    return figure("Sizes of the differences", drawn, caption)


def _half_decade(value: float) -> int:
    return math.floor(2 * math.log10(value))


def _columns(counts: Counter[int], x: LogAxis, tallest: int, end: str) -> str:
    """A column for each half decade, as high as its count."""
    path = ""
    for key, number in sorted(counts.items()):
        left, right = x.at_power(key / 2), x.at_power((key + 1) / 2)
        height = max(1, round(number / tallest * (BOTTOM - TOP)))
        path += f"M{left} {BOTTOM}v-{height}h{max(1, right - left - 1)}V{BOTTOM}{end}"
    return path
