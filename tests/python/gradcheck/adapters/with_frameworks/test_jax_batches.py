"""Functions of JAX that run on many copies of the point at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numerical import Numerical, differentiate, formula_of

jax = pytest.importorskip("jax")

from jax import numpy as jnp  # noqa: E402

from fluidcore.gradcheck import GradCheckResult, Verdict, check  # noqa: E402
from fluidcore.gradcheck.adapters import callable_target  # noqa: E402
from fluidcore.gradcheck.config import GradCheckConfig  # noqa: E402
from fluidcore.gradcheck.measure.session import Session  # noqa: E402


def normal(*shape: int, dtype: str = "float64") -> Any:
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)


def result(f: Any, *xs: Any, **options: Any) -> GradCheckResult:
    return check(f, *xs, framework="jax", raise_exception=False, **options).results[0]


def session(f: Any, *xs: Any) -> Session:
    return Session(callable_target(f, xs, framework="jax"), GradCheckConfig())


def numerical(f: Any, x: Any, k: int, is_batched: bool) -> Numerical:
    one = session(f, x, normal(7, 10, dtype=x.dtype))
    one.target.smallest_batch = 70
    formula_of(one).runs_on_copies = is_batched
    found = differentiate(one, k, "full")
    assert formula_of(one).runs_on_copies is is_batched
    assert found is not None
    return found


FUNCTIONS = {
    "product": lambda x, w: x @ w,
    "norm": lambda x, w: (x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)) * w.sum(),
    "several": lambda x, w: (jax.nn.softmax(x, -1), x.sum() * w, {"first": jnp.exp(w[0])}),
    "loop": lambda x, w: jax.lax.fori_loop(0, 2, lambda _, y: jnp.tanh(y @ w @ w.T), x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("k", [0, 1])
def test_all_elements_are_differentiated_by_in_the_runs_of_one(
    name: str, dtype: str, k: int
) -> None:
    f, x = FUNCTIONS[name], normal(12, 7, dtype=dtype)
    together = numerical(f, x, k, is_batched=True)
    alone = numerical(f, x, k, is_batched=False)
    assert together.evaluations * 20 < alone.evaluations
    np.testing.assert_array_equal(together.reference.flags, alone.reference.flags)
    for ours, theirs in zip(together.reference.numbers, alone.reference.numbers, strict=True):
        assert ours.shape == theirs.shape
    apart = np.abs(together.reference.value - alone.reference.value)
    assert (apart <= together.reference.error + alone.reference.error + 1e-12).all()


def test_one_wrong_element_is_found_by_its_index() -> None:
    @jax.custom_vjp
    def f(x: Any) -> Any:
        return jnp.sin(x)

    f.defvjp(lambda x: (jnp.sin(x), x), lambda x, v: ((v * jnp.cos(x)).at[3, 2].multiply(1.001),))
    found = result(f, normal(16, 16))
    assert found.verdict is Verdict.FAIL
    assert [error.index for error in found.element_errors or ()] == [3 * 16 + 2]


def cube(run: Any) -> Any:
    f = jax.custom_vjp(run)
    f.defvjp(lambda x: (run(x), x), lambda x, v: (3 * v * x**2,))
    return f


def calls_back(x: Any) -> Any:
    return jax.pure_callback(
        lambda y: np.asarray(y) ** 3, jax.ShapeDtypeStruct(x.shape, x.dtype), x
    )


@jax.custom_batching.custom_vmap
def other_on_a_batch(x: Any) -> Any:
    return x**3


@other_on_a_batch.def_vmap
def _(size: int, is_batched: Any, x: Any) -> Any:
    return 2 * x**3, True


FUNCTIONS_OF_ONE_POINT = {
    "no rule for a batch": cube(calls_back),
    "looks at values": lambda x: x * 2 if x.sum() > 0 else x * 3,
    "another function on a batch": cube(other_on_a_batch),
}


@pytest.mark.parametrize("name", FUNCTIONS_OF_ONE_POINT)
def test_what_does_not_run_on_a_batch_runs_on_one_point_after_the_other(name: str) -> None:
    found = result(FUNCTIONS_OF_ONE_POINT[name], normal(16, 16))
    assert found.verdict is Verdict.PASS
    assert found.num_forward > 2 * 256


def test_a_copy_outside_of_the_domain_does_not_spoil_the_others() -> None:
    x = np.diag([1.0] * 15 + [1e-3])  # some steps leave its domain
    assert result(lambda x: jnp.linalg.cholesky((x + x.T) / 2), x).verdict is Verdict.PASS


def test_few_elements_are_not_worth_another_program() -> None:
    one = session(jnp.multiply, normal(255), normal(1))
    found = differentiate(one, 0, "full")
    assert found is not None
    assert found.evaluations > 5 * 255
    assert formula_of(one).runs_on_copies


def test_a_batch_may_be_smaller_or_larger_than_the_one_before() -> None:
    x = normal(8)
    target = callable_target(jnp.sin, [x], framework="jax")
    for count in (4, 2, 8):
        run = target.batched(0, np.arange(count), "float64")
        assert run is not None
        (found,) = run([x[:count] + 0.5])
        expected = np.sin(x + np.eye(8)[:count] * 0.5)
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_a_function_that_the_user_differentiates_runs_at_one_point_at_a_time() -> None:
    kept = []

    def f(x: Any) -> Any:
        kept.append(np.asarray(x))
        return jnp.sin(x)

    found = result(f, normal(256), vjp=lambda x, v: v * jnp.cos(kept[-1]))
    assert found.verdict is Verdict.PASS
    assert found.num_forward > 2 * 256
