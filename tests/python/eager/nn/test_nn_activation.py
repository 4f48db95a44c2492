"""Activations as modules."""

import math

import numpy as np
import pytest
from checked_modules import check_module

import fluidcore as fluid
from fluidcore import eager
from fluidcore.eager import nn

X = np.linspace(-3, 3, 14)
VALUES = [
    (nn.ReLU(), np.maximum(X, 0)),
    (nn.Tanh(), np.tanh(X)),
    (nn.Sigmoid(), 1 / (1 + np.exp(-X))),
    (nn.GELU(), [x * (1 + math.erf(x / math.sqrt(2))) / 2 for x in X]),
    (
        nn.GELU("tanh"),
        X * (1 + np.tanh(math.sqrt(2 / math.pi) * (X + 0.044715 * X**3))) / 2,
    ),
]


@pytest.mark.parametrize(("module", "wanted"), VALUES, ids=[repr(m) for m, _ in VALUES])
def test_values_and_gradients_are_right(module: eager.Module, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(module(eager.from_numpy(X)).numpy(), wanted, rtol=1e-12, atol=1e-15)
    check_module(module, eager.from_numpy(X))


def test_bad_arguments_are_errors() -> None:
    with pytest.raises(fluid.InvalidArgument, match="approximate must be 'none' or 'tanh', got 1"):
        nn.GELU(1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^ReLU: x must be a Tensor or an array, got float$"):
        nn.ReLU()(1.0)
