"""Points with other signs than x, which they leave alone."""

import numpy as np
from targets import FUNCTIONS, NumpyTarget

from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.pipeline.cancellation import with_other_signs


class Trusted(NumpyTarget):
    """Whose arrays are given to f as they are."""

    runs_own_code = True


def test_the_point_stays_where_it_is() -> None:
    f, vjp, _ = FUNCTIONS["tanh"]
    target = Trusted(f, vjp, [np.linspace(4, 9, 6)], "float32")
    before = target.inputs[0].value.copy()
    session = Session(target, GradCheckConfig())
    with_other_signs(session, "float32")
    np.testing.assert_array_equal(target.inputs[0].value, before)


def test_other_signs_show_terms_that_cancel() -> None:
    target = NumpyTarget(lambda x: x.sum(), lambda x, v: v + 0 * x, [np.array([1.0, -1.0, 2, -2])])
    found = with_other_signs(Session(target, GradCheckConfig()), "float64")
    assert len(found) == 8
    assert max(float(np.abs(y).max()) for y in found) >= 4


def test_other_signs_leave_out_what_is_not_finite_or_raises() -> None:
    def f(x):
        if (x < 0).all():
            raise ValueError("no")
        return np.sqrt(x)

    session = Session(NumpyTarget(f, lambda x, v: v * x, [np.array([4.0])]), GradCheckConfig())
    found = with_other_signs(session, "float64")
    assert 0 < len(found) < 8
    roots = NumpyTarget(np.sqrt, lambda x, v: v * x, [np.array([4.0])])
    values = np.concatenate(with_other_signs(Session(roots, GradCheckConfig()), "float64"))
    assert set(values) == {0.0, 2.0}
