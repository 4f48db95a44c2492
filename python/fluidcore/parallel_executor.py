"""ParallelExecutor: Fluid's way to run a program on several devices, here on one CPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.executor import Executor
from fluidcore.program import Program, Variable, default_main_program


class ParallelExecutor:
    """An Executor for one program, which is run with whole batches.

    Where Fluid had a copy of the program on each device, every operator uses all threads by itself
    (`set_num_threads`). So what is fetched has the extents of the whole batch, and is there once.

    Args:
        use_cuda: Must be False.
        loss_name: Accepted for Fluid's sake: gradients need no division by a number of devices.
        main_program: None for the default main program.
        num_threads: Accepted, and so are the following.
        allow_op_delay: Accepted.
        share_vars_from: Accepted; all executors share the global scope.
        **settings: Accepted.

    Raises:
        core.InvalidArgument: use_cuda is True.
    """

    def __init__(
        self,
        use_cuda: bool,
        loss_name: str | None = None,
        main_program: Program | None = None,
        num_threads: int | None = None,
        allow_op_delay: bool = False,
        share_vars_from: ParallelExecutor | None = None,
        **settings: Any,
    ) -> None:
        del loss_name, num_threads, allow_op_delay, share_vars_from, settings
        if use_cuda:
            raise core.InvalidArgument(
                "ParallelExecutor: use_cuda must be False in this build, got True"
            )
        self._program = default_main_program() if main_program is None else main_program
        self._executor = Executor()

    @property
    def device_count(self) -> int:
        """The number of devices."""
        return 1

    def run(
        self,
        fetch_list: Sequence[Variable | str],
        feed: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        feed_dict: Mapping[str, Any] | None = None,
        return_numpy: bool = True,
    ) -> list[Any]:
        """Runs the program once.

        Args:
            fetch_list: As of `Executor.run`.
            feed: As of `Executor.run`; or a list of such, one for each device in Fluid, which are
                put together along the first extent.
            feed_dict: `feed` under its early name.
            return_numpy: As of `Executor.run`.

        Returns:
            The fetched values.

        Raises:
            core.Error: As of `Executor.run`.
        """
        given = feed_dict if feed is None else feed
        if given is not None and not isinstance(given, Mapping):
            given = _together(given)
        return self._executor.run(self._program, given, fetch_list, None, return_numpy)

    def bcast_params(self) -> None:
        """Does nothing: there is one copy of the parameters."""


def _together(feeds: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    names = [sorted(feed) for feed in feeds]
    if any(each != names[0] for each in names):
        raise core.InvalidArgument(
            f"ParallelExecutor.run: every item of feed must have the same names, got {names}"
        )
    if not feeds:
        return {}
    return {name: np.concatenate([np.asarray(feed[name]) for feed in feeds]) for name in feeds[0]}
