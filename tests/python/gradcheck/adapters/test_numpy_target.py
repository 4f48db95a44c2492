from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from targets import check

from fluidcore import core
from fluidcore.base.dtypes import numpy_dtype
from fluidcore.gradcheck.adapters import callable_target, framework_of
from fluidcore.gradcheck.checker import GradientChecker
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.pipeline.run import run_check
from fluidcore.gradcheck.target.repro import array_text
from fluidcore.gradcheck.verdict import Reason, Verdict

X = np.array([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75]])
W = np.array([[0.5, -1.0], [0.25, 1.5], [2.0, -0.5]])


SECOND: dict[str, Any] = {"second_order": True}


def product(x: Any, w: Any) -> Any:
    return np.tanh(x @ w)


def product_vjp(x: Any, w: Any, v: Any) -> tuple[Any, Any]:
    d = v * (1 - np.tanh(x @ w) ** 2)
    return (d @ w.T).astype(x.dtype), (x.T @ d).astype(x.dtype)  # bfloat16 @ bfloat16 is float32


def test_elements_of_very_different_sizes_are_measured_by_steps_of_their_own() -> None:
    x = np.array([2e30, 6e24, 1.5e11])  # two masses and their distance

    def force(x: Any) -> Any:
        return 6.67e-11 * x[0] * x[1] / x[2] ** 2

    def vjp(x: Any, v: Any) -> Any:
        return v * force(x) * np.array([1, 1, -2]) / x

    assert check(force, x, vjp=vjp).verdict is Verdict.PASS
    wrong = [1, 1, 1.001]
    assert check(force, x, vjp=lambda x, v: vjp(x, v) * wrong).verdict is Verdict.FAIL


def cube(x: Any) -> Any:
    return x**3


def cube_vjp(x: Any, v: Any) -> Any:
    return 3 * x**2 * v


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_a_right_gradient_passes_in_every_dtype(dtype: str) -> None:
    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    target = callable_target(product, [X.astype(kind), W.astype(kind)], vjp=product_vjp)
    assert (target.dtype, target.has_shadow) == (dtype, True)
    assert [put.name for put in target.inputs] == ["x", "w"]
    report = check(product, X.astype(kind), W.astype(kind), vjp=product_vjp)
    assert report.verdict is Verdict.PASS, report
    assert report.who == "product"


def test_a_wrong_gradient_fails_and_is_explained() -> None:
    report = check(cube, X, vjp=lambda x, v: 2 * x**2 * v)
    assert report.verdict is Verdict.FAIL
    assert report.results[0].hypotheses[0].text == "A = 2/3 * G"


def test_the_gradient_is_known_by_its_line() -> None:
    target = callable_target(cube, [X], vjp=cube_vjp)
    line = Path(__file__).read_text().splitlines().index("def cube_vjp(x: Any, v: Any) -> Any:")
    assert target.source is not None
    assert target.source.endswith(f"test_numpy_target.py:{line + 1}")


def test_there_is_a_text_that_repeats_the_check() -> None:
    target = callable_target(np.linalg.norm, [np.array([3.0, 4.0])], vjp=cube_vjp)
    assert target.repro is not None
    assert target.repro.text(GradCheckConfig()).splitlines() == [
        "import numpy as np",
        "from numpy.linalg import norm",
        f"from {__name__} import cube_vjp",
        "from fluidcore.gradcheck import check",
        "",
        "print(check(norm, np.array([3.0, 4.0], 'float64'), vjp=cube_vjp))",
    ]
    with_settings = target.repro.text(GradCheckConfig(seed=7, subset=1)).splitlines()
    assert with_settings[-3:] == [
        "from fluidcore.gradcheck import GradCheckConfig",
        "",
        "print(check(norm, np.array([3.0, 4.0], 'float64'), vjp=cube_vjp, "
        "config=GradCheckConfig(subset=1, seed=7)))",
    ]
    assert callable_target(lambda x: x, [X], vjp=cube_vjp).repro is None


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int64", "bool"])
@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (2, 0)])
def test_the_text_of_an_array_is_that_array_to_the_last_bit(
    dtype: str, shape: tuple[int, ...]
) -> None:
    numbers = np.random.default_rng(0).standard_normal(shape) * 3
    array = np.asarray(numbers).astype(numpy_dtype(dtype))
    again = eval(array_text(array), {"np": np})
    assert (again.dtype, again.shape) == (array.dtype, array.shape)
    assert again.tobytes() == array.tobytes()


