"""Fluid's way to spread a batch over devices, which has nothing to do on one CPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from fluidcore import core
from fluidcore.base.checks import is_whole
from fluidcore.program import Variable


class PlaceList(list[core.CPUPlace]):
    """Devices."""

    type = core.DataType.PLACE_LIST  # as of the variable that Fluid kept them in


def get_places(device_count: int | None = None, device_type: str | None = None) -> PlaceList:
    """The devices that a ParallelDo works on: the CPU.

    Args:
        device_count: How many; None or 0 means one.
        device_type: "CPU"; None means it, too.

    Raises:
        core.InvalidArgument: An argument is not as above.
    """
    if device_type is not None and device_type.upper() != "CPU":
        raise core.InvalidArgument(
            f"get_places: device_type must be 'CPU' in this build, got {device_type!r}"
        )
    if device_count is not None and not (is_whole(device_count) and device_count >= 0):
        raise core.InvalidArgument(
            f"get_places: device_count must be a whole number of at least 0, got {device_count!r}"
        )
    return PlaceList(core.CPUPlace() for _ in range(device_count or 1))


class ParallelDo:
    """Layers that Fluid ran once on each device, with a part of the batch.

    Here they are appended as they are, and run once with the whole batch: every operator uses all
    threads of the CPU by itself. So what is written has the extents of the whole batch, and batch
    norms see all of it.

    Args:
        places: What get_places gave.
        use_nccl: Accepted for Fluid's sake.

    Raises:
        TypeError: `places` is no list of places.
    """

    def __init__(self, places: Sequence[core.CPUPlace], use_nccl: bool = False) -> None:
        del use_nccl
        if not isinstance(places, (list, tuple)) or not places:
            raise TypeError(
                f"ParallelDo: places must be a list that get_places() gave, got {places!r}"
            )
        self._outputs: list[Variable] = []
        self._is_done = False

    @contextmanager
    def do(self) -> Iterator[None]:
        """The `with` block of the layers."""
        yield
        self._is_done = True

    def read_input(self, var: Variable) -> Variable:
        """The part of a variable for this device: all of it."""
        return var

    def write_output(self, var: Variable) -> None:
        """Makes a variable of the `with` block a result."""
        self._outputs.append(var)

    def __call__(self) -> Variable | list[Variable]:
        """The result, or a list of them.

        Raises:
            core.InvalidArgument: The block is not over, or nothing was written.
        """
        if not self._is_done or not self._outputs:
            raise core.InvalidArgument(
                "ParallelDo: the block of do() must be over and have written a result, got "
                f"{len(self._outputs)} results; call write_output(...)"
            )
        return self._outputs[0] if len(self._outputs) == 1 else self._outputs
