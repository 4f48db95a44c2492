"""Random functions with known gradients, at points that are hard to differentiate at."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fluidcore.gradcheck import GradCheckConfig

Array = NDArray[np.float64]
_STEP = 2.0**-4  # of x, the longest that a check takes
Slope = Callable[[Array], Array]


@dataclass(frozen=True)
class Part:
    """A function of some of the elements.

    Attributes:
        x: [n], the point.
        f: [n] -> [m].
        vjp: Of x and v, the right gradient.
        low: [n], how far below the right derivative another one is right, too; of an elementwise f.
        high: [n], how far above.
        in_group: Whether each element of the gradient may depend on all of v.
        must_pass: Whether the right gradient can be proven.
        must_be_alone: Only where no other elements are smooth.
    """

    x: Array
    f: Slope
    vjp: Callable[[Array, Array], Array]
    low: Array
    high: Array
    in_group: bool = False
    must_pass: bool = True
    must_be_alone: bool = False


@dataclass(frozen=True)
class Case:
    """A function of some elements in a regime and others where it is smooth.

    Attributes:
        name: The regime, and what distinguishes this case of it.
        x: [n], the point.
        f: [n] -> [m], or a number.
        vjp: The right gradient.
        low: [n], how far a derivative may be below the right one.
        high: [n], how far above.
        in_group: [n], where the gradient may depend on all of v.
        must_pass: Whether the right gradient can be proven.
    """

    name: str
    x: Array
    f: Callable[[Array], Array]
    vjp: Callable[[Array, Array], Array]
    low: Array
    high: Array
    in_group: NDArray[np.bool_]
    must_pass: bool

    def unit(self, v: Array, i: int) -> float:
        """What the gradient by element i is where its derivative is 1; linear in v."""
        if np.ndim(v) == 0 or self.in_group[i]:
            return float(np.sum(v))
        return float(v[i])

    def measures(self, v: Array) -> Array:
        """[n]: what errors are compared with."""
        unit = np.array([abs(self.unit(v, i)) for i in range(self.x.size)])
        g = np.abs(self.vjp(self.x, v)) + unit * np.maximum(self.low, self.high)
        if self.in_group.any():
            g[self.in_group] = max(np.max(g[self.in_group]), 2 * np.max(np.abs(v)))
        g = np.where(np.isfinite(g), g, 0.0)
        return np.asarray(np.maximum(g, 0.01 * np.max(g)))


def _elementwise(
    x: Array,
    f: Slope,
    slope: Slope,
    low: float | Array = 0.0,
    high: float | Array = 0.0,
    must_pass: bool = True,
    must_be_alone: bool = False,
) -> Part:
    def vjp(x: Array, v: Array) -> Array:
        return v * slope(x)

    lows, highs = (np.broadcast_to(np.asarray(end, float), x.shape) for end in (low, high))
    return Part(x, f, vjp, lows, highs, must_pass=must_pass, must_be_alone=must_be_alone)


def _power(random: np.random.Generator, low: float, high: float) -> float:
    return float(10.0 ** random.uniform(low, high))


_SMOOTH: tuple[tuple[Slope, Slope], ...] = (
    (np.sin, np.cos),
    (np.exp, np.exp),
    (lambda x: x**3, lambda x: 3 * x**2),
    (lambda x: 3 * x, lambda x: np.full_like(x, 3.0)),
    (np.tanh, lambda x: 1 / np.cosh(x) ** 2),
    (lambda x: 1 / (1 + x * x), lambda x: -2 * x / (1 + x * x) ** 2),
)


def _smooth(random: np.random.Generator, n: int) -> Part:
    f, slope = _SMOOTH[random.integers(len(_SMOOTH))]
    return _elementwise(random.uniform(-2, 2, n), f, slope)


def _kink(random: np.random.Generator, n: int) -> Part:
    at = random.choice([0.0, random.normal()])
    left, right = random.choice([(-1.0, 1.0), (0.0, 1.0), (0.01, 1.0), (1.0, 0.0), (-2.0, 0.5)])
    here = random.choice([left, right, (left + right) / 2])
    return _bend(np.full(n, at), at, left, right, here)


def _weak_kink(random: np.random.Generator, n: int) -> Part:
    at, slope = random.choice([0.0, random.normal()]), random.choice([1.0, -3.0])
    weak = _power(random, -4.5, -2)
    return _bend(np.full(n, at), at, slope - weak, slope + weak, slope)


def _bend(x: Array, at: float, left: float, right: float, here: float) -> Part:
    def f(x: Array) -> Array:
        return np.where(x < at, left, right) * (x - at)

    def slope(x: Array) -> Array:
        return np.where(x < at, left, np.where(x > at, right, here))

    low, high = min(left, right), max(left, right)
    return _elementwise(x, f, slope, here - low, high - here)


def _tie(random: np.random.Generator, n: int) -> Part:
    n = max(n, 2)
    kind = random.choice(["max", "min", "sort", "median"])
    if kind == "median":
        n += 1 - n % 2
    ties = int(random.integers(2, min(n, 5) + 1))
    x = random.permutation(random.uniform(-2, 2, n))
    middle = (n - 1) // 2
    place = {"max": n - ties, "min": 0, "median": max(middle - ties // 2, 0)}
    first = int(place.get(kind, random.integers(0, n - ties + 1)))
    order = np.argsort(x)
    x[order[first : first + ties]] = x[order[first]]
    is_shared = bool(random.integers(2))
    wanted = {"max": n - 1, "min": 0, "median": middle}.get(kind)

    def f(x: Array) -> Array:
        values = np.sort(x)
        return values if wanted is None else values[wanted : wanted + 1]

    def vjp(x: Array, v: Array) -> Array:
        full = np.zeros_like(x)
        full[slice(None) if wanted is None else wanted] = v if wanted is None else v[0]
        order = np.argsort(x, kind="stable")
        gradient = np.zeros_like(x)
        gradient[order] = full
        if is_shared:
            for value in np.unique(x):
                gradient[x == value] = np.mean(gradient[x == value])
        return gradient

    none = np.zeros(n)
    return Part(x, f, vjp, none, none, in_group=True)


def _jump(random: np.random.Generator, n: int, is_beside: bool) -> Part:
    x = random.uniform(0.1, 2, n) * random.choice([-1, 1], n)
    far = 10.0 ** random.uniform(-13, -1, n) if is_beside else np.zeros(n)
    edge = x * (1 + far * random.choice([-1, 1], n))
    height = _power(random, -6, 3)

    def f(x: Array) -> Array:
        return np.asarray(np.sin(x) + height * (x > edge))

    return _elementwise(x, f, np.cos, must_pass=False)


def _jump_beside(random: np.random.Generator, n: int) -> Part:
    return _jump(random, n, is_beside=True)


def _jump_here(random: np.random.Generator, n: int) -> Part:
    return _jump(random, n, is_beside=False)


def _saturation(random: np.random.Generator, n: int) -> Part:
    x = random.uniform(3, 45, n) * random.choice([-1, 1], n)
    return _elementwise(x, np.tanh, lambda x: 1 / np.cosh(x) ** 2, must_pass=False)


def _cancellation(random: np.random.Generator, n: int) -> Part:
    large = _power(random, 4, 10)
    kind = random.choice(["sum", "sine", "softmax", "variance"])
    if kind == "sum":
        x = random.uniform(-2, 2, n)
        return _elementwise(x, lambda x: (x + large) - large, np.ones_like, must_pass=False)
    if kind == "sine":
        x = random.uniform(-2, 2, n)
        return _elementwise(x, lambda x: (np.sin(x) + large) - large, np.cos, must_pass=False)
    x = random.normal(0, 2, n) + min(large, 1e7)
    if kind == "softmax":
        return Part(x, _softmax, _softmax_vjp, np.zeros(n), np.zeros(n), True, must_pass=False)
    return Part(x, _variance, _variance_vjp, np.zeros(n), np.zeros(n), True, must_pass=False)


def _softmax(x: Array) -> Array:
    e = np.exp(x - np.max(x))
    return np.asarray(e / np.sum(e))


def _softmax_vjp(x: Array, v: Array) -> Array:
    s = _softmax(x)
    return s * (v - np.sum(s * v))


def _variance(x: Array) -> Array:
    return np.array([np.mean(x * x) - np.mean(x) ** 2])


def _variance_vjp(x: Array, v: Array) -> Array:
    return np.asarray(2 * v[0] * (x - np.mean(x)) / x.size)


def _offset(random: np.random.Generator, n: int) -> Part:
    large = _power(random, 2, 6)
    f, slope = _SMOOTH[random.integers(len(_SMOOTH))]
    return _elementwise(
        random.uniform(0.5, 2, n), lambda x: f(x) + large, slope, must_pass=large < 10**5.5
    )


def _tiny(random: np.random.Generator, n: int) -> Part:
    small = _power(random, -30, -20)
    f, slope = _SMOOTH[random.integers(len(_SMOOTH))]
    kind = random.choice(["output", "input", "steep"])
    if kind == "output":
        x = random.uniform(-2, 2, n)
        return _elementwise(x, lambda x: small * f(x), lambda x: small * slope(x))
    x = small * random.uniform(0.5, 2, n) * random.choice([-1, 1], n)
    if kind == "input":  # what is 1 beside them absorbs them
        f, slope = (f, slope) if f(np.zeros(1))[0] == 0 else _SMOOTH[0]
        return _elementwise(x, f, slope)

    def steep(x: Array) -> Array:
        return f(x / small)

    return _elementwise(x, steep, lambda x: slope(x / small) / small, must_be_alone=True)


def _sizes(random: np.random.Generator, n: int) -> Part:
    """Elements of very different sizes, each of which f changes with on a scale of its own."""
    size = 10.0 ** random.uniform(-12, 12, n) * random.choice([-1, 1], n)
    functions: tuple[tuple[Slope, Slope], ...] = (
        (lambda u: 3 * u + np.sin(u), lambda u: 3 + np.cos(u)),
        (lambda u: u + np.tanh(u), lambda u: 1 + 1 / np.cosh(u) ** 2),
        (lambda u: 1 / u, lambda u: -1 / u**2),
        (lambda u: u / np.sqrt(1 + u * u), lambda u: (1 + u * u) ** -1.5),
    )
    f, slope = functions[random.integers(len(functions))]
    x = size * random.uniform(0.5, 2, n)
    # Of one size, the derivatives are all to be seen.
    return _elementwise(x, lambda x: size * f(x / size), lambda x: slope(x / size), must_pass=False)


def _curvature(random: np.random.Generator, n: int) -> Part:
    """Only the second derivative jumps."""
    at, slope = random.choice([0.0, random.normal()]), random.normal()
    left, right = random.choice([0.0, -1.0, 2.0, 0.3]), random.choice([0.0, 1.0, -3.0])

    def f(x: Array) -> Array:
        return slope * (x - at) + np.where(x < at, left, right) * (x - at) ** 2 / 2

    return _elementwise(
        np.full(n, at), f, lambda x: slope + np.where(x < at, left, right) * (x - at)
    )


def _few_digits(random: np.random.Generator, n: int) -> Part:
    """A part of the function, and of its gradient, is calculated in float32 or float16."""
    narrow = random.choice(["float32", "float16"])
    exact, rough = random.choice([0.0, 1.0, 3.0]), random.choice([0.5, -2.0, 100.0])

    def rounded(values: Array) -> Array:
        return np.asarray(values.astype(narrow).astype(np.float64))

    def f(x: Array) -> Array:
        return exact * x + rough * rounded(x)

    def vjp(x: Array, v: Array) -> Array:
        return np.asarray(exact * v + rounded(rough * v))

    none = np.zeros(n)
    return Part(random.uniform(-2, 2, n), f, vjp, none, none, must_pass=False)


def _edge(random: np.random.Generator, n: int) -> Part:
    x = 10.0 ** random.uniform(-30, -2, n)
    kinds: list[tuple[Array, Slope, Slope]] = [
        (x, np.sqrt, lambda x: 0.5 / np.sqrt(x)),
        (x, np.log, lambda x: 1 / x),
        (np.zeros(n), lambda x: x * np.sqrt(x), lambda x: 1.5 * np.sqrt(x)),
        (np.zeros(n), lambda x: np.sqrt(x) * x**2 + x, lambda x: 1 + 2.5 * np.sqrt(x) * x),
        (np.full(n, 0.0), lambda x: np.log(1 + np.sqrt(x) ** 2), lambda x: 1 / (1 + x)),
        (1 - np.maximum(x, 1e-15), np.arcsin, lambda x: 1 / np.sqrt((1 - x) * (1 + x))),
    ]
    x, f, slope = kinds[random.integers(len(kinds))]
    return _elementwise(x, f, slope, must_pass=False)


def _grid(random: np.random.Generator, n: int) -> Part:
    g, slope = _SMOOTH[random.integers(len(_SMOOTH))]
    x = random.uniform(-2, 2, n)
    digits = int(random.integers(6, 15))

    def in_float32(x: Array) -> Array:
        return np.asarray(g(x.astype(np.float32)), np.float32).astype(np.float64)

    def rounded(x: Array) -> Array:
        return np.round(g(x), digits)

    f = in_float32 if random.integers(2) else rounded
    is_still = f(x) == f(x * (1 + _STEP))  # a tread as wide as the steps is no rounding: f is flat
    return _elementwise(np.where(is_still, 1.0, x), f, slope, must_pass=False)


REGIMES: dict[str, Callable[[np.random.Generator, int], Part]] = {
    "smooth": _smooth,
    "kink": _kink,
    "weak kink": _weak_kink,
    "tie": _tie,
    "jump beside the point": _jump_beside,
    "jump at the point": _jump_here,
    "saturation": _saturation,
    "cancellation": _cancellation,
    "huge offset": _offset,
    "tiny scale": _tiny,
    "domain edge": _edge,
    "grid rounding": _grid,
    "sizes": _sizes,
    "curvature jump": _curvature,
    "few digits inside": _few_digits,
}


def random_case(regime: str, seed: int) -> Case:
    """A case of a regime; the same seed makes the same case."""
    random = np.random.default_rng([seed, list(REGIMES).index(regime)])
    most = float(random.choice([1.1, 2.3, 4.0], p=[0.93, 0.065, 0.005]))
    n = int(10.0 ** random.uniform(0, most))
    share = 1.0 if random.uniform() < 0.4 else random.uniform()
    hard = REGIMES[regime](random, max(1, round(share * n)))
    rest = _smooth(random, max(n - hard.x.size, 0))
    return _together(f"{regime}, {seed}", random, hard, rest)


def _together(name: str, random: np.random.Generator, hard: Part, rest: Part) -> Case:
    k, n = hard.x.size, hard.x.size + rest.x.size
    order = random.permutation(n)
    outputs = hard.f(hard.x).size
    is_scalar = bool(random.integers(2))
    # An elementwise f keeps its order; a group puts its outputs first.
    keeps_order = not hard.in_group
    weights = random.uniform(0.5, 2, n if keeps_order else outputs + n - k)
    weights *= random.choice([-1, 1], weights.size)

    def placed(a: Array, b: Array) -> Array:
        both = np.concatenate([a, b])
        whole = np.empty_like(both)
        whole[order] = both
        return whole

    def f(x: Array) -> Array:
        parts = hard.f(x[order[:k]]), rest.f(x[order[k:]])
        y = placed(*parts) if keeps_order else np.concatenate(parts)
        return np.asarray(np.sum(weights * y)) if is_scalar else y

    def vjp(x: Array, v: Array) -> Array:
        of_y = v * weights if is_scalar else v
        ordered = of_y[order] if keeps_order else of_y
        m = k if keeps_order else outputs
        parts = hard.vjp(x[order[:k]], ordered[:m]), rest.vjp(x[order[k:]], ordered[m:])
        return placed(*parts)

    size = np.abs(weights) if is_scalar and keeps_order else np.ones(n)
    low, high = placed(hard.low, rest.low), placed(hard.high, rest.high)
    if is_scalar and keeps_order:
        low, high = np.where(weights < 0, high, low), np.where(weights < 0, low, high)
    in_group = np.full(n, not keeps_order)
    is_provable = hard.must_pass and not (hard.must_be_alone and n > k)
    if hard.in_group or low.any() or high.any():  # along a direction, many kinks prove nothing
        is_provable &= n <= GradCheckConfig.n_full
    what = "a number" if is_scalar else "elements"
    return Case(
        f"{name}: {k} of {n} elements, {what}",
        placed(hard.x, rest.x),
        f,
        vjp,
        size * low,
        size * high,
        in_group,
        is_provable,
    )
