from __future__ import annotations

import itertools
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")

from jax import numpy as jnp  # noqa: E402

from fluidcore import core  # noqa: E402
from fluidcore.gradcheck import api  # noqa: E402
from fluidcore.gradcheck.adapters import callable_target  # noqa: E402
from fluidcore.gradcheck.config import GradCheckConfig  # noqa: E402
from fluidcore.gradcheck.pipeline.run import run_check  # noqa: E402
from fluidcore.gradcheck.verdict import Reason, Verdict  # noqa: E402

check = partial(api.check, raise_exception=False)  # for tests of verdicts
X = np.array([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75]], np.float32)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_a_right_gradient_passes_in_every_dtype(dtype: str) -> None:
    x = X.astype(jnp.dtype(dtype))
    target = callable_target(jnp.tanh, [x], framework="jax")
    assert (target.dtype, target.has_shadow) == (dtype, True)
    assert check(jnp.tanh, x, framework="jax")
    assert not jax.config.jax_enable_x64


def wrong_cube() -> Any:
    @jax.custom_vjp
    def cube(x: Any) -> Any:
        return x**3

    cube.defvjp(lambda x: (x**3, x), lambda x, v: (x**2 * v,))
    return cube


def test_a_wrong_custom_vjp_fails_and_is_explained() -> None:
    report = check(wrong_cube(), jnp.asarray(X))
    assert report.verdict is Verdict.FAIL
    assert report.results[0].hypotheses[0].text.startswith(("A = 1/3 * G", "A = G / 3"))
    assert report.who == "cube"
    assert "test_jax_target.py" in report.source


def test_trees_of_parameters_are_inputs_and_all_else_is_constant() -> None:
    def loss(parameters: Any, x: Any, index: Any, key: Any, power: Any) -> Any:
        signs = 2 * jax.random.randint(key, (2,), 0, 2, jnp.int32) - 1
        return jnp.mean((x @ parameters["w"] + parameters["b"]) ** power * signs), index

    parameters = {"w": jnp.arange(6.0).reshape(3, 2) / 7, "b": jnp.zeros(2)}
    arguments = parameters, jnp.asarray(X), jnp.arange(3), jax.random.key(0), 2
    target = callable_target(loss, arguments)
    names = ["parameters['w']", "parameters['b']", "x"]
    assert [put.name for put in target.inputs] == names
    assert check(loss, *arguments)


def test_other_random_numbers_in_float64_are_seen() -> None:
    def noisy(x: Any) -> Any:
        return x * jax.random.normal(jax.random.key(0), x.shape, x.dtype)

    target = callable_target(noisy, [jnp.asarray(X)])
    reason = "it is another function in float64, perhaps with other random numbers"
    assert target.native_reason == reason
    assert check(noisy, jnp.asarray(X)).verdict is not Verdict.FAIL


def test_a_compiled_function_of_numpy_arrays_is_known_by_its_type() -> None:
    target = callable_target(jax.jit(jnp.sin), [X])
    assert target.framework == "JAX"
    assert check(jax.jit(jnp.sin), X)


def test_a_cast_inside_is_seen() -> None:
    def single(x: Any) -> Any:
        return x * jax.jit(lambda y: jnp.sin(y.astype(jnp.float32)))(x).astype(x.dtype)

    for vjp in (None, lambda x, v: v):
        target = callable_target(single, [jnp.asarray(X)], vjp=vjp)
        assert target.native_reason == "it makes float32 from float64 inside"


def test_what_jax_makes_of_a_value_and_its_gradient_can_be_checked() -> None:
    def energy(x: Any) -> Any:
        return jnp.sum(x**3)

    assert check(jax.value_and_grad(energy), jnp.asarray(X), value_and_grad=True, framework="jax")


