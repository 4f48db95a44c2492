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
    inputs, states = op.inputs("inputs"), op.inputs("initial_states")
    given = {}
    for name, value in zip(op.attr("ex_states"), states, strict=True):
        given[name] = Value(value.dtype, value.shape, name)
    for name, value in zip(op.attr("step_inputs"), inputs, strict=True):
        given[name] = Value(value.dtype, (value.shape or ())[1:], name)
    body = op.body(op.attr("sub_block").value, given)
    results = [body.values[name] for name in (*op.attr("states"), *op.attr("step_outputs"))]
    close(body.graph, list(given.values()), results)
    outputs = [Value(value.dtype) for value in body.graph.outputs]
    reverse = int(op.attr("reverse"))
    op.append(
        "Scan",
        [*states, *inputs],
        outputs,
        body=body.graph,
        num_scan_inputs=len(inputs),
        scan_input_directions=[reverse] * len(inputs),
        **({"scan_output_directions": [reverse] * (len(outputs) - len(states))}),
    )
    op.set_all("outputs", outputs[len(states) :])


RULES: dict[str, Rule] = {
    "lstm_unit": _lstm_unit,
    "gru_cell": _gru_cell,
    "recurrent": _recurrent,
}
