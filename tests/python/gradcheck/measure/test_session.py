"""What all parts of a check share: cotangents, gradients, directions, time."""

import os
from types import SimpleNamespace

import numpy as np
import pytest
from targets import NumpyTarget, target_of

from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.measure.session import Session

X = np.random.default_rng(16).standard_normal((2, 3))


def session_of(target: NumpyTarget, **settings) -> Session:
    return Session(target, GradCheckConfig(**settings))


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_f_is_differentiated_in_float64_where_that_works(dtype: str) -> None:
    session = session_of(target_of("tanh", dtype))
    assert session.dtype == "float64"
    assert session.outputs[0].dtype == np.float64
    assert session.has_kernel_test == (dtype != "float64")
    assert not session.alone
    assert session.note == ""


@pytest.mark.parametrize(
    ("target", "settings"),
    [
        (target_of("tanh", "float32"), {"shadow": "off"}),
        (target_of("tanh", "float32", has_shadow=False), {}),
        (target_of("tanh", "float64"), {"shadow": "off"}),
    ],
)
def test_alone_there_is_nothing_to_compare_with(target: NumpyTarget, settings) -> None:
    session = session_of(target, **settings)
    assert session.dtype == target.dtype
    assert session.alone
    assert not session.has_kernel_test


@pytest.mark.parametrize("what", ["outputs", "gradients"])
def test_a_float64_form_that_returns_another_dtype_is_not_used(what: str) -> None:
    def f(x):
        return (x * x).astype(np.float32) if what == "outputs" else x * x

    def vjp(x, v):
        return (2 * x * v).astype(np.float32)

    session = session_of(NumpyTarget(f, vjp, [X], "float32"))
    assert session.dtype == "float32"
    assert session.outputs[0].dtype == np.float32
    assert session.alone
    returned = "float32" if what == "outputs" else "gradients"
    assert session.note == f"judged in float32 alone: in float64 it returns other {returned}"
    assert session.gradients(0, "float32")[0].size == 6


def test_a_float64_gradient_of_another_shape_is_used_and_wrong() -> None:
    session = session_of(NumpyTarget(lambda x: x * x, lambda x, v: v[:1], [X], "float32"))
    assert session.dtype == "float64"
    assert session.note == ""


def test_a_float64_form_that_is_not_finite_is_not_asked_for_gradients() -> None:
    def vjp(x, v):
        raise AssertionError

    session = session_of(NumpyTarget(lambda x: x / 0, vjp, [X], "float32"))
    assert session.dtype == "float64"


def test_the_rules_are_those_of_the_dtype_under_test() -> None:
    assert session_of(target_of("tanh", "float32")).rules.resolution == 1e-3
    alone = session_of(target_of("tanh", "float16"), shadow="off")
    assert (alone.rules.bars, alone.rules.resolution, alone.rules.allow_open) == (5.0, 0.3, 0.5)
    assert session_of(target_of("tanh"), resolution=0.5).rules.resolution == 0.5


def test_as_many_threads_as_the_process_may_use() -> None:
    assert session_of(target_of("tanh")).workers == len(os.sched_getaffinity(0))
    assert session_of(target_of("tanh"), workers=3).workers == 3


def test_one_number_needs_one_cotangent() -> None:
    one = session_of(target_of("mse"), cotangents=3)
    assert one.is_scalar
    assert one.num_cotangents == 1
    np.testing.assert_array_equal(one.cotangent(0), one.cotangent(2))
    assert one.gradients(2, "float64") is one.gradients(0, "float64")
    two = session_of(NumpyTarget(lambda x: x[0, :2], lambda x, v: x, [X]), cotangents=3)
    assert not two.is_scalar
    assert two.num_cotangents == 3
    none = session_of(NumpyTarget(lambda x: x[:0], lambda x, v: x, [X]))
    assert none.num_cotangents == 1


