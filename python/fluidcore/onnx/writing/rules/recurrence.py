"""Cells of recurrent networks, and the loop over the steps."""

from __future__ import annotations

from fluidcore.onnx.writing.graph import Value
from fluidcore.onnx.writing.operator import Op, Rule
from fluidcore.onnx.writing.rules.inner_graphs import close


def _lstm_unit(op: Op) -> None:
    gates = op.emit_all("Split", op.input("X"), axis=1, num_outputs=4, outputs=4)
    enter, forget, leave, candidate = gates
    forget = op.emit("Sigmoid", op.emit("Add", forget, op.attr("forget_bias")))
    kept = op.emit("Mul", forget, op.input("C_prev"))
    new = op.emit("Mul", op.emit("Sigmoid", enter), op.emit("Tanh", candidate))
    cell = op.emit("Add", kept, new)
    op.set("C", cell)
    op.set("H", op.emit("Mul", op.emit("Sigmoid", leave), op.emit("Tanh", cell)))


def _gru_cell(op: Op) -> None:
    before = op.input("HiddenPrev")
    x_u, x_r, x_c = op.emit_all("Split", op.input("X"), axis=1, num_outputs=3, outputs=3)
    r_u, r_r, r_c = op.emit_all("Split", op.input("Recurrent"), axis=1, num_outputs=3, outputs=3)
    update = op.emit("Sigmoid", op.emit("Add", x_u, r_u))
    reset = op.emit("Sigmoid", op.emit("Add", x_r, r_r))
    candidate = op.emit("Tanh", op.emit("Add", x_c, op.emit("Mul", reset, r_c)))
    kept = op.emit("Mul", op.emit("Sub", 1, update), before)
    op.set("Hidden", op.emit("Add", kept, op.emit("Mul", update, candidate)))


def _recurrent(op: Op) -> None:
    block = op.attr("sub_block").value
    inputs = op.inputs("inputs")
    carried = op.written_around(block)
    states = [*op.inputs("initial_states"), *op.first_values(carried)]
    given = {}
    for name, value in zip((*op.attr("ex_states"), *carried), states, strict=True):
        if value.is_sequence:
            op.refuse(f"the steps must write to tensors alone, got the array '{name}'")
        given[name] = Value(value.dtype, value.shape, name)
    for name, value in zip(op.attr("step_inputs"), inputs, strict=True):
        given[name] = Value(value.dtype, (value.shape or ())[1:], name)
    body = op.body(block, given)
    results = (*op.attr("states"), *carried, *op.attr("step_outputs"))
    close(body.graph, list(given.values()), [body.values[name] for name in results])
    outputs = [Value(value.dtype) for value in body.graph.outputs]
    reverse = int(op.attr("reverse"))
    stacked = outputs[len(states) :]
    directions = {"scan_output_directions": [reverse] * len(stacked)} if stacked else {}
    op.append(
        "Scan",
        [*states, *inputs],
        outputs,
        body=body.graph,
        num_scan_inputs=len(inputs),
        scan_input_directions=[reverse] * len(inputs),
        **directions,
    )
    ends = outputs[len(states) - len(carried) : len(states)]
    for name, value in zip(carried, ends, strict=True):
        op.bind(name, value)
    op.set_all("outputs", stacked)


RULES: dict[str, Rule] = {
    "lstm_unit": _lstm_unit,
    "gru_cell": _gru_cell,
    "recurrent": _recurrent,
}
