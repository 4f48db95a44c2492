"""Where the chain of gradients breaks: the program is cut at one variable after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from fluidcore import core
from fluidcore.base.dtypes import FLOATING
from fluidcore.gradcheck.adapters.program import ProgramTarget
from fluidcore.gradcheck.localise.blame import Blame
from fluidcore.gradcheck.localise.local import Found, check_along
from fluidcore.gradcheck.localise.names import is_gradient, is_sum_of_parts
from fluidcore.gradcheck.localise.reference import Pair
from fluidcore.gradcheck.program.error_clips import bypass_clips
from fluidcore.gradcheck.program.network import Network
from fluidcore.gradcheck.program.places import positions
from fluidcore.gradcheck.target.target import SHADOW, Array
from fluidcore.gradcheck.verdict import Reason

_CUT = "@CUT"


def first_wrong_cut(target: ProgramTarget, pair: Pair, seed: int) -> Blame | None:
    """The operator that completes the first wrong gradient, seen from the loss."""
    desc = pair.actual
    values = target.recorded_values()

    def network(outputs: Sequence[str]) -> Network:
        scope = target.scope
        return Network(desc, values, outputs, scope=scope, dtype=SHADOW, copies=True)

    forward = network(target.outputs)
    writes = Counter(
        name for op in forward.program.block(0).ops() for name in op.output_arg_names()
    )
    names = [
        name
        for op in reversed(forward.program.block(0).ops())
        for name in op.output_arg_names()
        if writes[name] == 1 and _is_floating(forward.program, name) and name not in target.outputs
    ]
    names += [name for name in target.names if writes[name] == 0]
    for name in dict.fromkeys(names):
        writer = _last_writer(desc, target.gradient_of(name), pair.forward)
        if writer is None:
            continue
        grad_name = target.gradient_of(name)
        try:
            backward = network([grad_name])
            bypass_clips(backward.program)
            (grad,) = backward.run([grad_name])
            found, detail = _check(forward, name, _value(forward, name), grad, target, seed)
        except core.Error:
            continue  # of a branch that was not taken, for example
        if found is Found.WRONG:
            op = _behind_copies(desc, writer, pair.forward)
            reason = Reason.FANOUT_SUM if is_sum_of_parts(op) else Reason.MISMATCH
            detail = f"'{grad_name}' is {detail}, although each operator by itself is right"
            return Blame(op.call_site(), op.type(), "", grad_name, reason, detail)
    return None


def _check(
    forward: Network, name: str, value: Array, grad: Array, target: ProgramTarget, seed: int
) -> tuple[Found, str]:
    feeds = forward.values()
    program, moved = forward.program, name
    if name not in feeds:
        program, moved = program.clone(), name + _CUT
        block = program.block(0)
        like = block.find_var(name)
        cut = block.var(moved)
        cut.set_dtype(like.dtype())
        cut.set_shape(list(value.shape))
        position = next(i for i, op in enumerate(block.ops()) if name in op.output_arg_names())
        block.insert_op(position + 1).copy_from(
            core.OpDesc("assign", {"X": [moved]}, {"Out": [name]}, {})
        )
        feeds = feeds | {moved: value}
    function = core.ProgramFunction(program, feeds, [moved], target.outputs)
    cotangents = target.recorded_cotangents()
    return check_along(function, grad, cotangents, f"cut {name}", seed, is_smooth=True)


def _value(forward: Network, name: str) -> Array:
    return np.array(forward.tensor(name)) if name in forward.inputs() else forward.run([name])[0]


def _is_floating(desc: core.ProgramDesc, name: str) -> bool:
    var = desc.block(0).find_var(name)
    return var is not None and var.dtype() in FLOATING and var.type() == "lod_tensor"


def _last_writer(desc: core.ProgramDesc, name: str, forward: frozenset[str]) -> core.OpDesc | None:
    for op in reversed(desc.block(0).ops()):
        if name in op.output_arg_names() and op.call_site() not in forward:
            return op
    return None


def _behind_copies(desc: core.ProgramDesc, op: core.OpDesc, forward: frozenset[str]) -> core.OpDesc:
    """The operator that calculated what others only copied."""
    ops = desc.block(0).ops()
    _, position = positions(desc)[op.call_site()]
    while op.type() == "assign":
        source = op.input("X")[0]
        earlier = [
            i
            for i in range(position)
            if ops[i].call_site() not in forward and source in ops[i].output_arg_names()
        ]
        if not is_gradient(source) or not earlier:
            return op
        position = earlier[-1]
        op = ops[position]
    return op
