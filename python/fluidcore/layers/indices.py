"""Layers that take or write the rows that an index names, as Fluid names their arguments."""

from __future__ import annotations

from collections.abc import Sequence

from fluidcore.base.dtypes import DTypeLike
from fluidcore.layers.helper import LayerHelper, check_variable, check_variables
from fluidcore.program import Variable


def gather(input: Variable, index: Variable) -> Variable:
    """Rows of a variable.

    Args:
        input: Rank 1 or more.
        index: int32 or int64 [n] or [n, 1], numbers of rows of `input`.

    Returns:
        [n, ...], the rows that `index` names.
    """
    check_variable("gather", "input", input)
    check_variable("gather", "index", index)
    return LayerHelper("gather").append("gather", {"X": input, "Index": index})


def scatter(
    input: Variable, index: Variable, updates: Variable, name: str | None = None
) -> Variable:
    """A variable with some of its rows replaced.

    Args:
        input: Rank 1 or more.
        index: int32 or int64 [n] or [n, 1], numbers of rows of `input`.
        updates: [n, ...], the rows to put there; of several for one row the last one stays.
        name: Name of the layer; None makes one up.

    Returns:
        Shape of `input`.
    """
    for argument, value in (("input", input), ("index", index), ("updates", updates)):
        check_variable("scatter", argument, value)
    inputs = {"Ref": input, "Index": index, "Updates": updates}
    return LayerHelper("scatter", name).append("scatter", inputs)


def multiplex(inputs: Sequence[Variable], index: Variable) -> Variable:
    """Each row from one of several variables.

    Args:
        inputs: Variables [n, ...] of one shape.
        index: int32 or int64 [n] or [n, 1], for each row which of `inputs` it is from.

    Returns:
        [n, ...].
    """
    choices = check_variables("multiplex", "inputs", inputs)
    check_variable("multiplex", "index", index)
    return LayerHelper("multiplex").append("multiplex", {"Ids": index, "X": choices})


def one_hot(input: Variable, depth: int, dtype: DTypeLike = "float32") -> Variable:
    """Rows of zeros with a 1 at one position.

    Args:
        input: int32 or int64 [..., 1], the positions.
        depth: How long a row is.
        dtype: Element type of the result.

    Returns:
        [..., depth]; a constant.
    """
    check_variable("one_hot", "input", input)
    attrs = {"depth": depth, "dtype": dtype}
    return LayerHelper("one_hot").append("one_hot", {"X": input}, attrs)


def argsort(
    input: Variable, axis: int = -1, descending: bool = False, name: str | None = None
) -> tuple[Variable, Variable]:
    """A variable sorted along one dimension, and where its elements were.

    Args:
        input: Rank 1 or more.
        axis: The dimension; negative counts from the end.
        descending: Whether the greatest comes first.
        name: Name of the layer; None makes one up.

    Returns:
        The elements, and their positions, int64; both of the shape of `input`. Equal elements stay
        in their order. The gradient of the elements goes to where they were.
    """
    check_variable("argsort", "input", input)
    helper = LayerHelper("argsort", name)
    values, indices = helper.temporary(), helper.temporary()
    outputs = {"Out": values, "Indices": indices}
    attrs = {"axis": axis, "descending": descending}
    helper.block.append_op("argsort", {"X": input}, outputs, attrs)
    return helper.block.var(values), helper.block.var(indices)


def sort(
    input: Variable, axis: int = -1, descending: bool = False, name: str | None = None
) -> Variable:
    """A variable sorted along one dimension, as argsort does it."""
    return argsort(input, axis, descending, name)[0]