def test_the_text_of_an_array_has_the_digits_of_its_dtype_and_names_what_is_no_number() -> None:
    assert array_text(np.float32(0.1)) == "np.array(0.1, 'float32')"
    odd = np.array([np.nan, -np.inf, -0.0])
    assert array_text(odd) == "np.array([np.nan, -np.inf, -0.0], 'float64')"


def test_value_and_gradient_may_come_from_one_function() -> None:
    def energy(x: Any, w: Any) -> Any:
        return np.sum(x**2 * w), (2 * x * w, x**2)

    assert check(energy, X, X + 3, value_and_grad=True)
    assert callable_target(energy, [X, X + 3], value_and_grad=True).fixed_cotangent
    wrong = check(lambda x: (np.sum(x**2), x), X, value_and_grad=True)
    assert wrong.results[0].hypotheses[0].text.startswith("A = G / 2")
    with pytest.raises(core.InvalidArgument, match="the value must be one number, got float64"):
        check(lambda x: (x**2, 2 * x), X, value_and_grad=True)
    with pytest.raises(core.InvalidArgument, match=r"must return \(value, gradients\), got"):
        check(lambda x: x**2, X, value_and_grad=True)


def test_arrays_in_lists_and_dicts_are_inputs_and_all_else_is_constant() -> None:
    def f(parameters: Any, which: Any, power: Any) -> Any:
        return parameters["w"][which] ** power + parameters["b"][0]

    def vjp(parameters: Any, which: Any, power: Any, v: Any) -> Any:
        dw = np.zeros_like(parameters["w"])
        np.add.at(dw, which, power * parameters["w"][which] ** (power - 1) * v)
        return {"w": dw, "b": [np.sum(v)]}, None, None

    point = {"w": np.array([1.5, 2.0, -0.5]), "b": [np.array(0.25)]}
    target = callable_target(f, [point, np.array([0, 2, 2]), 2], vjp=vjp)
    assert [put.name for put in target.inputs] == ["parameters['w']", "parameters['b'][0]"]
    assert check(f, point, np.array([0, 2, 2]), 2, vjp=vjp)


def test_floating_constants_follow_into_float64() -> None:
    mask = np.array([1.0, 0.0, 1.0], np.float32)

    def f(x: Any, masks: Any) -> Any:
        assert x.dtype == masks[0].dtype
        return x * masks[0]

    target = callable_target(
        f, [np.ones(3, np.float32), [mask]], vjp=lambda x, masks, v: (v * masks[0], [None])
    )
    assert target.has_shadow
    assert [put.name for put in target.inputs] == ["x", "masks[0]"]


def test_several_outputs_have_a_cotangent_each() -> None:
    def f(x: Any) -> Any:
        return np.sin(x), (x * x, np.argmax(x))

    assert check(f, X, vjp=lambda x, v, u: v * np.cos(x) + 2 * x * u)


def test_none_stands_for_a_gradient_of_zeros() -> None:
    report = check(lambda x, w: x * w, X, X + 1, vjp=lambda x, w, v: (v * w, None))
    assert [result.verdict for result in report.results] == [Verdict.PASS, Verdict.FAIL]
    assert report.results[1].hypotheses[0].text == "A = 0: no gradient arrives"


def test_wrong_shapes_and_dtypes_are_verdicts() -> None:
    shape = check(cube, X, vjp=lambda x, v: cube_vjp(x, v).T)
    assert Reason.WRONG_SHAPE in shape.results[0].reasons
    half = check(cube, X, vjp=lambda x, v: cube_vjp(x, v).astype(np.float32))
    assert Reason.WRONG_DTYPE in half.results[0].reasons


@pytest.mark.parametrize(
    ("f", "args", "vjp", "message"),
    [
        (cube, [X], None, "cube: a function of NumPy arrays must come with its gradient, got none"),
        (cube, [3.0], cube_vjp, r"cube: must have a floating NumPy array among its arguments"),
        (cube, [X + 0j], cube_vjp, r"cube: arguments must be real, got complex128 \[2, 3\] 'x'"),
        (lambda x: None, [X], cube_vjp, "must return a floating NumPy array.*, got None"),
        (lambda x: "y", [X], cube_vjp, "a tuple of them, got a value of type str"),
        (np.argmax, [X], cube_vjp, r"argmax: must return a floating NumPy array.*got int64 \[\]"),
        (lambda x: x * 1j, [X], cube_vjp, r"outputs must be real, got complex128 \[2, 3\]"),
    ],
)
def test_what_cannot_be_checked_is_said(f: Any, args: Any, vjp: Any, message: str) -> None:
    with pytest.raises(core.InvalidArgument, match=message):
        callable_target(f, args, vjp=vjp)


