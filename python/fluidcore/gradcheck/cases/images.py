"""Images at other points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fluidcore.gradcheck.cases.example import Data, OpExample, Shape


def _interpolate(data: Data) -> Iterator[OpExample]:
    n, c = data.extents(2, 1, 2)
    a, b = data.extents(2, 2, 4)

    def case(shape: Shape, mode: str, **attrs: Any) -> OpExample:
        return OpExample("interpolate", {"X": data.normal(*shape)}, {"mode": mode, **attrs})

    yield from (
        case((n, c, a), "nearest", size=[5]),
        case((n, c, a + 2), "linear", size=[3]),
        case((n, c, a, b), "bilinear", scale=[1.5, 2.0]),
        case((1, c, a, b), "bilinear", size=[5, 3], align_corners=True),
        case((1, c, a, b), "bicubic", size=[5, 3]),
        case((1, 1, a, 2, b), "trilinear", size=[3, 3, 2]),
        case((0, c, a), "linear", size=[5]),
    )


def _pixel_shuffle(data: Data) -> Iterator[OpExample]:
    n, c, height, width = data.extents(4, 1, 2)
    for shape, factor in (
        ((n, 4 * c, height, width), 2),
        ((1, 9, height, 2), 3),
        ((n, c, 3, 2), 1),
        ((0, 4, height, width), 2),
    ):
        yield OpExample("pixel_shuffle", {"X": data.normal(*shape)}, {"upscale_factor": factor})


CASES = {"interpolate": _interpolate, "pixel_shuffle": _pixel_shuffle}
