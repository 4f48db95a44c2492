"""Error clips in gradient operators: which are in their place, and what they clip."""

from __future__ import annotations

import re

import numpy as np

from fluidcore import core
from fluidcore.gradcheck.program.network import Network

_GRADIENT = re.compile(r"^(?P<variable>.+)@GRAD(@VERSION@\d+)?(_\d+)?$")


def error_clip_of(desc: core.ProgramDesc, block: core.BlockDesc, op: core.OpDesc) -> bool:
    """Whether an operator is the error clip that its variable asks for.

    It clips the complete gradient of the variable, in place, to the bounds of the variable.
    """
    if op.type() != "clip" or op.input("X") != op.output("Out"):
        return False
    found = _GRADIENT.match(op.input("X")[0])
    if found is None or "@RENAME@" in op.input("X")[0]:
        return False
    seen_from = block
    if block.forward_block_idx() >= 0:
        seen_from = desc.block(block.forward_block_idx())
    variable = seen_from.find_var_recursive(found["variable"])
    bounds = None if variable is None else variable.error_clip()
    if bounds is None:
        return False
    return bool(np.allclose(bounds, (op.attr("min"), op.attr("max")), rtol=1e-6, atol=0))


def bypass_clips(desc: core.ProgramDesc) -> None:
    """Removes the error clips that are in their place."""
    for index in range(desc.num_blocks()):
        block = desc.block(index)
        for position in reversed(range(block.op_size())):
            if error_clip_of(desc, block, block.op(position)):
                block.remove_op(position, position + 1)


def clipped_elements(network: Network) -> dict[str, int]:
    """Gradient -> how many of its elements the error clips of the outermost block clip."""
    block = network.program.block(0)
    watched: dict[str, tuple[str, core.OpDesc]] = {}
    copy = network.program.clone()
    twin = copy.block(0)
    for position in reversed(range(block.op_size())):
        op = block.op(position)
        if error_clip_of(network.program, block, op):
            name = op.input("X")[0]
            before = f"{name}@BEFORE_CLIP@{position}"
            watched[before] = (name, op)
            declared = twin.var(before)
            like = block.find_var_recursive(name)
            declared.set_dtype(like.dtype())
            declared.set_shape(like.shape())
            twin.insert_op(position).copy_from(
                core.OpDesc("assign", {"X": [name]}, {"Out": [before]}, {})
            )
    if not watched:
        return {}
    found = core.Executor(core.CPUPlace()).run(copy, {}, list(watched), network.scope)
    counts: dict[str, int] = {}
    for (name, op), tensor in zip(watched.values(), found, strict=True):
        value = np.asarray(tensor).astype(np.float64)
        wrong = np.count_nonzero((value < op.attr("min")) | (value > op.attr("max")))
        counts[name] = counts.get(name, 0) + int(wrong)
    return {name: count for name, count in counts.items() if count}