def test_what_cannot_be_checked_is_said() -> None:
    with pytest.raises(core.InvalidArgument, match="must return a floating JAX tensor"):
        check(lambda x: None, jnp.asarray(X))
    with pytest.raises(core.InvalidArgument, match="arguments must be real, got complex64"):
        check(lambda x: x, jnp.asarray(X) * 1j)


def custom_cube(backward: Any) -> Any:
    @jax.custom_vjp
    def cube(x: Any) -> Any:
        return x**3

    cube.defvjp(lambda x: (x**3, x), backward)
    return cube


def test_jax_is_differentiated_twice() -> None:
    right = custom_cube(lambda x, v: (3 * x**2 * v,))
    for f in (jnp.tanh, right, jax.nn.relu, lambda x: 2 * x, jax.nn.softmax):
        report = check(f, jnp.asarray(X), second_order=True)
        assert report.verdict is Verdict.PASS
        assert any(one.name == "cotangent, second order" for one in report.results)


def test_a_gradient_with_a_wrong_gradient_fails_in_jax() -> None:
    wrong = custom_cube(lambda x, v: (3 * jax.lax.stop_gradient(x) ** 2 * v,))
    report = check(wrong, jnp.asarray(X), second_order=True)
    failed = {one.name for one in report.results if one.verdict is Verdict.FAIL}
    assert failed == {"x, second order"}


def test_a_gradient_that_jax_cannot_differentiate_says_so() -> None:
    def by_callback(x: Any, v: Any) -> Any:
        form = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return (jax.pure_callback(lambda x, v: np.asarray(3 * x**2 * v), form, x, v),)

    report = check(custom_cube(by_callback), jnp.asarray(X), second_order=True)
    assert report.verdict is Verdict.INCONCLUSIVE
    absent = next(one for one in report.results if one.name == "second order")
    assert absent.reasons == (Reason.NO_SECOND,)
    assert "Pure callbacks do not support" in absent.detail


def test_a_function_is_traced_three_times_however_many_elements_it_has() -> None:
    runs = 0

    def f(x: Any) -> Any:
        nonlocal runs
        runs += 1
        return jnp.sin(x) * x

    assert check(f, jnp.linspace(0.1, 1.0, 30))
    assert runs == 3  # in float32, and twice in float64: does it draw numbers anew?


@pytest.mark.parametrize("size", [6, 3000])
def test_numbers_that_each_trace_draws_anew_are_those_of_its_gradient_too(size: int) -> None:
    factors = itertools.count(1.8, 0.003)  # nearer than some kernels are to the formula

    def f(x: Any) -> Any:
        return x * next(factors)

    report = check(f, jnp.linspace(0.5, 1.5, size, dtype=jnp.float32))
    assert report
    (result,) = report.results
    assert "it is another function in float64" in result.detail


def compilations(caplog: pytest.LogCaptureFixture, f: Any, x: Any, **options: Any) -> int:
    caplog.clear()
    with jax.log_compiles():
        assert check(f, x, framework="jax", **options)
    found = [record.getMessage() for record in caplog.records]
    return sum(message.startswith("Finished XLA compilation") for message in found)


@pytest.mark.parametrize(
    ("dtype", "size", "count"),
    [
        ("float64", 9, 2),  # f alone, and with its gradients
        ("float32", 9, 3),  # in float32 both together
        ("float64", 270, 3),  # on batches
        ("float32", 270, 4),
    ],
)
def test_a_check_compiles_few_programs_and_the_next_one_none(
    dtype: str, size: int, count: int, caplog: pytest.LogCaptureFixture
) -> None:
    x = np.linspace(0.1, 1.0, size, dtype=dtype)
    factor = np.random.default_rng().random(1)[0]  # a program that nobody has run
    functions = [lambda x: jnp.sin(x) * factor for _ in range(2)]
    assert [compilations(caplog, f, x) for f in functions] == [count, 0]


