"""Batch norms whose statistics are those of the batches of all ranks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fluidcore import core
from fluidcore.program import Operator, Program, Variable


def synchronize_batch_norms(
    program: Program, communicator: core.Communicator, *, samples: Variable | None = None
) -> None:
    """Makes each batch_norm a c_batch_norm, so that n ranks calculate what one would.

    To be called before append_backward; a DistributedOptimizer does it with sync_batch_norm=True.
    Costs two small exchanges of each batch norm in a step, which nothing overlaps with. Those of
    `clone(for_test=True)` are batch_norm again, as are those with is_test. With one rank nothing
    is changed.

    Args:
        program: The forward program.
        communicator: The ranks.
        samples: As of `data_parallel`.

    Raises:
        core.InvalidArgument: The program has gradients of a batch norm already; nothing has
            changed.
    """
    if communicator.size > 1:
        _synchronize(program, samples)


@contextmanager
def synchronized(
    program: Program, communicator: core.Communicator, samples: Variable | None, is_wanted: bool
) -> Iterator[None]:
    """The same, if wanted; after an error inside the program is as before."""
    changed = _synchronize(program, samples) if is_wanted and communicator.size > 1 else []
    try:
        yield
    except BaseException:
        for op in changed:
            op.desc.set_type("batch_norm")
            op.desc.remove_input("Samples")
        raise


def _synchronize(program: Program, samples: Variable | None) -> list[Operator]:
    ops = [op for block in program.blocks for op in block.ops]
    for op in ops:
        if op.type == "batch_norm_grad":
            raise core.InvalidArgument(
                "synchronize_batch_norms: the program must have no gradients yet, got a "
                "batch_norm_grad; call it before append_backward"
            )
    changed = [op for op in ops if op.type == "batch_norm" and not op.attr("is_test")]
    for op in changed:
        op.desc.set_type("c_batch_norm")
        if samples is not None:
            op.desc.set_input("Samples", [samples.name])
    return changed
