"""Wrong formulas: mistakes that people make in the gradient of one operator."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fluidcore.gradcheck.target.target import Doubles
from tests.power.bug import Bug, Point

Formula = Callable[[Doubles, Doubles], Doubles]  # of x and the cotangent v, of one shape
_ROOT_PI = float(np.sqrt(np.pi))


def formula_bugs(op_type: str) -> list[Bug]:
    """The wrong formulas known for an operator; none for most gradient operators."""
    bugs = [
        Bug(f"the formula {text}", 1.0, _of_x_and_v(formula))
        for text, formula in _UNARY.get(op_type, {}).items()
    ]
    return bugs + [
        Bug(f"the formula {text}", 1.0, change) for text, change in _OTHER.get(op_type, {}).items()
    ]


def _of_x_and_v(formula: Formula) -> Callable[[Doubles, Point], Doubles | None]:
    def change(gradient: Doubles, point: Point) -> Doubles | None:
        x, v = point.xs[point.k], point.vs[0]
        if x.shape != v.shape:
            return None
        with np.errstate(all="ignore"):
            return np.asarray(formula(x, v))

    return change


def _sigmoid(x: Doubles) -> Doubles:
    return np.asarray(1 / (1 + np.exp(-x)))


def _softmax(x: Doubles) -> Doubles:
    e = np.exp(x - x.max(axis=-1, keepdims=True, initial=-np.inf))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


_UNARY: dict[str, dict[str, Formula]] = {
    "abs": {"v": lambda x, v: v, "v x": lambda x, v: v * x, "|v|": lambda x, v: np.abs(v)},
    "relu": {
        "v": lambda x, v: v,
        "v (x < 0)": lambda x, v: v * (x < 0),
        "v relu(x)": lambda x, v: v * np.maximum(x, 0),
        "relu(v)": lambda x, v: np.maximum(v, 0),
    },
    "tanh": {
        "v (1 - y)": lambda x, v: v * (1 - np.tanh(x)),
        "v (1 + y²)": lambda x, v: v * (1 + np.tanh(x) ** 2),
        "v (1 - x²)": lambda x, v: v * (1 - x * x),
        "v y (1 - y)": lambda x, v: v * np.tanh(x) * (1 - np.tanh(x)),
    },
    "sigmoid": {
        "v y": lambda x, v: v * _sigmoid(x),
        "v (1 - y)": lambda x, v: v * (1 - _sigmoid(x)),
        "v (1 - y²)": lambda x, v: v * (1 - _sigmoid(x) ** 2),
        "v x (1 - x)": lambda x, v: v * x * (1 - x),
    },
    "exp": {
        "v": lambda x, v: v,
        "v x": lambda x, v: v * x,
        "v exp(x) - v": lambda x, v: v * np.expm1(x),
    },
    "log": {
        "v x": lambda x, v: v * x,
        "v / log(x)": lambda x, v: v / np.log(x),
        "v / (x + 1e-3)": lambda x, v: v / (x + 1e-3),
    },
    "sqrt": {
        "v / y": lambda x, v: v / np.sqrt(x),
        "v y / 2": lambda x, v: v * np.sqrt(x) / 2,
        "v / (2 x)": lambda x, v: v / (2 * x),
        "v / 2(y + 1e-3)": lambda x, v: v / (2 * (np.sqrt(x) + 1e-3)),
    },
    "square": {
        "v x": lambda x, v: v * x,
        "2 x": lambda x, v: 2 * x,
        "2 v |x|": lambda x, v: 2 * v * np.abs(x),
        "2 v x²": lambda x, v: 2 * v * x * x,
    },
    "erf": {
        "v exp(-x²)": lambda x, v: v * np.exp(-x * x),
        "v exp(-x²) / √π": lambda x, v: v * np.exp(-x * x) / _ROOT_PI,
        "2 v exp(-x² / 2) / √π": lambda x, v: 2 * v * np.exp(-x * x / 2) / _ROOT_PI,
    },
    "gelu": {
        "v Φ'(x) x": lambda x, v: v * x * np.exp(-x * x / 2) / np.sqrt(2 * np.pi),
        "that of x sigmoid(1.702 x)": lambda x, v: (
            v * (_sigmoid(1.702 * x) * (1 + 1.702 * x * (1 - _sigmoid(1.702 * x))))
        ),
        "v sigmoid(1.702 x)": lambda x, v: v * _sigmoid(1.702 * x),
    },
    "softmax": {
        "v y (1 - y)": lambda x, v: v * _softmax(x) * (1 - _softmax(x)),
        "v y": lambda x, v: v * _softmax(x),
        "y (v - mean(v y))": lambda x, v: (
            _softmax(x) * (v - (v * _softmax(x)).mean(axis=-1, keepdims=True))
        ),
    },
    "sign": {"v": lambda x, v: v, "v sign(x)": lambda x, v: v * np.sign(x), "x": lambda x, v: x},
    "scale": {"v": lambda x, v: v, "x": lambda x, v: x, "v x": lambda x, v: v * x},
    "clip": {
        "v": lambda x, v: v,
        "v (x < 0.7)": lambda x, v: v * (x < 0.7),
        "clipped v": lambda x, v: np.clip(v, -0.53125, 0.71875),
    },
    "assign": {"0": lambda x, v: 0 * v, "v x": lambda x, v: v * x, "x": lambda x, v: x},
    "sum": {"v / 2": lambda x, v: v / 2, "x": lambda x, v: x, "v + x": lambda x, v: v + x},
}

Change = Callable[[Doubles, Point], "Doubles | None"]


def _other_factor(change: Callable[[Doubles, Doubles, Doubles], Doubles]) -> Change:
    """From x, the other input and the cotangent, where all have one shape."""

    def changed(gradient: Doubles, point: Point) -> Doubles | None:
        if len(point.xs) != 2 or len({a.shape for a in (*point.xs, point.vs[0])}) != 1:
            return None
        with np.errstate(all="ignore"):
            return np.asarray(change(point.xs[point.k], point.xs[1 - point.k], point.vs[0]))

    return changed


def _broadcast_only(make: Callable[[Doubles, int], Doubles]) -> Change:
    """Where the input is smaller than the output: its gradient is a sum over what was repeated."""

    def changed(gradient: Doubles, point: Point) -> Doubles | None:
        repeats = point.vs[0].size // max(gradient.size, 1)
        return make(gradient, repeats) if repeats > 1 else None

    return changed


_BINARY: dict[str, Change] = {
    "a mean over what was broadcast": _broadcast_only(lambda g, repeats: g / repeats),
    "of the last one that was broadcast": _broadcast_only(lambda g, repeats: g - g / repeats),
}
_MEAN: dict[str, Change] = {
    "v": _broadcast_only(lambda g, repeats: g),
    "v, not divided": lambda g, point: g * g.size if g.size > 1 else None,
    "v / (n - 1)": lambda g, point: g * g.size / (g.size - 1) if g.size > 1 else None,
    "v / n²": lambda g, point: g / g.size if g.size > 1 else None,
}
_OTHER: dict[str, dict[str, Change]] = {
    "mean": _MEAN,
    "reduce_mean": _MEAN,
    "elementwise_add": {
        **_BINARY,
        "v x": _other_factor(lambda x, y, v: v * x),
        "v y": _other_factor(lambda x, y, v: v * y),
    },
    "elementwise_sub": {
        **_BINARY,
        "|v|": _other_factor(lambda x, y, v: np.abs(v)),
        "v (x > y)": _other_factor(lambda x, y, v: v * (x > y)),
    },
    "elementwise_mul": {
        **_BINARY,
        "v x": _other_factor(lambda x, y, v: v * x),
        "v": _other_factor(lambda x, y, v: v),
        "v x y": _other_factor(lambda x, y, v: v * x * y),
    },
    "elementwise_div": {
        **_BINARY,
        "v / x": _other_factor(lambda x, y, v: v / x),
        "v / y²": _other_factor(lambda x, y, v: v / (y * y)),
        "v y": _other_factor(lambda x, y, v: v * y),
    },
    "elementwise_max": {
        **_BINARY,
        "v": _other_factor(lambda x, y, v: v),
        "v (x < y)": _other_factor(lambda x, y, v: v * (x < y)),
        "v / 2": _other_factor(lambda x, y, v: v / 2),
    },
    "elementwise_min": {
        **_BINARY,
        "v": _other_factor(lambda x, y, v: v),
        "v (x > y)": _other_factor(lambda x, y, v: v * (x > y)),
        "v / 2": _other_factor(lambda x, y, v: v / 2),
    },
    "elementwise_pow": {
        **_BINARY,
        "v x^y": _other_factor(lambda x, y, v: v * np.abs(x) ** y),
        "v y": _other_factor(lambda x, y, v: v * y),
        "v y x": _other_factor(lambda x, y, v: v * y * x),
    },
    "softmax_with_cross_entropy": {
        "p v": lambda g, point: _softmax(point.xs[point.k]),
        "p - t without v": lambda g, point: point.ones(),
        "(p - t) v / batch": lambda g, point: g / g.shape[0] if g.shape[:1] > (1,) else None,
    },
    "cross_entropy": {
        "- t without 1 / p": lambda g, point: g * point.xs[point.k],
        "- v / p²": lambda g, point: g / point.xs[point.k],
        "- v / (p + 1e-3)": lambda g, point: g * point.xs[point.k] / (point.xs[point.k] + 1e-3),
    },
}
