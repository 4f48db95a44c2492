"""Variables that gradients do not pass, although values do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from fluidcore import core
from fluidcore.backward.operators import op_traits
from fluidcore.base.dtypes import FLOATING
from fluidcore.program.pruning import prune


def frozen_variables(
    desc: core.ProgramDesc, outputs: Sequence[str], inputs: Iterable[str], stopped: Collection[str]
) -> list[str]:
    """The results, on the way from inputs to outputs, that backward takes for constants.

    A gradient is compared with that of the function in which these keep their value. Only the
    outermost block is looked at, and variables that are written once; `replay_frozen` does it for
    inner blocks. `stopped` are constants beside the variables with `stop_gradient`.
    """
    forward = desc.clone()
    prune(forward, outputs, set())
    block = forward.block(0)
    ops = block.ops()
    writes = Counter(name for op in ops for name in op.output_arg_names())
    moved = set(inputs)
    frozen: list[str] = []
    for op in ops:
        if moved.isdisjoint(op.input_arg_names()):
            continue
        traits = op_traits(op.type())
        for name in op.output_arg_names():
            var = block.find_var(name)
            if var is None or var.dtype() not in FLOATING:
                continue
            is_constant = traits.is_constant or var.stop_gradient() or name in stopped
            if is_constant and writes[name] == 1 and not traits.runs_block and not traits.arrays:
                if name not in outputs:
                    frozen.append(name)
            else:
                moved.add(name)
    return list(dict.fromkeys(frozen))
