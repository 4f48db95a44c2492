from __future__ import annotations

from functools import partial
from typing import Any

import pytest

mx = pytest.importorskip("mlx.core")

from fluidcore import core  # noqa: E402
from fluidcore.gradcheck import api  # noqa: E402
from fluidcore.gradcheck.adapters import callable_target  # noqa: E402
from fluidcore.gradcheck.verdict import Verdict  # noqa: E402

check = partial(api.check, raise_exception=False)  # for tests of verdicts
X = [[0.5, -1.25, 2.0], [1.5, 0.25, -0.75]]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_a_right_gradient_passes(dtype: str) -> None:
    x = mx.array(X, getattr(mx, dtype))
    target = callable_target(lambda x: x * x * x, [x])
    assert (target.dtype, target.has_shadow, target.framework) == (dtype, True, "MLX")
    assert check(lambda x: x * x * x, x)


def test_a_wrong_gradient_fails_and_is_explained() -> None:
    @mx.custom_function
    def square(x: Any) -> Any:
        return x * x

    @square.vjp
    def square_vjp(primals: Any, cotangent: Any, output: Any) -> Any:
        return primals * cotangent

    report = check(square, mx.array(X))
    assert report.verdict is Verdict.FAIL
    assert report.results[0].hypotheses[0].text.startswith("A = G / 2")


def test_a_function_that_mlx_rounds_to_float32_is_judged_alone() -> None:
    target = callable_target(mx.sin, [mx.array(X)])
    assert target.has_shadow or target.native_reason == "it rounds to a smaller dtype inside"
    assert check(mx.sin, mx.array(X)).verdict is not Verdict.FAIL


def test_trees_are_inputs_and_random_numbers_repeat() -> None:
    def loss(parameters: Any, x: Any, count: Any) -> Any:
        return ((x @ parameters["w"]) ** 2 * mx.random.bernoulli(0.5, (2,))).mean(), count

    state = mx.random.state[0].tolist()
    arguments = {"w": mx.ones((3, 2)) / 4}, mx.array(X), mx.array([3])
    target = callable_target(loss, arguments)
    assert [put.name for put in target.inputs] == ["parameters['w']", "x"]
    assert check(loss, *arguments).verdict is not Verdict.FAIL
    assert mx.random.state[0].tolist() == state


def test_what_cannot_be_checked_is_said() -> None:
    with pytest.raises(core.InvalidArgument, match="must return a floating MLX tensor"):
        check(lambda x: None, mx.array(X))


def test_mlx_is_differentiated_twice() -> None:
    for f in (lambda x: x * x * x, lambda x: 2 * x):
        report = check(f, mx.array(X), second_order=True)
        assert report.verdict is Verdict.PASS
        assert any(one.name == "cotangent, second order" for one in report.results)
