"""The workloads in PyTorch."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional

from bench import networks_with_torch
from bench.networks_with_torch import tensors
from bench.workloads import CHAIN, Workload, batch, chain_inputs

VERSION = torch.__version__


def set_threads(count: int) -> None:
    """Limits the threads of an operator."""
    torch.set_num_threads(count)


def _optimizer(workload: Workload, parameters: list[torch.Tensor]) -> torch.optim.Optimizer:
    s = workload.settings
    if workload.optimizer == "adam":
        betas = (s["beta1"], s["beta2"])
        return torch.optim.Adam(parameters, s["lr"], betas, s["epsilon"], fused=True)
    return torch.optim.SGD(parameters, s["lr"], s.get("momentum", 0.0), fused=True)


def train_step(workload: Workload, way: str = "", device: str = "cpu") -> Callable[[], float]:
    """A function that makes one training step and returns the loss before it.

    Args:
        workload: What to train.
        way: `channels_last` for that layout of images and filters, `compile` for torch.compile, or
            neither.
        device: Where.
    """
    examples, labels = (torch.from_numpy(array).to(device) for array in batch(workload))
    values = {
        name: value.detach().to(device).requires_grad_(value.requires_grad)
        for name, value in tensors(workload).items()
    }
    if way == "channels_last":
        examples = examples.to(memory_format=torch.channels_last)
        for name, value in values.items():
            if value.dim() == 4:
                last = value.detach().to(memory_format=torch.channels_last)
                values[name] = last.requires_grad_()
    optimizer = _optimizer(workload, [value for value in values.values() if value.requires_grad])
    network = getattr(networks_with_torch, workload.network)

    def loss_of(examples: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(network(examples, values, True), labels)

    forward = torch.compile(loss_of) if way == "compile" else loss_of

    def step() -> float:
        optimizer.zero_grad(set_to_none=True)
        loss = forward(examples, labels)
        loss.backward()
        optimizer.step()
        return float(loss.item())

    return step


class _Network(torch.nn.Module):
    """A network of the workloads as a module, whose parameters its wrappers find."""

    def __init__(self, workload: Workload) -> None:
        super().__init__()
        self.network = getattr(networks_with_torch, workload.network)
        self.values = tensors(workload)
        for name, value in self.values.items():
            if value.requires_grad:
                held = torch.nn.Parameter(value.detach())
                self.register_parameter(name.replace(".", "_"), held)
                self.values[name] = held

    def forward(self, examples: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.network(examples, self.values, True)
        return logits


def parallel_train_step(workload: Workload) -> Callable[[], float]:
    """A training step as `train_step` makes it, of all processes of the process group."""
    examples, labels = (torch.from_numpy(array) for array in batch(workload))
    network = torch.nn.parallel.DistributedDataParallel(_Network(workload))
    optimizer = _optimizer(workload, list(network.parameters()))

    def step() -> float:
        optimizer.zero_grad(set_to_none=True)
        loss = functional.cross_entropy(network(examples), labels)
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