@pytest.mark.parametrize(
    ("grads", "message"),
    [
        ([X], r"product: its gradient must return an array for each of x, w, got \(float64"),
        ((X, W, W), "an array for each of x, w"),
        (X, "an array for each of x, w"),
        ((X, "w"), "the gradient by w must be a real NumPy array, got a value of type str"),
        ((X * 1j, W), r"the gradient by x must be a real NumPy array, got complex128 \[2, 3\]"),
    ],
)
def test_a_gradient_of_another_form_is_said(grads: Any, message: str) -> None:
    target = callable_target(product, [X, W], vjp=lambda x, w, v: grads)
    with pytest.raises(core.InvalidArgument, match=message):
        target.vjp([X, W], [np.ones((2, 2))], "float64")


def test_a_forward_derivative_is_compared_with_the_gradient() -> None:
    def product_jvp(x: Any, w: Any, dx: Any, dw: Any) -> Any:
        return (1 - np.tanh(x @ w) ** 2) * (dx @ w + x @ dw)

    assert check(product, X, W, vjp=product_vjp, jvp=product_jvp)
    wrong = check(product, X, W, vjp=product_vjp, jvp=lambda *a: 2 * product_jvp(*a))
    assert wrong.audits[-1].name == "jvp and vjp agree, float64"
    assert wrong.audits[-1].detail.endswith("; one of the two is wrong")
    assert all(wrong.results)
    with pytest.raises(
        core.InvalidArgument, match=r"the shapes of the outputs, \[2, 2\], got None"
    ):
        check(product, X, W, vjp=product_vjp, jvp=lambda *a: None)


def test_what_is_called_wrongly_is_said() -> None:
    with pytest.raises(TypeError, match="f must be callable, got None"):
        callable_target(None, [X], vjp=lambda x, v: v)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="vjp must be callable, got float64"):
        callable_target(cube, [X], vjp=X)
    with pytest.raises(
        TypeError, match=r"options must be fields.*got 'epsilom'; did you mean 'epsilon"
    ):
        check(cube, X, vjp=cube_vjp, epsilom=1)
    with pytest.raises(TypeError, match=r"options must be fields.*got 'tol'; it has: abs"):
        check(cube, X, vjp=cube_vjp, tol=1)
    with pytest.raises(core.InvalidArgument, match="must have a vjp or value_and_grad, got both"):
        check(cube, X, vjp=cube_vjp, value_and_grad=True)
    with pytest.raises(core.InvalidArgument, match="framework must be one of auto, numpy, torch"):
        check(cube, X, vjp=cube_vjp, framework="keras")


def test_random_functions_draw_the_same_numbers_and_generators_stay_as_they_were() -> None:
    def dropout(x: Any) -> Any:
        return x * (np.random.random_sample(x.shape) < 0.5) * random.random()

    def vjp(x: Any, v: Any) -> Any:
        return v * (np.random.random_sample(x.shape) < 0.5) * random.random()

    def failing(x: Any, v: Any) -> Any:
        raise ArithmeticError

    np.random.seed(5)
    random.seed(5)
    expected = np.random.random_sample(), random.random()
    np.random.seed(5)
    random.seed(5)
    assert check(dropout, X, vjp=vjp)
    with pytest.raises(ArithmeticError):
        check(dropout, X, vjp=failing)
    assert (np.random.random_sample(), random.random()) == expected


def test_the_users_arrays_are_never_changed() -> None:
    def greedy(x: Any, w: Any) -> Any:
        y = x * w
        x[...] = 0
        return y

    x, w = X.copy(), X + 1
    report = check(greedy, x, w, vjp=lambda x, w, v: (v * w, v * x))
    np.testing.assert_array_equal(x, X)
    assert any(audit.reason is Reason.INPUT_CHANGED for audit in report.audits)


def test_an_error_of_the_function_comes_out_as_it_is() -> None:
    def f(x: Any) -> Any:
        raise ZeroDivisionError("by the user")

    with pytest.raises(ZeroDivisionError, match="by the user"):
        check(f, X, vjp=cube_vjp)


def test_numpy_is_chosen_without_a_framework() -> None:
    assert framework_of(cube, [X, [X], 3]) == "numpy"


