from __future__ import annotations

import copy
import random
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from fluidcore import core  # noqa: E402
from fluidcore.gradcheck import api  # noqa: E402
from fluidcore.gradcheck.adapters import callable_target  # noqa: E402
from fluidcore.gradcheck.config import GradCheckConfig  # noqa: E402
from fluidcore.gradcheck.pipeline.run import run_check  # noqa: E402
from fluidcore.gradcheck.report.result import GradCheckReport  # noqa: E402
from fluidcore.gradcheck.verdict import Reason, Verdict  # noqa: E402

check = partial(api.check, raise_exception=False)  # for tests of verdicts
DTYPES = ["float64", "float32", "float16", "bfloat16"]


def tensor(*shape: int, dtype: Any = torch.float32, seed: int = 0) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, v: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * x * v


class WrongSquare(Square):
    @staticmethod
    def backward(ctx: Any, v: Any) -> Any:
        (x,) = ctx.saved_tensors
        return x * v


class Scaled(torch.autograd.Function):
    """In the newer style, with a constant, and no gradient by it."""

    @staticmethod
    def forward(x: Any, w: Any, factor: float) -> Any:
        return factor * x * w

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, w, ctx.factor = inputs
        ctx.save_for_backward(x, w)

    @staticmethod
    def backward(ctx: Any, v: Any) -> Any:
        _, w = ctx.saved_tensors
        return ctx.factor * w * v, None, None


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_right_function_passes_and_a_wrong_one_fails_in_every_dtype(dtype: str) -> None:
    x = tensor(3, 4, dtype=getattr(torch, dtype))
    target = callable_target(Square.apply, [x])
    assert (target.who, target.dtype, target.has_shadow) == ("Square", dtype, True)
    assert [put.name for put in target.inputs] == ["x"]
    assert check(Square.apply, x)
    report = check(WrongSquare.apply, x)
    assert report.verdict is Verdict.FAIL
    assert any(
        hypothesis.text.startswith("A = G / 2")
        for result in report.results
        for hypothesis in result.hypotheses[:1]
    )


def test_the_class_of_a_function_will_do() -> None:
    assert check(Square, tensor(3)).who == "Square"


def test_the_source_is_the_line_of_backward() -> None:
    target = callable_target(WrongSquare.apply, [tensor(3)])
    lines = Path(__file__).read_text().splitlines()
    line = lines.index("class WrongSquare(Square):") + 2
    assert target.source is not None
    assert target.source.endswith(f"test_torch_target.py:{line}")


def test_an_input_without_a_gradient_is_checked_against_zero() -> None:
    target = callable_target(Scaled.apply, [tensor(3), tensor(3, seed=1), 0.5])
    assert [put.name for put in target.inputs] == ["x", "w"]
    report = check(Scaled.apply, tensor(3), tensor(3, seed=1), 0.5, shadow="auto")
    verdicts = {result.name: [] for result in report.results}
    for result in report.results:
        verdicts[result.name].append(result.verdict)
    assert set(verdicts["x"]) == {Verdict.PASS}
    assert Verdict.FAIL in verdicts["w"]


def test_only_what_requires_grad_is_differentiated_if_anything_does() -> None:
    x, w = tensor(3).requires_grad_(), tensor(3, seed=1)
    target = callable_target(lambda x, w: x * w, [x, w])
    assert [put.name for put in target.inputs] == ["x"]
    check(lambda x, w: x * w, x, w)
    assert (x.requires_grad, w.requires_grad, x.grad) == (True, False, None)


def test_integers_are_constants() -> None:
    table, index = tensor(5, 2), torch.tensor([0, 3, 3])
    target = callable_target(lambda table, index: table[index], [table, index])
    assert [put.name for put in target.inputs] == ["table"]
    assert check(lambda table, index: table[index], table, index)


