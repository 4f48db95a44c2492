from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")

from jax import numpy as jnp  # noqa: E402

from fluidcore.gradcheck.adapters.jax_compiled import compiled, traced  # noqa: E402

X = np.linspace(0.5, 1.0, 3).astype(np.float32)


def listed(f: Callable[[Any], Any]) -> Callable[[Any], list[Any]]:
    return lambda x: [f(x)]


def custom_rule(factor: Any) -> Callable[[Any], Any]:
    @jax.custom_vjp
    def f(x: Any) -> Any:
        return x * factor

    f.defvjp(lambda x: (f(x), None), lambda _, v: (v * factor,))
    return f


def callback(factor: Any) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.pure_callback(lambda y: np.asarray(y) * factor, shape, x)

    return f


FUNCTIONS = {
    "constant": lambda c: lambda x: x * c,
    "constant of a compiled function": lambda c: jax.jit(lambda x: x * c),
    "constant two functions deep": lambda c: jax.jit(lambda x: jax.jit(lambda y: y * c)(x)),
    "literal": lambda c: lambda x: x * float(c[0] * (1 + 1e-6)),
    "power": lambda c: lambda x: x ** int(c[0]),
    "loop": lambda c: lambda x: jax.lax.fori_loop(0, 2, lambda _, y: y * c, x),
    "branch": lambda c: lambda x: jax.lax.cond(x[0] > 0, lambda y: y * c, lambda y: y, x),
    "custom rule": custom_rule,
    "compiled custom rule": lambda c: jax.jit(custom_rule(c)),
    "gradient": lambda c: jax.grad(lambda x: jnp.sum(custom_rule(c)(x) ** 2)),
    "callback": callback,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_that_differ_in_one_number_are_told_apart(name: str) -> None:
    for numbers in ([1, 2, 3], [4, 5, 6]):
        f = FUNCTIONS[name](np.array(numbers, np.float32))
        (found,) = compiled(traced(listed(f), [X]))(X)
        np.testing.assert_allclose(found, f(X), rtol=1e-6)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "callback"])
def test_a_function_that_does_the_same_is_not_compiled_again(name: str) -> None:
    constant = np.array([1, 2, 3], np.float32)
    functions = [FUNCTIONS[name](constant) for _ in range(2)]
    first, second = (compiled(traced(listed(f), [X])) for f in functions)
    assert first is second


def test_a_function_is_another_one_with_64_bits() -> None:
    first = compiled(traced(lambda x: [x * 2.0], [X]))
    with jax.enable_x64(True):
        assert compiled(traced(lambda x: [x * 2.0], [X])) is not first


def with_rule(kind: str, formula: Callable[[Any], Any]) -> Callable[[Any], Any]:
    f = getattr(jax, kind)(lambda x: formula(x))
    if kind == "custom_vjp":
        f.defvjp(lambda x: (x, x), lambda x, v: (v,))
    else:
        f.defjvp(lambda xs, us: (xs[0], us[0]))
    return f


@pytest.mark.parametrize("kind", ["custom_vjp", "custom_jvp"])
def test_functions_with_rules_are_told_apart_by_what_they_do(kind: str) -> None:
    for formula in (jnp.sin, jnp.cos):
        (found,) = compiled(traced(listed(with_rule(kind, formula)), [X]))(X)
        np.testing.assert_allclose(found, formula(X), rtol=1e-6)
