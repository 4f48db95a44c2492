"""Images at other points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fluidcore.gradcheck.cases.example import Array, Data, OpExample, Shape


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


def _seen(data: Data) -> Iterator[tuple[Array, Array, dict[str, Any]]]:
    """Images, points to see them at, and how."""
    n, c, height, width, points = data.extents(5, 2, 3)
    for batch, attrs in (
        (n, {}),
        (n, {"align_corners": True, "padding_mode": "border"}),
        (1, {"padding_mode": "reflection"}),
        (n, {"mode": "bicubic", "derivative": [0, 1]}),
        (1, {"mode": "bicubic", "align_corners": True, "padding_mode": "reflection"}),
        (n, {"mode": "nearest"}),
        (1, {"derivative": [1, 1]}),
        (0, {}),
    ):
        corners = "align_corners" in attrs
        grid = np.stack(
            [_between(data, extent, corners, batch, 2, points) for extent in (width, height)], -1
        )
        yield data.normal(batch, c, height, width), data.cast(grid), attrs


def _between(data: Data, extent: int, align_corners: bool, *shape: int) -> Array:
    """Coordinates inside and outside that are not near the elements, nor halfway between them."""
    at = data.integers(-1, extent + 1, *shape) + data.choice([0.25, 0.75]) + np.zeros(shape)
    size = extent - 1 if align_corners else extent
    return np.asarray((at + (0 if align_corners else 0.5)) * 2 / max(size, 1) - 1)


def _grid_sample(data: Data) -> Iterator[OpExample]:
    for x, grid, attrs in _seen(data):
        yield OpExample("grid_sample", {"X": x, "Grid": grid}, attrs)


def _grid_sample_adjoint(data: Data) -> Iterator[OpExample]:
    for x, grid, attrs in _seen(data):
        y = data.normal(*x.shape[:2], *grid.shape[1:3])
        inputs = {"X": x, "Grid": grid, "Y": y}
        yield OpExample("grid_sample_adjoint", inputs, attrs, to_check=("Grid", "Y"))


CASES = {
    "grid_sample": _grid_sample,
    "grid_sample_adjoint": _grid_sample_adjoint,
    "interpolate": _interpolate,
    "pixel_shuffle": _pixel_shuffle,
}
