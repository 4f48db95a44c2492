"""Axes and curves of small SVG pictures; their colours come from the style of the page."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 340, 210
LEFT, RIGHT, TOP, BOTTOM = 44, 322, 20, 174
_TICKS = 5


@dataclass(frozen=True)
class LogAxis:
    """Maps positive numbers to a range of pixels; what is outside lands on its ends."""

    low: float  # decimal exponent at `start`
    high: float  # and at `end`
    start: int
    end: int

    @classmethod
    def across(cls, values: Iterable[float]) -> LogAxis:
        """A horizontal axis that holds the values."""
        return cls(*_range(values), LEFT + 4, RIGHT)

    @classmethod
    def upwards(cls, values: Iterable[float]) -> LogAxis:
        """A vertical axis that holds the values."""
        return cls(*_range(values), BOTTOM, TOP)

    def at(self, value: float) -> int:
        """The pixel of a value; that of 0 is the low end."""
        return self.at_power(math.log10(value) if value > 0 else self.low)

    def at_power(self, exponent: float) -> int:
        """The pixel of a power of ten."""
        part = (exponent - self.low) / (self.high - self.low)
        return round(self.start + min(max(part, 0.0), 1.0) * (self.end - self.start))

    def ticks(self) -> list[tuple[int, str]]:
        """Pixels and labels of a few powers of ten."""
        low, high = math.ceil(self.low), math.floor(self.high)
        stride = max(1, math.ceil((high - low) / _TICKS))
        exponents = range(high, low - 1, -stride)
        return [(self.at_power(exponent), f"1e{exponent}") for exponent in exponents]


def _range(values: Iterable[float]) -> tuple[float, float]:
    """Whole decimal exponents around the positive values."""
    exponents = [math.log10(value) for value in values if 0 < value < math.inf]
    if not exponents:
        return -1, 1
    low, high = math.floor(min(exponents)), math.ceil(max(exponents))
    return low, max(high, low + 1)


def curve(style: str, points: Sequence[tuple[int, int]], marks: bool = True) -> str:
    """A line through the points, with a mark at each."""
    if not points:
        return ""
    path = "M" + "L".join(f"{x} {y}" for x, y in points)
    dots = "".join(f"M{x} {y}h0" for x, y in points) if marks else ""
    line = f'<path class="{style}" d="{path}"/>'
    return f'{line}<path class="{style} dot" d="{dots}"/>' if dots else line


def plot(title: str, x: LogAxis, y: LogAxis, x_label: str, y_label: str, body: str) -> str:
    """A picture with a logarithmic axis below and one on the left."""
    left = y.ticks() if y.start != y.end else []
    grid = "".join(f"M{LEFT} {pixel}H{RIGHT}" for pixel, _ in left)
    labels = "".join(
        f'<text x="{pixel}" y="{BOTTOM + 17}">{label}</text>' for pixel, label in x.ticks()
    )
    labels += "".join(
        f'<text class="left" x="{LEFT - 4}" y="{pixel + 4}">{label}</text>' for pixel, label in left
    )
    return picture(
        title,
        WIDTH,
        HEIGHT,
        f'<path class="grid" d="{grid}M{LEFT} {BOTTOM}H{RIGHT}"/>{labels}'
        f'<text x="{(LEFT + RIGHT) // 2}" y="{HEIGHT - 5}">{html.escape(x_label)}</text>'
        f'<text class="first" x="{LEFT}" y="{TOP - 9}">{html.escape(y_label)}</text>{body}',
    )


def picture(title: str, width: int, height: int, body: str) -> str:
    """An SVG element that scales with the page."""
    name = html.escape(title)
    return f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{name}">{body}</svg>'