def test_a_fixed_cotangent_is_one() -> None:
    session = session_of(target_of("tanh", "float32", fixed_cotangent=True), cotangents=3)
    assert session.is_scalar
    assert session.num_cotangents == 1
    (v,) = session.cotangent(0)
    assert v.dtype == np.float32
    assert v.shape == (3, 4)
    assert (v == 1).all()


def test_every_cotangent_output_and_seed_draws_others() -> None:
    def pair(x):
        return x, 2 * x

    def session(seed: int = 0) -> Session:
        return session_of(NumpyTarget(pair, lambda x, v, w: v + 2 * w, [X], "float32"), seed=seed)

    one = session()
    drawn = [one.cotangent(0)[0], one.cotangent(0)[1], one.cotangent(1)[0]]
    drawn.append(session(1).cotangent(0)[0])
    assert len(np.unique(drawn)) == 24
    np.testing.assert_array_equal(drawn[0], session().cotangent(0)[0])
    assert all(v.dtype == np.float32 for v in drawn)
    np.testing.assert_array_equal(one.weights(0), np.ravel(one.cotangent(0)))
    assert one.weights(0).dtype == np.float64


def test_a_gradient_is_calculated_once() -> None:
    session = session_of(target_of("matmul", "float32"))
    before = session.calls.backwards
    first = session.analytical(1, "float32")
    assert first.shape == (2, 8)
    assert len(np.unique(first)) == 16
    session.analytical(0, "float32")
    np.testing.assert_array_equal(session.analytical(1, "float32"), first)
    assert session.calls.backwards == before + 2


def test_directions_have_few_bits_and_belong_to_input_and_probe() -> None:
    session = session_of(target_of("matmul"))
    d = session.direction(0, 0)
    assert d.shape == (12,)
    np.testing.assert_array_equal(d, session.direction(0, 0))
    for other in (session.direction(0, 1), session.direction(1, 0)):
        assert not np.isin(other, d).any()
    np.testing.assert_array_equal((1 + d * 2.0**-30) - 1, d * 2.0**-30)
    along = session.along(1, session.direction(1, 0))
    assert along[0] is None
    assert along[1].shape == (4, 2)


def test_time_runs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    clock = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr("fluidcore.gradcheck.measure.session.time", clock)
    session = session_of(target_of("tanh"), budget_s=5.0)
    free = session_of(target_of("tanh"))
    for seconds, late in ((0.0, False), (4.5, False), (5.5, True)):
        now[0] = 100.0 + seconds
        assert session.seconds() == seconds
        assert session.late == late
        assert not free.late


def test_directions_of_one_input_are_kept_until_those_of_another_are_wanted() -> None:
    session = session_of(NumpyTarget(lambda x, y: x * y, lambda x, y, v: (v * y, v * x), [X, X]))
    first = session.direction(0, 0)
    session.direction(0, 1)
    assert session.direction(0, 0) is first
    session.direction(1, 0)
    assert session.direction(0, 0) is not first
    np.testing.assert_array_equal(session.direction(0, 0), first)


def test_a_number_has_one_cotangent() -> None:
    session = session_of(NumpyTarget(lambda x: (x * x).sum(), lambda x, v: 2 * x * v, [X]))
    assert session.num_cotangents == 1
    assert session.cotangent(3) is session.cotangent(0)
    np.testing.assert_array_equal(session.weights(3), session.weights(0))
    assert session.gradients(3, "float64") is session.gradients(0, "float64")


def test_an_infinite_float64_form_is_a_form() -> None:
    def f(x):
        return np.append(x.ravel(), x.dtype.type(np.inf))

    session = session_of(NumpyTarget(f, lambda x, v: v[:-1].astype(np.float32), [X], "float32"))
    assert session.dtype == "float64"
    assert session.note == ""


def test_gradients_of_a_form_that_is_not_used_are_forgotten() -> None:
    session = session_of(
        NumpyTarget(lambda x: x * x, lambda x, v: (2 * x * v).astype(np.float32), [X], "float32")
    )
    assert session.dtype == "float32"
    assert {dtype for _, dtype in session._gradients} <= {"float32"}
