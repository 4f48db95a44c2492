"""Functions of PyTorch that run on many copies of the point at once."""

from typing import Any

import numpy as np
import pytest
from numerical import Numerical, differentiate, formula_of

from fluidcore.gradcheck import GradCheckReport, GradCheckResult, Verdict, check
from fluidcore.gradcheck.adapters import callable_target
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.measure.session import Session

torch = pytest.importorskip("torch")


def normal(*shape: int) -> Any:
    torch.manual_seed(0)
    return torch.randn(*shape, dtype=torch.float64)


def report(f: Any, *xs: Any, **options: Any) -> GradCheckReport:
    return check(f, *xs, raise_exception=False, **options)


def result(f: Any, *xs: Any, **options: Any) -> GradCheckResult:
    return report(f, *xs, **options).results[0]


def numerical(f: Any, *xs: Any, is_batched: bool) -> Numerical:
    session = Session(callable_target(f, xs), GradCheckConfig())
    formula_of(session).runs_on_copies = is_batched
    found = differentiate(session, 0, "full")
    assert formula_of(session).runs_on_copies is is_batched
    assert found is not None
    return found


FUNCTIONS = {
    "product": lambda x: x @ x.T,
    "norm": lambda x: x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-6),
    "several": lambda x: (torch.softmax(x, -1), x.sum(), torch.exp(x[0])),
    "in place": lambda x: x.mul_(2).sin_(),
    "dropout": lambda x: torch.nn.functional.dropout(x, 0.5) * x,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_elements_are_differentiated_by_in_the_runs_of_one(name: str) -> None:
    f, x = FUNCTIONS[name], normal(6, 7)
    together = numerical(f, x, is_batched=True)
    alone = numerical(f, x, is_batched=False)
    assert together.evaluations * 20 < alone.evaluations
    np.testing.assert_array_equal(together.reference.flags, alone.reference.flags)
    for ours, theirs in zip(together.reference.numbers, alone.reference.numbers, strict=True):
        assert ours.shape == theirs.shape
    apart = np.abs(together.reference.value - alone.reference.value)
    assert (apart <= together.reference.error + alone.reference.error + 1e-12).all()


def test_one_wrong_element_is_found_by_its_index() -> None:
    def vjp(x: Any, v: Any) -> Any:
        grad = v * torch.cos(x)
        grad[3, 2] *= 1.001
        return grad

    found = result(torch.sin, normal(5, 4), vjp=vjp)
    assert found.verdict is Verdict.FAIL
    assert [error.index for error in found.element_errors or ()] == [3 * 4 + 2]


class Cube(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, v: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 3 * v * x**2


def looks_at_values(x: Any) -> Any:
    return x * 2 if x.sum() > 0 else x * 3


@pytest.mark.parametrize("f", [Cube, looks_at_values, torch.nn.LSTM(4, 2).double()])
def test_what_does_not_run_on_a_batch_runs_on_one_point_after_the_other(f: Any) -> None:
    found = report(f, normal(32, 4))
    assert found.verdict is Verdict.PASS
    assert found.results[0].num_forward > 2 * 128


def test_a_function_that_raises_beside_the_point_is_looked_at_element_by_element() -> None:
    # some steps leave its domain
    x = torch.diag(torch.tensor([1.0, 1.0, 1e-3], dtype=torch.float64))
    found = result(lambda x: torch.linalg.cholesky((x + x.T) / 2), x)
    assert found.verdict is Verdict.PASS


def test_a_function_that_is_another_one_on_a_batch_is_not_run_on_it() -> None:
    runs = []

    def f(x: Any) -> Any:
        runs.append(torch._C._functorch.is_batchedtensor(x))
        return x * (2 if runs[-1] else 3)

    assert result(f, normal(20)).verdict is Verdict.PASS
    assert runs.count(True) == 1
