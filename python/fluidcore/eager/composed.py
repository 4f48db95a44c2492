"""Layers of several operators, and without parameters, as functions of tensors.

`eager.einsum("ij,jk", x, y)`, `eager.arange(0, 5)`: arguments as those of `layers`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fluidcore import layers
from fluidcore.eager.apply import apply
from fluidcore.eager.tensor import Tensor
from fluidcore.program import Block, Program, Variable, program_guard

NAMES = frozenset(
    {
        "adaptive_pool2d",
        "adaptive_pool3d",
        "arange",
        "bce_with_logits",
        "bmm",
        "cosine_similarity",
        "einsum",
        "l2_normalize",
        "sort",
        "square_error_cost",
        "triplet_margin_loss",
    }
)


def composed(name: str) -> Callable[..., Any]:
    """The function that runs the operators of a layer in `NAMES` on tensors."""
    layer = getattr(layers, name)

    @functools.wraps(layer)
    def function(*args: Any, **kwargs: Any) -> Any:
        program = Program()
        block = program.global_block()
        values: dict[str, Tensor] = {}

        def declared(value: Any) -> Any:
            if isinstance(value, (list, tuple)):
                return [declared(item) for item in value]
            if not isinstance(value, (Tensor, np.ndarray)):
                return value
            tensor = value if isinstance(value, Tensor) else Tensor(value)
            variable = block.create_var(f"x_{len(values)}", shape=tensor.shape, dtype=tensor.dtype)
            values[variable.name] = tensor
            return variable

        given = [declared(value) for value in args]
        named = {key: declared(value) for key, value in kwargs.items()}
        with program_guard(program, Program()):
            result = layer(*given, **named)
        _run(block, values)
        return _found(result, values)

    return function


def _run(block: Block, values: dict[str, Tensor]) -> None:
    """Calculates what the operators of the block write."""
    for op in block.desc.ops():
        inputs = {slot: [values[name] for name in names] for slot, names in op.inputs().items()}
        counts = {slot: len(names) for slot, names in op.outputs().items()}
        results = apply(op.type(), inputs, op.attrs(), counts)
        for slot, names in op.outputs().items():
            found = results.get(slot, [])
            tensors = found if isinstance(found, list) else [found]
            values.update(zip(names, tensors, strict=False))


def _found(result: Any, values: Mapping[str, Tensor]) -> Any:
    if isinstance(result, Variable):
        return values[result.name]
    return type(result)(_found(item, values) for item in result)
