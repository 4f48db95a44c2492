"""The same models in fluidcore and in PyTorch: the same weights, the same batches, float64.

A Twin has a loss in a program, the same loss as a function of a torch module, and how the module's
parameters are laid out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

import fluidcore as fluid
from fluidcore import layers

Array = npt.NDArray[Any]
STEPS = 20


def named(name: str) -> dict[str, str]:
    """A layer's weight and bias are called as in torch."""
    return {"param_attr": f"{name}.weight", "bias_attr": f"{name}.bias"}


def transposed(arrays: Mapping[str, Array], *suffixes: str) -> dict[str, Array]:
    """Those with the suffixes transposed: Linear has [out, in], and fc has [in, out]."""
    return {name: a.T if name.endswith(suffixes) else a for name, a in arrays.items()}


def mean_loss(scores: fluid.Variable, label: fluid.Variable) -> fluid.Variable:
    """Of classes along the last dimension."""
    return layers.mean(layers.softmax_with_cross_entropy(scores, label))


@contextmanager
def torch_in_float64() -> Iterator[None]:
    """New modules are float64 and from a fixed seed; small batches want no threads."""
    torch.manual_seed(1)
    threads = torch.get_num_threads()
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_num_threads(threads)


@dataclass
class Twin:
    """One model, twice.

    Args:
        loss: Of the default program.
        module: The parameters in torch, float64.
        torch_loss: The loss of a batch of tensors.
        weights: The program's parameters, made of the module's arrays by their torch names.
        optimizer: Of the program.
        torch_optimizer: Of the module.
        batches: What is fed, one dict for each step.
    """

    loss: fluid.Variable
    module: torch.nn.Module
    torch_loss: Callable[[Mapping[str, torch.Tensor]], torch.Tensor]
    weights: Callable[[Mapping[str, Array]], dict[str, Array]]
    optimizer: fluid.optimizer.Optimizer
    torch_optimizer: torch.optim.Optimizer
    batches: Sequence[Mapping[str, Array]]

    def _given(self) -> dict[str, Array]:
        arrays = {name: p.detach().numpy().copy() for name, p in self.module.named_parameters()}
        return self.weights(arrays)

    def train(self) -> tuple[list[float], list[float]]:
        """The losses of both, ours first."""
        self.optimizer.minimize(self.loss)
        main, scope = fluid.default_main_program(), fluid.global_scope()
        exe = fluid.Executor()
        exe.run(fluid.default_startup_program())
        weights = self._given()
        assert set(weights) == {p.name for p in main.all_parameters() if p.trainable}
        for name, value in weights.items():
            assert list(main.global_block().var(name).shape) == list(value.shape), name
            scope.find_var(name).get_tensor().set(np.ascontiguousarray(value))
        ours = [exe.run(feed=batch, fetch_list=[self.loss])[0].item() for batch in self.batches]
        return ours, [self._torch_step(batch) for batch in self.batches]

    def assert_same_curves(self) -> None:
        """Losses agree to 1e-6 in each step, and weights after the last; and the model learns."""
        ours, theirs = self.train()
        assert len(ours) == STEPS
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
        assert ours[-1] < 0.9 * ours[0]
        for name, expected in self._given().items():
            trained = np.array(fluid.global_scope().find_var(name).get_tensor())
            np.testing.assert_allclose(trained, expected, rtol=1e-6, atol=1e-9, err_msg=name)

    def _torch_step(self, batch: Mapping[str, Array]) -> float:
        loss = self.torch_loss({name: torch.tensor(array) for name, array in batch.items()})
        self.torch_optimizer.zero_grad()
        loss.backward()
        self.torch_optimizer.step()
        return loss.item()
