"""Where batches come from: arrays that are sliced, or samples that are put together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias

import numpy as np

from fluidcore import core
from fluidcore.base.numbers import Array
from fluidcore.data_loader.fields import Names, stacked

Indices: TypeAlias = "range | Array"  # of the samples of a batch
Collate: TypeAlias = Callable[[list[Any]], Any]


class Source(Protocol):
    """Something that batches are made of."""

    size: int  # samples

    def batch(self, indices: Indices) -> Any:
        """Samples as one batch; called by several threads at once."""


class Arrays:
    """Arrays with the samples along the first dimension.

    Args:
        columns: A dict or a tuple of arrays.
        names: Of the fields.

    Raises:
        TypeError: Something is no array.
        core.InvalidArgument: There is none, one has no dimension, or they differ in their first
            extents.
    """

    def __init__(self, columns: Mapping[str, Array] | tuple[Array, ...], names: Names) -> None:
        pairs = list(columns.items() if isinstance(columns, Mapping) else enumerate(columns))
        texts = []
        for key, array in pairs:
            if not isinstance(array, np.ndarray):
                raise TypeError(
                    f"DataLoader: {key!r} of the arrays must be an array, got "
                    f"{type(array).__name__}; write np.asarray(...)"
                )
            texts.append(f"{key!r} {list(array.shape)}")
        extents = {array.shape[:1] for _, array in pairs}
        if len(extents) != 1 or () in extents:
            raise core.InvalidArgument(
                "DataLoader: the first extents of the arrays, the number of samples, must be "
                f"equal, got {', '.join(texts) or 'no array'}"
            )
        self.size: int = next(iter(extents))[0]
        self._columns = names.applied(columns, "the arrays")

    def batch(self, indices: Indices) -> Any:
        """Views of neighbours, copies of others."""
        if isinstance(self._columns, Mapping):
            return {key: _rows(array, indices) for key, array in self._columns.items()}
        return tuple(_rows(array, indices) for array in self._columns)

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> Any:
        if isinstance(self._columns, Mapping):
            return {key: array[index] for key, array in self._columns.items()}
        return tuple(array[index] for array in self._columns)


def _rows(array: Array, indices: Indices) -> Array:
    if isinstance(indices, range):
        return array[indices.start : indices.stop]
    return np.take(array, indices, axis=0)


class Samples:
    """A data set that gives its samples one by one.

    Args:
        dataset: Anything with `__len__` and `__getitem__`.
        name: How errors call it.
        names: Of the fields.
        collate: Makes a batch of a list of samples; None stacks their fields.
    """

    def __init__(self, dataset: Any, name: str, names: Names, collate: Collate | None) -> None:
        self.size = len(dataset)
        self._dataset = dataset
        self._name = name
        self._names = names
        self._collate = collate

    def batch(self, indices: Indices) -> Any:
        """The samples, put together; what is raised has a note that says of which sample."""
        places = [int(index) for index in indices]
        samples = []
        for place in places:
            with _noted(f"DataLoader: at sample {place} of {self._name}"):
                samples.append(self._dataset[place])
        if self._collate is None:
            return self._stacked(samples, places)
        with _noted(f"DataLoader: in collate of samples {places} of {self._name}"):
            batch = self._collate(samples)
        return self._names.applied(batch, "what collate returns")

    def _stacked(self, samples: list[Any], places: list[int]) -> Any:
        first = self._fields(samples[0], places[0])
        columns: dict[Any, list[Any]] = {key: [] for key in first}
        for place, sample in zip(places, samples, strict=True):
            fields = self._fields(sample, place)
            if fields.keys() != first.keys():
                raise core.InvalidArgument(
                    "DataLoader: the samples of a batch must have the same fields, got "
                    f"{list(first)} in sample {places[0]} and {list(fields)} in sample {place} of "
                    f"{self._name}"
                )
            for key, value in fields.items():
                columns[key].append(value)
        arrays = {
            key: stacked(
                values,
                self._names.variables.get(key),
                f"'{key}'" if isinstance(key, str) else f"field {key}",
                places,
                self._name,
            )
            for key, values in columns.items()
        }
        is_named = self._names.names is not None or isinstance(samples[0], Mapping)
        return arrays if is_named else tuple(arrays.values())

    def _fields(self, sample: Any, place: int) -> Mapping[Any, Any]:
        """Name, or number where there are no names -> value."""
        named = self._names.applied(sample, f"sample {place} of {self._name}")
        if isinstance(named, Mapping):
            return named
        return dict(enumerate(named if isinstance(named, tuple) else (named,)))


@contextmanager
def _noted(note: str) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        error.add_note(note)
        raise


def source_of(dataset: Any, names: Names, collate: Collate | None) -> Source:
    """What a data set is: arrays, or samples.

    Raises:
        TypeError: It is neither.
        core.InvalidArgument: It has no sample, or as for Arrays.
    """
    name = type(dataset).__name__
    source: Source
    if isinstance(dataset, np.ndarray):
        dataset = (dataset,)
    if isinstance(dataset, Mapping) or _is_tuple_of_arrays(dataset):
        source = Arrays(dataset, names if collate is None else Names(None))
        if collate is not None:
            source = Samples(source, name, names, collate)
    elif hasattr(dataset, "__len__") and hasattr(dataset, "__getitem__"):
        source = Samples(dataset, name, names, collate)
    else:
        raise TypeError(
            "DataLoader: dataset must have __len__ and __getitem__, or be a dict or a tuple of "
            f"arrays, got {name}"
        )
    if source.size == 0:
        raise core.InvalidArgument(
            f"DataLoader: dataset must have at least one sample, got {name} of length 0"
        )
    return source


def _is_tuple_of_arrays(dataset: Any) -> bool:
    """Whether a tuple is meant as arrays: as long as one is, and the rest may be a mistake."""
    items: Sequence[Any] = dataset if isinstance(dataset, tuple) else ()
    return any(isinstance(item, np.ndarray) for item in items)
