"""Operators as short texts, for golden tests of the passes."""

from fluidcore.backward.operators import ForwardOp, GradOp


def parse(text):
    """'mul: x, w -> y' as type, inputs, outputs."""
    op_type, rest = text.split(":")
    sides = rest.split("->")
    return op_type, *([n.strip() for n in side.split(",") if n.strip()] for side in sides)


def forward(*lines):
    return [ForwardOp(*parse(line), position) for position, line in enumerate(lines)]


def grads(*lines):
    """Gradient operators; y@GRAD is an incoming gradient of y."""
    made = []
    for line in lines:
        op_type, inputs, outputs = parse(line)
        cotangents = {name: name[: -len("@GRAD")] for name in inputs if name.endswith("@GRAD")}
        made.append(GradOp(op_type, {"X": inputs}, {"Out": outputs}, {}, cotangents))
    return made


def show(ops):
    result = []
    for op in ops:
        names = [op.inputs, op.outputs]
        if isinstance(op, GradOp):
            names = [[n for args in side.values() for n in args] for side in names]
        result.append(f"{op.type}: {', '.join(names[0])} -> {', '.join(names[1])}")
    return result
