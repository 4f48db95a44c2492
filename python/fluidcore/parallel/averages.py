"""Values of all ranks in a program: losses and measures to be shown."""

from __future__ import annotations

from fluidcore import core
from fluidcore.program import Variable


def average(
    x: Variable, communicator: core.Communicator, samples: Variable | None = None
) -> Variable:
    """The mean of a variable over the ranks, such as the loss of the whole batch.

    Its gradient is the mean of theirs. With one rank this is `x`.

    Args:
        x: Floating, of one shape on all ranks.
        communicator: The ranks.
        samples: As of `data_parallel`.

    Returns:
        A new variable like `x`.

    Raises:
        core.InvalidArgument: `x` is not floating.
    """
    if communicator.size == 1:
        return x
    block = x.block.program.current_block()
    inputs = {"X": x} if samples is None else {"X": x, "Samples": samples}
    return block.append_single("c_average", inputs, {}, key=f"{x.name}.mean")
