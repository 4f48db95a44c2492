"""Gradients of maxima and kinks: subgradients of the whole, by one convention."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers
from fluidcore.program import Variable

SHAPE = [2, 3, 4, 4]


def pooled(x: Variable) -> Variable:
    return layers.pool2d(x, pool_size=[3, 3], pool_stride=[1, 1], pool_type="max")


def smaller(x: Variable) -> Variable:
    return layers.scale(layers.elementwise_min(x, rolled(x)), scale=-1.0)


def rolled(x: Variable) -> Variable:
    first, rest = layers.split(x, [1, 3], dim=-1)
    return layers.concat([rest, first], axis=-1)


CONVEX: dict[str, Callable[[Variable], Variable]] = {
    "reduce_max, inner": lambda x: layers.reduce_max(x, dim=-1),
    "reduce_max, outer": lambda x: layers.reduce_max(x, dim=1),
    "reduce_max, all": layers.reduce_max,
    "reduce_min": lambda x: layers.scale(layers.reduce_min(x, dim=1), scale=-1.0),
    "elementwise_max": lambda x: layers.elementwise_max(x, rolled(x)),
    "elementwise_max of one": lambda x: layers.elementwise_max(x, x),
    "elementwise_max, broadcast": lambda x: layers.elementwise_max(x, layers.reduce_mean(x, dim=0)),
    "elementwise_min": smaller,
    "pool2d": pooled,
    "top_k": lambda x: layers.reduce_sum(layers.topk(x, 2)[0], dim=-1),
    "relu": layers.relu,
    "abs": layers.abs,
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CONVEX)
def test_the_gradient_at_a_tie_is_a_subgradient_of_the_whole(name: str, dtype: str) -> None:
    x = layers.data("x", SHAPE, dtype=dtype, append_batch_size=False, stop_gradient=False)
    out = CONVEX[name](x)
    weights = layers.data("weights", out.shape, dtype=dtype, append_batch_size=False)
    total = layers.reduce_sum(out * weights)
    (gradient,) = fluid.gradients(total, x)
    assert gradient is not None
    rng = np.random.default_rng(2)
    values = {"weights": rng.integers(0, 4, out.shape).astype(dtype)}
    exe = fluid.Executor()
    for _ in range(5):
        point = rng.integers(-1, 2, SHAPE).astype(dtype)
        value, slope = exe.run(feed=values | {"x": point}, fetch_list=[total, gradient])
        for sign in 10 * (1, -1):
            other = point + sign * rng.integers(0, 2, SHAPE).astype(dtype)
            (there,) = exe.run(feed=values | {"x": other}, fetch_list=[total])
            support = value.item() + float((slope * (other - point)).sum(dtype=np.float64))
            assert there.item() >= support - 1e-3


FIRST: dict[str, tuple[Callable[[Variable], Variable], list[float], list[float]]] = {
    "reduce_max": (lambda x: layers.reduce_max(x, dim=0), [1, 3, 3, 3], [0, 1, 0, 0]),
    "top_k": (lambda x: layers.topk(x, 2)[0], [3, 1, 3, 3], [1, 0, 1, 0]),
    "pool2d": (
        lambda x: layers.pool2d(layers.reshape(x, [1, 1, 2, 2]), [2, 2], pool_type="max"),
        [1, 3, 3, 3],
        [0, 1, 0, 0],
    ),
    "elementwise_max": (
        lambda x: layers.elementwise_max(*layers.split(x, 2, dim=0)),
        [3, 1, 3, 2],
        [1, 0, 0, 1],
    ),
    "elementwise_min": (
        lambda x: layers.elementwise_min(*layers.split(x, 2, dim=0)),
        [3, 1, 3, 2],
        [1, 1, 0, 0],
    ),
    "relu": (layers.relu, [0, -1, 1, 0], [0, 0, 1, 0]),
    "abs": (layers.abs, [0, -1, 1, 0], [0, -1, 1, 0]),
    "clip": (lambda x: layers.clip(x, min=-1.0, max=1.0), [-1, 1, 0, 2], [0, 0, 1, 0]),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FIRST)
def test_the_first_of_a_tie_gets_all_and_a_constant_leaves_nothing(name: str, dtype: str) -> None:
    function, point, expected = FIRST[name]
    x = layers.data("x", [4], dtype=dtype, append_batch_size=False, stop_gradient=False)
    (gradient,) = fluid.gradients(layers.reduce_sum(function(x)), x)
    (got,) = fluid.Executor().run(feed={"x": np.array(point, dtype)}, fetch_list=[gradient])
    assert got.tolist() == expected
