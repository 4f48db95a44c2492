"""Nodes whose inputs are all known: their results are calculated while the model is read.

They are by the rule of the node, in a program of its own that runs once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from fluidcore import core, unique_name
from fluidcore.executor import Executor
from fluidcore.onnx.reading.node import Node
from fluidcore.onnx.reading.values import Array, Constant, Value, as_sequence
from fluidcore.program import Program, Variable, program_guard

_MOST_ELEMENTS = 1 << 20  # of results; larger ones are calculated when the program runs


def folded(node: Node, rule: Callable[[Node], Any]) -> Sequence[Value | None] | None:
    """The results of a node whose inputs are constants; None if they are too large to keep."""
    program, feeds = Program(), dict[str, Array]()

    def variable(value: Constant) -> Variable:
        name = f"constant_{len(feeds)}"
        block = program.global_block()
        made = block.create_var(name, shape=value.array.shape, dtype=value.array.dtype)
        made.desc.set_is_data(True)
        feeds[name] = value.array
        return made

    with program_guard(program, Program()), unique_name.guard():
        found = rule(node.with_variables(variable))
    if found is None:
        return None
    results = as_sequence(found)
    wanted = [result for result in results if isinstance(result, Variable)]
    if any(-1 in result.shape for result in wanted):
        return None
    count = sum(math.prod(result.shape) for result in wanted)
    if count > _MOST_ELEMENTS or not node.budget.spend(count):
        return None
    arrays = iter(Executor().run(program, feeds, wanted, core.Scope()) if wanted else [])
    return [
        Constant(next(arrays)) if isinstance(result, Variable) else result for result in results
    ]
