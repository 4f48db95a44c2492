"""The kernel's judgement in the core, of gradients that are Python functions."""

import pickle

import numpy as np
import pytest

from fluidcore import core

X = np.array([0.5, 2.0, 3.0])
V = np.array([1.0, -1.0, 2.0], np.float32)
RULES = core.Rules.of("float32", alone=False)
ELEMENTS = np.arange(3)


def square(xs, vs):
    return [2 * xs[0] * vs[0]]


def kernel_test(kernel=square, formula=square, **options) -> core.KernelTest:
    """Of x²."""
    return core.KernelTest(
        core.CallableGradient(kernel, [X.astype(np.float32)], **options),
        core.CallableGradient(formula, [X]),
        core.CallableFunction(lambda xs: [xs[0] ** 2], [X]),
        [[V]],
    )


def judged(test: core.KernelTest, unsure=None) -> core.Judgement:
    value = (2 * X * V)[None]
    reference = core.Derivatives(
        value, 0 * value, value, value, np.abs(value), np.zeros(3, np.uint8)
    )
    unknown = np.full_like(value, np.nan)
    return test.judge(0, ELEMENTS, value, unknown, reference, RULES, unsure)


def test_a_right_kernel_is_right_and_a_wrong_one_is_wrong() -> None:
    assert not judged(kernel_test()).wrong.any()

    def wrong(xs, vs):
        return [square(xs, vs)[0] * np.array([1, 1.001, 1], np.float32)]

    found = judged(kernel_test(wrong))
    assert found.wrong.tolist() == [[False, True, False]]
    np.testing.assert_allclose(found.analytical, 2 * X * V * [[1, 1.001, 1]], rtol=1e-6)


def test_points_and_cotangents_have_the_dtype_of_each() -> None:
    seen = set()

    def vjp(xs, vs):
        seen.add((xs[0].dtype.name, vs[0].dtype.name, xs[0].shape))
        return square(xs, vs)

    judged(kernel_test(vjp, vjp))
    assert seen == {("float32", "float32", (3,)), ("float64", "float64", (3,))}


def test_a_fixed_cotangent_is_not_moved() -> None:
    seen = set()

    def vjp(xs, vs):
        seen.add(vs[0].tobytes())
        return square(xs, vs)

    judged(kernel_test(vjp, has_fixed_cotangent=True))
    assert seen == {V.tobytes()}


def test_an_exception_at_the_point_goes_through_and_one_elsewhere_does_not() -> None:
    def nowhere(xs, vs):
        raise ZeroDivisionError("no gradient")

    with pytest.raises(ZeroDivisionError, match="no gradient"):
        judged(kernel_test(nowhere))

    def only_here(xs, vs):
        if (xs[0] != X).any() and xs[0][0] > 0.5:
            raise ZeroDivisionError("outside")
        return square(xs, vs)

    assert not judged(kernel_test(only_here)).wrong.any()


def test_an_interrupt_ends_the_test() -> None:
    def interrupted(xs, vs):
        if (xs[0] != X).any():
            raise KeyboardInterrupt
        return square(xs, vs)

    with pytest.raises(KeyboardInterrupt):
        judged(kernel_test(interrupted))


def test_the_end_of_the_time_ends_the_test() -> None:
    test = kernel_test()
    with core.TimeLimit(1e-9), pytest.raises(core.OutOfTime):
        judged(test)


@pytest.mark.parametrize(
    ("result", "error", "text"),
    [
        (None, TypeError, "vjp must return a list of arrays, got NoneType; return [a]"),
        ([], core.InvalidArgument, "vjp must return 1 arrays, got 0"),
        ([np.ones(2)], core.InvalidArgument, "gradient 0 must have 3 elements, got 2"),
        ([np.ones(3, np.int64)], core.InvalidArgument, "gradient 0 must be floating, got int64"),
    ],
)
def test_a_result_of_another_kind_is_refused(result, error, text: str) -> None:
    with pytest.raises(error) as caught:
        judged(kernel_test(lambda xs, vs: result))
    assert str(caught.value) == f"CallableGradient: {text}"


def test_what_is_no_function_or_has_inputs_of_two_dtypes_is_refused() -> None:
    with pytest.raises(TypeError, match="CallableGradient: vjp must be callable, got int"):
        core.CallableGradient(1, [X])  # type: ignore[arg-type]
    with pytest.raises(core.InvalidArgument) as caught:
        core.CallableGradient(square, [X, V])
    text = "CallableGradient: input 1 must have the dtype of the first, float64, got float32"
    assert str(caught.value) == text
    with pytest.raises(core.InvalidArgument, match="there must be an input, got none"):
        core.CallableGradient(square, [])


def test_elements_and_inputs_that_are_not_there_are_refused() -> None:
    test, value = kernel_test(), (2 * X * V)[None]
    reference = core.Derivatives(value, value, value, value, value, np.zeros(3, np.uint8))
    for input_, elements, text in (
        (1, ELEMENTS, "input must be below 1, got 1"),
        (0, [0, 1, 3], "an element must be below 3, got 3"),
        (0, [0, 1], "there must be 3 elements, got 2"),
    ):
        with pytest.raises(core.InvalidArgument) as caught:
            test.judge(input_, elements, value, value, reference, RULES)
        assert str(caught.value) == f"KernelTest: {text}"


def test_neither_can_be_pickled() -> None:
    with pytest.raises(TypeError, match="a KernelTest cannot be pickled or copied"):
        pickle.dumps(kernel_test())
    with pytest.raises(TypeError, match="a Gradient cannot be pickled or copied"):
        pickle.dumps(core.CallableGradient(square, [X]))


def test_a_gradient_that_went_through_a_narrower_dtype_is_found() -> None:
    value = np.linspace(1.0, 1.1, 6)[None]
    exact = core.Derivatives(value, 0 * value, value, value, value, np.zeros(6, np.uint8))
    narrow = value.astype(np.float16).astype(np.float64)
    assert core.narrowed_to(narrow, exact, "float32", 3.0) == "float16"
    assert core.narrowed_to(value, exact, "float32", 3.0) is None
