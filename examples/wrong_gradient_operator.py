"""A program with one wrong gradient operator: it is named, and the line that it belongs to."""

import numpy as np

import fluidcore as fluid
from fluidcore import layers
from fluidcore.gradcheck.checker import GradientChecker
from fluidcore.listing import operator_lines

main, startup = fluid.Program(), fluid.Program()
startup.random_seed = 1
with fluid.program_guard(main, startup):
    x = layers.data("x", [3])
    hidden = layers.fc(x, 4, act="tanh")
    steps = layers.fill_constant([1], "int64", 3)

    def step(i: fluid.Variable, h: fluid.Variable) -> tuple[fluid.Variable, fluid.Variable]:
        """Three times the same layer."""
        return i + 1, layers.sigmoid(h * hidden)

    _, last = layers.while_loop(lambda i, h: i < steps, step, [0, hidden])
    loss = layers.mean(last)
    fluid.append_backward(loss)

fluid.Executor().run(startup)
feed = {"x": np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)}
checker = GradientChecker()
report = checker.check_program(main, feed, loss)
print("as append_backward wrote it:", report.verdict.value)

# Somebody optimizes the gradient of the loop, and takes the wrong value.
block = next(b for b in main.blocks if any(op.type == "sigmoid_grad" for op in b.ops))
position = next(i for i, op in enumerate(block.ops) if op.type == "sigmoid_grad")
operator = block.ops[position]
operator.rename_input(operator.input("Out")[0], operator.input("Out@GRAD")[0])
print("\nchanged by hand, in block", block.idx)
print(*operator_lines(block.ops[position : position + 1], position), sep="\n")

report = checker.check_program(main, feed, loss, raise_exception=False)
culprit = report.culprit
print("\nafter that:", report.verdict.value)
assert culprit is not None
print(f"block {culprit.block}, operator {culprit.op}: {culprit.op_type}, {culprit.reason.value}")
print(culprit.detail)
print("gradient of:", culprit.call_site)
assert (culprit.block, culprit.op) == (block.idx, position)
