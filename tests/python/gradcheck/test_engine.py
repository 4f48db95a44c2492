"""Tests of the native engine that fluidcore.gradcheck is built on, as Python sees it."""

import signal
import threading

import ml_dtypes
import numpy as np
import pytest
import reference_engine

from fluidcore import core

POINT = np.array([0.3, -1.2, 2.0, 0.7])


def function_of(f, *inputs):
    return core.CallableFunction(lambda xs: [f(*xs)], list(inputs))


def test_derivatives_of_a_python_function_have_error_bars():
    v = np.array([1.0, 2.0, -1.0, 0.5])
    found = core.differentiate(function_of(np.exp, POINT), 0, [v, -v])
    exact = np.stack([v, -v]) * np.exp(POINT)
    assert found.value.shape == found.error.shape == found.scale.shape == (2, 4)
    np.testing.assert_allclose(found.value, exact, rtol=1e-12)
    assert (np.abs(found.value - exact) <= found.error).all()
    np.testing.assert_array_equal(found.low, found.value)
    np.testing.assert_array_equal(found.high, found.value)
    np.testing.assert_array_equal(found.flags, np.zeros(4, np.uint8))
    assert found.failure is None
    assert found.levels == []
    assert found.evaluations <= 1 + 10 * 4


def test_arrays_of_a_result_live_as_long_as_they_are_used():
    value = core.differentiate(function_of(np.sin, POINT), 0, [np.ones(4)]).value
    np.testing.assert_allclose(value, [np.cos(POINT)], rtol=1e-12)


def test_a_function_is_given_copies_in_every_call():
    seen = []

    def f(xs):
        seen.append(xs[0])
        y = xs[0] ** 2
        xs[0][:] = np.nan
        return [y]

    x = POINT.copy()
    function = core.CallableFunction(f, [x])
    found = core.differentiate(function, 0, [np.ones(4)])
    np.testing.assert_allclose(found.value[0], 2 * POINT, rtol=1e-12)
    np.testing.assert_array_equal(x, POINT)
    np.testing.assert_array_equal(function.inputs()[0].numpy(), POINT)
    assert len({id(array) for array in seen}) == found.evaluations


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_a_function_gets_arrays_of_the_dtype_and_shape_of_its_inputs(dtype):
    x = POINT.astype(dtype).reshape(2, 2)
    got = []

    def f(xs):
        got.append((xs[0].dtype, xs[0].shape))
        return [xs[0] * np.array(2, dtype)]

    function = core.CallableFunction(f, [x])
    found = core.differentiate(function, 0, [np.ones(4)])
    np.testing.assert_allclose(found.value[0], 2, atol=5 * found.error.max())
    assert set(got) == {(np.dtype(dtype), (2, 2))}
    assert function.run()[0].dtype() == np.dtype(dtype).name


def test_a_function_may_return_views_scalars_and_tuples():
    function = core.CallableFunction(lambda xs: (xs[0][::-1].T, np.sum(xs[0])), [POINT])
    found = core.differentiate(function, 0, [[1, 0, 0, 0, 10]])
    np.testing.assert_allclose(found.value[0], [10, 10, 10, 11], rtol=1e-12)


def test_inputs_that_are_not_floating_can_be_there_but_not_be_differentiated_by():
    function = function_of(lambda x, i: x[i], POINT, np.array([2, 0]))
    np.testing.assert_allclose(
        core.differentiate(function, 0, [[1, 5]]).value[0], [5, 0, 1, 0], atol=1e-12
    )
    with pytest.raises(core.InvalidArgument, match=r"input 1 must be floating .* got int64"):
        core.differentiate(function, 1, [[1, 5]])


@pytest.mark.parametrize(
    ("result", "error", "message"),
    [
        (None, TypeError, "f must return a list of arrays, got NoneType"),
        (POINT, TypeError, r"must return a list of arrays, got ndarray; return \[y\]"),
        ([None], TypeError, "output 0 of f must be an array, got None"),
        ([np.arange(3)], core.InvalidArgument, "output 0 of f must be floating, got int64"),
        ([POINT, 1], core.InvalidArgument, "output 1 of f must be floating, got int64"),
        (["text"], core.InvalidArgument, "output 0 of f: the dtype must be one of"),
        ([object()], core.InvalidArgument, "output 0 of f: the dtype must be one of"),
        ([POINT.astype(complex)], core.InvalidArgument, "got complex128"),
    ],
)
def test_a_function_that_returns_something_else_is_told_so(result, error, message):
    function = core.CallableFunction(lambda xs: result, [POINT])
    with pytest.raises(error, match=message):
        core.differentiate(function, 0, [np.ones(4)])
    with pytest.raises(error, match=message):
        function.run()