def test_batches_of_one_input_are_one_program(caplog: pytest.LogCaptureFixture) -> None:
    x = np.linspace(0.1, 1.0, 270)
    factor = np.random.default_rng().random(1)[0]
    in_pieces = {"budget_s": 600.0}  # of 32 elements, the last of 14
    assert compilations(caplog, lambda x: jnp.sin(x) * factor, x, **in_pieces) == 3


def test_second_gradients_are_compiled() -> None:
    runs = 0

    def f(x: Any) -> Any:
        nonlocal runs
        runs += 1
        return jnp.sin(x) * x

    assert check(f, X, second_order=True, framework="jax")
    assert runs <= 8


@pytest.mark.parametrize("kind", ["closure", "attribute"])
def test_what_f_reads_besides_its_arguments_may_change_between_two_checks(kind: str) -> None:
    kept, settings = [1.0], SimpleNamespace(factor=1.0)

    @jax.custom_vjp
    def f(x: Any) -> Any:
        return jnp.sin(x) * (kept[0] if kind == "closure" else settings.factor)

    f.defvjp(lambda x: (f(x), x), lambda x, v: (v * jnp.cos(x),))
    verdicts = []
    for factor in (1.0, 2.0, 1.0):
        kept[0] = settings.factor = factor
        verdicts.append(check(f, jnp.asarray(X)).verdict)
    assert verdicts == [Verdict.PASS, Verdict.FAIL, Verdict.PASS]


def test_what_a_function_reads_besides_its_arguments_may_change_between_two_checks() -> None:
    factor = [1.0]

    @jax.custom_vjp
    def f(x: Any) -> Any:
        return jnp.sin(x)

    f.defvjp(lambda x: (jnp.sin(x), x), lambda x, v: (factor[0] * v * jnp.cos(x),))
    verdicts = []
    for factor[0] in (1.0, 2.0, 1.0):
        target = callable_target(f, [jnp.asarray(X)])
        verdicts.append(run_check(target, GradCheckConfig()).verdict)
    assert verdicts == [Verdict.PASS, Verdict.FAIL, Verdict.PASS]


def test_a_function_that_looks_at_values_is_not_compiled() -> None:
    @jax.custom_vjp
    def sine(x: Any) -> Any:
        return jnp.asarray(np.sin(np.asarray(x)))

    sine.defvjp(lambda x: (sine(x), x), lambda x, v: (v * jnp.cos(x),))
    assert check(sine, jnp.asarray(X))
    assert check(lambda x: jnp.sin(x) if x[0, 0] > 0 else jnp.cos(x), jnp.asarray(X))


def test_f_has_values_where_its_gradient_raises() -> None:
    def backward(x: Any, v: Any) -> Any:
        if (np.asarray(x) > 2).any():
            raise ValueError("too large")
        return np.asarray(3 * x**2 * v)

    def by_callback(x: Any, v: Any) -> Any:
        return (jax.pure_callback(backward, jax.ShapeDtypeStruct(x.shape, x.dtype), x, v),)

    target = callable_target(custom_cube(by_callback), [jnp.asarray(X)])
    (found,) = target.forward([X + 1], "float32")
    np.testing.assert_allclose(found, (X + 1) ** 3, rtol=1e-6)


def test_numbers_that_numpy_draws_are_the_same_in_f_and_in_its_gradient() -> None:
    def f(x: Any) -> Any:
        return x * np.random.random_sample(x.shape).astype(x.dtype)

    np.random.seed(5)
    expected = np.random.random_sample()
    np.random.seed(5)
    assert check(f, jnp.asarray(X))
    assert np.random.random_sample() == expected


def test_dtypes_may_differ_and_f_gets_each_in_its_own() -> None:
    seen = set()

    def f(x: Any, w: Any) -> Any:
        seen.add((x.dtype.name, w.dtype.name))
        return x.astype(w.dtype) @ w

    x, w = jnp.asarray(X, jnp.bfloat16), jnp.asarray(X.T)
    report = check(f, x, w)
    assert report, str(report)
    assert seen == {("bfloat16", "float32"), ("float64", "float64")}
