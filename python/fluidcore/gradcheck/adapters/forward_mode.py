"""Whether a forward-mode derivative of the user's fits the gradient: ⟨v, J u⟩ = ⟨Jᵀ v, u⟩."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fluidcore.base.dtypes import numpy_dtype
from fluidcore.gradcheck.adapters.callable_ import CallableTarget
from fluidcore.gradcheck.report.data import Audit
from fluidcore.gradcheck.target.random_numbers import stream
from fluidcore.gradcheck.target.target import Array
from fluidcore.gradcheck.verdict import Reason, Verdict

# How far the sums may be apart by rounding, relative to the sum of the sizes of their terms.
_ROUNDING = {"float64": 1e-9, "float32": 1e-4, "float16": 0.05, "bfloat16": 0.3}


def forward_mode_audit(target: CallableTarget, seed: int) -> Audit:
    """Compares jvp and vjp of a target along one random direction, for one random cotangent."""
    dtype = target.judged_in("auto")
    kind = numpy_dtype(dtype)
    xs = [put.value.astype(kind) for put in target.inputs]
    us = [
        stream(seed, put.name, "direction").standard_normal(x.shape).astype(kind)
        for put, x in zip(target.inputs, xs, strict=True)
    ]
    ys = target.forward([x.copy() for x in xs], dtype)
    vs = [
        stream(seed, f"output {j}", "jvp").standard_normal(y.shape).astype(kind)
        for j, y in enumerate(ys)
    ]
    forward, size = _product(target.jvp(xs, us, dtype), vs)
    backward, other = _product(target.vjp(xs, vs, dtype), us)
    name = f"jvp and vjp agree, {dtype}"
    if abs(forward - backward) <= _ROUNDING[dtype] * (size + other):
        return Audit(name, Verdict.PASS)
    detail = f"v·(J u) is {forward:.9g}, (Jᵀ v)·u is {backward:.9g}; one of the two is wrong"
    return Audit(name, Verdict.FAIL, Reason.MISMATCH, detail)


def _product(left: Sequence[Array], right: Sequence[Array]) -> tuple[float, float]:
    terms = [
        (a.astype(np.float64) * b.astype(np.float64)).ravel()
        for a, b in zip(left, right, strict=True)
    ]
    flat = np.concatenate(terms)
    return float(np.sum(flat)), float(np.sum(np.abs(flat)))
