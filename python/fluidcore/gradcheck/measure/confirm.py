"""A second measurement of what the first does not prove."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fluidcore import core
from fluidcore.gradcheck.measure.judge import LATE, Judgement, Reference, judge
from fluidcore.gradcheck.measure.modes import Indices
from fluidcore.gradcheck.measure.noise_level import NoiseLevel
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.target.target import Doubles


def noise_floor(session: Session, noise: Doubles | None) -> NoiseLevel:
    """The rounding inside of f, as measured along lines, and what runs at one point differ by.

    Args:
        session: The check.
        noise: Of the outputs, as far as runs at one point tell; None for rounding alone.
    """
    return session.inner_noise.at_least(noise)


def confirm(
    session: Session,
    k: int,
    judgement: Judgement,
    elements: Indices,
    noise: Doubles | None,
    *,
    rows: int = 0,
    probe: int | None = None,
) -> Judgement:
    """The judgement after a second measurement of every element that is not proven.

    Args:
        session: The check.
        k: Of the input.
        judgement: [r, n], by the first measurement.
        elements: [n], of the flattened input.
        noise: Of the outputs, as far as runs at one point tell; None for rounding alone.
        rows: As the engine takes it, where `elements` are all.
        probe: Of the cotangent, if there is one of a probe.
    """
    if judgement.is_proven:
        return judgement
    if session.late:
        # As long as there is no second measurement.
        return judgement.opened(judgement.wrong, flag=LATE)
    cotangents = range(len(judgement.wrong)) if probe is None else [probe]
    found, again = measured_again(
        session.function,
        k,
        (session.weights(i) for i in cotangents),
        judgement,
        session.rules,
        elements,
        noise=noise_floor(session, noise),
        rows=rows,
        seed=session.engine_seed,
        workers=session.workers,
    )
    session.calls.forwards += found
    return again


def measured_again(
    function: core.Function,
    k: int,
    cotangents: Iterable[Doubles],
    judgement: Judgement,
    rules: core.Rules,
    elements: Indices,
    *,
    noise: NoiseLevel,
    rows: int = 0,
    seed: int = 0,
    workers: int = 1,
) -> tuple[int, Judgement]:
    """The evaluations that a second measurement took, and the judgement after it.

    The first one is no longer of use: both are of the same derivatives, which have changed.
    """
    evaluations = core.confirm(
        function,
        k,
        cotangents,
        judgement.reference.native,
        judgement.analytical,
        judgement.tolerance,
        rules,
        elements=elements,
        noise=noise.near,
        far_noise=noise.far,
        rows=rows,
        seed=seed,
        workers=workers,
    )
    reference = Reference.of(judgement.reference.native)
    tolerance = np.maximum(judgement.tolerance, reference.native.formula_tolerance())
    return evaluations, judge(reference, judgement.analytical, tolerance, rules)
