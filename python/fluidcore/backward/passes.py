"""The passes of append_backward over plain operator descriptions.

Each takes a list of operators and returns one; none changes what it is given.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import chain

from fluidcore.backward.operators import GradOp


class NoGradBranches:
    """Drops operators that calculate nothing but zeros, and makes the zeros that are still read.

    Args:
        available: Gradients that exist before the first operator.
        arrays: Gradients that are tensor arrays: where nothing was written they are zero.
    """

    def __init__(self, available: Iterable[str], arrays: Collection[str] = frozenset()) -> None:
        self.produced = set(available)
        self._arrays = arrays

    def remove(self, ops: Iterable[GradOp]) -> list[GradOp]:
        """The next operators, without those that get only zeros or whose results are unwanted.

        Args:
            ops: In execution order.

        Returns:
            Those that stay; before one that misses some of its gradients, a fill_zeros_like.
        """
        kept: list[GradOp] = []
        for op in ops:
            outputs = op.output_names()
            incoming = op.incoming
            if incoming is None:
                incoming = tuple(name for name in op.input_names() if name in op.cotangents)
            missing = dict.fromkeys(name for name in incoming if name not in self.produced)
            is_zero = bool(incoming) and all(name in missing for name in incoming)
            # Zeros, too, take the place of what is in an array.
            changes_array = any(n in self._arrays and n in self.produced for n in outputs)
            if not outputs or (is_zero and not changes_array):
                continue
            kept += [zeros_like(op, op.cotangents[n], n) for n in missing if n not in self._arrays]
            kept.append(op)
            self.produced.update(missing, outputs)
        return kept


def zeros_like(op: GradOp, variable: str, result: str) -> GradOp:
    """The operator that makes a gradient of zeros for a forward variable of `op`."""
    zeros = GradOp("fill_zeros_like", {"X": [variable]}, {"Out": [result]})
    return zeros._replace(call_site=op.call_site, forward=op.forward, new_values=op.new_values)


def drop_unread(ops: Sequence[GradOp], wanted: Collection[str]) -> list[GradOp]:
    """Drops the operators none of whose results is wanted or read."""
    read: set[str] = set()
    kept = []
    for op in reversed(ops):
        outputs = op.output_names()
        if any(name in wanted or name in read for name in outputs):
            read.update(op.input_names())
            kept.append(op)
    return kept[::-1]


def _addup_repetitive_outputs_(
    ops: Sequence[GradOp], in_place: Collection[str] = frozenset()
) -> list[GradOp]:
    """Gives every partial gradient its own name and sums them after the last one.

    before:  mul_grad -> x@GRAD           relu_grad -> x@GRAD
    after:   mul_grad -> x@GRAD@RENAME@0  relu_grad -> x@GRAD@RENAME@1
             sum(x@GRAD@RENAME@0, x@GRAD@RENAME@1) -> x@GRAD

    Args:
        ops: Gradient operators in execution order.
        in_place: Variables that operators add to themselves.
    """
    uses = Counter(chain.from_iterable(op.output_names() for op in ops))
    for name in in_place:
        uses.pop(name, None)
    partials: dict[str, list[str]] = defaultdict(list)

    def own_name(name: str) -> str:
        if uses[name] < 2:
            return name
        own = f"{name}@RENAME@{len(partials[name])}"
        partials[name].append(own)
        return own

    result: list[GradOp] = []
    for op in ops:
        shared = [name for name in dict.fromkeys(op.output_names()) if uses[name] > 1]
        if not shared:
            result.append(op)
            continue
        outputs = {slot: [own_name(name) for name in names] for slot, names in op.outputs.items()}
        result.append(op._replace(outputs=outputs, renamed=True))
        for name in shared:
            if len(partials[name]) == uses[name]:
                terms = {"X": partials[name]}
                result.append(GradOp("sum", terms, {"Out": [name]}, call_site=op.call_site))
    return result
