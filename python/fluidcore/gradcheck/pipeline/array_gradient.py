"""The verdict, from error bars, on a gradient that is just an array."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from fluidcore import core
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.measure.flags import Indices
from fluidcore.gradcheck.measure.session import configured
from fluidcore.gradcheck.pipeline import assemble
from fluidcore.gradcheck.report.result import GradCheckResult
from fluidcore.gradcheck.target.calls import flat
from fluidcore.gradcheck.target.random_numbers import few_bits, stream
from fluidcore.gradcheck.target.target import SHADOW, Array, Target
from fluidcore.gradcheck.verdict import Reason, Verdict


def judge_array(
    target: Target, analytical: Array, cotangent: Array, name: str, config: GradCheckConfig
) -> GradCheckResult:
    """Judges the gradient by the one input of a target with one output.

    The reference is calculated in float64 where f can be; the gradient may differ from it by the
    rounding of its own dtype. How it was calculated is not known, so there are no audits. Of a
    gradient with more than `config.n_full` elements, so many are judged, drawn at random.

    Args:
        target: f; its own gradient is not asked for.
        analytical: The gradient, of the shape of the input.
        cotangent: What it belongs to, of the shape of the output.
        name: Of the result.
        config: Settings without a step and without tolerances.
    """
    started = time.perf_counter()
    base = GradCheckResult(
        name,
        tuple(analytical.shape),
        target.dtype,
        target.place,
        "full",
        Verdict.PASS,
        resolution=0.0,
        min_detectable_99=0.0,
    )
    claimed = analytical.astype(np.float64).reshape(1, -1)
    if claimed.size == 0:
        return base
    dtype = target.judged_in(config.shadow)
    function = target.function(dtype)
    outputs = [np.asarray(y) for y in function.run()]
    if not np.isfinite(flat(outputs)).all():
        return assemble.undecided(base, Reason.DOMAIN, f"f is not finite at the point, in {dtype}")
    if not np.isfinite(claimed).all():
        return assemble.not_finite(base, claimed[0])
    seed = config.seed % 2**32
    noise, _ = core.noise_floor(function, seed)
    formula = core.Formula(
        function,
        None,
        [[cotangent]],
        outputs,
        configured(core.Rules.of(target.dtype, alone=dtype != SHADOW), config),
        alone=dtype != SHADOW,
        noise=noise,
        seed=seed,
    )
    elements = _elements(claimed.size, name, config)
    found = formula.check_elements(
        0,
        elements,
        rows=0,
        direction=lambda: few_bits(
            stream(config.seed, name, "direction").standard_normal(claimed.size)
        ),
        claimed=claimed[:, elements],
        made_in=target.dtype,
    )
    assert found is not None
    result = assemble.of_elements(
        base,
        found.judgement,
        found.reference,
        elements,
        failing=Reason.MISMATCH,
        verbose=config.verbose,
    )
    return replace(
        result,
        min_detectable_99=result.min_detectable_99
        if elements.size == claimed.size
        else float("inf"),
        num_forward=formula.evaluations,
        seconds=time.perf_counter() - started,
    )


def _elements(size: int, name: str, config: GradCheckConfig) -> Indices:
    wanted = min(size, config.n_full if config.subset is None else config.subset)
    chosen = stream(config.seed, name, "subset").choice(size, max(wanted, 1), replace=False)
    return np.sort(chosen).astype(np.int64)
