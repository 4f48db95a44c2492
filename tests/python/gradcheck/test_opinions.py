"""The Taylor remainder decides where all that speaks against the differences is noise."""

import numpy as np
import pytest
from targets import NumpyTarget

from fluidcore.gradcheck import taylor
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.formula import check_formula
from fluidcore.gradcheck.noise import measure
from fluidcore.gradcheck.report.result import GradCheckResult
from fluidcore.gradcheck.session import Session
from fluidcore.gradcheck.taylor import Opinion
from fluidcore.gradcheck.verdict import Reason, Verdict

X = np.random.default_rng(20).standard_normal((3, 4))
X[0, 0] = 0.0


def smooth(x):
    return np.tanh(x)


def jumping(x):
    return np.tanh(x) + (x >= 0)


def result_of(f, said: Opinion | None, monkeypatch, **settings) -> GradCheckResult:
    """With too fine a resolution for differences, so that they leave all elements open."""
    if said is not None:
        monkeypatch.setattr(taylor, "second_opinion", lambda *_: said)
    settings = {"explain": False, "audits": False, "resolution": 1e-12, **settings}
    target = NumpyTarget(f, lambda x, v: v * (1 - np.tanh(x) ** 2), [X])
    session = Session(target, GradCheckConfig(**settings))
    return check_formula(session, 0, measure(session)).result


def said(verdict: Verdict, slope: float = 2.0) -> Opinion:
    return Opinion(verdict, slope, 1e-4)


def before(f, monkeypatch) -> GradCheckResult:
    with monkeypatch.context() as patch:
        return result_of(f, said(Verdict.INCONCLUSIVE), patch)


@pytest.mark.parametrize(("f", "why"), [(smooth, ()), (jumping, (Reason.JUMP,))])
def test_a_pass_stands_for_all_elements(f, why, monkeypatch) -> None:
    old = before(f, monkeypatch)
    assert (old.verdict, old.reasons) == (Verdict.INCONCLUSIVE, (Reason.NOISE, *why))
    assert old.num_passed < old.num_elements
    found = result_of(f, said(Verdict.PASS), monkeypatch, probes=5)
    assert (found.verdict, found.reasons) == (Verdict.PASS, ())
    assert found.num_passed == found.num_elements == 12
    assert found.resolution == 1e-4
    assert found.detail == "decided by the Taylor remainder along 5 directions, slope 2.00"
    found = result_of(f, said(Verdict.PASS, float("nan")), monkeypatch, probes=5)
    assert found.detail == "decided by the Taylor remainder along 5 directions"


def test_a_fail_counts_where_there_is_only_noise(monkeypatch) -> None:
    old = before(smooth, monkeypatch)
    found = result_of(smooth, said(Verdict.FAIL, 1.0), monkeypatch)
    assert (found.verdict, found.reasons) == (Verdict.FAIL, (Reason.MISMATCH,))
    assert found.detail == f"{old.detail}; the Taylor remainder falls too slowly, slope 1.00"
    old = before(jumping, monkeypatch)
    found = result_of(jumping, said(Verdict.FAIL, 1.0), monkeypatch)
    assert (found.verdict, found.reasons, found.detail) == (old.verdict, old.reasons, old.detail)


def test_nobody_is_asked_where_the_differences_decide(monkeypatch) -> None:
    for resolution, f in ((1e-5, smooth), (1e-5, jumping)):
        found = result_of(f, said(Verdict.FAIL), monkeypatch, resolution=resolution)
        assert found.verdict is Verdict.PASS
        assert found.levels


def test_the_levels_are_kept_whatever_is_said(monkeypatch) -> None:
    levels = [
        result_of(smooth, said(verdict), monkeypatch).levels
        for verdict in (Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE)
    ]
    assert levels[0] == levels[1] == levels[2] != ()
