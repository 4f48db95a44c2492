"""Branches and loops."""

from __future__ import annotations

import numpy as np

from fluidcore import layers
from fluidcore.layers.helper import restored_on_error
from fluidcore.onnx.reading.node import Node, constant
from fluidcore.onnx.reading.rules.common import Result, Rules, append, reshaped, transposed
from fluidcore.onnx.reading.values import Constant, Value
from fluidcore.program import Variable

_MOST_UNROLLED = 1024  # steps of a loop that are written one after the other


class _Open(Exception):  # noqa: N818 - no error
    """Whether a loop goes on is known only at run time."""


def if_(node: Node) -> Result:
    """One of two graphs; of a condition that is known, the one that it chooses."""
    condition = node.value(0)
    node.ignore("then_branch", "else_branch")
    if isinstance(condition, Constant):
        chosen = bool(condition.array.reshape(-1)[0])
        return node.block("then_branch" if chosen else "else_branch", [])

    def branch(name: str) -> list[Variable]:
        return [node.as_variable(value) for value in node.block(name, [])]

    results = layers.cond(node.var(0), lambda: branch("then_branch"), lambda: branch("else_branch"))
    return list(results)


def loop(node: Node) -> Result:
    """A graph again and again: step by step where their number is known, else as a `while`."""
    node.ignore("body")
    count, condition = (node.inputs[i] if node.has(i) else None for i in (0, 1))
    first = [node.value(i) for i in range(2, node.num_inputs)]
    num_results = node.num_outputs - len(first)
    known = count is None or isinstance(count, Constant)
    if known and (condition is None or isinstance(condition, Constant)):
        try:
            with restored_on_error():
                return _unrolled(node, count, condition, first, num_results)
        except _Open:
            pass
    if num_results:  # whose extent is the number of steps
        for index in (0, 1):
            if node.has(index):
                node.constant(index)
        raise node.refuse(
            "the number of steps must be known while the model is read where each has a result",
            "one that is known only at run time",
        )
    return _while(node, count, condition, first)


def _unrolled(
    node: Node,
    count: Value | None,
    condition: Value | None,
    carried: list[Value],
    num_results: int,
) -> Result:
    limit = int(count.array.reshape(-1)[0]) if isinstance(count, Constant) else None
    going = condition is None or bool(_known(condition))
    now: Value = condition if condition is not None else constant(True)
    results: list[list[Variable]] = [[] for _ in range(num_results)]
    step = 0
    while going and (limit is None or step < limit):
        if step >= _MOST_UNROLLED:
            raise _Open
        found = node.block("body", [constant(step, np.int64), now, *carried])
        now, carried, made = found[0], found[1 : len(carried) + 1], found[len(carried) + 1 :]
        for each, value in zip(results, made, strict=True):
            each.append(node.as_variable(value))
        step += 1
        if condition is not None or limit is None:
            going = bool(_known(now))
    if not step and num_results:
        raise node.refuse("a loop with results of its steps must have a step", "none")
    return [*carried, *(append("stack", {"X": each}, {"axis": 0}, out="Y") for each in results)]


def _known(condition: Value) -> bool:
    if not isinstance(condition, Constant):
        raise _Open
    return bool(condition.array.reshape(-1)[0])


def _while(node: Node, count: Value | None, condition: Value | None, first: list[Value]) -> Result:
    limit = None if count is None else reshaped(node.as_variable(count), [1])
    going = layers.fill_constant([1], "bool", 1)
    if condition is not None:
        going = reshaped(node.as_variable(condition), [1])
    start = layers.fill_constant([1], "int64", 0)
    carried = [node.as_variable(value) for value in first]

    def goes_on(step: Variable, now: Variable, *_: Variable) -> Variable:
        if limit is None:
            return now
        return layers.logical_and(now, layers.less_than(step, limit))

    def body(step: Variable, now: Variable, *values: Variable) -> list[Variable]:
        inputs: list[Value] = [layers.reshape(step, []), layers.reshape(now, []), *values]
        found = [node.as_variable(value) for value in node.block("body", inputs)]
        again = now if condition is None and limit is not None else reshaped(found[0], [1])
        return [step + 1, again, *found[1:]]

    return list(layers.while_loop(goes_on, body, [start, going, *carried])[2:])


def scan(node: Node) -> Result:
    """A graph once for each part of its inputs, which hands states on."""
    if node.opset < 9:
        raise node.refuse("scan must be of opset 9 or newer", node.opset)
    node.ignore("body")
    num_parts = node.attr("num_scan_inputs")
    states = [node.var(i) for i in range(node.num_inputs - num_parts)]
    sequences = [node.var(i) for i in range(len(states), node.num_inputs)]
    num_results = node.num_outputs - len(states)
    axes = node.attr("scan_input_axes", [0] * num_parts)
    backwards = node.attr("scan_input_directions", [0] * num_parts)
    sequences = [
        _turned(node, x, axis, back)
        for x, axis, back in zip(sequences, axes, backwards, strict=True)
    ]
    if any(x.shape[0] == 0 for x in sequences):
        raise node.refuse("a scan must have a step", "none")
    rnn = layers.StaticRNN()
    with rnn.step():
        parts = [rnn.step_input(x) for x in sequences]
        before = [rnn.memory(init=state) for state in states]
        found = [node.as_variable(value) for value in node.block("body", [*before, *parts])]
        for memory, after in zip(before, found[: len(before)], strict=True):
            rnn.update_memory(memory, after)
        rnn.output(*found)
    made = rnn()
    every = made if isinstance(made, list) else [made]
    last = {"axes": [0], "starts": [-1], "ends": [2**31 - 1]}
    ends = [
        reshaped(append("slice", {"X": x}, last), state.shape)
        for x, state in zip(every[: len(states)], states, strict=True)
    ]
    out_axes = node.attr("scan_output_axes", [0] * num_results)
    out_backwards = node.attr("scan_output_directions", [0] * num_results)
    results = []
    for x, axis, back in zip(every[len(states) :], out_axes, out_backwards, strict=True):
        turned = append("flip", {"X": x}, {"axis": [0]}) if back else x
        rank = len(x.shape)
        place = node.dimension(axis, rank, "scan_output_axes")
        results.append(transposed(turned, [*range(1, place + 1), 0, *range(place + 1, rank)]))
    return [*ends, *results]


def _turned(node: Node, x: Variable, axis: int, back: int) -> Variable:
    """X with the axis that is gone along in front, in the order in which it is gone along."""
    rank = len(x.shape)
    place = node.dimension(axis, rank, "scan_input_axes")
    moved = transposed(x, [place, *(i for i in range(rank) if i != place)])
    return append("flip", {"X": moved}, {"axis": [0]}) if back else moved


RULES: Rules = {"If": if_, "Loop": loop, "Scan": scan}
