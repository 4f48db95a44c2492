"""Proves the gradient of an operator, and of a whole network, against numerical ones."""

import numpy as np

import fluidcore as fluid
from fluidcore import layers
from fluidcore.gradcheck import check_grad, get_numerical_gradient, grad_table

# One operator: its numerical gradient needs the forward kernel only.
x = layers.data("x", [2, 3], dtype="float64", append_batch_size=False)
y = layers.tanh(x)
values = {"x": np.array([[-1.0, 0.0, 0.5], [1.0, 2.0, 3.0]])}
op = y.block.ops[-1]
numerical = get_numerical_gradient(op, values, y.name, "x", delta=1e-5)
print("numerical:", numerical.round(6).tolist())
print("formula:  ", (1 - np.tanh(values["x"]) ** 2).round(6).tolist())
check_grad(op, values, ["x"], y.name, max_relative_error=1e-6, delta=1e-5)
print("the gradient operator of tanh is right\n")

# A network: a row for each parameter.
main, startup = fluid.Program(), fluid.Program()
with fluid.program_guard(main, startup):
    image = layers.data("image", [4])
    target = layers.data("target", [1])
    hidden = layers.fc(image, 5, act="sigmoid")
    loss = layers.mean(layers.square_error_cost(layers.fc(hidden, 1), target))
    gradients = fluid.append_backward(loss)
startup.random_seed = 1
fluid.Executor().run(startup)
random = np.random.RandomState(0)
feed = {
    "image": random.randn(8, 4).astype(np.float32),
    "target": random.randn(8, 1).astype(np.float32),
}
for row in grad_table(main, loss, feed, gradients, elements=0):
    verdict = "right" if row.ok else "WRONG"
    print(f"{row.name:12} {list(row.shape)!s:8} {verdict}, error {row.max_rel_error:.0e}")
