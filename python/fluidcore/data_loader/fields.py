"""The names of the fields of a sample, and how samples become arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.base.checks import check_list, check_name, did_you_mean
from fluidcore.base.dtypes import DEFAULT_FLOATING
from fluidcore.base.numbers import Array, as_numbers, is_plain
from fluidcore.executor.feeding import as_declared
from fluidcore.program import Variable


class Names:
    """What the fields are called, in the order of a tuple; and the variables, where known.

    Args:
        feed_list: Variables or names; None where dicts have names and tuples have none.

    Raises:
        TypeError: It is no list, or holds something else.
        core.InvalidArgument: It is empty, or a name is in it twice.
    """

    def __init__(self, feed_list: Sequence[Variable | str] | None) -> None:
        self.variables: dict[str, Variable] = {}
        self.names: list[str] | None = None
        if feed_list is None:
            return
        if isinstance(feed_list, Variable):
            raise TypeError(f"DataLoader: feed_list must be a list, got {feed_list!r}")
        items = check_list("DataLoader: feed_list", feed_list)
        self.variables = {item.name: item for item in items if isinstance(item, Variable)}
        self.names = [
            item.name
            if isinstance(item, Variable)
            else check_name("DataLoader: what is in feed_list", item)
            for item in items
        ]
        if not self.names or len(set(self.names)) < len(self.names):
            raise core.InvalidArgument(
                f"DataLoader: feed_list must be different names, got {self.names}"
            )

    def applied(self, fields: Any, what: str) -> Any:
        """A tuple as a dict, a dict with these fields only; as they are where there are no names.

        Args:
            fields: A dict or a tuple; anything else is one field.
            what: Whose fields they are, for errors.

        Raises:
            core.InvalidArgument: There are more or fewer, or one is missing.
        """
        if self.names is None:
            return fields
        if isinstance(fields, Mapping):
            for name in self.names:
                if name not in fields:
                    raise core.InvalidArgument(
                        f"DataLoader: {what} must have a field '{name}', got {list(fields)}"
                        f"{did_you_mean(name, map(str, fields))}"
                    )
            return {name: fields[name] for name in self.names}
        if not isinstance(fields, tuple):
            fields = (fields,)
        if len(fields) != len(self.names):
            raise core.InvalidArgument(
                f"DataLoader: {what} must have {len(self.names)} fields, {self.names}, got "
                f"{len(fields)}"
            )
        return dict(zip(self.names, fields, strict=True))


def stacked(
    values: Sequence[Any], variable: Variable | None, what: str, places: Sequence[int], dataset: str
) -> Array:
    """One field of the samples of a batch as an array.

    Args:
        values: Numbers, lists of them, or arrays.
        variable: Whose dtype Python's numbers get; None for NumPy's, with float32 for floats.
        what: The name of the field, for errors.
        places: Of the samples in the data set, for errors.
        dataset: Its name, for errors.

    Returns:
        [samples, ...].

    Raises:
        core.InvalidArgument: A value is no number, or they differ in shape.
    """
    arrays: list[Array] = []
    for place, value in zip(places, values, strict=True):
        array = as_numbers(f"DataLoader: {what}", f"sample {place} of {dataset}", value)
        if arrays and array.shape != arrays[0].shape:
            raise core.InvalidArgument(
                f"DataLoader: the samples of a batch must be of one shape in {what}, got "
                f"{list(arrays[0].shape)} in sample {places[0]} and {list(array.shape)} in sample "
                f"{place} of {dataset}; pad them, or give a function as collate"
            )
        arrays.append(array)
    result = np.stack(arrays)
    if not all(map(is_plain, values)):
        return result
    if variable is not None:
        program = variable.block.program
        return np.asarray(as_declared(program, variable.name, result.tolist(), variable.desc))
    return result.astype(DEFAULT_FLOATING) if result.dtype == np.float64 else result