@pytest.mark.parametrize(
    ("later", "message"),
    [
        (
            [POINT[:3]],
            r"the same shape and dtype every time, got float64 \[3\] after float64 \[4\]",
        ),
        ([POINT.astype(np.float32)], "the same shape and dtype every time, got float32"),
        ([POINT, POINT], "as many outputs every time, got 2 after 1"),
        ([], "as many outputs every time, got 0 after 1"),
        ([np.arange(4)], "must be floating, got int64"),
    ],
)
def test_a_function_that_changes_its_mind_is_no_edge_of_a_domain(later, message):
    results = iter([[POINT], [POINT]])
    function = core.CallableFunction(lambda xs: next(results, later), [POINT])
    with pytest.raises(core.InvalidArgument, match=message):
        core.differentiate(function, 0, [np.ones(4)])
    np.testing.assert_array_equal(function.inputs()[0].numpy(), POINT)


class OddError(Exception):
    pass


def test_an_exception_at_the_point_keeps_its_type():
    def f(xs):
        raise OddError("not here")

    for call in (
        lambda function: core.differentiate(function, 0, [np.ones(4)]),
        lambda function: core.differentiate_along(function, [POINT], [np.ones(4)]),
        lambda function: core.difference(function, 0, 0.1),
        core.measure_noise,
        lambda function: function.run(),
    ):
        with pytest.raises(OddError, match="not here") as caught:
            call(core.CallableFunction(f, [POINT]))
        assert caught.traceback[-1].name == "f"


def test_an_exception_at_a_moved_point_is_an_edge_of_the_domain():
    def f(xs):
        if (xs[0] < 0).any():
            raise OddError("below zero")
        return [3 * xs[0]]

    function = core.CallableFunction(f, [np.array([0.0, 1.0])])
    found = core.differentiate(function, 0, [np.ones(2)])
    np.testing.assert_allclose(found.value[0], 3, rtol=1e-9)
    assert found.failure == "OddError: below zero"
    with pytest.raises(OddError):
        core.difference(function, 0, 0.1)


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interrupt_ends_everything_and_the_inputs_are_put_back(interrupt):
    calls = []

    def f(xs):
        calls.append(1)
        if len(calls) == 7:
            raise interrupt
        return [xs[0] * 2]

    function = core.CallableFunction(f, [POINT])
    with pytest.raises(interrupt):
        core.differentiate(function, 0, [np.ones(4)])
    np.testing.assert_array_equal(function.inputs()[0].numpy(), POINT)
    assert len(calls) == 7


def test_the_users_interrupt_is_seen_while_a_program_runs():
    import fluidcore as fluid
    from fluidcore import layers

    program = fluid.Program()
    with fluid.program_guard(program, fluid.Program()):
        x = layers.data("x", [200], dtype="float64")
        y = layers.matmul(x, x, transpose_x=True)
    feeds = {"x": np.random.default_rng(0).standard_normal((200, 200))}
    function = core.ProgramFunction(program.desc, feeds, ["x"], [y.name])
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            core.differentiate(function, 0, [np.ones(200 * 200)], workers=2)
    finally:
        timer.join()
    np.testing.assert_array_equal(function.inputs()[0].numpy(), feeds["x"])


def test_what_is_not_callable_is_refused():
    with pytest.raises(TypeError, match="f must be callable, got int"):
        core.CallableFunction(3, [POINT])
    with pytest.raises(core.InvalidArgument, match="input 1: the dtype must be one of"):
        core.CallableFunction(np.sin, [POINT, "text"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"elements": [4]}, r"elements must be in \[0, 4\), got 4"),
        ({"elements": [0.5]}, "elements must be integers, got float64"),
        ({"elements": [True]}, "elements must be integers, got bool"),
        ({"rows": 3}, "rows must divide the size of the input"),
        ({"rows": 2, "elements": [0]}, "rows must be 0 when elements are given"),
        ({"workers": 0}, "workers must be between 1 and 1024, got 0"),
        ({"noise": [1.0]}, "noise must have a number for each of the 4 output elements, got 1"),
        ({"noise": [np.nan] * 4}, "noise must be finite"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message):
    with pytest.raises(core.InvalidArgument, match=message):
        core.differentiate(function_of(np.sin, POINT), 0, [np.ones(4)], **options)