def network() -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(3, 4, bias=False),
        torch.nn.BatchNorm1d(4),
        torch.nn.Tanh(),
        torch.nn.Dropout(0.3),
        torch.nn.Linear(4, 2),
    )


def test_a_module_is_checked_by_its_parameters_and_stays_as_it_was() -> None:
    net = network()
    net[4].bias.requires_grad_(False)
    net[0].weight.grad = torch.ones(4, 3)
    before = copy.deepcopy(net.state_dict())
    x = tensor(6, 3)
    target = callable_target(net, [x])
    names = ["0.weight", "1.weight", "1.bias", "4.weight"]
    assert [put.name for put in target.inputs] == ["input", *names]
    assert (target.who, target.has_shadow) == ("Sequential", True)
    report = check(net, x)
    assert report, str(report)
    for name, value in net.state_dict().items():
        assert torch.equal(value, before[name]), name
    assert torch.equal(net[0].weight.grad, torch.ones(4, 3))
    assert net[4].weight.grad is None
    assert not x.requires_grad
    assert not net[4].bias.requires_grad


def test_the_buffers_of_a_module_in_a_closure_stay_as_they_were() -> None:
    norm = torch.nn.BatchNorm1d(3, affine=False)
    target = callable_target(lambda x: norm(x), [tensor(5, 3)])
    target.forward([target.inputs[0].value], "float32")
    assert not norm.running_mean.any()
    assert norm.num_batches_tracked == 0


def test_the_end_of_a_domain_beside_the_point_is_not_taken_for_a_lack_of_digits() -> None:
    x = torch.tensor([0.25, 0.5, 1 - 2.0**-12], requires_grad=True)
    report = check(torch.nn.BCELoss(), x, torch.ones(3))
    assert report
    assert [(one.dtype, one.detail) for one in report.results] == [("float64", ""), ("float32", "")]


def test_complex_outputs_may_have_no_elements() -> None:
    report = check(torch.linalg.eigvals, torch.zeros(0, 3, 3, dtype=torch.float64))
    assert report
    assert report.results[0].detail == "there are no elements"


def test_parameters_without_a_shape_are_refused() -> None:
    module = torch.nn.LazyLinear(3)
    with pytest.raises(core.InvalidArgument, match="LazyLinear: all parameters must have values, "):
        check(module, tensor(4, 5))
    module(torch.ones(4, 5))
    assert check(module, tensor(4, 5))


def test_dropout_repeats_and_random_numbers_stay_as_they_were() -> None:
    def failing(x: Any) -> Any:
        torch.rand(3)
        raise ArithmeticError("by the user")

    torch.manual_seed(7)
    state = torch.get_rng_state()
    assert check(lambda x: torch.nn.functional.dropout(x, 0.5) ** 2, tensor(4, 5))
    with pytest.raises(ArithmeticError, match="by the user"):
        check(failing, tensor(3))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_default_dtype() is torch.float32


def test_numbers_of_numpy_and_python_repeat_too() -> None:
    np.random.seed(5)
    expected = np.random.random_sample()
    np.random.seed(5)
    assert check(lambda x: x**2 * np.random.random_sample() * random.random(), tensor(4, 5))
    assert np.random.random_sample() == expected


def test_random_numbers_of_float32_are_the_same_in_float64() -> None:
    target = callable_target(lambda x: x * (torch.rand(4) < 0.5), [tensor(4)])
    assert target.has_shadow
    assert check(lambda x: x * (torch.rand(4) + 1), tensor(4))


def test_a_function_in_place_leaves_the_users_tensor() -> None:
    x = tensor(4)
    before = x.clone()
    assert check(lambda x: x.mul_(2).tanh_(), x)
    assert torch.equal(x, before)


def test_gradients_are_calculated_where_the_user_has_switched_them_off() -> None:
    with torch.no_grad():
        assert check(Square.apply, tensor(3))
    with torch.inference_mode():
        assert check(Square.apply, tensor(3))


