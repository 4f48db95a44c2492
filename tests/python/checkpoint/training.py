"""A training whose every step depends on the ones before it, and on random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

import fluidcore as fluid
from fluidcore import layers


class Batches:
    """Batches of random numbers, one after the other; it knows its position."""

    def __init__(self, seed: int = 3) -> None:
        self.seed = seed
        self.position = 0

    def next(self) -> dict[str, Any]:
        random = np.random.default_rng([self.seed, self.position])
        self.position += 1
        x = random.standard_normal((8, 6)).astype(np.float32)
        return {"x": x, "y": x.sum(1, keepdims=True)}

    def state_dict(self) -> dict[str, Any]:
        return {"position": self.position}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.position = state["position"]


class Training:
    """Dropout, batch norm and Adam, in an executor and a scope of its own."""

    def __init__(self, hidden: int = 5, dropout: float = 0.5, seed: int = 0) -> None:
        self.program, startup = fluid.Program(), fluid.Program()
        self.program.random_seed = seed
        with fluid.unique_name.guard(), fluid.program_guard(self.program, startup):
            x, y = layers.data("x", [6]), layers.data("y", [1])
            features = layers.dropout(layers.batch_norm(layers.fc(x, hidden)), dropout)
            self.loss = layers.mean(layers.square_error_cost(layers.fc(features, 1), y))
            fluid.optimizer.Adam(learning_rate=0.01).minimize(self.loss)
        self.executor, self.scope, self.batches = fluid.Executor(), fluid.Scope(), Batches()
        self.executor.run(startup, scope=self.scope)

    def run(self, count: int) -> list[float]:
        """The losses of so many steps."""
        return [
            self.executor.run(self.program, self.batches.next(), [self.loss], self.scope)[0].item()
            for _ in range(count)
        ]

    def save(self, dirname: Any, step: int, **options: Any) -> str:
        return fluid.checkpoint.save(
            dirname, step, self.executor, self.program, self.scope, reader=self.batches, **options
        )

    def load(self, dirname: Any, **options: Any) -> fluid.checkpoint.Checkpoint:
        return fluid.checkpoint.load(
            dirname, self.executor, self.program, self.scope, reader=self.batches, **options
        )

    def state(self) -> dict[str, Any]:
        """All that a load may change."""
        names = sorted(v.name for v in self.program.list_vars() if v.persistable)
        values = {name: np.array(self.scope.find_var(name).get_tensor()).tolist() for name in names}
        random = self.executor.random_state(self.program)
        return {"values": values, "random": random, "position": self.batches.position}
