"""Two networks in one program: a forger makes numbers, a critic tells them from real ones.

Each has a loss, an optimizer, and parameters of its own: minimize(loss, parameter_list=...). The
operators run in the order of the program. The forger's loss is built after the critic's minimize,
so it meets the critic as it is after its update; built before, it would meet the one before the
update, and get the gradient that belongs to it, although the weights are overwritten in between.
"""

import numpy as np
import numpy.typing as npt

import fluidcore as fluid
from fluidcore import Parameter, Variable, layers

MEAN, STD = 3.0, 0.5
BATCH, GROUP, STEPS = 128, 8, 4000


def network(x: Variable, size: int, act: str, name: str) -> Variable:
    """Two layers with the parameters name.w1 ... name.b2: the same ones at every call."""
    hidden = layers.fc(x, size, act=act, param_attr=f"{name}.w1", bias_attr=f"{name}.b1")
    return layers.fc(hidden, 1, param_attr=f"{name}.w2", bias_attr=f"{name}.b2")


def how_far(numbers: Variable, verdict: float) -> Variable:
    """How far the critic is from a verdict: 1 for real, -1 for forged.

    It judges groups: a forger that makes the same good number again and again is found out.
    """
    groups = layers.reshape(numbers, [-1, GROUP])
    return layers.mean(layers.square(network(groups, 32, "relu", "critic") - verdict))


def parameters(name: str) -> list[Parameter]:
    """The parameters of one of the two."""
    return [p for p in main.all_parameters() if p.name.startswith(name)]


main, startup = fluid.default_main_program(), fluid.default_startup_program()
startup.random_seed = 1
real, noise = layers.data("real", [1]), layers.data("noise", [1])
forged = network(noise, 16, "tanh", "forger")

critic_loss = how_far(real, 1.0) + how_far(forged, -1.0)
fluid.optimizer.Adam(0.01, beta1=0.5).minimize(critic_loss, parameter_list=parameters("critic"))
forger_loss = how_far(forged, 0.0)  # the critic no longer knows
fluid.optimizer.Adam(0.001, beta1=0.5).minimize(forger_loss, parameter_list=parameters("forger"))

exe = fluid.Executor()
exe.run(startup)
rng = np.random.default_rng(0)


def sample(size: int) -> dict[str, npt.NDArray[np.float32]]:
    """Random numbers as real ones, and noise for as many forged ones."""
    numbers, seeds = rng.normal(MEAN, STD, (size, 1)), rng.normal(size=(size, 1))
    return {"real": numbers.astype(np.float32), "noise": seeds.astype(np.float32)}


for step in range(STEPS + 1):
    critics, forgers = exe.run(feed=sample(BATCH), fetch_list=[critic_loss, forger_loss])
    if step % 1000 == 0:
        print(f"step {step:4}: loss of critic {critics.item():.2f}, of forger {forgers.item():.2f}")

values = sample(4000)
(made,) = exe.run(main.prune([forged]), {"noise": values["noise"]}, [forged])
edges = np.linspace(1.0, 5.0, 17)
print(f"\n{'real':>22}        {'forged'}")
counts = [np.histogram(numbers, edges)[0] // 40 for numbers in (values["real"], made)]
for edge, ours, theirs in zip(edges, *counts, strict=False):
    print(f"{'#' * ours:>22}  {edge:4.2f}  {'#' * theirs}")
for name, numbers in (("real", values["real"]), ("forged", made)):
    print(f"{name:6} numbers: mean {numbers.mean():.2f}, standard deviation {numbers.std():.2f}")
