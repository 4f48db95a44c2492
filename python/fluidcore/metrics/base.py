"""What all metrics share."""

from __future__ import annotations

from typing import Any

from fluidcore import core
from fluidcore.base.checks import check_name


class MetricBase:
    """A number that is gathered over batches.

    Args:
        name: What it is called in messages; None for the name of the class.
    """

    def __init__(self, name: str | None = None) -> None:
        kind = type(self).__name__
        self.name = kind if name is None else check_name(f"{kind}: name", name)
        self.reset()

    def reset(self) -> None:
        """Forgets all batches."""
        raise NotImplementedError

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Adds a batch."""
        raise NotImplementedError

    def eval(self) -> Any:
        """The metric of all batches since the last reset.

        Raises:
            core.InvalidArgument: There was none.
        """
        raise NotImplementedError

    def _check_updated(self, count: float) -> None:
        if not count:
            raise core.InvalidArgument(
                f"{self.name}: eval must come after an update that counts something, got none "
                "since the last reset; call update with each batch"
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}('{self.name}')"
