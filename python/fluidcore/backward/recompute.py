"""Recomputation: activations are calculated again during backward instead of being kept."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence

from fluidcore import core
from fluidcore.backward.names import GradientNames
from fluidcore.backward.operators import ForwardOp, GradOp, op_traits, renamed_slots


def recompute_segments(
    grads: Sequence[GradOp],
    ops: Sequence[ForwardOp],
    checkpoints: Collection[str],
    names: GradientNames,
) -> list[GradOp]:
    """Puts forward operators before the gradient operators that read what they calculate.

    The checkpoints cut the forward operators into segments. Only the checkpoints are kept, what
    several segments use, what is random or written in place, and the last segment, whose gradient
    comes first.

    Args:
        grads: Gradient operators of one block, in execution order.
        ops: The operators of its forward block.
        checkpoints: Forward variables.
        names: Gives names to what is calculated again.
    """
    segments = _Segments(ops, checkpoints, names.versions.several)
    needed = segments.needed_by(grads, names.taken)
    again: dict[int, dict[str, str]] = {}
    result: list[GradOp] = []
    for grad in grads:
        segment = segments.of(grad.forward.position) if grad.forward else None
        if segment is None or segment not in needed:
            result.append(grad)
            continue
        if segment not in again:
            emitted = list(segments.operators_for(segment, needed[segment]))
            made = [name for op in emitted for name in op.outputs]
            again[segment] = {name: names.fresh(f"{name}@RECOMPUTED") for name in made}
            result += [_emitted(op, again[segment]) for op in emitted]
        shape_only = op_traits(grad.type).shape_only(grad.outputs)
        inputs = {
            slot: args if slot in shape_only else [again[segment].get(name, name) for name in args]
            for slot, args in grad.inputs.items()
        }
        result.append(grad._replace(inputs=inputs, renamed=True))
    return result


class _Segments:
    """The forward operators between two checkpoints."""

    def __init__(
        self, ops: Sequence[ForwardOp], checkpoints: Collection[str], several: Collection[str]
    ) -> None:
        self._ops = ops
        self._ends = sorted(
            {op.position for op in ops if not set(checkpoints).isdisjoint(op.outputs)}
        )
        self._writer: dict[str, ForwardOp] = {}
        for op in ops:
            if not _can_run_again(op, several):
                continue
            self._writer.update((name, op) for name in op.outputs if name not in checkpoints)

    def of(self, position: int) -> int:
        return bisect_left(self._ends, position)

    def needed_by(self, grads: Sequence[GradOp], taken: Collection[str]) -> dict[int, set[str]]:
        """Segment -> what its gradient operators, and no others, read and can be had again."""
        readers: dict[str, set[int]] = {}
        for grad in grads:
            if grad.forward is None:
                continue
            shape_only = op_traits(grad.type).shape_only(grad.outputs)
            for slot, args in grad.inputs.items():
                for name in args:
                    if slot not in shape_only and name not in taken and name in self._writer:
                        readers.setdefault(name, set()).add(self.of(grad.forward.position))
        needed: dict[int, set[str]] = {}
        for name, segments in readers.items():
            segment = self.of(self._writer[name].position)
            if segments == {segment} and segment < len(self._ends):
                needed.setdefault(segment, set()).add(name)
        return needed

    def operators_for(self, segment: int, wanted: Collection[str]) -> Iterator[ForwardOp]:
        """The operators of a segment that calculate `wanted`."""
        needed = set(wanted)
        kept = []
        for op in reversed(self._ops):
            if self.of(op.position) != segment or needed.isdisjoint(op.outputs):
                continue
            if all(self._writer.get(name) is not op for name in op.outputs):
                continue  # what it calculates is kept
            kept.append(op)
            needed.update(op.inputs)
        return reversed(kept)


def _can_run_again(op: ForwardOp, several: Collection[str]) -> bool:
    written_once = not any(name in several for name in (*op.inputs, *op.outputs))
    plain = op.body is None and not op.has_arrays and not op_traits(op.type).is_random
    return plain and written_once


def _emitted(op: ForwardOp, again: dict[str, str]) -> GradOp:
    assert op.desc is not None
    desc = core.OpDesc()
    desc.copy_from(op.desc)
    inputs = renamed_slots(op.desc.inputs(), again)
    outputs = renamed_slots(op.desc.outputs(), again)
    site = op.desc.call_site()
    return GradOp(op.type, inputs, outputs, desc=desc, renamed=True, call_site=site)
