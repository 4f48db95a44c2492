"""Kernels that read values whose digits are lost, and kernels that are wrong."""

import numpy as np
import pytest
from targets import FUNCTIONS, NumpyTarget, checked

from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.kernel.lost_digits import LostDigits, lost_digits
from fluidcore.gradcheck.kernel.neighbours import neighbours, unit_of
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.target.precision import UNIT
from fluidcore.gradcheck.verdict import Reason, Verdict


def saturated(name: str, seed: int, dtype: str = "float32") -> NumpyTarget:
    """Where all outputs are 1 or nearly so."""
    random = np.random.default_rng([3, seed])
    f, vjp, _ = FUNCTIONS["rnn" if name == "rnn" else "tanh"]
    if name == "rnn":
        inputs = [3 * random.standard_normal(shape) for shape in ((2, 3), (2, 4), (3, 4), (4, 4))]
    else:
        inputs = [random.choice([-1, 1], (3, 4)) * random.uniform(7, 20, (3, 4))]
    if name == "sigmoid":
        inputs = [2 * np.abs(inputs[0])]

        def f(x):
            return 1 / (1 + np.exp(-x))

        def vjp(x, v):
            return v * f(x) * (1 - f(x))

    return NumpyTarget(f, vjp, inputs, dtype, who=name)


@pytest.mark.parametrize(("name", "accused"), [("tanh", 0), ("sigmoid", 0), ("rnn", 2)])
def test_lost_digits_are_a_warning(name: str, accused: int) -> None:
    # cells stay wrong whose saturated unit shares every input and weight with one that is not
    warned, failed = 0, []
    for seed in range(12):
        report = checked(saturated(name, seed), seed=seed)
        reasons = [one.reasons for one in report.results if one.verdict is Verdict.PASS]
        warned += (Reason.PRECISION_LOSS,) in reasons
        if report.verdict is Verdict.FAIL:
            failed.append(seed)
    assert warned >= 6
    assert len(failed) <= accused, failed


def test_a_warning_says_what_would_not_have_been_seen() -> None:
    _, kernel = checked(saturated("tanh", 0)).results
    assert kernel.reasons == (Reason.PRECISION_LOSS,)
    assert kernel.resolution > 0.01


@pytest.mark.parametrize("factor", [-1.0, 0.5, 2.0, 1.01])
def test_a_wrong_kernel_beside_lost_digits_is_found(factor: float) -> None:
    target = saturated("tanh", 0)
    right = target.backward
    target.inputs[0].value.flat[3] = 0.5

    def vjp(x, v):
        a = right(x, v)
        if x.dtype == np.float32:
            a.flat[3] *= np.float32(factor)
        return a

    target.backward = vjp
    assert checked(target).results[1].reasons == (Reason.KERNEL,)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("size", [4, 400])
def test_a_fault_of_a_sum_of_many_terms_is_found(dtype: str, size: int) -> None:
    # an element can go far before the sum changes; but the kernel goes with it
    x = np.random.default_rng(size).uniform(1, 2, size)
    factor = 1 + 100 * UNIT[dtype]

    def vjp(x, v):
        a = v * 2 * x
        return a if x.dtype == np.float64 else (a.astype(float) * factor).astype(x.dtype)

    target = NumpyTarget(lambda x: (x * x).sum(), vjp, [x], dtype)
    assert checked(target).results[1].reasons == (Reason.KERNEL,)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(9,), (4, 4), (1,)])
def test_beyond_a_kink_a_wrong_kernel_may_be_right(dtype: str, shape: tuple[int, ...]) -> None:
    x = -np.abs(np.random.default_rng(len(shape)).standard_normal(shape))

    def vjp(x, v):
        return v * (x > 0).astype(x.dtype) if x.dtype == np.float64 else v

    target = NumpyTarget(lambda x: np.maximum(x, 0), vjp, [np.append(x, 1.5)], dtype)
    assert checked(target).results[1].reasons == (Reason.KERNEL,)


def session_of(target: NumpyTarget) -> Session:
    return Session(target, GradCheckConfig())


def test_neighbours_have_the_same_outputs_but_for_one_to_three_units() -> None:
    session = session_of(saturated("tanh", 1))
    unit = unit_of(session)
    assert unit == pytest.approx(UNIT["float32"])
    found = neighbours(session, [(0, 0), (0, 5)], unit)
    assert {at.element for at in found} == {0, 5}
    for at in found:
        y = session.calls.forward([x.astype(float) for x in at.xs], "float64")[0]
        change = np.abs(y - session.outputs[0]).ravel()
        assert unit <= change[at.element] <= 3 * unit
        assert np.count_nonzero(change) == 1


