"""The workloads in PyTorch, eager, as a PyTorch user would write them for speed."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional

from bench.workloads import CHAIN, Workload, batch, chain_inputs, weights

VERSION = torch.__version__
Tensors = dict[str, torch.Tensor]


def set_threads(count: int) -> None:
    """Limits the threads of an operator."""
    torch.set_num_threads(count)


def _tensors(workload: Workload) -> Tensors:
    result = {}
    for name, value in weights(workload).items():
        tensor = torch.from_numpy(value)
        if name.startswith("l") and tensor.dim() == 2:
            tensor = tensor.t().contiguous()  # functional.linear wants [out, in]
        result[name] = tensor.requires_grad_()
    return result


def _conv_pool(x: torch.Tensor, t: Tensors, name: str, padding: int) -> torch.Tensor:
    x = functional.conv2d(x, t[f"{name}.w"], t[f"{name}.b"], padding=padding)
    return functional.max_pool2d(functional.relu(x), 2)


def _logits(x: torch.Tensor, t: Tensors) -> torch.Tensor:
    if "c0.w" in t:
        x = _conv_pool(x, t, "c0", padding=2)
        x = _conv_pool(x, t, "c1", padding=0).flatten(1)
    x = functional.relu(functional.linear(x, t["l0.w"], t["l0.b"]))
    x = functional.relu(functional.linear(x, t["l1.w"], t["l1.b"]))
    return functional.linear(x, t["l2.w"], t["l2.b"])


def _optimizer(workload: Workload, parameters: list[torch.Tensor]) -> torch.optim.Optimizer:
    s = workload.settings
    if workload.optimizer == "adam":
        betas = (s["beta1"], s["beta2"])
        return torch.optim.Adam(parameters, s["lr"], betas, s["epsilon"], fused=True)
    return torch.optim.SGD(parameters, s["lr"], s.get("momentum", 0.0), fused=True)


def train_step(workload: Workload) -> Callable[[], float]:
    """A function that makes one training step and returns the loss before it."""
    images, labels = map(torch.from_numpy, batch(workload))
    tensors = _tensors(workload)
    optimizer = _optimizer(workload, list(tensors.values()))

    def step() -> float:
        optimizer.zero_grad(set_to_none=True)
        loss = functional.cross_entropy(_logits(images, tensors), labels)
        loss.backward()
        optimizer.step()
        return float(loss.item())

    return step


def chain() -> Callable[[], float]:
    """A function that does the 1,000 operations, without recording, as inference would."""
    first, factor, summand = map(torch.from_numpy, chain_inputs())

    def run() -> float:
        with torch.inference_mode():
            x = first
            for _ in range(CHAIN // 2):
                x = x * factor
                x = x + summand
            return x[0].item()

    return run
