"""Multiplies the Hessian of a loss with a vector, without ever making the Hessian.

H v is the gradient of g · v, where g is the gradient of the loss and v is constant: gradients()
applied to what gradients() has written. The result is compared with a difference of two gradients.
"""

import numpy as np
import numpy.typing as npt

import fluidcore as fluid
from fluidcore import Variable, layers

x = layers.data("x", [4], dtype="float64")
label = layers.data("label", [1], dtype="int64")
logits = layers.fc(layers.fc(x, 8, act="tanh"), 3)
loss = layers.mean(layers.softmax_with_cross_entropy(logits, label))

program = fluid.default_main_program()
parameters = program.all_parameters()


def gradients(target: Variable) -> list[Variable]:
    """By all parameters; it depends on all of them."""
    return [g for g in fluid.gradients(target, parameters) if g is not None]


grads = gradients(loss)
vectors = [
    layers.data(f"{p.name}.v", p.shape, dtype=p.dtype, append_batch_size=False) for p in parameters
]
dot = layers.sums([layers.reduce_sum(g * v) for g, v in zip(grads, vectors, strict=True)])
products = gradients(dot)

exe = fluid.Executor()
fluid.default_startup_program().random_seed = 1
exe.run(fluid.default_startup_program())
rng = np.random.default_rng(0)
feed = {"x": rng.normal(size=(32, 4)), "label": rng.integers(0, 3, (32, 1))}
v = {vector.name: rng.normal(size=vector.shape) for vector in vectors}
hessian_times_v = exe.run(feed=feed | v, fetch_list=products)


def gradients_after(step: float) -> list[npt.NDArray[np.float64]]:
    """The gradient of the loss where every parameter is moved along its vector."""
    tensors = [fluid.global_scope().find_var(p.name).get_tensor() for p in parameters]
    before = [np.array(tensor) for tensor in tensors]
    for tensor, start, vector in zip(tensors, before, vectors, strict=True):
        tensor.set(start + step * v[vector.name])
    moved = [np.array(g) for g in exe.run(feed=feed, fetch_list=grads)]
    for tensor, start in zip(tensors, before, strict=True):
        tensor.set(start)
    return moved


STEP = 1e-5
print(f"{'parameter':10} {'shape':8} {'|H v|':>8}   relative difference")
pairs = zip(gradients_after(STEP), gradients_after(-STEP), strict=True)
for p, exact, (above, below) in zip(parameters, hessian_times_v, pairs, strict=True):
    numerical = (above - below) / (2 * STEP)
    difference = np.linalg.norm(exact - numerical) / np.linalg.norm(exact)
    print(f"{p.name:10} {list(p.shape)!s:8} {np.linalg.norm(exact):8.4f}   {difference:.1e}")
    assert difference < 1e-7
