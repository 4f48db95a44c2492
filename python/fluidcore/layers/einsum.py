"""Products of tensors, written as Einstein's sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from fluidcore import core
from fluidcore.layers.helper import LayerHelper, atomic, check_variable
from fluidcore.program import Variable

_DOTS = "..."


@atomic
def einsum(equation: str, *operands: Variable, name: str | None = None) -> Variable:
    """A sum of products, as numpy.einsum: "bij,bjk->bik" is a product of matrices in batches.

    Two operands at a time, from the left, by transpose, reshape, matmul, elementwise_mul and
    reduce_sum, which have gradients of any order.

    Args:
        equation: A label for each dimension of each operand, and of the result: extents of one
            label are the same. Labels that the result has not are summed over. "..." stands for all
            dimensions without a label, which broadcast. Without "->" the result has what "..."
            stands for, then each label that is there once, in the order of the alphabet.
        *operands: At least one. A label that is there twice in one of them stands for the diagonal
            of its dimensions, whose extent is known: "ii->i", and "ii" for the trace.
        name: Name of the layer; None makes one up.

    Returns:
        The result, of the dtype of the operands.
    """
    for operand in operands:
        check_variable("einsum", "every operand", operand)
    inputs, output = _parsed(equation, operands)
    _check_extents(inputs, operands)
    steps = _Steps(LayerHelper("einsum", name))
    terms = [steps.diagonal(_Term(x, labels)) for x, labels in zip(operands, inputs, strict=True)]
    total = terms[0]
    for i, term in enumerate(terms[1:], start=1):
        needed = set(output).union(*(other.labels for other in terms[i + 1 :]))
        total = steps.product(
            steps.summed(total, needed | set(term.labels)),
            steps.summed(term, needed | set(total.labels)),
            needed,
        )
    return steps.permuted(steps.summed(total, set(output)), output).value


class _Term(NamedTuple):
    """A variable and a label for each of its dimensions."""

    value: Variable
    labels: str


def _parsed(equation: str, operands: Sequence[Variable]) -> tuple[list[str], str]:
    """The labels of the operands and of the result; a digit for each dimension of "..."."""
    if not isinstance(equation, str):
        raise TypeError(f"einsum: the equation must be a str, got {equation!r}")
    left, arrow, right = equation.replace(" ", "").partition("->")
    given = left.split(",")
    if len(given) != len(operands):
        raise core.InvalidArgument(
            f"einsum: there must be labels for each operand, got '{equation}' for {len(operands)}"
        )
    inputs = []
    for labels, operand in zip(given, operands, strict=True):
        _check_letters(equation, labels)
        spare = len(operand.shape) - len(labels.replace(_DOTS, ""))
        if spare < 0 or (spare > 0 and _DOTS not in labels):
            raise core.InvalidArgument(
                f"einsum: there must be a label for each dimension, got '{labels}' for "
                f"'{operand.name}' of shape {list(operand.shape)}"
            )
        inputs.append(labels.replace(_DOTS, _digits(spare, equation)))
    known = "".join(inputs)
    dots = _digits(sum(digit in known for digit in "0123456789"), equation)
    if not arrow:
        once = sorted(label for label in set(known) if known.count(label) == 1)
        return inputs, dots + "".join(label for label in once if label.isalpha())
    _check_letters(equation, right)
    if len(set(right.replace(_DOTS, ""))) < len(right.replace(_DOTS, "")):
        raise core.InvalidArgument(
            f"einsum: labels must differ within the result, got '{right}' in '{equation}'"
        )
    output = right.replace(_DOTS, dots)
    unknown = [label for label in output if label not in known]
    if unknown:
        raise core.InvalidArgument(
            f"einsum: labels of the result must be those of an operand, got '{unknown[0]}' in "
            f"'{equation}'"
        )
    if dots and _DOTS not in right:
        raise core.InvalidArgument(
            f"einsum: the result must have the '...' of the operands, got '{equation}'"
        )
    return inputs, output


def _digits(count: int, equation: str) -> str:
    """Labels of the dimensions of "...", counted from the last, which broadcast with each other."""
    if count > 10:
        raise core.InvalidArgument(
            f"einsum: '...' must stand for at most 10 dimensions, got {count} in '{equation}'"
        )
    return "".join(str(i) for i in reversed(range(count)))


def _check_letters(equation: str, labels: str) -> None:
    bare = labels.replace(_DOTS, "", 1)
    if not (bare.isalpha() and bare.isascii()) and bare:
        raise core.InvalidArgument(
            f"einsum: labels must be letters and one '...', got '{labels}' in '{equation}'"
        )


def _check_extents(inputs: Sequence[str], operands: Sequence[Variable]) -> None:
    extents: dict[str, int] = {}
    for labels, operand in zip(inputs, operands, strict=True):
        for label, extent in zip(labels, operand.shape, strict=True):
            if extent == -1 or (label.isdigit() and extent == 1):
                continue
            known = extents.setdefault(label, extent)
            if known != extent:
                who = "dimensions of '...'" if label.isdigit() else f"label '{label}'"
                raise core.InvalidArgument(
                    f"einsum: extents of {who} must be the same, got {known} and {extent}"
                )


class _Steps:
    """The operators of one sum."""

    def __init__(self, helper: LayerHelper) -> None:
        self._helper = helper

    def diagonal(self, term: _Term) -> _Term:
        """With each label once: of dimensions that share one, the elements of equal indices."""
        twice = next((label for label in term.labels if term.labels.count(label) > 1), None)
        if twice is None:
            return term
        first = term.labels.index(twice)
        second = term.labels.index(twice, first + 1)
        extent = max(term.value.shape[first], term.value.shape[second])
        if extent == -1:
            raise core.InvalidArgument(
                f"einsum: the extent of a label that is there twice must be known, got -1 for "
                f"'{twice}' of '{term.labels}'"
            )
        rest = [axis for axis in range(len(term.labels)) if axis not in (first, second)]
        axes = [*rest, first, second]
        value = self._helper.append("transpose", {"X": term.value}, {"axis": axes})
        pairs = self._reshaped(value, [*value.shape[:-2], extent * extent])
        cut = {"axes": [len(rest)], "starts": [0], "ends": [extent * extent]}
        found = self._helper.append("strided_slice", {"X": pairs}, {**cut, "strides": [extent + 1]})
        left = "".join(term.labels[axis] for axis in rest)
        return self.diagonal(_Term(found, left + twice))

    def summed(self, term: _Term, kept: set[str]) -> _Term:
        """Without the labels that nobody needs."""
        axes = [axis for axis, label in enumerate(term.labels) if label not in kept]
        if not axes:
            return term
        value = self._helper.append("reduce_sum", {"X": term.value}, {"dim": axes})
        left = "".join(label for label in term.labels if label in kept)
        return _Term(self._reshaped(value, []) if not left else value, left)

    def permuted(self, term: _Term, labels: str) -> _Term:
        if term.labels == labels:
            return term
        axes = [term.labels.index(label) for label in labels]
        return _Term(self._helper.append("transpose", {"X": term.value}, {"axis": axes}), labels)

    def product(self, x: _Term, y: _Term, needed: set[str]) -> _Term:
        """The product of two, summed over the labels that only they need."""
        both = [label for label in x.labels if label in y.labels]
        batch = "".join(label for label in both if label in needed)
        inner = "".join(label for label in both if label not in needed)
        rows = "".join(label for label in x.labels if label not in both)
        columns = "".join(label for label in y.labels if label not in both)
        if not inner:
            return self._outer(x, y, batch, rows, columns)
        left = self.permuted(x, batch + rows + inner)
        right = self.permuted(y, batch + inner + columns)
        size = len(batch)
        outer = [
            *left.value.shape[size : size + len(rows)],
            *right.value.shape[size + len(inner) :],
        ]
        out = self._helper.append(
            "matmul",
            {
                "X": self._matrices(left.value, size, len(rows), len(inner)),
                "Y": self._matrices(right.value, size, len(inner), len(columns)),
            },
        )
        if len(rows) != 1 or len(columns) != 1:
            out = self._reshaped(out, [*out.shape[:size], *outer])
        return _Term(out, batch + rows + columns)

    def _outer(self, x: _Term, y: _Term, batch: str, rows: str, columns: str) -> _Term:
        """Without a sum."""
        left = self.permuted(x, batch + rows).value
        right = self.permuted(y, batch + columns).value
        size = len(batch)
        if columns:
            end = len(left.shape)
            axes = list(range(end, end + len(columns)))
            left = self._helper.append("unsqueeze", {"X": left}, {"axes": axes})
        if rows and batch:
            axes = list(range(size, size + len(rows)))
            right = self._helper.append("unsqueeze", {"X": right}, {"axes": axes})
        inputs = {"X": left, "Y": right}
        return _Term(self._helper.append("elementwise_mul", inputs), batch + rows + columns)

    def _matrices(self, value: Variable, batch: int, rows: int, columns: int) -> Variable:
        """With the dimensions after the batch made two."""
        if rows == columns == 1:
            return value
        shape = list(value.shape)
        parts = [shape[batch : batch + rows], shape[batch + rows :]]
        merged = [-1 if -1 in part else math.prod(part) for part in parts]
        return self._reshaped(value, [*shape[:batch], *merged])

    def _reshaped(self, value: Variable, shape: list[int]) -> Variable:
        if shape.count(-1) > 1:
            raise core.InvalidArgument(
                "einsum: at most one extent may be unknown where dimensions are merged, "
                f"got {shape}"
            )
        return self._helper.append("reshape", {"X": value}, {"shape": shape})
