"""The state of a metric over batches as what JSON can hold, and back."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

import numpy as np

from fluidcore.metrics import MetricBase


def metric_state(name: str, metric: MetricBase) -> dict[str, Any]:
    """The attributes of a metric: numbers, text, arrays, and lists and other metrics of these.

    Args:
        name: Of the metric, for errors.
        metric: A metric of `fluid.metrics`, or one of the user.

    Raises:
        TypeError: An attribute is something else.
    """
    return {key: _saved(f"'{key}' of metric '{name}'", each) for key, each in vars(metric).items()}


def _saved(what: str, value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        values = value.ravel().tolist()
        return {"dtype": value.dtype.name, "shape": list(value.shape), "values": values}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [_saved(what, each) for each in value]
    if isinstance(value, MetricBase):
        return metric_state(value.name, value)
    raise TypeError(
        f"Trainer.train: {what} must be a number, text, an array or a list of these, so that it "
        f"can be saved in a checkpoint, got {type(value).__name__}"
    )


def restore_metric(metric: MetricBase, state: dict[str, Any]) -> None:
    """Puts back what `metric_state` gave, into a metric that was made in the same way."""
    for key, saved in state.items():
        setattr(metric, key, _restored(getattr(metric, key, None), saved))


def _restored(present: Any, saved: Any) -> Any:
    """A saved value, of the type of what is there at present."""
    if isinstance(present, MetricBase):
        restore_metric(present, saved)
        return present
    if isinstance(saved, dict):
        return np.array(saved["values"], saved["dtype"]).reshape(saved["shape"])
    if isinstance(saved, list):
        items = present if isinstance(present, (list, tuple)) else ()
        found = [_restored(old, new) for old, new in zip_longest(items, saved)][: len(saved)]
        return tuple(found) if isinstance(present, tuple) else found
    return saved