def test_what_does_not_run_in_float64_is_judged_alone_and_the_reason_is_known() -> None:
    weight = tensor(3, 2)
    target = callable_target(lambda x: x @ weight, [tensor(4, 3)])
    assert not target.has_shadow
    assert target.native_reason.startswith("it does not run in float64: RuntimeError: ")
    assert check(lambda x: x @ weight, tensor(4, 3)).verdict is not Verdict.FAIL


def test_a_cast_to_float32_inside_is_seen() -> None:
    def rms_norm(x: Any) -> Any:
        y = x.float()
        return (y * torch.rsqrt((y * y).mean(-1, keepdim=True) + 1e-6)).type_as(x)

    target = callable_target(rms_norm, [tensor(2, 4, dtype=torch.float32)])
    assert target.native_reason == "aten._to_copy.default makes less than float64 inside"
    coarse = callable_target(rms_norm, [tensor(2, 4, dtype=torch.bfloat16)])
    assert (coarse.has_shadow, coarse.shadow) == (True, "float32")


def test_a_module_in_16_bits_that_calculates_in_float32_has_a_float32_form() -> None:
    class Scaled(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(tensor(4, dtype=torch.bfloat16).detach())

        def forward(self, x: Any) -> Any:
            return (torch.tanh(x.float()) * self.weight.float()).to(x.dtype)

    report = check(Scaled(), tensor(3, 4, dtype=torch.bfloat16))
    assert [one.dtype for one in report.results] == ["float32", "bfloat16"] * 2


def test_several_outputs_and_constants_among_them_are_fine() -> None:
    def f(x: Any) -> Any:
        values, indices = x.sort()
        return {"values": values * 2, "indices": indices, "detached": torch.ones(3)}

    assert check(f, tensor(2, 5))


def test_a_gradient_that_is_cut_off_is_zero() -> None:
    report = check(lambda x: x.detach() ** 2, tensor(3))
    assert report.results[0].hypotheses[0].text == "A = 0: no gradient arrives"


def test_the_users_own_vjp_may_be_used() -> None:
    assert check(torch.special.digamma, tensor(3) + 4, vjp=lambda x, v: torch.polygamma(1, x) * v)
    assert not check(torch.exp, tensor(3), vjp=lambda x, v: x * v)


def test_a_custom_operator_is_a_function_like_any_other() -> None:
    @torch.library.custom_op("fluidcore_tests::cube", mutates_args=())
    def cube(x: torch.Tensor) -> torch.Tensor:
        return x**3

    def backward(ctx: Any, v: Any) -> Any:
        return 3 * ctx.x**2 * v

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        (ctx.x,) = inputs

    cube.register_autograd(backward, setup_context=setup_context)
    target = callable_target(cube, [tensor(3)])
    assert target.who == "fluidcore_tests::cube"
    assert [put.name for put in target.inputs] == ["x"]
    assert "test_torch_target.py" in (target.source or "")
    assert check(cube, tensor(3))
    assert check(torch.ops.fluidcore_tests.cube, tensor(3))


def wrong_shape() -> Any:
    class Wrong(Square):
        @staticmethod
        def backward(ctx: Any, v: Any) -> Any:
            return v.sum(0)

    return Wrong


@pytest.mark.parametrize(
    ("f", "args", "message"),
    [
        (lambda x: None, [tensor(2)], "must return a floating PyTorch tensor.*, got None"),
        (lambda x: x > 0, [tensor(2)], r"must return a floating PyTorch tensor.*got bool \[2\]"),
        (lambda x: x, [torch.tensor([1])], "must have a floating PyTorch tensor among its arg"),
        (
            lambda x, w: x * w,
            [tensor(2), torch.empty(2, device="meta")],
            "all tensors must be on one device, got 'x' on cpu, 'w' on meta; move them there",
        ),
        (lambda x: x, [torch.empty(2, device="meta")], "must have values, got 'x' on the meta"),
    ],
)
def test_what_cannot_be_checked_is_said(f: Any, args: Any, message: str) -> None:
    with pytest.raises(core.InvalidArgument, match=message):
        callable_target(f, args)


def test_a_gradient_of_a_wrong_shape_is_said() -> None:
    target = callable_target(wrong_shape(), [tensor(2, 3, dtype=torch.float64)])
    with pytest.raises(core.InvalidArgument, match="Wrong: backward must return gradients of the"):
        target.vjp([np.ones((2, 3))], [np.ones((2, 3))], "float64")


def test_a_module_that_cannot_be_copied_is_said() -> None:
    net = torch.nn.Linear(2, 2)
    net.hidden = net.weight * 2  # not a leaf
    with pytest.raises(
        core.InvalidArgument, match=r"Linear: the module must be copyable with copy"
    ):
        callable_target(net, [tensor(1, 2)])


def test_the_check_is_repeated_by_its_text() -> None:
    repro = callable_target(torch.nn.functional.softsign, [torch.tensor([0.5, -2.0])]).repro
    assert repro is not None
    code = repro.text(GradCheckConfig())
    assert "softsign(torch.tensor" not in code
    assert "torch.tensor([0.5, -2.0], dtype=torch.float32)" in code
    printed = subprocess.run(
        [sys.executable, "-c", code.replace("gradcheck import", "gradcheck.api import")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert printed.startswith("PASS")


class CubeGradient(torch.autograd.Function):
    """3 x² v, with a gradient of its own."""

    by_x: Any = staticmethod(lambda x, v, u: 6 * x * v * u)
    by_v: Any = staticmethod(lambda x, v, u: 3 * x * x * u)

    @staticmethod
    def forward(ctx: Any, x: Any, v: Any) -> Any:
        ctx.save_for_backward(x, v)
        return 3 * x * x * v

    @staticmethod
    def backward(ctx: Any, u: Any) -> Any:
        x, v = ctx.saved_tensors
        return CubeGradient.by_x(x, v, u), CubeGradient.by_v(x, v, u)


class Cube(torch.autograd.Function):
    gradient: Any = CubeGradient.apply

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, v: Any) -> Any:
        return Cube.gradient(*ctx.saved_tensors, v)


def twice(f: Any, *args: Any, **settings: Any) -> GradCheckReport:
    return check(f, *args, second_order=True, config=GradCheckConfig(**settings))


def wrong_names(report: GradCheckReport) -> list[str]:
    return [result.name for result in report.results if result.verdict is Verdict.FAIL]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_torch_is_differentiated_twice(dtype: Any) -> None:
    for f in (Cube, Square, lambda x: torch.softmax(x, -1), lambda x: 2 * x, torch.relu):
        report = twice(f, tensor(2, 3, dtype=dtype))
        assert report.verdict is Verdict.PASS
        assert any(one.name == "cotangent, second order" for one in report.results)
    assert twice(torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh()), tensor(2, 3))
    assert twice(lambda a, b: a @ b, tensor(2, 3, dtype=dtype), tensor(3, 2, dtype=dtype))


@pytest.mark.parametrize(
    ("part", "wrong", "name"),
    [
        ("by_x", lambda x, v, u: 12 * x * v * u, "x, second order"),
        ("by_x", lambda x, v, u: -6 * x * v * u, "x, second order"),
        ("by_x", lambda x, v, u: 6 * x * u, "x, second order"),
        ("by_x", lambda x, v, u: None, "x, second order"),
        ("by_v", lambda x, v, u: 3 * x * u, "cotangent, second order"),
        ("by_v", lambda x, v, u: None, "cotangent, second order"),
    ],
)
def test_a_wrong_double_backward_fails(
    part: str, wrong: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CubeGradient, part, staticmethod(wrong))
    report = twice(Cube, tensor(4, dtype=torch.float64))
    assert wrong_names(report) == [name]


def test_a_backward_that_leaves_the_graph_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def by_numpy(x: Any, v: Any) -> Any:
        return torch.from_numpy(3 * x.detach().numpy() ** 2 * v.detach().numpy())

    x = tensor(4, dtype=torch.float64)
    monkeypatch.setattr(Cube, "gradient", staticmethod(by_numpy))
    report = twice(Cube, x)
    assert wrong_names(report) == ["x, second order", "cotangent, second order"]
    assert "PyTorch takes their second gradient for 0" in report.results[1].detail
    monkeypatch.setattr(Cube, "gradient", staticmethod(lambda x, v: 3 * x.detach() ** 2 * v))
    assert wrong_names(twice(Cube, x)) == ["x, second order"]
    monkeypatch.setattr(Cube, "gradient", staticmethod(by_numpy))
    assert wrong_names(twice(lambda x: Cube.apply(x) * x.sin(), x))


def test_what_is_differentiable_once_only_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch.autograd.function import once_differentiable

    class Once(Square):
        backward = staticmethod(once_differentiable(Square.backward))

    x = tensor(4, dtype=torch.float64)
    for f in (Once, lambda x: Once.apply(x) * x):
        report = twice(f, x)
        assert report.verdict is Verdict.INCONCLUSIVE
        absent = report.results[1]
        assert (absent.name, absent.reasons) == ("second order", (Reason.NO_SECOND,))
        assert "marked once_differentiable" in absent.detail
        assert "only the symmetry was checked" in report.results[-1].detail


def test_a_backward_that_raises_where_it_is_to_be_differentiated_has_no_second_gradient() -> None:
    class Into(Square):
        @staticmethod
        def backward(ctx: Any, v: Any) -> Any:
            (x,) = ctx.saved_tensors
            return torch.mul(2 * x, v, out=torch.empty_like(v))

    report = twice(Into, tensor(4, dtype=torch.float64))
    assert report.results[0]
    assert report.results[1].reasons == (Reason.NO_SECOND,)
    assert "out=... arguments don't support" in report.results[1].detail


def test_at_a_jump_of_the_gradient_nothing_is_said() -> None:
    for f in (torch.relu, torch.abs):
        report = twice(f, torch.zeros(3, dtype=torch.float64))
        assert report.verdict is Verdict.INCONCLUSIVE
        assert report.results[1].reasons == (Reason.JUMP,)
        for seed in range(5):
            near = torch.tensor([1e-3, 0.5, -1e-2], dtype=torch.float64)
            assert twice(f, near, seed=seed)
            nearer = torch.tensor([1e-6, 0.5, -1e-4], dtype=torch.float64)
            assert twice(f, nearer, seed=seed).verdict is not Verdict.FAIL


class Doubled(torch.autograd.Function):
    """In place, without a word."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        x.mul_(2)
        return x + 0

    @staticmethod
    def backward(ctx: Any, v: Any) -> Any:
        return 2 * v


class DirtyDoubled(Doubled):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(2)


class ChangesWhatItSaved(Square):
    @staticmethod
    def backward(ctx: Any, v: Any) -> Any:
        (x,) = ctx.saved_tensors
        return x.mul_(2) * v


class ChangesTheCotangent(Doubled):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return 2 * x

    @staticmethod
    def backward(ctx: Any, v: Any) -> Any:
        return v.mul_(2)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    ("f", "detail"),
    [
        (Doubled, "f changes its input 'x'"),
        (lambda x: 2 * x + 0 * x.detach().mul_(3), "f changes its input 'x'"),
        (ChangesWhatItSaved, "the gradient changes the input 'x'"),
        (ChangesTheCotangent, "the gradient changes the cotangent of output 0"),
    ],
)
def test_a_change_that_torch_does_not_know_of_fails(f: Any, detail: str, dtype: Any) -> None:
    report = check(f, tensor(4, dtype=dtype))
    assert report.verdict is Verdict.FAIL
    audit = next(one for one in report.audits if one.name == "arguments unchanged")
    assert audit.reason is Reason.INPUT_CHANGED
    assert detail in audit.detail


def test_a_change_that_torch_knows_of_passes() -> None:
    def assigned(x: Any) -> Any:
        x[0] = 2 * x[1]
        return x

    for f in (DirtyDoubled, torch.nn.ReLU(inplace=True), assigned):
        assert check(f, tensor(4, dtype=torch.float64))


def test_small_tensors_are_calculated_on_one_thread_and_the_setting_comes_back() -> None:
    seen = set()

    def f(x: Any) -> Any:
        seen.add(torch.get_num_threads())
        return torch.sin(x)

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert check(f, tensor(5, dtype=torch.float64), workers=2)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert seen == {1}


def test_large_tensors_are_calculated_on_the_threads_of_the_check() -> None:
    seen = set()

    def f(x: Any) -> Any:
        seen.add(torch.get_num_threads())
        return x * x

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert check(f, tensor(1 << 14, dtype=torch.float64), workers=2)
    finally:
        torch.set_num_threads(before)
    assert seen == {2}


def test_the_first_check_imports_neither_the_compiler_nor_the_algebra_of_torch() -> None:
    code = """
import sys, torch
from fluidcore.gradcheck import check
check(torch.sin, torch.linspace(0.1, 1, 5))
sys.exit(any(name in sys.modules for name in ("torch._dynamo", "sympy")))
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class Undefined(torch.autograd.Function):
    """Two outputs; backward takes None for a cotangent, and does not look for it."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x)
        return x.sin(), x.cos()

    @staticmethod
    def backward(ctx: Any, a: Any, b: Any) -> Any:
        (x,) = ctx.saved_tensors
        return a * x.cos() - b * x.sin()


class Defined(Undefined):
    @staticmethod
    def backward(ctx: Any, a: Any, b: Any) -> Any:
        (x,) = ctx.saved_tensors
        return (0 if a is None else a * x.cos()) - (0 if b is None else b * x.sin())


def report_on(f: Any, *args: Any) -> GradCheckReport:
    return run_check(callable_target(f, args), GradCheckConfig())


def failed_audits(report: GradCheckReport) -> dict[str, Any]:
    return {one.name: one.reason for one in report.audits if one.verdict is Verdict.FAIL}


def test_a_backward_that_fails_without_a_cotangent_fails() -> None:
    x = tensor(4, dtype=torch.float64)
    report = report_on(Undefined.apply, x)
    assert set(failed_audits(report).values()) == {Reason.COTANGENT}
    assert report.audits[-2].detail.startswith("it raises TypeError: unsupported operand type")
    assert check(Defined.apply, x)


class ReadsCotangentInARow(Square):
    @staticmethod
    def backward(ctx: Any, v: Any) -> Any:
        (x,) = ctx.saved_tensors
        if v.untyped_storage().size() < v.numel() * v.element_size():
            return torch.zeros_like(x)
        return 2 * x * torch.as_strided(v, (v.numel(),), (1,)).view(v.shape)


class ViewsCotangent(Square):
    @staticmethod
    def backward(ctx: Any, v: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * x * v.view(-1).view(x.shape)


@pytest.mark.parametrize(
    ("function", "shape"),
    [(ReadsCotangentInARow, (4,)), (ReadsCotangentInARow, (4, 3)), (ViewsCotangent, (4, 3))],
)
def test_a_backward_that_assumes_a_contiguous_cotangent_fails(
    function: Any, shape: tuple[int, ...]
) -> None:
    report = report_on(function.apply, tensor(*shape, dtype=torch.float64))
    assert report.verdict is Verdict.FAIL
    assert set(failed_audits(report).values()) == {Reason.COTANGENT}


class ReadsInputInARow(Square):
    @staticmethod
    def backward(ctx: Any, v: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * torch.as_strided(x, (x.numel(),), (1,)).view(x.shape) * v


def test_a_backward_that_assumes_a_contiguous_input_fails_for_another() -> None:
    x = tensor(4, 3, dtype=torch.float64)
    assert check(ReadsInputInARow.apply, x)
    for other in (x.t(), x[::2], tensor(8, dtype=torch.float64)[::2]):
        assert report_on(ReadsInputInARow.apply, other).verdict is Verdict.FAIL


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_function_sees_the_strides_of_the_user(dtype: str) -> None:
    seen = set()

    def f(x: Any, y: Any) -> Any:
        seen.add((x.stride(), y.stride()))
        return x.sin().sum() + y.cos().sum()

    x, y = tensor(3, 8, dtype=getattr(torch, dtype)), tensor(1, 3, dtype=getattr(torch, dtype))
    assert check(f, x.t()[::2], y.expand(2, 3))
    assert seen == {((2, 8), (3, 1))}  # what shares its memory cannot move alone


def test_dtypes_may_differ_and_the_narrowest_is_judged() -> None:
    seen = set()

    def f(x: Any, w: Any) -> Any:
        seen.add((x.dtype, w.dtype))
        return x.to(w.dtype) @ w

    x, w = tensor(3, 4, dtype=torch.bfloat16), tensor(4, 2, seed=1)
    report = check(f, x, w)
    assert report, str(report)
    assert [result.dtype for result in report.results] == ["float64", "bfloat16"] * 2
    assert seen == {(torch.bfloat16, torch.float32), (torch.float64, torch.float64)}


def test_functions_of_a_builtin_without_a_signature_are_checked() -> None:
    assert check(torch.vmap(torch.sin), tensor(4, 3, dtype=torch.float64))


def test_outputs_that_need_no_gradient_are_left_out_where_others_do() -> None:
    class Marked(Square):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            size = x.abs()
            ctx.mark_non_differentiable(size)
            return x * x, size

        @staticmethod
        def backward(ctx: Any, v: Any, _: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * x * v

    x = tensor(3, dtype=torch.float64)
    assert check(Marked.apply, x)
    assert report_on(lambda x: x.detach() ** 2, x).verdict is Verdict.FAIL


class ComplexSquare(Square):
    @staticmethod
    def backward(ctx: Any, v: Any) -> Any:
        (z,) = ctx.saved_tensors
        return 2 * z.conj() * v


@pytest.mark.parametrize("dtype", [torch.complex128, torch.complex64])
def test_complex_tensors_are_checked_by_their_parts(dtype: Any) -> None:
    z = torch.randn(3, 4, generator=torch.Generator().manual_seed(0), dtype=dtype)
    report = check(ComplexSquare.apply, z.t())
    assert report, str(report)
    assert report.results[0].shape == (4, 3, 2)
    assert report_on(Square.apply, z).verdict is Verdict.FAIL


def test_complex_outputs_and_constants_are_as_wide_as_the_inputs() -> None:
    turn = torch.exp(1j * torch.arange(3.0))
    assert turn.dtype is torch.complex64
    report = check(lambda x, turn: x * turn, tensor(3).requires_grad_(), turn)
    assert report, str(report)
    assert [(one.name, one.dtype) for one in report.results] == [("x", "float64"), ("x", "float32")]


def test_a_cast_to_a_narrower_complex_dtype_is_seen() -> None:
    target = callable_target(lambda x: (x * 1j).to(torch.complex64).abs().double(), [tensor(3)])
    assert "makes less than float64 inside" in target.native_reason


def test_complex_tensors_with_a_gradient_of_the_users_are_refused() -> None:
    with pytest.raises(core.InvalidArgument, match=r"arguments must be real, got complex64 \[2\]"):
        callable_target(lambda z: z, [tensor(2) * 1j], vjp=lambda z, v: v)
