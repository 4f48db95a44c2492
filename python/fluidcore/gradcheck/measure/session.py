"""One check of one target: the point, cotangents, gradients there, and time."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fluidcore import core
from fluidcore.base.dtypes import name_of, numpy_dtype
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.target.calls import Calls, cast, flat
from fluidcore.gradcheck.target.random_numbers import few_bits, stream
from fluidcore.gradcheck.target.strides import with_gaps
from fluidcore.gradcheck.target.target import SHADOW, Array, Doubles, Target

FACTOR = -(2.0**-6)  # of a cotangent: no number is rounded by it
_LARGE = 32.0  # the size of a second cotangent: beyond the limits of what takes it for a value


def configured(usual: core.Rules, config: GradCheckConfig) -> core.Rules:
    """The usual rules of a dtype, but for what the user has set."""
    usual = usual.with_tolerance(config.tolerance or 0.0)
    return core.Rules(
        bars=usual.bars,
        resolution=config.resolution or usual.resolution,
        allow_open=usual.allow_open if config.allow_open is None else config.allow_open,
        on_kink=config.on_kink,
        tolerance=usual.tolerance,
    )


def added(v: Sequence[Array], w: Sequence[Array], dtype: str) -> list[Array]:
    """The sum of two cotangents, rounded once to `dtype`."""
    return [_rounded(np.add(a, b, dtype=SHADOW), dtype) for a, b in zip(v, w, strict=True)]


def apart(v: Sequence[Array], w: Sequence[Array], dtype: str) -> list[Array]:
    """The difference of two cotangents, rounded once to `dtype`."""
    return [_rounded(np.subtract(a, b, dtype=SHADOW), dtype) for a, b in zip(v, w, strict=True)]


def _rounded(values: Doubles, dtype: str) -> Array:
    return np.asarray(values, order="C") if dtype == SHADOW else cast(values, dtype)


def _is_scaled(once: Doubles, part: Doubles) -> bool:
    return np.array_equal(FACTOR * once, part)


class Added(NamedTuple):
    """The gradients for a second cotangent, and for its sum with the first one."""

    part: list[Doubles]
    whole: list[Doubles]


class Scaled(NamedTuple):
    """The gradients for −1/64 of the first cotangent.

    Attributes:
        is_exact: Whether they are −1/64 of the gradient, to the last bit.
        gradients: Where they are not; None if there are none, as the code has raised.
    """

    is_exact: bool
    gradients: list[Doubles] | None = None


class Session:
    """What all parts of a check share.

    Attributes:
        target: What is checked.
        config: How.
        calls: The functions of the target.
        dtype: In which f is differentiated: the target's shadow, or its own if there is none that
            works.
        outputs: f at the point, in `dtype`.
        formula: What the core judges, once it is made.
        note: Why the float64 form is not used, if it promised to work.
        added: What `scaled` has found of a second cotangent.
    """

    def __init__(self, target: Target, config: GradCheckConfig) -> None:
        self.target = target
        self.config = config
        self.calls = Calls(target)
        self.note = ""
        self.formula: core.Formula | None = None
        self.added: Added | None = None
        if not target.has_shadow and target.native_reason and config.shadow == "auto":
            self.note = f"judged in {target.dtype} alone: {target.native_reason}"
        self._started = time.monotonic()
        self._gradients: dict[tuple[int, str], list[Doubles]] = {}
        self._scaled: dict[str, Scaled] = {}
        self._vanishes: dict[str, bool] = {}
        self._cotangents: dict[int, list[Array]] = {}
        self._directions: dict[tuple[int, int], Doubles] = {}
        self._first: tuple[int, core.Derivatives] | None = None
        self.dtype = target.judged_in(config.shadow)
        self.outputs = self._at_point()
        if self.dtype != target.dtype and not self._shadow_is_real():
            self._gradients.clear()
            self._scaled.clear()
            self.dtype = target.dtype
            self.outputs = self._at_point()

    def _at_point(self) -> Sequence[Array]:
        known = self.target.first_run if self.dtype == self.target.dtype else None
        return self.calls.forward(self.dtype) if known is None else known

    def _shadow_is_real(self) -> bool:
        names = {name_of(y.dtype) for y in self.outputs}
        if names <= {self.dtype}:
            if not np.isfinite(flat(self.outputs)).all():
                return True
            self.gradients(0, self.dtype)
            faults = [
                self.calls.faults.get((k, self.dtype)) for k in range(len(self.target.inputs))
            ]
            names = {"gradients" for fault in faults if fault and "dtype" in fault.detail}
        if not names <= {self.dtype}:
            kind = ", ".join(sorted(names - {self.dtype}))
            own = self.target.dtype
            self.note = f"judged in {own} alone: in {self.dtype} it returns other {kind}"
        return not self.note

    @property
    def alone(self) -> bool:
        """Whether differences show the rounding of code under test, or would in float64."""
        return self.dtype != SHADOW or self.config.shadow == "off"

    @property
    def has_kernel_test(self) -> bool:
        """Whether the dtype under test is another one than the formula's."""
        return self.dtype != self.target.dtype

    @cached_property
    def rules(self) -> core.Rules:
        """When a difference of the derivatives in `dtype` is an error."""
        if self.alone:
            return configured(core.Rules.of(self.dtype, alone=True), self.config)
        return configured(core.Rules.of_formula(self.target.dtype), self.config)

    @cached_property
    def kernel_rules(self) -> core.Rules:
        """When a difference of the dtype under test from the formula is an error."""
        return configured(core.Rules.of(self.target.dtype, alone=False), self.config)

    @cached_property
    def function(self) -> core.Function:
        """For the engine: f in `dtype`."""
        return self.target.function(self.dtype)

    @cached_property
    def native_gradient(self) -> core.CallableGradient:
        """For the engine: the gradient in `dtype`."""

        def vjp(xs: Sequence[Array], vs: Sequence[Array]) -> list[Doubles]:
            return self.calls.gradient(vs, self.dtype, xs)

        return core.CallableGradient(
            vjp,
            lambda: self.calls.point(self.dtype),  # seldom asked for, and as large as the inputs
            has_fixed_cotangent=self.target.fixed_cotangent,
        )

    @cached_property
    def _inner_noise(self) -> core.NoiseLevel:
        found, evaluations = core.noise_floor(self.function, self.engine_seed)
        self.calls.forwards += evaluations
        return found

    def noise_floor(self, least: Doubles | None) -> core.NoiseLevel:
        """The rounding inside of f, and at least so much; `least`: [m]."""
        return self._inner_noise if least is None else self._inner_noise.at_least(least)

    @property
    def engine_seed(self) -> int:
        """Of the random numbers of the engine."""
        return self.config.seed % 2**32

    @cached_property
    def workers(self) -> int:
        """Threads of the engine."""
        return self.config.workers or len(os.sched_getaffinity(0))

    @cached_property
    def is_scalar(self) -> bool:
        """Whether f has one number as its result, so that one cotangent says everything."""
        return self.target.fixed_cotangent or sum(y.size for y in self.outputs) <= 1

    @property
    def num_cotangents(self) -> int:
        """How many random cotangents a check of all elements takes."""
        return 1 if self.is_scalar else self.config.cotangents

    def cotangent(self, index: int) -> list[Array]:
        """Random arrays of the outputs' shapes, rounded to the dtype under test, in that dtype."""
        index = 0 if self.is_scalar else index
        if index not in self._cotangents:
            self._cotangents[index] = self._cotangent(index)
        return self._cotangents[index]

    def _cotangent(self, index: int) -> list[Array]:
        if self.target.fixed_cotangent:
            return [cast(np.ones(y.shape), self.target.dtype) for y in self.outputs]
        return [
            cast(
                stream(self.config.seed, f"output {k}", f"cotangent {index}").standard_normal(
                    y.shape
                ),
                self.target.dtype,
            )
            for k, y in enumerate(self.outputs)
        ]

    def weights(self, index: int) -> Doubles:
        """A cotangent as the engine takes it, [m]."""
        return flat(self.cotangent(index))

    def gradients(self, index: int, dtype: str) -> list[Doubles]:
        """The claimed gradients by every input for one cotangent, flattened."""
        index = 0 if self.is_scalar else index
        if (index, dtype) not in self._gradients:
            self._gradients[index, dtype] = self.gradient_of(self.cotangent(index), dtype)
        return self._gradients[index, dtype]

    def run_elsewhere(self, dtype: str) -> None:
        """Runs the gradient beside the point: one that keeps what it sees there is not right.

        There it has no cotangent, if it need not have one.
        """
        is_fixed, point = self.target.fixed_cotangent, self.calls.point(dtype)
        xs = [cast(x * x.dtype.type(1 + 2.0**-5), dtype) for x in point]
        vs = [np.full(v.shape, 2 * is_fixed, numpy_dtype(dtype)) for v in self.cotangent(0)]
        found = self.calls.sample(xs, vs, dtype)
        self._vanishes[dtype] = not (is_fixed or any(a.any() for a in found))

    def vanishes(self, dtype: str) -> bool:
        """Whether the gradient beside the point is known to be 0 without a cotangent."""
        return self._vanishes.get(dtype, False)

    def scaled(self, dtype: str) -> Scaled:
        """What −1/64 of the first cotangent has, in a run of its own.

        It is small: a gradient may take the cotangent for another value, and see that it is within
        limits.
        """
        if dtype not in self._scaled:
            once, adds = self.gradients(0, dtype), dtype == self.dtype == SHADOW
            self._scaled[dtype] = Scaled(False)
            with suppress(Exception):  # of user code, which the audits of each form show
                found = self.calls.gradients(self._few(dtype, adds=adds), dtype)
                part = next(found)
                is_exact = all(map(_is_scaled, once, part))
                self._scaled[dtype] = Scaled(is_exact, None if is_exact else part)
                del part  # as large as the inputs
                if adds:
                    self.added = Added(*found)
        return self._scaled[dtype]

    def _few(self, dtype: str, *, adds: bool) -> Iterator[list[Array]]:
        """The scaled cotangent; if it adds, a second one and the sum with it, too.

        A framework gets one number for all of an output as the second, and a sum that is not
        contiguous.
        """
        kind = numpy_dtype(dtype)
        yield [v.astype(kind) * kind.type(FACTOR) for v in self.cotangent(0)]
        if adds:
            second = self.second_cotangent(equal=self.has_forms)
            yield self.expanded(second)
            second = self.with_first(second)
            yield [with_gaps(v) for v in second] if self.has_forms else second

    @property
    def has_forms(self) -> bool:
        """Whether a framework may hand on cotangents in another form than an array's."""
        return self.target.is_called_by_autograd and any(v.size > 1 for v in self.cotangent(0))

    def second_cotangent(self, *, equal: bool = False) -> list[Array]:
        """Another cotangent in `dtype`, large if that can hold it.

        Args:
            equal: Whether each output has one number, which stands for all. Else the sum with the
                first is one that the dtype holds.
        """
        size, first = _LARGE if self.dtype == SHADOW else 1.0, self.cotangent(0)
        shapes = [(1,) * v.ndim if equal else v.shape for v in first]
        second = [
            size
            * stream(self.config.seed, f"output {k}", "second cotangent").standard_normal(shape)
            for k, shape in enumerate(shapes)
        ]
        if equal:
            return [cast(w, self.dtype) for w in second]
        return apart(self.with_first(second), first, self.dtype)

    def expanded(self, cotangent: Sequence[Array]) -> list[Array]:
        """A cotangent of the outputs' shapes, of which one number is stored where one is given."""
        return [
            np.broadcast_to(w, v.shape) if w.shape != v.shape else w
            for w, v in zip(cotangent, self.cotangent(0), strict=True)
        ]

    def with_first(self, second: Sequence[Array]) -> list[Array]:
        """The sum with the first cotangent, in `dtype`."""
        return added(self.cotangent(0), second, self.dtype)

    def gradient_of(self, cotangent: Sequence[Array], dtype: str) -> list[Doubles]:
        """The claimed gradients at the point, for any cotangent."""
        known = numpy_dtype(dtype)
        weights = [v if v.dtype == known else cast(v, dtype) for v in cotangent]
        return self.calls.gradient(weights, dtype)

    def analytical(self, k: int, dtype: str, rows: int | None = None) -> Doubles:
        """[r, n]: the claimed gradient by one input, for the first or all cotangents."""
        rows = self.num_cotangents if rows is None else rows
        if rows == 1:
            return self.gradients(0, dtype)[k][None]
        return np.array([self.gradients(i, dtype)[k] for i in range(rows)])

    def direction(self, k: int, probe: int) -> Doubles:
        """[n]: Gaussian numbers, others for every input and probe.

        They have few bits, so that x + h d is exact in float64 for the steps h, powers of two.
        """
        if (k, probe) not in self._directions:
            if any(kept != k for kept, _ in self._directions):
                self._directions.clear()  # those of one input need as much memory as it does
            part = self.target.inputs[k]
            random = stream(self.config.seed, part.name, f"direction {probe}")
            self._directions[k, probe] = few_bits(random.standard_normal(part.value.size))
        return self._directions[k, probe]

    def keep_trace(self, k: int, found: core.Derivatives) -> None:
        """The derivative along the first direction of an input, with its levels, is known."""
        self._first = k, found

    def traced(self, k: int, noise: Doubles | None) -> core.Derivatives:
        """The derivative along the first direction of an input, with its levels."""
        if self._first is None or self._first[0] != k:
            along, weights = self.along(k, self.direction(k, 0)), [self.weights(0)]
            found = core.differentiate_along(
                self.function, along, weights, noise=noise, trace=True, workers=self.workers
            )
            self.calls.forwards += found.evaluations
            self._first = k, found
        return self._first[1]

    def along(self, k: int, d: Doubles) -> list[Doubles | None]:
        """A direction that moves one input only, as the engine takes it; d: [n]."""
        directions: list[Doubles | None] = [None] * len(self.target.inputs)
        directions[k] = d.reshape(self.target.inputs[k].value.shape)
        return directions

    def seconds(self) -> float:
        """Since the start."""
        return time.monotonic() - self._started

    @property
    def late(self) -> bool:
        """Whether the time that was allowed is over."""
        budget = self.config.budget_s
        return budget is not None and self.seconds() > budget
