"""Functions with gradients written by hand, right in every dtype, and faults to plant in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.base.dtypes import numpy_dtype
from fluidcore.gradcheck import api
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.pipeline.run import run_check
from fluidcore.gradcheck.report.result import GradCheckReport
from fluidcore.gradcheck.target.target import Input, Target

Array = Any
Forward = Callable[..., Any]
Backward = Callable[..., Any]  # (*xs, *vs) -> gradient, or a tuple of them


check = partial(api.check, raise_exception=False)  # for tests of verdicts


class NumpyTarget(Target):
    """f(*xs) -> array(s), vjp(*xs, *vs) -> a gradient for each x."""

    def __init__(
        self,
        f: Forward,
        vjp: Backward,
        inputs: Sequence[Array],
        dtype: str = "float64",
        *,
        who: str = "f",
        rows: int = 0,
        has_shadow: bool = True,
        fixed_cotangent: bool = False,
    ) -> None:
        self.f, self.backward = f, vjp
        arrays = [np.asarray(x).astype(numpy_dtype(dtype)) for x in inputs]
        self.inputs = [Input(f"x{k}", x, rows) for k, x in enumerate(arrays)]
        self.who, self.dtype, self.has_shadow = who, dtype, has_shadow
        self.fixed_cotangent = fixed_cotangent

    def forward(self, xs: Sequence[Array], dtype: str) -> list[Array]:
        with np.errstate(all="ignore"):
            y = self.f(*xs)
        return list(y) if isinstance(y, tuple) else [y] if y is None else [np.asarray(y)]

    def vjp(self, xs: Sequence[Array], vs: Sequence[Array], dtype: str) -> list[Array]:
        with np.errstate(all="ignore"):
            a = self.backward(*xs, *vs)
        return list(a) if isinstance(a, tuple) else [a]

    def function(self, dtype: str) -> core.Function:
        inputs = [part.value.astype(numpy_dtype(dtype)) for part in self.inputs]
        return core.CallableFunction(lambda xs: self.forward(xs, dtype), inputs)


def checked(target: Target, **settings: Any) -> GradCheckReport:
    settings = {"explain": False, **settings}
    return run_check(target, GradCheckConfig(**settings))


def _like(x: Array, y: Array) -> Array:
    return np.asarray(y).astype(x.dtype)


def _softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _softmax_vjp(x: Array, v: Array) -> Array:
    p = _softmax(x)
    return p * (v - (p * v).sum(-1, keepdims=True))


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _gelu(x: Array) -> Array:
    c = x.dtype.type(0.7978845608028654)
    return x * (1 + np.tanh(c * (x + x.dtype.type(0.044715) * x * x * x))) / 2


def _gelu_vjp(x: Array, v: Array) -> Array:
    c, k = x.dtype.type(0.7978845608028654), x.dtype.type(0.044715)
    t = np.tanh(c * (x + k * x * x * x))
    return v * ((1 + t) / 2 + x * (1 - t * t) * c * (1 + 3 * k * x * x) / 2)


def _unit(x: Array) -> Array:
    return x / np.sqrt((x * x).sum())


def _unit_vjp(x: Array, v: Array) -> Array:
    n = np.sqrt((x * x).sum())
    y = x / n
    return (v - y * (y * v).sum()) / n


def _layer_norm(x: Array) -> Array:
    d = x - x.mean(-1, keepdims=True)
    return d / np.sqrt((d * d).mean(-1, keepdims=True) + x.dtype.type(1e-3))


def _layer_norm_vjp(x: Array, v: Array) -> Array:
    d = x - x.mean(-1, keepdims=True)
    s = np.sqrt((d * d).mean(-1, keepdims=True) + x.dtype.type(1e-3))
    y = d / s
    return (v - v.mean(-1, keepdims=True) - y * (v * y).mean(-1, keepdims=True)) / s


def _log_sum_exp(x: Array) -> Array:
    m = x.max(-1, keepdims=True)
    return m[..., 0] + np.log(np.exp(x - m).sum(-1))


def _max(x: Array) -> Array:
    return x.max(-1)


def _max_vjp(x: Array, v: Array) -> Array:
    tie = _like(x, x == x.max(-1, keepdims=True))
    return tie / tie.sum(-1, keepdims=True) * v[..., None]


def _prod_vjp(x: Array, v: Array) -> Array:
    others = [np.delete(x, i, -1).prod(-1) for i in range(x.shape[-1])]
    return np.stack(others, -1) * v[..., None]


def _rnn(x: Array, h: Array, w: Array, u: Array) -> Array:
    return np.tanh(x @ w + h @ u)


def _rnn_vjp(x: Array, h: Array, w: Array, u: Array, v: Array) -> tuple[Array, ...]:
    d = v * (1 - _rnn(x, h, w, u) ** 2)
    found = d @ w.T, d @ u.T, x.T @ d, h.T @ d
    return tuple(_like(x, a) for a in found)


def _conv(x: Array, w: Array) -> Array:
    return sum(x[k : len(x) - len(w) + 1 + k] * w[k] for k in range(len(w)))


def _conv_vjp(x: Array, w: Array, v: Array) -> tuple[Array, Array]:
    dx, dw = np.zeros_like(x), np.zeros_like(w)
    for k in range(len(w)):
        dx[k : k + len(v)] += v * w[k]
        dw[k] = (x[k : k + len(v)] * v).sum()
    return dx, dw


def _huber(x: Array) -> Array:
    return np.where(abs(x) <= 1, x * x / 2, abs(x) - x.dtype.type(0.5))


def _mse(x: Array, y: Array) -> Array:
    return ((x - y) ** 2).mean()


def _mse_vjp(x: Array, y: Array, v: Array) -> tuple[Array, Array]:
    d = v * 2 * (x - y) / x.dtype.type(x.size)
    return d, -d


def _normal(*shape: int) -> Callable[[np.random.Generator], Array]:
    return lambda rng: rng.standard_normal(shape)


def _small(*shape: int) -> Callable[[np.random.Generator], Array]:
    return lambda rng: rng.standard_normal(shape) / 2


def _positive(*shape: int) -> Callable[[np.random.Generator], Array]:
    return lambda rng: rng.uniform(0.5, 3.0, shape)


def _tied(rng: np.random.Generator) -> Array:
    return rng.choice([-1.5, 0.0, 0.5, 1.25, 2.0], (3, 4))


_X = _normal(3, 4)

# name -> (f, vjp, inputs)
FUNCTIONS: dict[str, tuple[Forward, Backward, list[Callable[[np.random.Generator], Array]]]] = {
    "tanh": (np.tanh, lambda x, v: v * (1 - np.tanh(x) ** 2), [_X]),
    "sin20": (lambda x: np.sin(20 * x), lambda x, v: v * 20 * np.cos(20 * x), [_X]),
    "gelu": (_gelu, _gelu_vjp, [_X]),
    "relu": (lambda x: np.maximum(x, 0), lambda x, v: v * _like(x, x > 0), [_X]),
    "relu_ties": (lambda x: np.maximum(x, 0), lambda x, v: v * _like(x, x > 0), [_tied]),
    "softmax": (_softmax, _softmax_vjp, [_X]),
    "unit": (_unit, _unit_vjp, [_normal(7)]),
    "layer_norm": (_layer_norm, _layer_norm_vjp, [_X]),
    "log_sum_exp": (_log_sum_exp, lambda x, v: _softmax(x) * v[..., None], [_X]),
    "matmul": (
        lambda x, w: x @ w,
        lambda x, w, v: (_like(x, v @ w.T), _like(x, x.T @ v)),
        [_X, _normal(4, 2)],
    ),
    "div": (lambda x, y: x / y, lambda x, y, v: (v / y, -v * x / y / y), [_X, _positive(3, 4)]),
    "mse": (_mse, _mse_vjp, [_X, _X]),
    "cumsum": (lambda x: x.cumsum(-1), lambda x, v: v[..., ::-1].cumsum(-1)[..., ::-1], [_X]),
    "prod": (lambda x: x.prod(-1), _prod_vjp, [_X]),
    "max": (_max, _max_vjp, [_X]),
    "max_ties": (_max, _max_vjp, [_tied]),
    "sigmoid": (
        lambda x: _sigmoid(8 * x),
        lambda x, v: v * 8 * _sigmoid(8 * x) * _sigmoid(-8 * x),
        [_X],
    ),
    "sqrt": (np.sqrt, lambda x, v: v / (2 * np.sqrt(x)), [_positive(3, 4)]),
    "log": (np.log, lambda x, v: v / x, [_positive(3, 4)]),
    "pow": (
        lambda x: x ** x.dtype.type(2.5),
        lambda x, v: v * x.dtype.type(2.5) * x ** x.dtype.type(1.5),
        [_positive(3, 4)],
    ),
    "rnn": (_rnn, _rnn_vjp, [_small(2, 3), _small(2, 4), _small(3, 4), _small(4, 4)]),
    "conv": (_conv, _conv_vjp, [_normal(9), _normal(3)]),
    "huber": (_huber, lambda x, v: v * _like(x, np.clip(x, -1, 1)), [_X]),
    "clip": (
        lambda x: np.clip(x, -1, 1),
        lambda x, v: v * _like(x, (x > -1) & (x < 1)),
        [_X],
    ),
    "abs": (np.abs, lambda x, v: v * np.sign(x), [_X]),
    "norm": (
        lambda x: np.sqrt((x * x).sum(-1)),
        lambda x, v: v[..., None] * x / np.sqrt((x * x).sum(-1, keepdims=True)),
        [_X],
    ),
    "outer": (
        np.outer,
        lambda x, y, v: (_like(x, v @ y), _like(x, x @ v)),
        [_normal(4), _normal(3)],
    ),
}


def _one(a: Array, factor: float) -> Array:
    a = a.copy()
    i = int(np.argmax(np.abs(a.astype(np.float64))))
    a.reshape(-1)[i] = _like(a, a.reshape(-1)[i].astype(np.float64) * factor)
    return a


def _nan(a: Array) -> Array:
    a = a.copy()
    a.reshape(-1)[-1] = np.nan
    return a


FAULTS: dict[str, Callable[[Array], Array]] = {
    "factor": lambda a: a * a.dtype.type(2),
    "sign": lambda a: -a,
    "one percent": lambda a: _like(a, a.astype(np.float64) * 1.01),
    "one element": lambda a: _one(a, 1.01),
    "zero": np.zeros_like,
    "nan": _nan,
    "reversed": lambda a: a.reshape(-1)[::-1].reshape(a.shape).copy(),
}


def target_of(name: str, dtype: str = "float64", seed: int = 0, **options: Any) -> NumpyTarget:
    f, vjp, makers = FUNCTIONS[name]
    rng = np.random.default_rng([20, seed, len(name)])
    inputs = [make(rng) for make in makers]
    return NumpyTarget(f, vjp, inputs, dtype, who=name, **options)


def planted(target: NumpyTarget, fault: Callable[[Array], Array], k: int = 0) -> NumpyTarget:
    """The target with a fault in the gradient by input `k`."""
    right = target.backward

    def wrong(*arguments: Array) -> Any:
        found = right(*arguments)
        if not isinstance(found, tuple):
            return fault(np.asarray(found))
        return tuple(fault(np.asarray(a)) if i == k else a for i, a in enumerate(found))

    target.backward = wrong
    return target


def normalized(x: Array, b: Array) -> Array:
    y = x + b
    d = y - y.mean(0)
    return d / np.sqrt((d * d).mean(0) + x.dtype.type(1e-5))


def normalized_vjp(x: Array, b: Array, v: Array) -> tuple[Array, Array]:
    y = x + b
    d = y - y.mean(0)
    s = np.sqrt((d * d).mean(0) + x.dtype.type(1e-5))
    a = (v - v.mean(0) - d / s * (v * d / s).mean(0)) / s
    return a, a.sum(0)


def softmax_of_equal_numbers(factor: float, vjp=None, dtype: str = "float64") -> NumpyTarget:
    """The softmax of `factor` (x0 + x1), three times: its gradient is nothing but rounding."""

    def f(x):
        z = x.dtype.type(factor) * x.sum() * np.ones(3, x.dtype)
        e = np.exp(z - z.max())
        return e / e.sum()

    def gradient(x, v):
        p = f(x)
        return x.dtype.type(factor) * np.sum(p * (v - np.sum(p * v))) * np.ones_like(x)

    return NumpyTarget(f, vjp or gradient, [np.array([0.7, -1.3])], dtype)
