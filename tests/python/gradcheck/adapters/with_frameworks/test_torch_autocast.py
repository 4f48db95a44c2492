"""PyTorch code of float32 that calculates in 16 bits inside."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from fluidcore.gradcheck import Verdict, api  # noqa: E402

check = partial(api.check, raise_exception=False)  # for tests of verdicts


def tensor(*shape: int, seed: int = 0) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


class Tripled(torch.autograd.Function):
    """The identity, with three times its gradient."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, v: Any) -> Any:
        return 3 * v


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("seed", range(4))
def test_what_autocast_rounds_is_judged_as_code_of_that_dtype(seed: int, dtype: Any) -> None:
    w = tensor(8, 3, seed=9)

    def f(x: Any) -> Any:
        with torch.autocast("cpu", dtype=dtype):
            return torch.nn.functional.gelu(x @ w).float()

    x = tensor(4, 8, seed=seed)
    right = check(f, x)
    assert right.verdict is Verdict.PASS
    assert right.results[0].dtype == str(dtype).removeprefix("torch.")
    assert check(lambda x: Tripled.apply(f(x)), x).verdict is Verdict.FAIL


@pytest.mark.parametrize("name", ["tanh", "softmax", "loss"])
def test_autocast_in_float32_code_is_no_wrong_gradient(name: str) -> None:
    w, t = tensor(8, 3, seed=9), tensor(4, 3, seed=7)

    def f(x: Any) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ w
            y = torch.softmax(y, -1) if name == "softmax" else torch.tanh(y)
        y = y.float() * t
        return ((y - t) ** 2).mean() if name == "loss" else y

    for seed in range(6):
        x = tensor(4, 8, seed=seed)
        report = check(f, x, seed=seed)
        assert report.verdict is not Verdict.FAIL, report
        assert report.results[0].dtype == "bfloat16"
        wrong = check(lambda x: Tripled.apply(f(x)), x, seed=seed)
        assert wrong.verdict is not Verdict.PASS, wrong


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
def test_a_cast_to_half_a_complex_number_is_judged_in_half_its_parts() -> None:
    report = check(lambda x: x.chalf(), tensor(3))
    assert (report.verdict, report.results[0].dtype) == (Verdict.PASS, "float16")
