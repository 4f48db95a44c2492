"""Gradients of bounded length."""

import math

import pytest

import fluidcore as fluid
from fluidcore import eager
from fluidcore.eager import Tensor


def with_grad(grad: list[float], dtype: str = "float32") -> Tensor:
    x = Tensor(grad, dtype=dtype, requires_grad=True)
    (x * x.detach()).sum().backward()
    return x


def test_all_gradients_are_scaled_by_one_factor() -> None:
    x, y = with_grad([3.0, 0.0]), with_grad([4.0])
    without = Tensor([1.0], requires_grad=True)
    norm = eager.clip_grad_norm([x, without, y], 2.5)
    assert (norm.item(), norm.shape, norm.dtype) == (5.0, (), "float32")
    assert x.grad.tolist() == [1.5, 0.0]
    assert y.grad.tolist() == [2.0]
    assert without.grad is None


def test_a_small_gradient_stays_as_it_is() -> None:
    x = with_grad([0.1, 0.2], "float64")
    before = x.grad
    assert eager.clip_grad_norm(x, 1).dtype == "float64"
    assert x.grad is before


def test_gradients_of_16_bits_do_not_overflow() -> None:
    x = with_grad([250.0, 0.0], "float16")
    assert eager.clip_grad_norm([x], 1.0).item() == 250.0
    assert x.grad.tolist() == [1.0, 0.0]
    assert x.grad.dtype == "float16"


def test_a_gradient_that_is_no_number_is_seen_in_all() -> None:
    x, y = with_grad([math.nan]), with_grad([1.0])
    assert math.isnan(eager.clip_grad_norm([x, y], 1.0).item())
    assert math.isnan(y.grad.item())


def test_bad_arguments_are_errors() -> None:
    with pytest.raises(ValueError, match=r"^clip_grad_norm: max_norm must be above 0, got 0$"):
        eager.clip_grad_norm([with_grad([1.0])], 0)
    with pytest.raises(
        TypeError, match=r"^clip_grad_norm: parameters must be Tensors, .* got int$"
    ):
        eager.clip_grad_norm([1], 1.0)  # type: ignore[list-item]
    with pytest.raises(fluid.InvalidArgument) as caught:
        eager.clip_grad_norm([Tensor([1.0], requires_grad=True)], 1.0)
    assert str(caught.value) == (
        "clip_grad_norm: a parameter must have a gradient, got none; call loss.backward() first"
    )