def test_importing_the_checker_imports_nothing_that_is_not_needed() -> None:
    code = """
import sys, fluidcore
before = {*sys.modules}
import fluidcore.gradcheck, fluidcore.gradcheck.api
new = {name.partition(".")[0] for name in {*sys.modules} - before}
new -= {name for name in new if "cython" in name}  # of numpy.random
print(sorted(new - sys.stdlib_module_names))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "['fluidcore', 'numpy']\n"


def cube_second_vjp(x: Any, v: Any, u: Any) -> Any:
    return 6 * x * v * u


def product_of(x: Any, y: Any) -> Any:
    return x * x * y


def product_of_vjp(x: Any, y: Any, v: Any) -> tuple[Any, Any]:
    return 2 * x * y * v, x * x * v


def product_of_second_vjp(x: Any, y: Any, v: Any, a: Any, b: Any) -> tuple[Any, Any]:
    return 2 * v * (y * a + x * b), 2 * v * x * a


def test_a_second_gradient_of_the_users_is_compared() -> None:
    report = check(cube, X, vjp=cube_vjp, second_vjp=cube_second_vjp, second_order=True)
    assert report.verdict is Verdict.PASS
    assert [one.name for one in report.results][1:2] == ["x, second order"]
    arrays = X, X[::-1].copy()
    gradients = {"vjp": product_of_vjp, "second_vjp": product_of_second_vjp}
    assert check(product_of, *arrays, **gradients, **SECOND).verdict is Verdict.PASS
    report = check(cube, X, vjp=cube_vjp, second_vjp=lambda x, v, u: 3 * x * v * u, **SECOND)
    wrong = [one.name for one in report.results if one.verdict is Verdict.FAIL]
    assert wrong == ["x, second order"]


def test_without_a_second_gradient_the_symmetry_is_checked() -> None:
    report = check(cube, X, vjp=cube_vjp, **SECOND)
    assert report.verdict is Verdict.PASS
    said = "only the symmetry was checked: the gradient is given, but none of it; give second_vjp="
    assert report.results[-1].detail == said


def test_a_second_gradient_needs_a_first_one() -> None:
    with pytest.raises(core.InvalidArgument, match="second_vjp must come with a vjp"):
        check(cube, X, second_vjp=cube_second_vjp)
    with pytest.raises(TypeError, match="second_vjp must be callable"):
        check(cube, X, vjp=cube_vjp, second_vjp=3)


class Layer:
    """Keeps in forward what backward needs."""

    def forward(self, x: Any) -> Any:
        self.y = np.tanh(x)
        return self.y

    def backward(self, x: Any, v: Any) -> Any:
        return v * (1 - self.y**2)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_a_gradient_may_read_what_f_has_kept_at_the_same_point(dtype: str) -> None:
    layer = Layer()
    x = np.linspace(-1, 1, 6).astype(dtype)
    assert check(layer.forward, x, vjp=layer.backward)


def test_a_gradient_that_raises_elsewhere_than_at_the_point_is_judged_all_the_same() -> None:
    x = np.array([1e-5, 2e-5], dtype="float32")

    def wrong(x_: Any, v: Any) -> Any:
        if not np.array_equal(x_, x):
            raise np.linalg.LinAlgError("singular")
        return v * np.sin(x_) * 1.1

    target = callable_target(lambda x: 1 - np.cos(x), [x], vjp=wrong)
    assert run_check(target, GradCheckConfig()).verdict is Verdict.FAIL


def test_dtypes_may_differ_and_gradients_have_those_of_their_inputs() -> None:
    x, w = X.astype(np.float16), W.astype(np.float32)
    seen = set()

    def vjp(x: Any, w: Any, v: Any) -> Any:
        seen.add((x.dtype.name, w.dtype.name, v.dtype.name))
        return (v @ w.T).astype(x.dtype), (x.T @ v).astype(w.dtype)

    assert check(lambda x, w: x @ w, x, w, vjp=vjp)
    assert seen == {("float16", "float32", "float32"), ("float64",) * 3}
    target = callable_target(product, [x, w], vjp=lambda x, w, v: (v @ w.T, x.T @ v))
    assert Reason.WRONG_DTYPE in run_check(target, GradCheckConfig()).results[1].reasons


def test_the_states_of_generators_are_kept_once_for_many_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = 0
    get_state = np.random.get_state

    def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal kept
        kept += 1
        return get_state(*args, **kwargs)

    monkeypatch.setattr(np.random, "get_state", counted)
    assert check(cube, X, vjp=cube_vjp)
    GradientChecker().compute_numerical_gradient(lambda x: np.sum(x**3), X)
    assert kept <= 4


def test_the_first_check_imports_no_part_of_the_checker_but_its_adapter() -> None:
    code = """
import sys
import numpy as np
from fluidcore.gradcheck import check
before = set(sys.modules)
check(np.sin, np.linspace(0.1, 1, 5), vjp=lambda x, v: v * np.cos(x))
print(sorted(name for name in set(sys.modules) - before if name.startswith("fluidcore")))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['fluidcore.gradcheck.adapters.numpy_']"
