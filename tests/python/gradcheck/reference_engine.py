"""The engine of core.differentiate in NumPy: slow, readable, what the native one must agree with.

Works on everything that has inputs() and run(): arrays, or tensors with a view of their memory.
Lanes are the rows that are moved at once; without `rows` there is one lane with all outputs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

KINK, JUMP, DOMAIN, ABSORBED = 1, 2, 4, 8
UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
SUBNORMAL = {
    "float64": 2.0**-1074,
    "float32": 2.0**-149,
    "float16": 2.0**-24,
    "bfloat16": 2.0**-133,
}
FIRST = {"float64": 4, "float32": 2, "float16": -1, "bfloat16": -1}  # -log2 of the first step
ENOUGH = {"float64": 9, "float32": 6, "float16": 7, "bfloat16": 7}  # levels
MOST = {"float64": 24, "float32": 12, "float16": 11, "bfloat16": 11}
FINER = 8  # more levels below float64, where |x| is small beside its tensor
SHRINKING = 1.2  # by what a change may be more than in proportion to the steps
DEPTH = 5
KAPPA = 2.0
Array = np.ndarray[Any, Any]


class CallableFunction:
    """f of a list of arrays, as core.CallableFunction."""

    def __init__(self, f: Callable[[list[Array]], Sequence[Array]], inputs: Sequence[Array]):
        self.f = f
        self.values = [np.array(value, order="C") for value in inputs]

    def inputs(self) -> list[Array]:
        return self.values

    def run(self) -> list[Array]:
        return [np.array(y) for y in self.f([x.copy() for x in self.values])]


@dataclass
class Derivatives:
    value: Array
    error: Array
    low: Array
    high: Array
    scale: Array
    flags: Array
    evaluations: int = 0
    failure: str | None = None
    levels: list[tuple[float, ...]] = field(default_factory=list)


def _memory(function: Any) -> list[Array]:
    return [x if isinstance(x, np.ndarray) else x.numpy() for x in function.inputs()]


def _lanes(ys: Sequence[Any], rows: int) -> Array:
    parts = [np.asarray(y).astype(np.float64).reshape(rows, -1) for y in ys]
    return np.concatenate(parts, axis=1)


class Ladder:
    """The derivatives of all outputs along one movement: [lanes, outputs of a lane]."""

    def __init__(self, evaluate: Any, y0: Array, x: Array, s: Array, dtype: str, noise: Array):
        self.evaluate, self.y0, self.dtype, self.floor = evaluate, y0, dtype, noise
        self.x, self.s, self.u = x[:, None], s[:, None], UNIT[dtype]
        self.best, self.error = np.zeros_like(y0), np.full_like(y0, np.inf)
        self.excess, self.change = np.zeros_like(y0), np.zeros_like(y0)
        self.clean, self.calm = np.zeros(y0.shape, int), np.zeros(y0.shape, int)
        self.largest = np.zeros(len(y0))  # error bar, per lane
        self.ever, self.every = np.zeros(y0.shape, bool), np.ones(y0.shape, bool)
        self.tableau: list[tuple[Array, Array]] = []
        self.depth = np.zeros(len(y0), int)  # of the tableau that is valid, per lane
        self.history: list[tuple[Array, ...]] = []  # of finite levels, with a mask of lanes
        self.trace: list[tuple[float, Array, Array, Array, Array]] = []
        self.sizes: list[float] = []  # of the steps beside 1, newest first

    def run(self) -> None:
        open_ = np.ones(len(self.y0), bool)
        if self.dtype != "float64":  # does an output depend on the input at all?
            for q in (8.0, -8.0, 1.0, -1.0):
                self.ever |= self.evaluate(q * self.s[:, 0])[0] != self.y0
        first = 2.0 ** np.floor(np.log2(self.s[:, 0])) * 2.0 ** -FIRST[self.dtype]
        most = np.full(len(self.y0), MOST[self.dtype])
        if self.dtype != "float64":
            with np.errstate(divide="ignore"):
                ratio = np.where(self.x == 0, 1.0, self.s / np.abs(self.x))[:, 0]
            most += np.clip(np.floor(np.log2(ratio)), 0, FINER).astype(int)
        for level in range(int(most.max())):
            open_ &= level < most
            if not open_.any():
                break
            size = 2.0**-level * (1 + 233 * level % 377 / 4096)
            h = np.where(open_, first * size, 0.0)
            self.sizes.insert(0, size)
            (up, plus), (down, minus) = self.evaluate(h), self.evaluate(-h)
            open_ &= (plus > 0) & (minus < 0)
            if not open_.any():
                break
            self.level(h, up, down, plus, -minus, open_)
            open_ &= ~self.finished(level + 1)
            if not open_.any():
                break
        self.conclude()

    def level(
        self, h: Array, up: Array, down: Array, plus: Array, minus: Array, open_: Array
    ) -> None:
        finite = open_ & np.isfinite(up).all(1) & np.isfinite(down).all(1)
        lost = ~finite & open_  # these lanes begin anew
        self.depth[lost] = 0
        self.clean[lost] = 0
        self.calm[lost] = 0
        for *_, known in self.history:
            known[lost] = False
        on = finite[:, None]
        with np.errstate(all="ignore"):
            self.finite_level(h, up, down, plus[:, None], minus[:, None], on)
        self.depth[finite] = np.minimum(self.depth[finite] + 1, DEPTH)

    def finite_level(
        self, h: Array, up: Array, down: Array, plus: Array, minus: Array, on: Array
    ) -> None:
        y0, dx = self.y0, plus + minus
        self.ever |= on & ((up != y0) | (down != y0))
        slope, right, left = (up - down) / dx, (up - y0) / plus, (y0 - down) / minus
        largest = np.maximum(np.maximum(abs(up), abs(down)), abs(y0))
        nu = KAPPA * self.u * (largest + abs(self.x * slope)) + SUBNORMAL[self.dtype]
        nu = np.maximum(nu, self.floor)
        noise, bend = 2 * nu / dx, right - left
        bend_noise = 2 * nu / plus + 2 * nu / minus
        rough = np.zeros(y0.shape, bool)
        if self.history:
            before, known = self.last(0)
            shrinks = SHRINKING * self.sizes[0] / self.sizes[1]
            rough = known & (abs(bend) > bend_noise) & (abs(bend) > shrinks * abs(before))
            rough &= abs(bend) > 1e-3 * np.maximum(abs(right), abs(left))
        self.clean = np.where(on, np.where(rough, 0, self.clean + 1), self.clean)
        self.error = np.where(on & rough, np.inf, self.error)
        row = [(slope, noise)]
        change = np.zeros_like(y0)
        if self.tableau:
            change = abs(slope - self.tableau[0][0])
            now, last, *older = self.sizes[:3]
            least = SHRINKING * ((last - now) / (older[0] - last) if older else 1.0)
            wild = (self.depth[:, None] >= 2) & (change > least * self.change)
            wild &= change > noise + self.tableau[0][1]
            self.calm = np.where(on, np.where(wild, 0, self.calm + 1), self.calm)
        else:
            self.calm = np.where(on, self.calm + 1, self.calm)
        usable, refined = np.minimum(self.clean, self.calm), np.zeros(y0.shape, bool)
        for j in range(1, min(len(self.tableau), DEPTH - 1) + 1):
            (a1, n1), (a0, n0) = row[j - 1], self.tableau[j - 1]
            factor = (self.sizes[j] / self.sizes[0]) ** 2
            a, n = (factor * a1 - a0) / (factor - 1), (factor * n1 + n0) / (factor - 1)
            e = np.maximum(abs(a - a1), abs(a - a0)) + n
            better = on & (e < np.maximum(self.error, np.maximum(self.excess, self.doubt())))
            better &= (j < usable) & (j <= self.depth[:, None])
            self.best, self.error = np.where(better, a, self.best), np.where(better, e, self.error)
            self.excess, refined = np.where(better, 0.0, self.excess), refined | better
            row.append((a, n))
        beyond = abs(self.best - slope) - noise - change
        beyond = np.minimum(beyond, 2 * self.doubt())
        self.excess = np.where(on & ~refined, np.maximum(self.excess, beyond), self.excess)
        self.change = np.where(on, change, self.change)
        self.tableau = row
        self.history.append((bend, bend_noise, left, right, slope, noise, on & self.every))
        self.trace.append((float(h[0]), slope, noise, up, down))

    def doubt(self) -> Array:
        """By how much the last level contradicts the estimate."""
        slope, noise = self.tableau[0] if self.tableau else (0.0, 0.0)
        result: Array = abs(self.best - slope) - noise - self.change
        return result

    def last(self, back: int) -> tuple[Array, Array]:
        """S of the last finite level but `back` of each lane, and where there is one."""
        found, known = np.zeros_like(self.y0), np.zeros(self.y0.shape, bool)
        count = np.zeros(self.y0.shape, int)
        for bend, *_, on in reversed(self.history):
            take = on & (count == back)
            found, known = np.where(take, bend, found), known | take
            count = count + on
        return found, known

    def finished(self, levels: int) -> Array:
        still = ~self.ever
        smooth = (((self.clean >= 3) & (self.calm > 1)) | still).all(1)
        largest = np.maximum(abs(self.best).max(1, initial=0.0), 1e-300)
        error = np.where(still, 0.0, np.maximum(self.error, np.maximum(self.excess, self.doubt())))
        before, self.largest = self.largest, error.max(1, initial=0.0)
        enough = (levels >= ENOUGH[self.dtype]) & ~(self.largest < 0.5 * before)
        enough &= np.isfinite(self.largest)
        enough |= still.all(1)
        if self.dtype == "float64":
            sure = (self.best != 0) | (self.error == 0) | still
            enough |= ((error <= 1e-10 * largest[:, None]) & sure).all(1)
        result: Array = smooth & enough
        return result

    def conclude(self) -> None:
        any_level = self.last(0)[1]
        self.kink = any_level & self.ever & (self.clean < 3)
        still = any_level & ~self.ever
        absorbed = 0.0 if self.dtype == "float64" else 2 * self.u * abs(self.y0) / (8 * self.s)
        self.best = np.where(still, 0.0, self.best)
        self.error = np.where(still, absorbed, self.error)
        self.absorbed = still & (self.error > 0)
        self.error = np.where(self.ever, np.maximum(self.error, self.excess), self.error)
        if self.history:
            _, _, _, _, slope, noise, on = self.history[-1]
            vague = on & self.ever & ~self.kink & ~np.isfinite(self.error)
            self.error = np.where(vague, self.change + 2 * noise, self.error)
            self.best = np.where(vague, slope, self.best)
        self.hull()

    def growing(self) -> Array:
        """Where the quotients change more and more: a jump whose middle is the value there."""
        slopes: list[Array] = []  # newest first; NaN where a lane has no such level
        for back in range(DEPTH):
            found = np.full(self.y0.shape, np.nan)
            count = np.zeros(self.y0.shape, int)
            for *_, slope, _, on in reversed(self.history):
                found = np.where(on & (count == back), slope, found)
                count = count + on
            slopes.append(found)
        changes = [a - b for a, b in itertools.pairwise(slopes)]
        grows = np.isfinite(changes[2])
        sizes = np.log(np.array(self.sizes[:DEPTH]))
        rates = [change / by for change, by in zip(changes, np.diff(sizes), strict=False)]
        for after, before in itertools.pairwise(rates):
            more = (after * before > 0) & (abs(after) >= 1.3 * abs(before))
            grows &= more | np.isnan(before)
        noise = self.history[-1][5] if self.history else np.inf
        return grows & (abs(changes[0]) > 4 * noise) & ~(self.error < 0.5 * abs(changes[0]))

    def hull(self) -> None:
        low = np.where(self.kink, np.inf, self.best)
        high = np.where(self.kink, -np.inf, self.best)
        count = np.zeros(self.y0.shape, int)
        for _, bend_noise, left, right, _, _, on in reversed(self.history):
            take = self.kink & on & (count < 3)
            low = np.where(take, np.minimum(low, np.minimum(left, right) - bend_noise), low)
            high = np.where(take, np.maximum(high, np.maximum(left, right) + bend_noise), high)
            count = count + on
        self.low, self.high = low, high
        (now, _), (before, two) = self.last(0), self.last(1)
        self.jump = self.kink & (~two | (abs(now) > 1.5 * abs(before)))
        steep = self.growing() & ~self.kink & self.ever
        self.best = np.where(steep, self.history[-1][4], self.best) if self.history else self.best
        self.jump |= steep
        self.bad = self.jump | (~np.isfinite(self.error) & ~self.kink)
        self.error = np.where(self.kink, 0.0, self.error)


def _project(ladder: Ladder, cotangents: Array) -> tuple[Array, ...]:
    """[r, lanes] of cotangents [r, lanes, outputs]; and the flags of the lanes."""
    v, kink = cotangents, ladder.kink
    a = v * np.where(kink, ladder.low, ladder.best)
    b = v * np.where(kink, ladder.high, ladder.best)
    largest = np.where(kink, np.maximum(abs(ladder.low), abs(ladder.high)), abs(ladder.best))
    error = np.sqrt(((v * np.where(ladder.bad, 0.0, ladder.error)) ** 2).sum(2))
    error = np.where(ladder.bad.any(1), np.inf, error)
    flags = (
        KINK * kink.any(1)
        + JUMP * ladder.jump.any(1)
        + DOMAIN * (ladder.bad & ~ladder.jump).any(1)
        + ABSORBED * ladder.absorbed.any(1)
    )
    sums = [(v * ladder.best), np.minimum(a, b), np.maximum(a, b), abs(v) * largest]
    value, low, high, scale = (part.sum(2) for part in sums)
    return value, error, low, high, scale, flags.astype(np.uint8)


def _evaluator(function: Any, rows: int, move: Any, state: dict[str, Any]) -> Any:
    def evaluate(h: Array) -> tuple[Array, Array]:
        state["evaluations"] += 1
        with move(h) as taken:
            try:
                return _lanes(function.run(), rows), taken
            except Exception as error:
                state["failure"] = state["failure"] or str(error)
                return np.full(state["shape"], np.nan), taken

    return evaluate


class _Moved:
    """Elements of a tensor moved by `h`, and put back."""

    def __init__(self, flat: Array, where: Array, h: Array) -> None:
        self.flat, self.where, self.h = flat, where, h
        self.old = flat[where].copy()

    def __enter__(self) -> Array:
        old = self.old.astype(np.float64)
        self.flat[self.where] = (old + self.h).astype(self.flat.dtype)
        taken: Array = self.flat[self.where].astype(np.float64) - old
        return taken

    def __exit__(self, *_: object) -> None:
        self.flat[self.where] = self.old


class _MovedAlong:
    """All inputs moved by h * direction, and put back."""

    def __init__(self, xs: list[Array], directions: Sequence[Any], h: Array) -> None:
        self.xs, self.directions, self.h = xs, directions, h
        self.old = [x.copy() for x in xs]

    def __enter__(self) -> Array:
        for x, d in zip(self.xs, self.directions, strict=True):
            if d is not None:
                moved = x.astype(np.float64) + self.h[0] * np.asarray(d, np.float64)
                x[...] = moved.reshape(x.shape).astype(x.dtype)
        return self.h

    def __exit__(self, *_: object) -> None:
        for x, old in zip(self.xs, self.old, strict=True):
            x[...] = old


def _rms(x: Array) -> float:
    return float(np.sqrt(np.mean(x.astype(np.float64) ** 2))) or 1.0 if x.size else 1.0


def differentiate(
    function: Any,
    input: int,
    cotangents: Sequence[Any],
    *,
    elements: Any = None,
    noise: Any = None,
    rows: int = 0,
    workers: int = 1,
) -> Derivatives:
    x = _memory(function)[input]
    flat, lanes = x.reshape(-1), max(rows, 1)
    outputs = function.run()
    y0, split = _lanes(outputs, lanes), [np.asarray(y).size for y in outputs]
    v = np.array([_split(np.asarray(c, np.float64), split, lanes) for c in cotangents])
    floor = 0.0 if noise is None else _split(np.asarray(noise, np.float64), split, lanes)
    state: dict[str, Any] = {"evaluations": 0, "failure": None, "shape": y0.shape}
    if rows:
        moves = [np.arange(rows) * (x.size // rows) + c for c in range(x.size // max(rows, 1))]
    else:
        moves = [np.array([i]) for i in (range(x.size) if elements is None else elements)]
    parts = []
    for where in moves:
        values = flat[where].astype(np.float64)
        s = np.maximum(abs(values), _rms(x))
        evaluate = _evaluator(function, lanes, lambda h, w=where: _Moved(flat, w, h), state)
        ladder = Ladder(evaluate, y0, values, s, x.dtype.name, floor)
        ladder.run()
        parts.append(_project(ladder, v))
    joined = (
        [
            np.stack([part[q] for part in parts], axis=-1).reshape(*parts[0][q].shape[:-1], -1)
            for q in range(6)
        ]
        if parts
        else [np.zeros((len(v), 0))] * 5 + [np.zeros(0, np.uint8)]
    )
    return Derivatives(*joined, state["evaluations"] + 1, state["failure"])


def _split(flat: Array, sizes: Sequence[int], lanes: int) -> Array:
    return _lanes(np.split(flat.reshape(-1), np.cumsum(sizes)[:-1]), lanes)


def differentiate_along(
    function: Any,
    directions: Sequence[Any],
    cotangents: Sequence[Any],
    *,
    noise: Any = None,
    trace: bool = False,
) -> Derivatives:
    xs, outputs = _memory(function), function.run()
    y0, split = _lanes(outputs, 1), [np.asarray(y).size for y in outputs]
    v = np.array([_split(np.asarray(c, np.float64), split, 1) for c in cotangents])
    floor = 0.0 if noise is None else _split(np.asarray(noise, np.float64), split, 1)
    state: dict[str, Any] = {"evaluations": 0, "failure": None, "shape": y0.shape}
    pairs = [
        (x, np.asarray(d, np.float64)) for x, d in zip(xs, directions, strict=True) if d is not None
    ]
    ratios = [_rms(x) / _rms(d) for x, d in pairs if d.any()]
    s = np.array([min(ratios, default=1.0)])
    evaluate = _evaluator(function, 1, lambda h: _MovedAlong(xs, directions, h), state)
    ladder = Ladder(evaluate, y0, s, s, xs[0].dtype.name, floor)
    ladder.run()
    result = Derivatives(*_project(ladder, v), state["evaluations"] + 1, state["failure"])
    if trace:
        weight, phi = v[0], float((v[0] * y0).sum())
        for h, slope, nu, up, down in ladder.trace:
            sums = [(weight * part).sum() for part in (slope, up, down)]
            spread = np.sqrt(((weight * nu) ** 2).sum())
            result.levels.append((h, float(sums[0]), float(spread), *map(float, sums[1:]), phi))
    return result
