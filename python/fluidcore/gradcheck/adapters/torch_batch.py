"""Many copies of a point in one run of a function of PyTorch tensors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fluidcore.gradcheck.target.target import Array, Doubles


def batched(
    f: Callable[[Any], Sequence[Any]], x: Doubles, elements: Array
) -> Callable[[Sequence[Doubles]], list[Array]]:
    """The function of some elements of x, each of them in a copy of x of its own.

    Args:
        f: Of a tensor of the shape of x, to tensors.
        x: The point.
        elements: [b], of the flattened x.

    Returns:
        Takes a list of one array [b], and returns an array [b, ...] for each output; to be run
        without a graph. Raises what PyTorch raises where it has no rule to run an operator on a
        batch.
    """
    torch: Any = sys.modules["torch"]
    count = elements.size
    each = np.arange(count)
    run = torch.vmap(lambda tensor: tuple(f(tensor)), randomness="same")

    def outputs(zs: Sequence[Doubles]) -> list[Array]:
        copies = np.repeat(x.reshape(1, -1), count, axis=0)
        copies[each, elements] = zs[0]
        return [y.numpy() for y in run(torch.from_numpy(copies.reshape(count, *x.shape)))]

    return outputs