@pytest.mark.parametrize("input", [-1, 1, 10**12])
def test_an_input_that_is_not_there_is_refused(input):
    with pytest.raises(core.InvalidArgument, match="input must be"):
        core.differentiate(function_of(np.sin, POINT), input, [np.ones(4)])


def test_rows_are_moved_together():
    x = np.random.default_rng(1).standard_normal((30, 4))

    def softmax(x):
        y = np.exp(x)
        return y / y.sum(axis=1, keepdims=True)

    v = np.random.default_rng(2).standard_normal(120)
    one_by_one = core.differentiate(function_of(softmax, x), 0, [v])
    together = core.differentiate(function_of(softmax, x), 0, [v], rows=30)
    np.testing.assert_array_equal(together.value, one_by_one.value)
    np.testing.assert_array_equal(together.error, one_by_one.error)
    assert together.evaluations <= 1 + 4 * 12


def test_empty_arrays_have_empty_derivatives():
    nothing = np.zeros((0, 3))
    assert core.differentiate(function_of(np.sin, nothing), 0, [[]]).value.shape == (1, 0)
    found = core.differentiate(function_of(lambda x: x[:0], POINT), 0, [[]], rows=2)
    np.testing.assert_array_equal(found.value, np.zeros((1, 4)))
    assert core.differentiate(function_of(np.sin, POINT), 0, []).value.shape == (0, 4)
    assert core.difference(function_of(np.sin, nothing), 0, 0.1).shape == (0,)
    assert core.measure_noise(function_of(lambda x: x[:0], POINT))[0].near.shape == (0,)


def test_a_direction_moves_all_inputs_together():
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((2, 3, 4))
    da, db = (core.round_direction(d) for d in rng.standard_normal((2, 3, 4)))
    function = function_of(lambda a, b: np.sin(a) * b, a, b)
    v = rng.standard_normal(12)
    found = core.differentiate_along(function, [da, db], [v, 2 * v], trace=True)
    exact = (v.reshape(3, 4) * (np.cos(a) * b * da + np.sin(a) * db)).sum()
    np.testing.assert_allclose(found.value[:, 0], [exact, 2 * exact], rtol=1e-11)
    assert found.value.shape == (2, 1)
    assert len(found.levels) == 12
    h, difference, noise, plus, minus, middle = found.levels[-1]
    assert (plus - minus) / (2 * h) == pytest.approx(difference, abs=noise + 1e-12)
    assert middle == pytest.approx((v * (np.sin(a) * b).ravel()).sum(), rel=1e-12)
    alone = core.differentiate_along(function, [None, db], [v])
    assert alone.value[0, 0] == pytest.approx((v.reshape(3, 4) * np.sin(a) * db).sum(), rel=1e-10)
    assert alone.levels == []


