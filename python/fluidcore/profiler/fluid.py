"""The profiler with the name and the arguments that it had in Fluid."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fluidcore import core
from fluidcore.profiler.profile import OperatorTime, Profile, profile

_KEYS: dict[str, Callable[[OperatorTime], float]] = {
    "total": lambda row: row.seconds,
    "calls": lambda row: row.calls,
    "ave": lambda row: row.seconds / row.calls,
    "max": lambda row: row.longest,
    "min": lambda row: row.shortest,
}


@contextmanager
def profiler(
    state: str = "All",
    sorted_key: str | None = None,
    profile_path: str | os.PathLike[str] | None = None,
) -> Iterator[Profile]:
    """Records the operators that run inside the `with` block, and prints the types at its end.

    Args:
        state: "CPU", "GPU" or "All"; all the same here.
        sorted_key: What the greatest of comes first: "total" time, the default, "calls", or the
            "ave"rage, "max" or "min" time of a call.
        profile_path: Where a trace is written; None for none.

    Yields:
        The profile.

    Raises:
        core.InvalidArgument: There is no such state or key.
    """
    if state not in ("CPU", "GPU", "All"):
        raise core.InvalidArgument(f'profiler: state must be "CPU", "GPU" or "All", got {state!r}')
    key = "total" if sorted_key in (None, "default") else sorted_key
    if key not in _KEYS:
        raise core.InvalidArgument(
            f"profiler: sorted_key must be one of {', '.join(_KEYS)}, got {sorted_key!r}"
        )
    with profile(profile_path) as recorded:
        yield recorded
    print(recorded.table(by_type=True, key=_KEYS[key]))
