"""Whatever f and its gradient do, data and random states stay as they were."""

import random

import numpy as np
import pytest
from targets import NumpyTarget, checked, target_of

from fluidcore import core
from fluidcore.gradcheck.verdict import Reason, Verdict

X = np.random.default_rng(11).standard_normal((3, 4))


def square(f=None, vjp=None, dtype: str = "float64", **options) -> NumpyTarget:
    return NumpyTarget(
        f or (lambda x: x * x), vjp or (lambda x, v: v * 2 * x), [X], dtype, **options
    )


def nth_call(n: int, action):
    """A square that does something else when it is called for the n-th time."""
    calls = [0]

    def f(x):
        calls[0] += 1
        return action(x) if calls[0] == n else x * x

    return f


def raising(error: BaseException):
    def action(x):
        raise error

    return action


def test_an_exception_at_the_point_goes_through_with_a_note() -> None:
    for target in (
        square(f=raising(ZeroDivisionError("no"))),
        square(vjp=lambda x, v: raising(ZeroDivisionError("no"))(x)),
    ):
        with pytest.raises(ZeroDivisionError) as caught:
            checked(target)
        assert "at the inputs x0 float64 [3, 4]" in caught.value.__notes__[0]


def test_an_exception_at_a_moved_point_is_the_edge_of_the_domain() -> None:
    x = np.array([1.0, 0.5])

    def f(x):
        if (x != [1.0, 0.5]).any():
            raise ValueError("outside of the domain")
        return x * x

    (result,) = checked(NumpyTarget(f, lambda x, v: v * 2 * x, [x])).results
    assert result.verdict is Verdict.INCONCLUSIVE
    assert Reason.DOMAIN in result.reasons
    assert "outside of the domain" in result.detail


@pytest.mark.parametrize("n", [1, 2, 5, 20])
def test_an_interrupt_goes_through_and_leaves_the_data(n: int) -> None:
    target = square(f=nth_call(n, raising(KeyboardInterrupt())))
    before, state = X.tobytes(), np.random.get_state()[1].tobytes()
    with pytest.raises(KeyboardInterrupt):
        checked(target)
    assert target.inputs[0].value.tobytes() == before
    assert np.random.get_state()[1].tobytes() == state


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_data_stay_even_if_f_writes_into_them(dtype: str) -> None:
    def f(x):
        y = x * x
        x[...] = 7
        return y

    target = square(f, dtype=dtype)
    before = target.inputs[0].value.tobytes()
    report = checked(target)
    assert target.inputs[0].value.tobytes() == before
    assert report.verdict is Verdict.FAIL
    assert all(report.results)


def test_a_view_of_the_input_is_a_result_like_any_other() -> None:
    assert checked(square(lambda x: x.T, lambda x, v: v.T)).verdict is Verdict.PASS


def test_a_buffer_that_is_used_again_is_a_result_like_any_other() -> None:
    y, a = np.zeros_like(X), np.zeros_like(X)
    target = square(lambda x: np.multiply(x, x, out=y), lambda x, v: np.multiply(2 * x, v, out=a))
    assert checked(target).verdict is Verdict.PASS


def test_a_random_function_is_not_judged() -> None:
    target = square(lambda x: x * (np.random.random(x.shape) > 0.5), lambda x, v: v)
    report = checked(target)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert report.results[0].reasons == (Reason.STOCHASTIC,)
    assert "is random" in report.results[0].detail


def test_the_last_bits_of_f_may_differ() -> None:
    rng = np.random.default_rng(0)
    noisy = square(lambda x: x * x * (1 + 1e-13 * rng.standard_normal(x.shape)))
    assert checked(noisy).verdict is Verdict.PASS
    noisy.backward = lambda x, v: 1.01 * v * 2 * x
    assert checked(noisy).verdict is Verdict.FAIL


def test_random_states_are_put_back() -> None:
    def f(x):
        np.random.random()
        random.random()
        return x * x

    arrays, numbers = np.random.get_state()[1].tobytes(), random.getstate()
    checked(square(f))
    assert np.random.get_state()[1].tobytes() == arrays
    assert random.getstate() == numbers


@pytest.mark.parametrize("result", [None, 3, "text"])
def test_f_must_return_arrays(result: object) -> None:
    target = square()
    target.forward = lambda xs, dtype: [result]
    with pytest.raises(TypeError, match="output 0 of f must be an array"):
        checked(target)


def test_f_must_return_floating_arrays() -> None:
    with pytest.raises(core.InvalidArgument, match=r"must be floating .* got int64"):
        checked(square(lambda x: x.astype(np.int64)))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_f_that_is_not_finite_at_the_point_is_not_judged(dtype: str) -> None:
    report = checked(square(lambda x: np.log(x), lambda x, v: v / x, dtype=dtype))
    assert report.verdict is Verdict.INCONCLUSIVE
    assert {one.reasons for one in report.results} == {(Reason.DOMAIN,)}


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_gradient_that_is_not_finite_fails(value: float, dtype: str) -> None:
    def vjp(x, v):
        a = v * 2 * x
        a[1, 2] = value
        return a

    for result in checked(square(vjp=vjp, dtype=dtype)).results[:1]:
        assert result.verdict is Verdict.FAIL
        assert result.reasons == (Reason.NON_FINITE,)
        assert [error.index for error in result.element_errors or ()] == [6]
        assert "element [1, 2]" in result.detail


def test_outputs_of_another_shape_in_a_second_run_are_random() -> None:
    target = square(nth_call(2, lambda x: (x * x)[:2]))
    assert checked(target).results[0].reasons == (Reason.STOCHASTIC,)


def test_several_outputs_are_judged_together() -> None:
    def vjp(x, v, w):
        return v * np.cos(x) + w * 2 * x

    assert checked(NumpyTarget(lambda x: (np.sin(x), x * x), vjp, [X])).verdict is Verdict.PASS
    wrong = NumpyTarget(lambda x: (np.sin(x), x * x), lambda x, v, w: v * np.cos(x), [X])
    assert checked(wrong).verdict is Verdict.FAIL


def test_an_output_without_elements_changes_nothing() -> None:
    target = NumpyTarget(lambda x: (x * x, x[:0]), lambda x, v, w: v * 2 * x, [X])
    assert checked(target).verdict is Verdict.PASS


def test_a_right_gradient_does_not_depend_on_the_number_of_replicates() -> None:
    for replicates in (1, 2, 5):
        assert checked(target_of("tanh", "float32"), replicates=replicates)
