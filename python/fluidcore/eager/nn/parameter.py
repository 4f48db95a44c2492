"""The first values of parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fluidcore.base.checks import check_extents
from fluidcore.base.dtypes import DTypeLike
from fluidcore.eager.state import draw_seed
from fluidcore.eager.tensor import Tensor
from fluidcore.executor import Executor
from fluidcore.initializer import Initializer, Uniform
from fluidcore.program import Program


def parameter(
    shape: Sequence[int], initializer: Initializer, dtype: DTypeLike = "float32"
) -> Tensor:
    """A leaf that requires a gradient, with the values of an initializer.

    Args:
        shape: Extents.
        initializer: Of `fluidcore.initializer`: Xavier(), Constant(0.0). A seed of 0 draws new
            numbers every time, the same ones after the same `eager.seed`.
        dtype: Floating.
    """
    program = Program()
    program.random_seed = draw_seed()
    block = program.global_block()
    variable = block.create_var("value", shape=check_extents("parameter", shape), dtype=dtype)
    initializer(variable, block)
    (value,) = Executor().run(program, fetch_list=[variable])
    return Tensor(value, requires_grad=True)


def uniform(shape: Sequence[int], fan_in: int, dtype: DTypeLike) -> Tensor:
    """A parameter uniform in ±1 / sqrt(fan_in), as PyTorch begins with."""
    limit = 1 / math.sqrt(max(fan_in, 1))
    return parameter(shape, Uniform(-limit, limit), dtype)
