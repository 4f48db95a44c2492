"""Measures how far two clouds of points are apart, with a critic whose slope is kept near 1.

A function of slope 1 at most cannot differ more between two clouds, in the mean, than the distance
over which one must be carried to become the other. A network that differs as much as it can finds
that distance (Wasserstein GAN with gradient penalty). The penalty (|dD/dx| - 1)^2 is trained, so
the gradient of a gradient is needed.
"""

import numpy as np

import fluidcore as fluid
from fluidcore import Variable, layers

SHIFT = np.array([1.2, -1.6])  # of length 2: the distance to be found
BATCH, STEPS, WEIGHT = 64, 600, 50.0


def critic(points: Variable) -> Variable:
    """The same network, with the same weights, wherever it is called."""
    hidden = layers.fc(points, 16, act="tanh", param_attr="w1", bias_attr="b1")
    return layers.fc(hidden, 1, param_attr="w2", bias_attr="b2")


real, fake, between = (layers.data(name, [2]) for name in ("real", "fake", "between"))
distance = layers.mean(critic(real)) - layers.mean(critic(fake))
between.stop_gradient = False
(slope,) = fluid.gradients(critic(between), between)
assert slope is not None  # the critic depends on where it is asked
length = layers.sqrt(layers.reduce_sum(layers.square(slope), dim=1))
penalty = layers.mean(layers.square(length - 1.0))
fluid.optimizer.Adam(learning_rate=0.02).minimize(WEIGHT * penalty - distance)

exe = fluid.Executor()
fluid.default_startup_program().random_seed = 1
exe.run(fluid.default_startup_program())
rng = np.random.default_rng(0)
history = []
for step in range(STEPS + 1):
    a = rng.normal(size=(BATCH, 2))
    b = rng.normal(size=(BATCH, 2)) + SHIFT
    t = rng.random((BATCH, 1))
    clouds = {"real": a, "fake": b, "between": t * a + (1 - t) * b}
    feed = {name: points.astype(np.float32) for name, points in clouds.items()}
    found, slopes = exe.run(feed=feed, fetch_list=[distance, length])
    history.append(found.item())
    if step % 100 == 0:
        print(f"step {step:3}: distance {history[-1]:5.2f}, mean slope {slopes.mean():.2f}")
print(f"mean of the last 300 steps: {np.mean(history[-300:]):.1f}; the clouds are 2 apart")
