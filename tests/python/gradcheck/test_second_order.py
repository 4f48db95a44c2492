"""The gradient of the gradient."""

import numpy as np
from targets import NumpyTarget, checked, target_of

from fluidcore.gradcheck.verdict import Reason, Verdict

X = np.random.default_rng(9).standard_normal(5)
Y = np.random.default_rng(10).standard_normal(5)


class Twice(NumpyTarget):
    """x² y, with the gradient of its gradient."""

    factor = 1.0

    def second_vjp(self, xs, vs, us, dtype):
        (x, y), (v,), (a, b) = xs, vs, us
        scale = x.dtype.type(self.factor)
        return [scale * v * (2 * y * a + 2 * x * b), v * 2 * x * a]


def twice(dtype: str = "float64", factor: float = 1.0) -> Twice:
    target = Twice(
        lambda x, y: x * x * y, lambda x, y, v: (v * 2 * x * y, v * x * x), [X, Y], dtype
    )
    target.factor = factor
    return target


def test_a_right_second_gradient_passes() -> None:
    for dtype in ("float64", "float32"):
        report = checked(twice(dtype), second_order=True)
        assert report.verdict is Verdict.PASS
        names = {one.name for one in report.results}
        assert {"x0", "x0, second order", "x1, second order"} <= names


def test_a_wrong_second_gradient_fails() -> None:
    report = checked(twice(factor=1.01), second_order=True)
    wrong = [one.name for one in report.results if one.verdict is Verdict.FAIL]
    assert wrong == ["x0, second order"]


def test_the_hessian_of_a_function_is_symmetric() -> None:
    for name in ("tanh", "softmax", "matmul", "rnn", "div", "log_sum_exp"):
        report = checked(target_of(name), second_order=True)
        assert report.results[-1].name == "symmetry of the Hessian"
        assert report.verdict is Verdict.PASS, name


def test_a_gradient_of_no_function_has_no_symmetric_hessian() -> None:
    target = NumpyTarget(lambda x, y: x * y, lambda x, y, v: (v * y, 2 * v * x), [X, Y])
    last = checked(target, second_order=True).results[-1]
    assert last.verdict is Verdict.FAIL
    assert last.reasons == (Reason.MISMATCH,)
    assert "that of no function" in last.detail
