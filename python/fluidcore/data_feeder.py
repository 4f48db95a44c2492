"""DataFeeder: minibatches of samples as what Executor.run is fed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from math import prod
from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.base.checks import check_list, extents_agree
from fluidcore.base.numbers import Array, as_numbers, is_plain
from fluidcore.executor.feeding import as_declared
from fluidcore.program import Program, Variable, default_main_program
from fluidcore.program.arguments import variable_names


class DataFeeder:
    """Turns minibatches, lists of samples, into arrays with the names, types and shapes to feed.

        feeder = fluid.DataFeeder([image, label], fluid.CPUPlace())
        for minibatch in fluid.batch(train, 32)():
            exe.run(feed=feeder.feed(minibatch), fetch_list=[loss])

    Args:
        feed_list: Variables, or names, one for each field of a sample. The first extent of each is
            the number of samples.
        place: Accepted for Fluid's sake.
        program: Whose variables; None for that of the first Variable, else the default main
            program.

    Raises:
        TypeError: An argument is of another type.
        core.NotFound: A name is of no variable.
        core.InvalidArgument: The list is empty, or a variable is in it twice, of another program,
            a nested sequence (`lod_level` above 0), or without an extent for the samples.
    """

    def __init__(
        self,
        feed_list: Sequence[Variable | str],
        place: core.CPUPlace | core.CUDAPlace | None = None,
        program: Program | None = None,
    ) -> None:
        if place is not None and not isinstance(place, (core.CPUPlace, core.CUDAPlace)):
            raise TypeError(f"DataFeeder: place must be CPUPlace() or CUDAPlace(i), got {place!r}")
        if program is not None and not isinstance(program, Program):
            raise TypeError(f"DataFeeder: program must be a Program, got {type(program).__name__}")
        items = feed_list
        if not isinstance(feed_list, (str, Variable)):
            items = check_list("DataFeeder: feed_list", feed_list)
            if program is None:
                own = (item.block.program for item in items if isinstance(item, Variable))
                program = next(own, None)
        self.place = place
        self._program = default_main_program() if program is None else program
        names = variable_names("DataFeeder: feed_list", items, self._program)
        if not names or len(set(names)) < len(names):
            raise core.InvalidArgument(
                f"DataFeeder: feed_list must be different variables, got {names}"
            )
        self._variables = [self._program.global_block().var(name) for name in names]
        for variable in self._variables:
            _check_can_be_fed(variable)

    def feed(self, minibatch: Iterable[Any]) -> dict[str, Array]:
        """The fields of the samples, stacked.

        A field is a number, an array, or a list of numbers, flat ones too: it is reshaped to the
        variable's extents behind the first, in row-major order. It converts as what is fed to
        Executor.run does.

        Args:
            minibatch: Samples: tuples or lists of fields, one for each variable. Where there is one
                variable, a sample may be the field itself, if that is no tuple or list.

        Returns:
            Name -> [samples, ...], of the dtype of the variable.

        Raises:
            TypeError: `minibatch` cannot be iterated over.
            core.InvalidArgument: There is no sample; one has more or fewer fields, extents that do
                not fit, or what is no number, or does not convert without loss.
        """
        samples = check_list("DataFeeder.feed: minibatch", minibatch)
        if not samples:
            raise core.InvalidArgument("DataFeeder.feed: minibatch must have a sample, got none")
        rows = [self._fields(number, sample) for number, sample in enumerate(samples)]
        columns = zip(*rows, strict=True)
        return {
            variable.name: self._stacked(variable, column)
            for variable, column in zip(self._variables, columns, strict=True)
        }

    def _fields(self, number: int, sample: Any) -> Sequence[Any]:
        fields = sample if isinstance(sample, (tuple, list)) else (sample,)
        if len(fields) != len(self._variables):
            names = [variable.name for variable in self._variables]
            cure = "; write (x,) for a sample of one field x" if len(names) == 1 else ""
            raise core.InvalidArgument(
                f"DataFeeder.feed: a sample must have {len(names)} fields, {names}, got "
                f"{len(fields)} in sample {number}{cure}"
            )
        return fields

    def _stacked(self, variable: Variable, column: Sequence[Any]) -> Array:
        name, (count, *extents) = variable.name, variable.shape
        if count not in (-1, len(column)):
            raise core.InvalidArgument(
                f"DataFeeder.feed: a minibatch of '{name}' must have {count} samples, its first "
                f"extent, got {len(column)}"
            )
        arrays = [
            as_numbers(f"DataFeeder.feed: '{name}'", f"sample {number}", value)
            for number, value in enumerate(column)
        ]
        for number, array in enumerate(arrays):
            _check_fits(name, extents, number, array, arrays[0])
        if -1 in extents:
            extents = list(arrays[0].shape)
        parts = []
        for plain, pairs in groupby(zip(column, arrays, strict=True), lambda p: is_plain(p[0])):
            part = np.stack([array.reshape(extents) for _, array in pairs])
            # Python's numbers convert where they fit, the elements of an array as its type says.
            value = part.tolist() if plain else part
            array = np.asarray(as_declared(self._program, name, value, variable.desc))
            parts.append(array.reshape(part.shape))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _check_can_be_fed(variable: Variable) -> None:
    name, shape = variable.name, list(variable.shape)
    if variable.lod_level:
        raise core.InvalidArgument(
            f"DataFeeder: '{name}' must be a plain tensor, got lod_level {variable.lod_level}; pad "
            "its sequences to one length and feed their lengths as a variable of their own"
        )
    if not shape:
        raise core.InvalidArgument(
            f"DataFeeder: the first extent of '{name}' must be for the samples, got shape []"
        )


def _check_fits(name: str, extents: list[int], number: int, array: Array, first: Array) -> None:
    shape = list(array.shape)
    if -1 not in extents:
        if array.size != prod(extents):
            raise core.InvalidArgument(
                f"DataFeeder.feed: a sample of '{name}' must have {prod(extents)} numbers, for "
                f"{extents}, got {array.size}, {shape}, in sample {number}"
            )
    elif not extents_agree(extents, shape):
        raise core.InvalidArgument(
            f"DataFeeder.feed: a sample of '{name}' must be {extents}, -1 for any extent, got "
            f"{shape} in sample {number}"
        )
    elif array.shape != first.shape:
        raise core.InvalidArgument(
            f"DataFeeder.feed: the samples of '{name}' must be of one shape, got "
            f"{list(first.shape)} in sample 0 and {shape} in sample {number}; pad them"
        )
