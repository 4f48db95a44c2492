"""The mean difference between a gradient in its own dtype and in float64, around a point."""

import numpy as np
import pytest
from targets import NumpyTarget

from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.kernel.bias import bias, dithered
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.target.precision import UNIT

X = np.random.default_rng(14).standard_normal(6)


class Recorded(NumpyTarget):
    """x³, with a float32 gradient that is off by something random; remembers all of them."""

    def __init__(self, action=None, **options) -> None:
        rng = np.random.default_rng(0)
        self.calls: list[tuple[str, np.ndarray, np.ndarray, np.ndarray]] = []

        def vjp(x, v):
            a = 3 * v * x * x
            if x.dtype == np.float32:
                a = (a * (1 + 0.01 * rng.standard_normal(x.shape))).astype(np.float32)
            a = action(len(self.calls), x, a) if action else a
            self.calls.append((x.dtype.name, x, v, a.astype(np.float64)))
            return a

        super().__init__(lambda x: x * x * x, vjp, [X], "float32", **options)

    def of(self, dtype: str, part: int) -> np.ndarray:
        return np.array([call[part] for call in self.calls if call[0] == dtype])


def bias_of(target: NumpyTarget, itself: bool = True, **settings):
    session = Session(target, GradCheckConfig(**settings))
    if isinstance(target, Recorded):
        target.calls.clear()
    return session, bias(session, session.calls.point("float32"), "dither", itself=itself)


def test_mean_and_spread_are_those_of_nine_points() -> None:
    target = Recorded()
    _, found = bias_of(target, cotangents=1)
    apart = target.of("float32", 3) - target.of("float64", 3)
    assert len(apart) == 9
    mean, spread, formula = found.of(0)
    np.testing.assert_allclose(mean, [apart.mean(0)], rtol=1e-12)
    np.testing.assert_allclose(spread, [apart.std(0, ddof=1)], rtol=1e-12)
    np.testing.assert_allclose(formula, [target.of("float64", 3).mean(0)], rtol=1e-12)


def test_every_cotangent_has_its_own() -> None:
    _, found = bias_of(Recorded(), cotangents=3)
    mean, spread, formula = found.of(0)
    assert mean.shape == spread.shape == formula.shape == (3, 6)
    assert len(np.unique(formula)) == 18


@pytest.mark.parametrize("itself", [True, False])
def test_the_centre_may_be_one_of_the_points(itself: bool) -> None:
    target = Recorded()
    bias_of(target, itself, cotangents=1)
    points, cotangents = target.of("float32", 1), target.of("float32", 2)
    centre = X.astype(np.float32)
    at_centre = (points == centre).all(1)
    assert at_centre.tolist() == [itself] + [False] * 8
    assert len(np.unique(points, axis=0)) == len(np.unique(cotangents, axis=0)) == 9


def test_both_gradients_are_taken_at_the_same_points() -> None:
    target = Recorded()
    bias_of(target, cotangents=1)
    for part in (1, 2):
        np.testing.assert_array_equal(target.of("float32", part), target.of("float64", part))


def test_a_fixed_cotangent_stays() -> None:
    target = Recorded(fixed_cotangent=True)
    bias_of(target)
    assert (target.of("float32", 2) == 1).all()


def leaving_out(points: int):
    """NaN at the last points."""

    def action(call, x, a):
        return np.full_like(a, np.nan) if x.dtype == np.float64 and call // 2 >= 9 - points else a

    return action


def test_points_outside_of_the_domain_do_not_count() -> None:
    target = Recorded(leaving_out(4))
    _, found = bias_of(target, cotangents=1)
    inside = target.of("float32", 3)[:5] - target.of("float64", 3)[:5]
    mean, spread, _ = found.of(0)
    np.testing.assert_allclose(mean, [inside.mean(0)], rtol=1e-12)
    np.testing.assert_allclose(spread, [inside.std(0, ddof=1)], rtol=1e-12)


def test_less_than_five_points_make_no_mean() -> None:
    mean, _, formula = bias_of(Recorded(leaving_out(5)), cotangents=1)[1].of(0)
    assert np.isnan(mean).all()
    assert np.isnan(formula).all()


def test_an_exception_goes_through_only_at_the_centre() -> None:
    def outside(call, x, a):
        if (x.astype(np.float32) != X.astype(np.float32)).any() and call > 9:
            raise ValueError("outside")
        return a

    mean, _, _ = bias_of(Recorded(outside), cotangents=1)[1].of(0)
    assert np.isfinite(mean).all()

    def nowhere(call, x, a):
        if x.dtype == np.float32:
            raise ValueError("nowhere")
        return a

    target = Recorded(nowhere)
    session = Session(target, GradCheckConfig())
    with pytest.raises(ValueError, match="nowhere"):
        bias(session, session.calls.point("float32"), "dither", itself=True)
    mean, _, _ = bias(session, session.calls.point("float32"), "dither", itself=False).of(0)
    assert np.isnan(mean).all()


@pytest.mark.parametrize("power", [0.5, 0.25])
def test_the_dither_is_a_power_of_the_unit_relative_to_each_element(power: float) -> None:
    x = np.geomspace(1e-3, 1e3, 2000).astype(np.float32)
    target = NumpyTarget(np.tanh, lambda x, v: v, [x], "float32")
    session = Session(target, GradCheckConfig())
    (found,) = dithered(session, [x], ["x0"], "purpose", power)
    assert found.dtype == np.float32
    relative = (found.astype(float) / x.astype(float) - 1) / UNIT["float32"] ** power
    assert -1.01 < relative.min() < -0.98
    assert 0.98 < relative.max() < 1.01
    assert abs(relative.mean()) < 0.05


def test_names_purposes_and_seeds_draw_other_numbers() -> None:
    x = np.ones(50, np.float32)
    session = Session(Recorded(), GradCheckConfig())
    other = Session(Recorded(), GradCheckConfig(seed=1))
    a, b = dithered(session, [x, x], ["a", "b"], "purpose")
    (again,) = dithered(session, [x], ["a"], "purpose")
    np.testing.assert_array_equal(a, again)
    (c,) = dithered(session, [x], ["a"], "another")
    (d,) = dithered(other, [x], ["a"], "purpose")
    for one in (b, c, d):
        assert (one != a).sum() > 40
