"""Checks of gradients by torch.autograd.gradcheck."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional

from bench.gradient_check_cases import STEP, ResNetBlock, batch, inputs, resnet_blocks
from bench.with_torch import VERSION, set_threads

__all__ = ["VERSION", "check", "set_threads"]

Tensors = dict[str, torch.Tensor]
Function = Callable[..., "torch.Tensor | tuple[torch.Tensor, ...]"]


def check(case: str, mode: str) -> Callable[[], str]:
    """A function that makes a complete check, "slow" or "fast", and returns the verdict."""
    tensors = {k: torch.from_numpy(value).requires_grad_() for k, value in inputs(case).items()}
    given = tuple(tensors.values())
    function = _function(case, list(tensors))

    def run() -> str:
        try:
            right = torch.autograd.gradcheck(
                function, given, eps=STEP, fast_mode=mode == "fast", check_batched_grad=False
            )
        except torch.autograd.gradcheck.GradcheckError:
            return "fail"
        return "pass" if right else "fail"

    return run


def _function(case: str, names: list[str]) -> Function:
    if case in ("mlp", "resnet"):
        image, label = map(torch.from_numpy, batch(case))
        network = _mlp if case == "mlp" else _resnet

        def loss(*parameters: torch.Tensor) -> torch.Tensor:
            tensors = dict(zip(names, parameters, strict=True))
            return functional.cross_entropy(network(image, tensors), label)

        return loss
    return {
        "matmul": torch.matmul,
        "conv2d": functional.conv2d,
        "lstm": _lstm,
        "softmax": lambda x, w: torch.softmax(functional.gelu(x @ w), -1),
        "sin": torch.sin,
        "tanh": torch.tanh,
    }[case]


def _lstm(
    x: torch.Tensor,
    h: torch.Tensor,
    c: torch.Tensor,
    wih: torch.Tensor,
    whh: torch.Tensor,
    b: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    i, f, g, o = (x @ wih + h @ whh + b).chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def _mlp(x: torch.Tensor, t: Tensors) -> torch.Tensor:
    for k in range(3):
        x = x @ t[f"w{k}"] + t[f"b{k}"]
        x = torch.tanh(x) if k < 2 else x
    return x


def _convolution(x: torch.Tensor, t: Tensors, name: str, stride: int) -> torch.Tensor:
    weight = t[f"{name}.w"]
    x = functional.conv2d(x, weight, stride=stride, padding=weight.shape[-1] // 2)
    return functional.batch_norm(x, None, None, t[f"{name}.scale"], t[f"{name}.shift"], True)


def _residual(x: torch.Tensor, t: Tensors, block: ResNetBlock) -> torch.Tensor:
    y = functional.relu(_convolution(x, t, f"{block.name}.0", block.stride))
    y = _convolution(y, t, f"{block.name}.1", 1)
    if block.changes:
        x = _convolution(x, t, f"{block.name}.2", block.stride)
    return functional.relu(x + y)


def _resnet(x: torch.Tensor, t: Tensors) -> torch.Tensor:
    x = functional.max_pool2d(functional.relu(_convolution(x, t, "stem", 2)), 3, 2, 1)
    for block in resnet_blocks():
        x = _residual(x, t, block)
    return x.mean((2, 3)) @ t["fc.w"] + t["fc.b"]
