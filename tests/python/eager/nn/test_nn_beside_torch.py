"""Modules and optimizers beside those of PyTorch, with the same state_dict."""

from typing import Any

import numpy as np
import pytest

from fluidcore import eager
from fluidcore.eager import nn

torch = pytest.importorskip("torch")
MODULES = [
    (lambda n: n.Linear(4, 3), [5, 4]),
    (lambda n: n.Conv2d(4, 6, (3, 2), (2, 1), (1, 0), (1, 2), groups=2), [2, 4, 6, 6]),
    (lambda n: getattr(n, "BatchNorm2d", nn.BatchNorm)(3), [4, 3, 5, 5]),
    (lambda n: getattr(n, "BatchNorm1d", nn.BatchNorm)(3, momentum=None), [4, 3]),
    (lambda n: n.LayerNorm([3, 4]), [2, 3, 4]),
    (lambda n: n.LSTM(3, 5, 2, batch_first=True, bidirectional=True), [2, 7, 3]),
    (lambda n: n.LSTM(3, 5, bias=False), [2, 7, 3]),
    (lambda n: n.Sequential(n.Flatten(), n.GELU("tanh"), n.Linear(6, 1, bias=False)), [2, 2, 3]),
]


def first(result: Any) -> Any:
    return result[0] if isinstance(result, tuple) else result


@pytest.mark.parametrize(("make", "shape"), MODULES)
def test_a_module_with_the_same_state_gives_the_same(make: Any, shape: list[int]) -> None:
    mine, theirs = make(nn), make(torch.nn)
    assert mine.load_state_dict(theirs.state_dict()) == ([], [])
    x = eager.randn(shape, requires_grad=True)
    tx = torch.tensor(x.numpy(), requires_grad=True)
    for _ in range(2):
        out, wanted = first(mine(x)), first(theirs(tx))
        np.testing.assert_allclose(out.numpy(), wanted.detach().numpy(), atol=2e-6)
        out.square().sum().backward()
        wanted.square().sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), tx.grad.numpy(), atol=1e-4)
    for own, other in zip(mine.parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(own.grad.numpy(), other.grad.numpy(), rtol=1e-4, atol=1e-4)
    state = mine.state_dict()
    assert list(state) == list(theirs.state_dict())
    for name, value in theirs.state_dict().items():
        np.testing.assert_allclose(state[name].numpy(), value.numpy(), atol=1e-6)
    np.testing.assert_allclose(
        first(mine.eval()(x)).numpy(), first(theirs.eval()(tx)).detach().numpy(), atol=2e-6
    )


def test_first_values_have_the_same_spread() -> None:
    for make, _ in MODULES:
        mine, theirs = make(nn).state_dict(), make(torch.nn).state_dict()
        for name, value in theirs.items():
            if value.numel() > 20:
                assert mine[name].numpy().std() == pytest.approx(value.std().item(), rel=0.5)


OPTIMIZERS = [
    (eager.SGD, torch.optim.SGD, {"lr": 0.1, "weight_decay": 0.1}, {}),
    (eager.Momentum, torch.optim.SGD, {"lr": 0.1, "weight_decay": 0.1}, {"momentum": 0.9}),
    (eager.Momentum, torch.optim.SGD, {"lr": 0.1, "momentum": 0.5, "nesterov": True}, {}),
    (eager.Adam, torch.optim.Adam, {"lr": 0.1, "weight_decay": 0.1, "betas": (0.8, 0.9)}, {}),
    (eager.AdamW, torch.optim.AdamW, {"lr": 0.1, "eps": 1e-3}, {}),
]


@pytest.mark.parametrize(("kind", "other", "given", "more"), OPTIMIZERS)
def test_an_optimizer_goes_the_same_way(kind: Any, other: Any, given: Any, more: Any) -> None:
    mine, theirs = nn.Linear(3, 2), torch.nn.Linear(3, 2)
    mine.load_state_dict(theirs.state_dict())
    own = kind(mine.parameters(), **given)
    twin = other(theirs.parameters(), **given, **more)
    x = eager.randn([4, 3])
    for _ in range(10):
        own.zero_grad()
        twin.zero_grad()
        mine(x).square().sum().backward()
        theirs(torch.tensor(x.numpy())).square().sum().backward()
        norm = eager.clip_grad_norm(mine.parameters(), 1.5)
        wanted = torch.nn.utils.clip_grad_norm_(theirs.parameters(), 1.5)
        assert norm.item() == pytest.approx(wanted.item(), rel=1e-4)
        own.step()
        twin.step()
    np.testing.assert_allclose(mine.weight.numpy(), theirs.weight.detach().numpy(), atol=1e-5)
