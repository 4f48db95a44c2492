"""The check of a saved program by all ranks, for `fluidcore gradcheck program`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fluidcore import core
from fluidcore.executor import Executor
from fluidcore.gradcheck.cli.program import Ranks
from fluidcore.parallel.gradients import check_gradients
from fluidcore.parallel.processes import world
from fluidcore.program import Program, Variable, grad_var_name

if TYPE_CHECKING:
    from fluidcore.gradcheck import GradCheckConfig, GradCheckReport


def ranks() -> Ranks:
    """The processes of mpiexec."""
    communicator = world()
    return Ranks(communicator.size, partial(check_saved, communicator=communicator))


def check_saved(
    program: Program,
    loss: str,
    names: list[str] | None,
    values: Mapping[str, NDArray[Any]],
    config: GradCheckConfig,
    communicator: core.Communicator,
) -> GradCheckReport | None:
    """Checks that the gradients are those of the mean of the loss over all ranks.

    Args:
        program: With backward and the sums over the ranks; what updates parameters is left out.
        loss: The name of one number.
        names: Parameters; None for all that have a gradient.
        values: Of all data and parameters, the same on all ranks. Each gets its part of the rows of
            data whose first extent is -1.
        config: How it is checked.
        communicator: Of this rank.

    Returns:
        The report, on rank 0; None on the others.

    Raises:
        core.InvalidArgument: There is nothing to check, or rows do not divide.
    """
    ops = [op for block in program.blocks for op in block.ops]
    if any(op.type == "c_reduce_scatter" for op in ops):
        raise core.InvalidArgument(
            "gradcheck program: each rank must have whole gradients, got c_reduce_scatter, which "
            "leaves it a part of them; save the program of an optimizer without shard_state"
        )
    block = program.global_block()
    if block.var(loss).shape not in ((), (1,)):
        raise core.InvalidArgument(
            "gradcheck program: the loss of several ranks must be one number, got "
            f"{loss!r} of shape {list(block.var(loss).shape)}"
        )
    grads = {p.name: grad_var_name(p.name) for p in program.all_parameters()}
    found = {name: grad for name, grad in grads.items() if block.has_var(grad)}
    if names is not None:
        found = {name: found[name] for name in names if name in found}
    if not found or (names is not None and len(found) < len(names)):
        raise core.InvalidArgument(
            "gradcheck program: there must be parameters whose gradients the ranks add up, got "
            f"{', '.join(names or grads) or 'none'} without"
        )
    program = program.prune([loss, *found.values()])
    block = program.global_block()
    counts = {op.input("Samples")[0] for op in ops if "Samples" in op.input_names}
    data = [v for v in block.vars.values() if v.desc.is_data() and v.name not in counts]
    own, rows = _rows_of_rank(data, values, communicator, bool(counts))
    feed = {v.name: values[v.name][own] if _is_batch(v) else values[v.name] for v in data}
    feed |= {name: np.array([own.stop - own.start, rows]) for name in counts}
    scope = core.Scope()
    for variable in block.vars.values():
        if variable.persistable:
            scope.var(variable.name).get_tensor().set(values[variable.name])
    return check_gradients(
        block.var(loss),
        [(p, block.var(found[p.name])) for p in program.all_parameters() if p.name in found],
        feed,
        Executor(communicator=communicator),
        scope,
        samples=block.var(next(iter(counts))) if counts else None,
        config=config,
        raise_exception=False,
    )


def _is_batch(data: Variable) -> bool:
    return tuple(data.shape[:1]) == (-1,)


def _rows_of_rank(
    data: list[Variable],
    values: Mapping[str, NDArray[Any]],
    communicator: core.Communicator,
    may_differ: bool,
) -> tuple[slice, int]:
    """Which rows of the batch are those of this rank, and how many there are."""
    counted = {v.name: len(values[v.name]) for v in data if _is_batch(v)}
    rows = next(iter(counted.values()), communicator.size)
    if any(count != rows for count in counted.values()):
        raise core.InvalidArgument(
            f"gradcheck program: all data must have as many rows, got {counted}"
        )
    size, rank = communicator.size, communicator.rank
    if rows < size or (rows % size and not may_differ):
        raise core.InvalidArgument(
            "gradcheck program: each rank must have rows, as many as the others unless the "
            f"program counts them as `samples`, got {rows} rows for {size} ranks"
        )
    return slice(rows * rank // size, rows * (rank + 1) // size), rows
