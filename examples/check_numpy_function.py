"""Finds a wrong gradient of a NumPy function, and what is wrong with it.

The gradient of layer normalization has three terms; in the first version one is forgotten.
"""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fluidcore.gradcheck import check

Array = npt.NDArray[Any]


def layer_norm(x: Array, gain: Array) -> Array:
    """Rows of mean 0 and variance 1, times gain."""
    centred = x - x.mean(-1, keepdims=True)
    result: Array = gain * centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    return result


def gradients(x: Array, gain: Array, v: Array, forget: Sequence[str] = ()) -> tuple[Array, Array]:
    """Of the sum of v * layer_norm(x, gain), by x and by gain."""
    centred = x - x.mean(-1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    normal, dy = centred / deviation, v * gain
    dx = dy - normal * (dy * normal).mean(-1, keepdims=True)
    if "mean" not in forget:
        dx = dx - dy.mean(-1, keepdims=True)
    dgain = v * normal
    return dx / deviation, dgain[0] if "batch" in forget else dgain.sum(0)


random = np.random.default_rng(0)
x = random.standard_normal((4, 6)).astype(np.float32)
gain = random.standard_normal(6).astype(np.float32)

for forget in ["mean"], ["batch"], []:
    vjp = functools.partial(gradients, forget=forget)
    report = check(layer_norm, x, gain, vjp=vjp, raise_exception=False)
    print(f"without the {forget[0]}:" if forget else "complete:", report.verdict.name)
    for result in report.results:
        if result.hypotheses:
            print(f"  {result.name}: {result.hypotheses[0].text}")
