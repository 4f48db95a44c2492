"""Gradients of gradients of recorded operators: `gradients` of `gradients` on their tape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fluidcore import core
from fluidcore.backward import gradients
from fluidcore.eager.operation import Array
from fluidcore.eager.tape import Tape

if TYPE_CHECKING:
    from fluidcore.eager.tensor import Tensor

_COTANGENT, _DIRECTION = "cotangent", "direction"


def second_gradients_of(
    result: Tensor, leaves: Sequence[Tensor], cotangent: Array, directions: Sequence[Array]
) -> tuple[list[Array], Array]:
    """The gradients of Σ direction·gradient, by each leaf and by the cotangent.

    Args:
        result: What is differentiated; it depends on a leaf.
        leaves: By which.
        cotangent: Of the form of `result`.
        directions: For each leaf an array of its form.

    Raises:
        core.InvalidArgument: A gradient operator has no gradient.
    """
    found = [np.zeros_like(leaf.array) for leaf in leaves]
    index = {id(leaf): k for k, leaf in enumerate(leaves)}
    if result.record is None:  # a leaf itself: the gradient is the cotangent
        return found, np.array(directions[index[id(result)]])
    tape = Tape(result.record, result.position)
    names, program = tape.names(), tape.program()
    block = program.global_block()
    target = block.var(names[tape.target])
    weight = block.create_var(_COTANGENT, shape=target.shape, dtype=target.dtype)
    wanted = [number for number, leaf in tape.leaves.items() if id(leaf) in index]
    inputs = [block.var(names[number]) for number in wanted]
    first = gradients([target], inputs, [weight])
    feed = {_COTANGENT: cotangent} | dict(zip(names, tape.values, strict=True))
    pairs = []
    for number, gradient in zip(wanted, first, strict=True):
        if gradient is not None:
            name = f"{_DIRECTION}_{number}"
            feed[name] = directions[index[id(tape.leaves[number])]]
            like = block.var(names[number])
            direction = block.create_var(name, shape=like.shape, dtype=like.dtype)
            pairs.append((gradient, direction))
    by_cotangent = np.zeros_like(cotangent)
    if not pairs:
        return found, by_cotangent
    targets, weights = zip(*pairs, strict=True)
    second = gradients(list(targets), [*inputs, weight], list(weights))
    fetches = [gradient.name for gradient in second if gradient is not None]
    if not fetches:
        return found, by_cotangent
    desc = program.prune(fetches, names).desc
    read = {name for op in desc.block(0).ops() for name in op.input_arg_names()}
    given = {name: value for name, value in feed.items() if name in read}
    executor = core.Executor(core.CPUPlace())
    arrays = iter(executor.run(desc, given, fetches, core.Scope()))
    for number, gradient in zip(wanted, second, strict=False):
        if gradient is not None:
            k = index[id(tape.leaves[number])]
            found[k] = found[k] + np.asarray(next(arrays))
    return found, by_cotangent if second[-1] is None else np.asarray(next(arrays))
