"""grid_sample and its adjoint against NumPy."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import Doubles, normal
from op_runner import run_op
from test_interpolate import cubic


def source(i: int, extent: int, padding_mode: str, align_corners: bool) -> int | None:
    """The element that counts at index i; None for a 0."""
    if 0 <= i < extent:
        return i
    if padding_mode == "zeros":
        return None
    if padding_mode == "border":
        return min(max(i, 0), extent - 1)
    seen = [*range(extent), *range(extent - 1, -1, -1)]
    if align_corners:
        seen = [*range(extent), *range(extent - 2, 0, -1)]
    return seen[i % len(seen)]


def tent(distance: float) -> float:
    return 1 - abs(distance)


def slope_of_tent(distance: float) -> float:
    return -float(np.sign(distance))


def axis_weights(
    at: float, extent: int, mode: str, padding_mode: str, align_corners: bool, order: int
) -> Doubles:
    """What is taken from each element along an axis."""
    weights = np.zeros(extent)
    reach = 2 if mode == "bicubic" else 1
    first = int(np.floor(at))
    taps = [round(at)] if mode == "nearest" else range(first - reach + 1, first + reach + 1)
    for tap in taps:
        weight = {
            "nearest": lambda d: 1.0,
            "bilinear": slope_of_tent if order else tent,
            "bicubic": cubic,
        }[mode](at - tap)
        index = source(tap, extent, padding_mode, align_corners)
        if index is not None:
            weights[index] += weight
    return weights


def sampling(
    shape: Sequence[int],
    Grid: Doubles,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
    derivative: Sequence[int] = (0, 0),
) -> Doubles:
    """[N, H out, W out, H, W]: what each output takes from each element of its image."""
    matrix = np.zeros((*Grid.shape[:3], *shape))
    for index in np.ndindex(Grid.shape[:3]):
        x, y = (
            axis_weights(
                (g + 1) / 2 * (extent - 1) if align_corners else ((g + 1) * extent - 1) / 2,
                extent,
                mode,
                padding_mode,
                align_corners,
                order,
            )
            * ((extent - 1 if align_corners else extent) / 2) ** order
            for g, extent, order in zip(Grid[index], reversed(shape), derivative, strict=True)
        )
        matrix[index] = np.outer(y, x)
    return matrix


def grid_sample(X: Doubles, Grid: Doubles, **attrs: Any) -> dict[str, Doubles]:
    return {"Out": np.einsum("nijhw,nchw->ncij", sampling(X.shape[2:], Grid, **attrs), X)}


def grid_sample_adjoint(X: Doubles, Grid: Doubles, Y: Doubles, **attrs: Any) -> dict[str, Doubles]:
    return {"Out": np.einsum("nijhw,ncij->nchw", sampling(X.shape[2:], Grid, **attrs), Y)}


def points(extents: tuple[int, int], *shape: int) -> Doubles:
    """Points inside and outside that every dtype has, none between two neighbours."""
    rng = np.random.default_rng(1)
    at = rng.integers(-4, np.array(extents) * 4 + 4, (*shape, 2)) + 0.5
    return np.asarray(at / 2 / np.array(extents) - 1)


MODES = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")
ALL = [
    {"mode": mode, "padding_mode": padding_mode, "align_corners": align_corners}
    for mode in MODES
    for padding_mode in PADDINGS
    for align_corners in (False, True)
]


def cases(shape: tuple[int, ...], out: tuple[int, ...], attrs: dict[str, Any]) -> list[OpCase]:
    x, grid = normal(*shape), points((shape[3], shape[2]), shape[0], *out)
    y = normal(*shape[:2], *out, seed=2)
    return [
        OpCase("grid_sample", {"X": x, "Grid": grid}, grid_sample, attrs),
        OpCase(
            "grid_sample_adjoint",
            {"X": x, "Grid": grid, "Y": y},
            grid_sample_adjoint,
            attrs,
            grad=("Grid", "Y"),
        ),
    ]


CASES = [
    *(case for attrs in ALL for case in cases((1, 5, 4, 8), (3, 5), attrs)),
    *cases((1, 2, 1, 1), (2, 2), {"padding_mode": "reflection", "align_corners": True}),
    *cases((1, 1, 2, 4), (9, 15), {}),  # more points than are worked on together
    *cases((2, 2, 3, 4), (3, 5), {"derivative": [1, 0]}),
    *cases((2, 2, 3, 4), (3, 5), {"derivative": [1, 1], "padding_mode": "reflection"}),
    *cases((0, 2, 2, 4), (2, 2), {}),
    *cases((2, 0, 2, 4), (2, 2), {}),
    *cases((2, 2, 2, 4), (0, 2), {}),
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


def grid_of(height: int, width: int) -> Doubles:
    """The centres of the elements."""
    y, x = np.meshgrid(
        (np.arange(height) + 0.5) * 2 / height - 1,
        (np.arange(width) + 0.5) * 2 / width - 1,
        indexing="ij",
    )
    return np.stack([x, y], -1)[np.newaxis]


@pytest.mark.parametrize("mode", MODES)
def test_at_its_own_elements_an_image_is_what_it_was(mode: str) -> None:
    x = normal(1, 2, 4, 8)
    out = run_op("grid_sample", {"X": x, "Grid": grid_of(4, 8)}, {"mode": mode})["Out"]
    np.testing.assert_array_equal(out, x)


def test_what_is_not_seen_does_not_matter() -> None:
    x = normal(1, 1, 4, 8)
    x[0, 0, :, 4:] = np.nan
    out = run_op("grid_sample", {"X": x, "Grid": grid_of(4, 8)[:, :, :3]})["Out"]
    np.testing.assert_array_equal(out, x[..., :3])


@pytest.mark.parametrize("padding_mode", PADDINGS)
@pytest.mark.parametrize("mode", MODES)
def test_no_point_is_too_far_away_and_nan_gives_nan(mode: str, padding_mode: str) -> None:
    grid = np.array([np.inf, -np.inf, 1e300, -1e300, np.nan])
    grid = np.stack([grid, np.zeros(5)], -1).reshape(1, 1, 5, 2)
    attrs = {"mode": mode, "padding_mode": padding_mode}
    x = np.full((1, 1, 3, 3), 2.0)
    out = run_op("grid_sample", {"X": x, "Grid": grid}, attrs)["Out"].ravel()
    np.testing.assert_allclose(out[:4], 0.0 if padding_mode == "zeros" else 2.0)
    assert np.isnan(out[4])


def test_a_derivative_is_that_of_a_bilinear_function() -> None:
    y, x = np.mgrid[0:9, 0:8]
    image = (3.0 * x + 5.0 * y + 2.0 * x * y).reshape(1, 1, 9, 8)
    grid = np.array([0.0, 0.0]).reshape(1, 1, 1, 2)  # at x = 3.5, y = 4
    for derivative, expected in (
        ([1, 0], (3 + 2 * 4) * 4.0),
        ([0, 1], (5 + 2 * 3.5) * 4.5),
        ([1, 1], 2 * 4 * 4.5),
    ):
        out = run_op("grid_sample", {"X": image, "Grid": grid}, {"derivative": derivative})["Out"]
        np.testing.assert_allclose(out.item(), expected, rtol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_a_fourth_derivative_is_0_and_so_is_the_next(mode: str) -> None:
    inputs = {"X": normal(1, 2, 5, 6), "Grid": points((6, 5), 1, 4, 4)}
    attrs = {"mode": mode, "derivative": [4, 0]}
    assert not run_op("grid_sample", inputs, attrs)["Out"].any()
    check_gradient(OpCase("grid_sample", inputs, grid_sample, attrs, grad=("X", "Grid")))


@pytest.mark.parametrize(
    ("x", "grid", "attrs", "message"),
    [
        ((2, 3, 4), (2, 5, 5, 2), {}, r"X must have shape \[N, C, H, W\], got \[2, 3, 4\]"),
        (
            (2, 3, 4, 4),
            (2, 5, 5, 3),
            {},
            r"Grid must have shape \[N, H out, W out, 2\], where X is \[2, 3, 4, 4\], got "
            r"\[2, 5, 5, 3\]",
        ),
        ((2, 3, 4, 4), (1, 5, 5, 2), {}, r"Grid must have shape .*, got \[1, 5, 5, 2\]"),
        ((2, 3, 0, 4), (2, 5, 5, 2), {}, "X must have a height and a width of at least 1, got"),
        (
            (2, 3, 4, 4),
            (2, 5, 5, 2),
            {"derivative": [1]},
            r"derivative must be two numbers in \[0, 4\], for x and y, got \[1\]",
        ),
        (
            (2, 3, 4, 4),
            (2, 5, 5, 2),
            {"derivative": [0, 5]},
            r"derivative must be two numbers in \[0, 4\], for x and y, got \[0, 5\]",
        ),
        (
            (2, 3, 4, 4),
            (2, 5, 5, 2),
            {"padding_mode": "wrap"},
            "attribute 'padding_mode' must be one of zeros, border, reflection, got 'wrap'",
        ),
    ],
)
def test_what_does_not_fit_is_an_error(
    x: tuple[int, ...], grid: tuple[int, ...], attrs: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^grid_sample: {message}"):
        run_op("grid_sample", {"X": normal(*x), "Grid": normal(*grid)}, attrs)
