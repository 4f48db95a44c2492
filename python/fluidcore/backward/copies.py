"""Copies that a gradient block can do without."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from fluidcore import core
from fluidcore.program.op_slots import own_inputs


def read_directly(block: core.BlockDesc, copies: Collection[str]) -> None:
    """Drops copies that are never changed; who reads the copy reads the source.

    before:  assign(h@GRAD@CARRY) -> h@GRAD@VERSION@1   tanh_grad(h@GRAD@VERSION@1) -> z@GRAD
    after:   tanh_grad(h@GRAD@CARRY) -> z@GRAD

    A copy stays where its source is overwritten before the copy is last read, where a block inside
    reads it, and where it is a variable around the block. Called when the block is complete: what
    callbacks clip stays, too.

    Args:
        block: A gradient block.
        copies: The gradients that a step starts with, each made by an assign.
    """
    ops = block.ops()
    readers: dict[str, list[int]] = defaultdict(list)
    writers: dict[str, list[int]] = defaultdict(list)
    read_inside: set[str] = set()
    found: list[tuple[int, str, str]] = []
    for position, op in enumerate(ops):
        names = op.input_arg_names()
        if op.type() == "assign" and op.output_arg_names()[0] in copies:
            found.append((position, names[0], op.output_arg_names()[0]))
        for name in dict.fromkeys(names):
            readers[name].append(position)
        for name in dict.fromkeys(op.output_arg_names()):
            writers[name].append(position)
        read_inside.update(set(names).difference(own_inputs(op)))
    dropped = []
    for position, source, copy in found:
        last = readers[copy][-1] if readers[copy] else position
        changed = any(position < writer <= last for writer in writers[source])
        only_value = block.has_var(copy) and len(writers[copy]) == 1
        if changed or not only_value or copy in read_inside:
            continue
        for reader in readers[copy]:
            ops[reader].rename_input(copy, source)
        dropped.append((position, copy))
    for position, _ in reversed(dropped):
        block.remove_op(position, position + 1)
    block.remove_vars([copy for _, copy in dropped])
