"""The operator that is to blame for a wrong gradient of a program."""

from __future__ import annotations

from collections.abc import Mapping

from fluidcore import core
from fluidcore.gradcheck.adapters.program import ProgramTarget
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.localise.alignment import Aligned, Missing, align
from fluidcore.gradcheck.localise.blame import Blame, blame_for_edit, blame_for_missing
from fluidcore.gradcheck.localise.cuts import first_wrong_cut
from fluidcore.gradcheck.localise.kernels import first_wrong_kernel
from fluidcore.gradcheck.localise.observed import observe
from fluidcore.gradcheck.localise.reference import Pair, backward_pair
from fluidcore.gradcheck.localise.search import Search, same
from fluidcore.gradcheck.program.cast_program import cast_program
from fluidcore.gradcheck.program.network import fix_seeds
from fluidcore.gradcheck.program.places import Place, every_op, inner_block, with_source_line
from fluidcore.gradcheck.report.data import Culprit
from fluidcore.gradcheck.target.target import SHADOW, Array


def find_culprit(target: ProgramTarget, config: GradCheckConfig) -> Culprit | None:
    """The operator of a program that makes a gradient wrong; None if none was found.

    The gradient operators are taken in the order in which they run, with the values of one run.
    Each is compared with the numerical derivative of its forward operator, at what that operator
    read, and with the operator that backward would write in its place. If each is right by itself
    in float64, the kernels of the target's own dtype are compared with those of float64. What is
    left is found by cutting the program at one variable after the other.
    """
    pair = backward_pair(target)
    blame = _find(target, pair, config)
    return None if blame is None else _culprit(blame, pair.places)


def _find(target: ProgramTarget, pair: Pair, config: GradCheckConfig) -> Blame | None:
    values = target.recorded_values()
    aligned = _aligned(pair, SHADOW)
    try:
        seen = observe(pair, aligned, values, target.scope, SHADOW)
    except core.Error:
        return _blame_for_failed_run(pair)
    blame = Search(seen, aligned, pair, config.seed).first_wrong()
    if blame is not None:
        return blame
    if target.dtype != SHADOW:
        blame = _find_in_own_dtype(target, pair, values, config)
        if blame is not None:
            return blame
    if aligned.missing:
        return _blame_for(aligned.missing[0])
    return first_wrong_cut(target, pair, config.seed)


def _find_in_own_dtype(
    target: ProgramTarget, pair: Pair, values: Mapping[str, Array], config: GradCheckConfig
) -> Blame | None:
    aligned = _aligned(pair, None)
    try:
        seen = observe(pair, aligned, values, target.scope, None)
    except core.Error:
        return None
    changed = Search(seen, aligned, pair, config.seed).first_change()
    return changed or first_wrong_kernel(seen, pair.forward, config.seed)


def _aligned(pair: Pair, dtype: str | None) -> Aligned:
    if pair.reference is None:
        return Aligned()
    reference = pair.reference.clone()
    fix_seeds(reference)
    if dtype is not None:
        cast_program(reference, dtype)
    return align(pair.actual, reference, pair.forward)


def _blame_for_failed_run(pair: Pair) -> Blame | None:
    """The first operator that is not what it should be, in a program that cannot be run."""
    if pair.reference is None:
        return None
    aligned = align(pair.actual, pair.reference, pair.forward)
    for _, _, op in every_op(pair.actual):
        twin = aligned.twins.get(op.call_site())
        if twin is not None and inner_block(op) is None and not same(op, twin):
            variable = op.output_arg_names()[0]
            return blame_for_edit(pair, aligned, op.call_site(), op, twin, variable)
    return next((_blame_for(missing) for missing in aligned.missing), None)


def _blame_for(missing: Missing) -> Blame:
    return blame_for_missing(missing, missing.op.output_arg_names()[0])


def _culprit(blame: Blame, places: Mapping[str, Place]) -> Culprit:
    place = places.get(blame.op)
    if place is None:
        near = places.get(blame.near)
        block, op, site = blame.block, -1, near.call_site if near is not None else ""
    else:
        block, op, site = place.block, place.op, place.call_site
    return Culprit(
        block,
        op,
        blame.op_type,
        blame.slot,
        blame.variable,
        blame.reason,
        with_source_line(site),
        blame.detail,
    )