def test_where_a_dither_moves_f_no_neighbour_is_needed() -> None:
    assert neighbours(session_of(NumpyTarget(np.sin, None, [np.ones(3)])), [], 1.0) == []
    target = NumpyTarget(lambda x: 2 * x, lambda x, v: 2 * v, [np.ones(3)], "float32")
    session = session_of(target)
    assert neighbours(session, [(0, 0)], unit_of(session)) == []
    target = NumpyTarget(lambda x: 0 * x, lambda x, v: 0 * v, [np.ones(3)], "float32")
    session = session_of(target)
    assert neighbours(session, [(0, 0)], unit_of(session)) == []


def test_the_unit_is_that_of_terms_that_cancel() -> None:
    x = np.array([9.0, 9.0, -9.0, -9.0])
    target = NumpyTarget(
        lambda x: np.tanh(x).sum(), lambda x, v: v * (1 - np.tanh(x) ** 2), [x], "float32"
    )
    session = session_of(target)
    assert abs(float(session.outputs[0])) < 1e-9
    assert unit_of(session) >= 2 * UNIT["float32"] * (1 - 1e-6)


def test_a_gradient_is_uncertain_by_what_one_unit_of_f_makes() -> None:
    x = np.array([8.0, 0.5])
    target = NumpyTarget(np.tanh, lambda x, v: v * (1 - np.tanh(x) ** 2), [x], "float32")
    session = session_of(target)
    v = np.abs(session.weights(0))
    uncertain = LostDigits(session, [(0, 0), (0, 1)]).uncertain(0)[0]
    assert 2 * UNIT["float32"] < uncertain[0] / v[0] < 12 * UNIT["float32"]
    assert uncertain[1] == 0


def test_of_many_elements_the_worst_and_some_others_are_moved() -> None:
    x = np.linspace(8.0, 9.0, 300)
    target = NumpyTarget(np.tanh, lambda x, v: v * (1 - np.tanh(x) ** 2), [x], "float32")
    uncertain = lost_digits(session_of(target), 0, np.array([7, 250])).uncertain(0)[0]
    assert (uncertain[[7, 250]] > 0).all()
    assert 60 < np.count_nonzero(uncertain) <= 128


def at_8(x: float, a: float) -> float:
    """The derivative of tanh at 8, from that at x."""
    return a * (1 - np.tanh(8.0) ** 2) / (1 - np.tanh(x) ** 2)


def off_by(off, x=(8.0, 0.5), coordinates=((0, 0),)) -> LostDigits:
    """A kernel of tanh that adds something to the gradient by the first element."""

    def vjp(x, v):
        a = v * (1 - np.tanh(x) ** 2)
        if x.dtype == np.float32:
            exact = v.astype(float) * (1 - np.tanh(x.astype(float)) ** 2)
            a = (exact + np.array([off(float(x[0]), exact[0]), 0.0])).astype(np.float32)
        return a

    session = session_of(NumpyTarget(np.tanh, vjp, [np.array(x)], "float32"))
    return LostDigits(session, list(coordinates))


@pytest.mark.parametrize(
    ("off", "is_steady"),
    [
        (lambda x, a: 1e-3, True),
        (lambda x, a: a, True),
        (lambda x, a: -2 * a, True),
        (lambda x, a: -a, True),
        (lambda x, a: np.sin(1e7 * x), False),
        (lambda x, a: a * np.sin(1e7 * x), False),
        (lambda x, a: (2 + 0.6 * np.sin(1e7 * x)) * at_8(x, a), True),  # within 70 %
        (lambda x, a: (2 + 1.7 * np.sin(1e7 * x)) * at_8(x, a), False),
        (lambda x, a: float(x == 8), True),  # right wherever it is not wrong
        (lambda x, a: x - 7.9, False),
        (lambda x, a: 1e-3 if x == 8 else np.nan, True),
    ],
)
def test_a_fault_stays_the_same_or_the_same_part_on_the_way_to_a_neighbour(off, is_steady) -> None:
    assert off_by(off).is_steady(0, 0, 0) is is_steady


def test_without_a_way_to_go_everything_is_steady() -> None:
    assert off_by(lambda x, a: np.sin(1e7 * x), coordinates=()).is_steady(0, 0, 0)


@pytest.mark.parametrize(("size", "least", "most"), [(128, 128, 128), (129, 70, 128)])
def test_of_more_than_128_elements_some_are_moved(size: int, least: int, most: int) -> None:
    x = np.linspace(8.0, 9.0, size)
    target = NumpyTarget(np.tanh, lambda x, v: v * (1 - np.tanh(x) ** 2), [x], "float32")
    uncertain = lost_digits(session_of(target), 0, np.arange(40)).uncertain(0)[0]
    assert least <= np.count_nonzero(uncertain) <= most
    assert (uncertain[:32] > 0).all()
