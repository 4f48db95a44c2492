"""Images at other points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fluidcore.gradcheck.cases.example import Array, Data, OpExample
from fluidcore.gradcheck.cases.table import Cases, row, table


def _interpolate(op_type: str, data: Data) -> Iterator[OpExample]:
    n, c = data.extents(2, 1, 2)
    a, b = data.extents(2, 2, 4)
    rows = [
        row((n, c, a), mode="nearest", size=[5]),
        row((n, c, a + 2), mode="linear", size=[3]),
        row((n, c, a, b), mode="bilinear", scale=[1.5, 2.0]),
        row((1, c, a, b), mode="bilinear", size=[5, 3], align_corners=True),
        row((1, c, a, b), mode="bicubic", size=[5, 3]),
        row((1, 1, a, 2, b), mode="trilinear", size=[3, 3, 2]),
        row((0, c, a), mode="linear", size=[5]),
    ]
    yield from table("X", lambda: rows)(op_type, data)


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


def _grid_sample(op_type: str, data: Data) -> Iterator[OpExample]:
    for x, grid, attrs in _seen(data):
        yield OpExample(op_type, {"X": x, "Grid": grid}, attrs)


def _grid_sample_adjoint(op_type: str, data: Data) -> Iterator[OpExample]:
    for x, grid, attrs in _seen(data):
        y = data.normal(*x.shape[:2], *grid.shape[1:3])
        yield OpExample(op_type, {"X": x, "Grid": grid, "Y": y}, attrs, to_check=("Grid", "Y"))


CASES: dict[str, Cases] = {
    "grid_sample": _grid_sample,
    "grid_sample_adjoint": _grid_sample_adjoint,
    "interpolate": _interpolate,
    "pixel_shuffle": table(
        "X",
        lambda n, c, height, width: [
            row((n, 4 * c, height, width), upscale_factor=2),
            row((1, 9, height, 2), upscale_factor=3),
            row((n, c, 3, 2), upscale_factor=1),
            row((0, 4, height, width), upscale_factor=2),
        ],
        least=1,
        most=2,
    ),
}
