"""From the blocks of a program to graphs: each operator by the rule of its type."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping

from fluidcore import core
from fluidcore.onnx.writing.graph import Graph, Value
from fluidcore.onnx.writing.operator import Body, Context, Op, Rule, Values, refusal
from fluidcore.onnx.writing.rules import NO_FORM, RULES
from fluidcore.program import Program
from fluidcore.program.collective import is_collective


def write_program(program: Program, given: Mapping[str, Value], fetches: Iterable[str]) -> Graph:
    """The graph of block 0.

    Args:
        program: A program for inference, with only what the fetches need.
        given: What the variables hold that are fed, and those that live between runs.
        fetches: The variables that are the outputs, in their order.

    Raises:
        core.InvalidArgument: An operator has no ONNX form, or not with these attributes.
    """
    fetches = list(fetches)
    blocks = [program.desc.block(idx) for idx in range(program.num_blocks)]
    ops = [op for block in blocks for op in block.ops()]
    read = frozenset(fetches).union(*(op.input_arg_names() for op in ops))

    effects = core.EffectsOfBlocks(program.desc)

    def write(idx: int, values: Values) -> Body:
        body = Body(Graph(), values)
        block = program.desc.block(idx)
        context = Context(block, body.graph, values, read, write, effects)
        for desc in block.ops():
            body.graph.site = desc.call_site()
            _check_state(block, desc, read)
            _rule(desc)(Op(desc, context))
        return body

    graph, values = write(0, ChainMap(dict(given)))
    graph.inputs = []
    graph.outputs = [values[name] for name in fetches]
    return graph


def _rule(desc: core.OpDesc) -> Rule:
    op_type = desc.type()
    rule = RULES.get(op_type)
    if rule is not None:
        return rule
    reason = NO_FORM.get(op_type, "it is one of your own")
    if op_type.endswith("_grad"):
        reason = "a gradient; save the program as it was before append_backward or minimize"
    elif is_collective(op_type):
        reason = "several processes run it together; clone and prune the program"
    elif is_update(op_type):
        reason = "it updates parameters; save the program for inference"
    raise refusal(desc, f"the operator must have an ONNX form, got one without: {reason}")


def is_update(op_type: str) -> bool:
    """Whether an operator updates a parameter."""
    return [slot.name for slot in core.op_def(op_type).inputs][:1] == ["Param"]


def _check_state(block: core.BlockDesc, desc: core.OpDesc, read: frozenset[str]) -> None:
    """An error if an operator changes what lives between runs; with is_test nothing does."""
    if desc.has_attr("is_test"):
        return
    for name in desc.output_arg_names():
        var = block.find_var_recursive(name) if name != core.EMPTY_VAR_NAME else None
        if var is not None and var.persistable() and name in read:
            raise refusal(
                desc,
                f"a program must leave what lives between runs as it is, got '{name}', which is "
                "persistable and written; an ONNX model keeps nothing",
            )
