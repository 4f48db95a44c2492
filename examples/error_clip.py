"""Limits the gradient of a variable inside backward, and shows the operator that does it."""

import numpy as np

import fluidcore as fluid
from fluidcore import layers

x = layers.data("x", [3])
x.stop_gradient = False  # data stops gradients unless told otherwise
y = layers.square(x)
y.error_clip = fluid.ErrorClipByValue(max=0.5)
loss = layers.reduce_sum(layers.scale(y, scale=4.0))
fluid.append_backward(loss, callbacks=[fluid.error_clip_callback])

for op in loss.block.ops:
    print(op)

exe = fluid.Executor()
values = np.array([[1.0, 2.0, 3.0]], np.float32)
(gradient,) = exe.run(feed={"x": values}, fetch_list=["x@GRAD"])
print("4 would flow into y; 0.5 is let through, so x@GRAD =", gradient[0])
assert np.array_equal(gradient, 0.5 * 2 * values)
