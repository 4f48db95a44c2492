"""Tensors whose operators run at once, with gradients by the same backward as programs.

    from fluidcore import eager

    x = eager.Tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * x
    y.backward()
    x.grad                                        # Tensor([2., 4., 6.], float32 [3])
    x.check_gradient(lambda x: x * x, "x_squared").passed

What led to a tensor can be seen as a program: `eager.tape(y)`. Every operator is a function here
and a method of Tensor; of several results it gives a tuple. Modules are in `eager.nn`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fluidcore import core
from fluidcore.eager import nn
from fluidcore.eager.apply import apply
from fluidcore.eager.autograd import gradients_of
from fluidcore.eager.exchange import from_dlpack
from fluidcore.eager.files import load, save
from fluidcore.eager.functions import function as _function
from fluidcore.eager.functions import names as _names
from fluidcore.eager.functions import split, unstack
from fluidcore.eager.nn import Module
from fluidcore.eager.optim import SGD, Adam, AdamW, Momentum, clip_grad_norm
from fluidcore.eager.state import no_grad, precision, same_numbers, seed
from fluidcore.eager.tape import Tape as _Tape
from fluidcore.eager.tensor import Tensor
from fluidcore.eager.tracing import TracedProgram, trace
from fluidcore.program import Program

__all__ = [
    "SGD",
    "Adam",
    "AdamW",
    "Module",
    "Momentum",
    "Tensor",
    "TracedProgram",
    "apply",
    "clip_grad_norm",
    "from_dlpack",
    "from_numpy",
    "full",
    "grad",
    "load",
    "nn",
    "no_grad",
    "ones",
    "precision",
    "rand",
    "randn",
    "same_numbers",
    "save",
    "seed",
    "split",
    "tape",
    "tensor",
    "trace",
    "unstack",
    "zeros",
]

tensor = Tensor
from_numpy = Tensor.from_numpy
full = Tensor.full
ones = Tensor.ones
rand = Tensor.rand
randn = Tensor.randn
zeros = Tensor.zeros


def grad(
    result: Tensor, inputs: Tensor | Sequence[Tensor], gradient: Any = None
) -> list[Tensor | None]:
    """The gradients of a tensor by some leaves; `grad` of no tensor changes.

    Args:
        result: Any shape.
        inputs: Leaves that require a gradient.
        gradient: The cotangent, of the form of `result`; None for ones.

    Returns:
        For each input a tensor of its shape and dtype; None where the result does not depend on it.
    """
    leaves = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    for leaf in leaves:
        if not leaf.is_leaf or not leaf.requires_grad:
            raise core.InvalidArgument(
                f"grad: inputs must be leaves that require a gradient, got {leaf!r}"
            )
    found = gradients_of(result, leaves, gradient)
    return [None if array is None else Tensor.of(array) for _, array in found]


def tape(result: Tensor) -> Program:
    """The operators that led to a tensor, as a program.

    Args:
        result: Calculated from tensors that require a gradient.

    Returns:
        Its leaves are the variables x_0, x_1, ...; other values are named after their operator.
    """
    if result.record is None:
        raise core.InvalidArgument("tape: the tensor must be the result of an operator, got a leaf")
    return _Tape(result.record, result.position).program()


def __getattr__(name: str) -> Callable[..., Any]:
    found = _function(name)
    if found is None:
        raise AttributeError(f"module 'fluidcore.eager' has no operator '{name}'")
    return found


def __dir__() -> list[str]:
    return sorted({*__all__, *_names()})