def test_a_rounded_direction_has_ten_significant_bits():
    d = np.random.default_rng(4).standard_normal((5, 6))
    rounded = core.round_direction(d)
    assert rounded.shape == d.shape
    np.testing.assert_allclose(rounded, d, rtol=2**-10)
    np.testing.assert_array_equal(np.frexp(rounded)[0] * 1024 % 1, 0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("forward", [False, True])
def test_the_difference_has_the_bits_of_its_formula(dtype, forward):
    rng = np.random.default_rng(5)
    x = rng.standard_normal(17).astype(dtype)
    weights = rng.standard_normal(17)
    delta = 0.005

    def y_of(x):
        return float(np.cumsum(weights * np.tanh(x).astype(np.float64))[-1])

    expected = []
    for i in range(17):
        right, left = x.copy(), x.copy()
        right[i] = dtype(float(x[i]) + delta)
        left[i] = dtype(float(x[i]) - delta)
        if forward:
            expected.append((y_of(right) - y_of(x)) / delta)
        else:
            expected.append((y_of(right) - y_of(left)) / delta / 2)
    function = function_of(np.tanh, x)
    found = core.difference(function, 0, delta, weights=weights, forward=forward)
    np.testing.assert_array_equal(found, expected)
    some = core.difference(function, 0, delta, weights=weights, forward=forward, elements=[3])
    np.testing.assert_array_equal(some, [expected[3]])


def test_a_step_that_rounding_undoes_is_refused():
    function = function_of(np.sin, POINT.astype(np.float16))
    with pytest.raises(core.InvalidArgument, match=r"delta must change .* take a larger delta"):
        core.difference(function, 0, 1e-5)
    with pytest.raises(core.InvalidArgument, match="delta must be positive, got 0"):
        core.difference(function, 0, 0)


def test_measured_noise_is_that_of_cancellation():
    x = POINT.astype(np.float32)
    cancelling = function_of(lambda x: (np.sin(x) + np.float32(1e3)) - np.float32(1e3), x)
    plain = function_of(np.sin, x)
    (noise, _), (usual, _) = core.measure_noise(cancelling), core.measure_noise(plain, seed=1)
    assert (noise.near > 20 * usual.near).all()


def test_rounding_is_that_of_the_dtype():
    numbers = np.random.default_rng(6).standard_normal(200)
    for dtype in (np.float64, np.float32, np.float16):
        name = np.dtype(dtype).name
        np.testing.assert_array_equal(
            [core.round_to(name, x) for x in numbers], numbers.astype(dtype).astype(np.float64)
        )
        assert core.unit_roundoff(name) == np.finfo(dtype).eps / 2
    assert core.unit_roundoff("bfloat16") == 2.0**-8
    with pytest.raises(core.InvalidArgument, match="must be floating, got int64"):
        core.unit_roundoff("int64")
    with pytest.raises(core.InvalidArgument):
        core.round_to("float33", 1.0)


def test_smooth_elements_cost_few_evaluations_and_are_known_to_the_last_digits():
    rng = np.random.default_rng(7)
    errors, outside, costs = [], 0, []
    for f, derivative in (
        (np.exp, np.exp),
        (np.sin, np.cos),
        (np.tanh, lambda x: 1 / np.cosh(x) ** 2),
        (lambda x: x**3 - x, lambda x: 3 * x**2 - 1),
        (lambda x: 1 / (1 + np.exp(-x)), lambda x: np.exp(-x) / (1 + np.exp(-x)) ** 2),
        (lambda x: 5 * x + 1, lambda x: np.full_like(x, 5)),
    ):
        x = rng.standard_normal(60)
        found = core.differentiate(function_of(f, x), 0, [np.ones(60)])
        exact = derivative(x)
        difference = np.abs(found.value[0] - exact)
        errors.extend(difference / np.maximum(np.abs(exact), 0.01 * np.abs(exact).max()))
        outside += int((difference > found.error[0]).sum())
        costs.append((found.evaluations - 1) / 60)
    assert np.median(errors) <= 1e-13
    assert np.quantile(errors, 0.99) <= 1e-11
    assert outside == 0
    assert np.mean(costs) <= 10


JUMP = 2


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("f", "jumps"),
    [
        (np.sign, True),
        (lambda x: np.sign(x) * (1 + x * x) + 3 * x, True),
        (np.cbrt, True),
        (lambda x: np.sign(x) * np.sqrt(abs(x)), True),
        (lambda x: np.floor(x), True),
        (lambda x: np.tanh(100 * x), False),
        (lambda x: x * abs(x), False),
        (np.sin, False),
    ],
)
def test_a_jump_that_is_alike_on_both_sides_is_named_as_in_the_reference_engine(f, jumps, dtype):
    x = np.array([0.0, 1.5, -0.75, 0.3], dtype)
    found = core.differentiate(function_of(lambda x: f(x).astype(dtype), x), 0, [np.ones(4)])
    expected = reference_engine.differentiate(
        reference_engine.CallableFunction(lambda xs: [f(xs[0]).astype(dtype)], [x]), 0, [np.ones(4)]
    )
    np.testing.assert_array_equal(found.flags & JUMP, [JUMP * jumps, 0, 0, 0])
    np.testing.assert_array_equal(expected.flags & JUMP, [JUMP * jumps, 0, 0, 0])
    np.testing.assert_array_equal(np.isinf(found.error), np.isinf(expected.error))
    smooth = np.isfinite(expected.error)
    np.testing.assert_allclose(found.value[smooth], expected.value[smooth], rtol=1e-9)
