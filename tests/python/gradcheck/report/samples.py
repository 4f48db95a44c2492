"""Reports as a check would make them, of gradients that are right, wrong and undecided."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from fluidcore.gradcheck.report.data import Audit, Culprit, ElementError, Hypothesis, Level
from fluidcore.gradcheck.report.result import GradCheckReport, GradCheckResult
from fluidcore.gradcheck.verdict import Reason, Verdict

ROUNDING = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
ENV = {"fluidcore": "0.1.0", "numpy": "2.4.6", "processor": "avx512"}
AUDITS = tuple(
    Audit(name, Verdict.PASS)
    for name in ("linear in the cotangent", "same bits twice", "inputs unchanged", "shapes")
)
HOSTILE = "<script>alert('x')</script> & \"ä\" \x00\x1b[31m]]>"


def levels(error: float = 0.0, slope: float = 1.25) -> tuple[Level, ...]:
    """Of sin(x) + x³/6 along one direction, whose gradient is claimed with a relative error."""
    claimed = slope * (1 + error)
    found = []
    for k in range(18):
        h = 0.25 * 0.5**k
        noise = 2.0**-52 / h
        tiny = noise * (0.3 + 0.2 * math.sin(5 * k))
        remainder = abs(0.4 * h * h + 0.1 * h**3 + h * (slope - claimed) + tiny * h)
        found.append(Level(h, slope + 0.3 * h * h + tiny, noise, remainder))
    return tuple(found)


def right(
    name: str = "x", shape: tuple[int, ...] = (4, 5), dtype: str = "float64"
) -> GradCheckResult:
    """A gradient that is right."""
    u = ROUNDING[dtype]
    return GradCheckResult(
        name,
        shape,
        dtype,
        "cpu",
        "full",
        Verdict.PASS,
        max_relative_error=3 * u,
        mean_relative_error=u,
        median_relative_error=u,
        max_absolute_error=2 * u,
        mean_absolute_error=u,
        median_absolute_error=u / 2,
        num_elements=math.prod(shape),
        num_passed=math.prod(shape),
        resolution=max(3e-9, 20 * u),
        min_detectable_99=max(3e-9, 20 * u),
        num_forward=8 * math.prod(shape),
        num_backward=2,
        seconds=0.0042,
        levels=levels(),
    )


def wrong(
    name: str = "y",
    shape: tuple[int, ...] = (5, 3),
    dtype: str = "float64",
    *,
    change: Callable[[np.ndarray], np.ndarray] = lambda g: 2 * g,
    guesses: Sequence[tuple[float, str]] = ((1.0, "A = 2 * G"), (0.41, "A ignores the cotangent")),
    reason: Reason = Reason.MISMATCH,
) -> GradCheckResult:
    """A gradient that is wrong; `change` makes it from the right one."""
    size = math.prod(shape)
    truth = np.random.default_rng(7).standard_normal(shape)
    claimed = change(truth)
    bars = 1e-11 * (1 + np.random.default_rng(8).random(size))
    off = np.abs(claimed - truth).ravel()
    found = [
        ElementError(
            int(i), float(claimed.flat[i]), float(truth.flat[i]), float(bars[i]), Verdict.FAIL
        )
        for i in np.argsort(-off)
        if off[i] > 3 * bars[i]
    ]
    larger = np.maximum(np.maximum(abs(claimed), abs(truth)).ravel(), 1e-8)
    return replace(
        right(name, shape, dtype),
        verdict=Verdict.FAIL,
        reasons=(reason,),
        max_relative_error=float((off / larger).max()),
        median_relative_error=float(np.median(off / larger)),
        max_absolute_error=float(off.max()),
        num_passed=size - len(found),
        element_errors=tuple(found),
        hypotheses=tuple(Hypothesis(score, text) for score, text in guesses),
        levels=levels(1.0),
        detail=f"{len(found)} of {size} elements differ by more than their error bars",
    )


def undecided(reason: Reason = Reason.KINK, name: str = "x") -> GradCheckResult:
    """A gradient that could not be judged."""
    shape = (6,)
    found = (
        ElementError(3, 1.0, 0.5, 0.5, Verdict.INCONCLUSIVE),
        ElementError(0, math.nan, math.inf, math.inf, Verdict.INCONCLUSIVE),
    )
    return replace(
        right(name, shape, "float32"),
        verdict=Verdict.INCONCLUSIVE,
        reasons=(reason,),
        num_passed=4,
        element_errors=found,
        resolution=math.inf,
        min_detectable_99=math.inf,
        kinks=2,
        detail="2 of 6 elements lie where the function has no derivative",
    )


def directional() -> GradCheckResult:
    """A large gradient, checked along directions."""
    found = (ElementError(2, -3.25, 1.5, 1e-10, Verdict.FAIL),)
    return replace(
        wrong("w", (3, 3)),
        shape=(512, 512),
        mode="directional",
        num_elements=4,
        num_passed=3,
        element_errors=found,
        min_detectable_99=4e-5,
        hypotheses=(),
    )


def report(
    who: str, *results: GradCheckResult, audits: tuple[Audit, ...] = AUDITS
) -> GradCheckReport:
    """A report of one operator."""
    return GradCheckReport(
        who,
        results,
        audits,
        repro=f"from fluidcore import gradcheck\nprint(gradcheck.check_op({who!r}, seed=0))",
        source=f"csrc/fluidcore/ops/{who.split()[0]}.cc:41" if who.isascii() else "",
        env=ENV,
    )


def program_report() -> GradCheckReport:
    """Of a program in which one operator is wrong."""
    culprit = Culprit(
        0,
        17,
        "matmul_grad",
        "Y@GRAD",
        "fc_1.w@GRAD",
        Reason.MISMATCH,
        "train.py:41: hidden = layers.fc(image, 10)",
        "its gradient of Y is twice the numerical one, all other operators are right",
    )
    results = (right("fc_0.w", (8, 4)), wrong("fc_1.w", (4, 3)), right("fc_0.b", (4,)))
    return replace(report("program", *results), culprit=culprit, source="")


def failed_audit() -> GradCheckReport:
    """Whose gradients are right, but change from run to run."""
    bad = Audit(
        "same bits twice", Verdict.FAIL, Reason.NOT_REPEATABLE, "3 of 20 elements differ by 1 ulp"
    )
    return report("scatter_add", right(dtype="float32"), audits=(bad, *AUDITS[2:]))


def few() -> list[GradCheckReport]:
    """One of each kind."""

    def one_row(g: np.ndarray) -> np.ndarray:
        return np.where(np.arange(g.shape[0])[:, None] == 9, g * 1.05, g)

    corner = wrong("filter", (24, 30), change=one_row, guesses=[(0.62, "only row 9 is wrong")])
    loses = replace(right(dtype="bfloat16"), reasons=(Reason.PRECISION_LOSS,), detail="30 ulp")
    return [
        report("matmul", right("x"), wrong("y")),
        report("matmul", right("x", dtype="float32"), wrong("y", dtype="float32")),
        report("conv2d", right("image", (2, 3, 8, 8), "float32"), corner),
        program_report(),
        failed_audit(),
        report("relu", undecided()),
        report("sqrt", undecided(Reason.DOMAIN)),
        report("embedding", directional()),
        report("sum", loses),
        report(
            HOSTILE, replace(wrong(HOSTILE), detail=HOSTILE, hypotheses=(Hypothesis(1.0, HOSTILE),))
        ),
        report("nothing", audits=()),
        *(report("tanh", right(dtype=dtype)) for dtype in ROUNDING),
    ]


def many(operators: int = 200, bad: int = 12) -> list[GradCheckReport]:
    """Operators with two inputs in four dtypes; some are wrong in all of them."""
    found = []
    for number in range(operators):
        for dtype in ROUNDING:
            second = wrong("Y", (20, 12), dtype) if number < bad else right("Y", (20, 12), dtype)
            if number in (bad, bad + 1):
                second = replace(undecided(Reason.NOISE, "Y"), dtype=dtype)
            name = f"elementwise_operator_{number}"
            found.append(report(name, right("X", (3, 4), dtype), second))
    return found
