"""A forger learns to make points like those of eight clouds, against a critic.

Two programs, each with the forward part of both networks and an optimizer over the parameters of
its own (`minimize(loss, parameter_list=...)`). Parameters of one name are one variable of the
scope, so that each program meets what the other has learnt. The losses are those of Goodfellow et
al. 2014. `two_players.py` has both players in one program. Run it with `python examples/gan.py`.
"""

import numpy as np
import numpy.typing as npt

import fluidcore as fluid
from fluidcore import Variable, layers

BATCH, STEPS, SIZE = 256, 1500, 8
ANGLES = 2 * np.pi * np.arange(8) / 8
CLOUDS = 2 * np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1)
DEVIATION = 0.15


def network(x: Variable, size: int, name: str) -> Variable:
    """Three layers with the parameters name.w0 ... name.b2: the same ones at every call."""
    for i, (width, act) in enumerate([(64, "relu"), (64, "relu"), (size, None)]):
        x = layers.fc(x, width, act=act, param_attr=f"{name}.w{i}", bias_attr=f"{name}.b{i}")
    return x


def player(name: str) -> tuple[fluid.Program, Variable, Variable]:
    """The program that trains one of the two, its loss, and the forged points."""
    program, startup = fluid.Program(), fluid.Program()
    startup.random_seed = 1
    with fluid.program_guard(program, startup):
        real, noise = layers.data("real", [2]), layers.data("noise", [SIZE])
        forged = network(noise, 2, "forger")
        praise = network(forged, 1, "critic")  # the logit of being real
        if name == "critic":
            loss = layers.mean(layers.softplus(praise))
            loss = loss + layers.mean(layers.softplus(-network(real, 1, "critic")))
        else:
            loss = layers.mean(layers.softplus(-praise))
        mine = [p for p in program.all_parameters() if p.name.startswith(name)]
        fluid.optimizer.Adam(0.001, beta1=0.5).minimize(loss, parameter_list=mine)
    fluid.Executor().run(startup)
    return program, loss, forged


def sample(rng: np.random.Generator, size: int) -> dict[str, npt.NDArray[np.float32]]:
    """Real points, and noise for as many forged ones."""
    points = rng.normal(CLOUDS[rng.integers(0, 8, size)], DEVIATION)
    noise = rng.normal(size=(size, SIZE))
    return {"real": points.astype(np.float32), "noise": noise.astype(np.float32)}


def main() -> None:
    """Lets them play, then shows both kinds of points."""
    rng, exe = np.random.default_rng(0), fluid.Executor()
    critic, critic_loss, _ = player("critic")
    forger, forger_loss, forged = player("forger")
    for step in range(STEPS + 1):
        (a,) = exe.run(critic, sample(rng, BATCH), [critic_loss])
        (b,) = exe.run(forger, sample(rng, BATCH), [forger_loss])
        if step % 500 == 0:
            print(f"step {step:4}: loss of critic {a.item():.2f}, of forger {b.item():.2f}")

    feed = sample(rng, 2000)
    (made,) = exe.run(forger.prune([forged]), {"noise": feed["noise"]}, [forged])
    edges = np.linspace(-2.8, 2.8, 21)
    maps = [np.histogram2d(p[:, 0], p[:, 1], (edges, edges))[0] for p in (feed["real"], made)]
    print(f"{'real':22}forged")
    for rows in zip(*maps, strict=True):
        print("  ".join("".join(".+#"[int(min(n, 20)) // 10] for n in row) for row in rows))
    distances = np.linalg.norm(made[:, None] - CLOUDS, axis=2)
    close = distances.min(axis=1) < 4 * DEVIATION
    shares = np.bincount(distances.argmin(axis=1)[close], minlength=8) / len(made)
    print(f"clouds with at least 4% of the forged points: {np.sum(shares > 0.04)} of 8")
    print(f"forged points in a cloud: {np.mean(close):.0%}")


if __name__ == "__main__":
    main()
