"""Large graphs, the same for every framework; a framework builds them with `build_graph`."""

from __future__ import annotations

SIZES = (1_000, 5_000, 20_000)  # operators
KINDS = {
    "chain": "tanh after tanh",
    "layers": "relu(x * w + b), each with a w and a b of its own",
    "fan-out": "the sum of products of one variable",
}
WIDTH = 4  # elements of each variable
VALUE = 0.5  # of every parameter
WARM_UP = 30  # operators of a graph built before the clock starts


def factor(index: int) -> float:
    """What the variable of the fan-out is multiplied with."""
    return 1.0 + index * 1e-6
