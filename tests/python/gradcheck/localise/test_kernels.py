"""Gradient kernels of a dtype against those of float64, with results that are made up."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from fluidcore import core
from fluidcore.gradcheck.localise.blame import Blame
from fluidcore.gradcheck.localise.kernels import first_wrong_kernel
from fluidcore.gradcheck.verdict import Reason

OP = core.OpDesc("square_grad", {"X": ["x"]}, {"X@GRAD": ["x@GRAD"]}, {})
UNIT = 2.0**-24


class Seen:
    """A run of one operator."""

    def __init__(self, runs: int = 1, name: str = "0:1", **values: Any) -> None:
        self.where = {name: (0, 1)}
        self.ops = {name: OP}
        self.values = values or {"x": np.ones(2, np.float32)}
        self.asked: list[int] = []
        self._runs = runs

    def runs(self, name: str) -> int:
        return self._runs

    def before(self, name: str, names: Sequence[str], run: int) -> Mapping[str, Any]:
        self.asked.append(run)
        return self.values


def blamed(
    monkeypatch, differences, exact=2.0, seen=None, forward=frozenset(), points=None
) -> Blame | None:
    """Whom a kernel gets blamed that differs by so much at nine points, one after the other."""
    calls = [0]

    def run_one(op: core.OpDesc, values: Mapping[str, Any]) -> dict[str, Any]:
        if points is not None:
            points.append(values)
        point, is_exact = divmod(calls[0], 2)
        calls[0] += 1
        off = 0.0 if is_exact else np.broadcast_to(differences, (9,))[point % 9]
        return {"x@GRAD": np.array([exact + off, exact]), "count": np.array([7])}

    monkeypatch.setattr("fluidcore.gradcheck.localise.kernels.run_one", run_one)
    return first_wrong_kernel(seen or Seen(), forward, 0)  # type: ignore[arg-type]


@pytest.mark.parametrize(("units", "wrong"), [(15.9, False), (16.1, True), (-16.1, True)])
def test_sixteen_units_of_the_largest_element_are_rounding(monkeypatch, units, wrong) -> None:
    found = blamed(monkeypatch, units * UNIT * 2.0)
    assert (found is not None) is wrong
    if found is not None:
        assert (found.op, found.op_type, found.slot) == ("0:1", "square_grad", "X@GRAD")
        assert (found.variable, found.reason) == ("x@GRAD", Reason.KERNEL)
        size = f"{abs(units) * UNIT:.3g}"
        assert found.detail == f"'x@GRAD' is off by {size} of its largest element, beyond rounding"


@pytest.mark.parametrize(("spreads", "wrong"), [(3.9, False), (4.1, True)])
def test_four_deviations_are_rounding(monkeypatch, spreads: float, wrong: bool) -> None:
    differences = np.array([1.0, -1.0] * 4 + [0.0])
    differences /= differences.std(ddof=1)
    rounding = 16 * UNIT * 2.0
    found = blamed(monkeypatch, differences + spreads + rounding)
    assert (found is not None) is wrong


def test_what_is_not_finite_in_the_kernel_alone_is_wrong(monkeypatch) -> None:
    found = blamed(monkeypatch, [0.0] * 8 + [np.nan])
    assert found is not None
    assert "off by inf" in found.detail
    assert blamed(monkeypatch, 1.0, exact=np.inf) is None
    large = Seen(x=np.full(2, 65504, np.float16))  # nearby points overflow
    assert blamed(monkeypatch, 0.0, seen=large) is None


def test_an_error_beside_zeros_is_wrong(monkeypatch) -> None:
    found = blamed(monkeypatch, 1e-30, exact=0.0)
    assert found is not None
    assert found.detail == "'x@GRAD' is off by 1e-30, not 0, beyond rounding"


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_nearby_points_are_off_by_at_most_the_root_of_the_roundoff(monkeypatch, dtype) -> None:
    x = np.array([1.0, -3.0, 1e-3] * 20, dtype)
    count = np.arange(60)
    points: list[Mapping[str, Any]] = []
    blamed(monkeypatch, 0.0, seen=Seen(x=x, count=count), points=points)
    rough, exact = points[::2], points[1::2]
    assert len(rough) == 9
    for near, wide in zip(rough, exact, strict=True):
        assert near["x"].dtype == dtype
        assert wide["x"].dtype == np.float64
        np.testing.assert_array_equal(near["x"], wide["x"])
        assert near["count"] is count
    np.testing.assert_array_equal(rough[0]["x"], x)
    unit = float(np.finfo(dtype).eps) / 2
    off = [np.asarray(near["x"], float) / x.astype(float) - 1 for near in rough[1:]]
    for moves in off:
        assert 0.8 * unit**0.5 < np.abs(moves).max() < 1.1 * unit**0.5
        assert moves.min() < 0 < moves.max()
    assert len({moves.tobytes() for moves in off}) == 8


def test_the_first_and_the_last_run_are_looked_at(monkeypatch) -> None:
    for runs, asked in ((0, set()), (1, {0}), (2, {0, 1}), (5, {0, 4})):
        seen = Seen(runs)
        assert blamed(monkeypatch, 0.0, seen=seen) is None
        assert set(seen.asked) == asked


def test_forward_operators_and_mixed_dtypes_are_not_judged(monkeypatch) -> None:
    assert blamed(monkeypatch, 1.0) is not None
    assert blamed(monkeypatch, 1.0, forward=frozenset(["0:1"])) is None
    mixed = Seen(x=np.ones(2, np.float32), y=np.ones(2, np.float16))
    assert blamed(monkeypatch, 1.0, seen=mixed) is None
    whole = Seen(x=np.ones(2, np.float32), y=np.ones(2, np.int64))
    assert blamed(monkeypatch, 1.0, seen=whole) is not None
    assert blamed(monkeypatch, 1.0, seen=Seen(y=np.ones(2, np.int64))) is None
