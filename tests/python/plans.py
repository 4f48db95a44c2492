"""What tests of passes over a plan ask it, and give it."""

from __future__ import annotations

import numpy as np

import fluidcore as fluid


def step_names(text: str) -> list[str]:
    """The steps of a plan, by its text: "mul + elementwise_add"."""
    steps = [line for line in text.splitlines()[1:-1] if not line.startswith("    ")]
    return [step.strip().split(": ")[0] for step in steps]


def draw_vectors() -> None:
    """Gives biases, scales and statistics other values than those that they begin with."""
    rng = np.random.default_rng(1)
    for name in fluid.global_scope().local_var_names():
        tensor = fluid.global_scope().find_var(name).get_tensor()
        if np.array(tensor).ndim == 1:
            tensor.set(rng.uniform(0.5, 2, np.array(tensor).shape).astype(np.float32))
