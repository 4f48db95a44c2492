"""Whether PyTorch records a graph while a function is differentiated numerically."""

from typing import Any, ClassVar

import pytest

from fluidcore.gradcheck import Verdict, check

torch = pytest.importorskip("torch")


def point() -> Any:
    return torch.linspace(0.1, 1.0, 7, dtype=torch.float64)


def test_differences_need_no_graph() -> None:
    seen = []

    def f(x: Any) -> Any:
        seen.append(torch.is_grad_enabled())
        return torch.sin(x)

    assert check(f, point()).results[0].verdict is Verdict.PASS
    assert seen.count(False) > seen.count(True)


def test_what_differentiates_inside_has_its_graph() -> None:
    def squared_gradient(x: Any) -> Any:
        (gradient,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        return gradient**2

    assert check(squared_gradient, point()).results[0].verdict is Verdict.PASS


def test_what_is_another_function_without_a_graph_has_its_graph() -> None:
    def f(x: Any) -> Any:
        return x**3 if torch.is_grad_enabled() else x**3 * (1 + 2.0**-50)

    assert check(f, point()).results[0].verdict is Verdict.PASS


def test_an_output_that_autograd_does_not_differentiate_stays_left_out() -> None:
    def f(x: Any) -> Any:
        return torch.sin(x), x.detach() ** 2, torch.cos(x)

    assert check(f, point()).results[0].verdict is Verdict.PASS


def test_a_wrong_gradient_is_seen_without_a_graph() -> None:
    class Sine(torch.autograd.Function):  # type: ignore[misc,name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return torch.sin(x)

        @staticmethod
        def backward(ctx: Any, v: Any) -> Any:
            return 1.01 * v * torch.cos(ctx.saved_tensors[0])

    report = check(Sine, point(), raise_exception=False)
    assert report.results[0].verdict is Verdict.FAIL


class Counted(torch.autograd.Function):  # type: ignore[misc,name-defined]
    """sin(x), whose graph is used so often; it may refuse to be used again, or round."""

    uses: ClassVar[list[int]] = []
    most = 9
    rounds = 0.0  # more, where the cotangent is not contiguous

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        if torch.is_grad_enabled() or x.requires_grad:
            ctx.number = len(Counted.uses)
            Counted.uses.append(0)
        return torch.sin(x)

    @staticmethod
    def backward(ctx: Any, v: Any) -> Any:
        Counted.uses[ctx.number] += 1
        if Counted.uses[ctx.number] > Counted.most:
            raise RuntimeError("the buffers are gone")
        factor = 1 if v.is_contiguous() else 1 + Counted.rounds
        return v * torch.cos(ctx.saved_tensors[0]) * factor


def test_gradients_for_several_cotangents_share_a_run_of_f(monkeypatch: Any) -> None:
    monkeypatch.setattr(Counted, "uses", [])
    assert check(Counted, point(), mode="directional").results[0].num_forward == 3
    used = [count for count in Counted.uses if count]
    assert used == [1, 1, 3]  # beside the point, there, and for the audits of the cotangent


@pytest.mark.parametrize(("rounds", "is_right"), [(1e-14, True), (1e-4, False)])
def test_a_cotangent_in_another_form_may_be_added_in_another_order(
    monkeypatch: Any, rounds: float, is_right: bool
) -> None:
    monkeypatch.setattr(Counted, "uses", [])
    monkeypatch.setattr(Counted, "rounds", rounds)
    report = check(Counted, point(), mode="directional", raise_exception=False)
    failed = [audit.name for audit in report.audits if audit.verdict is Verdict.FAIL]
    forms = ("a cotangent that is not contiguous", "an expanded cotangent")
    wrong = [f"the same gradient for {form}, float64" for form in forms]
    assert failed == ([] if is_right else wrong)
    if is_right:
        assert [count for count in Counted.uses if count] == [1, 1, 3]


def test_a_backward_that_runs_only_once_is_checked(monkeypatch: Any) -> None:
    monkeypatch.setattr(Counted, "uses", [])
    monkeypatch.setattr(Counted, "most", 1)
    report = check(Counted, point(), mode="directional")
    assert all(audit.verdict is Verdict.PASS for audit in report.audits)
    assert any("expanded" in audit.name for audit in report.audits)
