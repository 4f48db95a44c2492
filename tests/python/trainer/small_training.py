"""A training whose every step depends on those before, on random numbers and on statistics."""

from __future__ import annotations

from typing import Any

import numpy as np

import fluidcore as fluid
from fluidcore import layers

_random = np.random.default_rng(5)
X = _random.standard_normal((22, 6)).astype(np.float32)
Y = (X.sum(1, keepdims=True) > 0).astype(np.float32)
QUIET: dict[str, Any] = {"progress": False}


class Small:
    """Dropout, batch norm and Adam; two metrics over batches; shuffled batches of 4, 6 an epoch."""

    def __init__(self, hidden: int = 5, seed: int = 3, **options: Any) -> None:
        self.main, self.startup = fluid.Program(), fluid.Program()
        self.main.random_seed = self.startup.random_seed = seed
        with fluid.unique_name.guard(), fluid.program_guard(self.main, self.startup):
            x, y = layers.data("x", [6]), layers.data("y", [1])
            features = layers.dropout(layers.batch_norm(layers.fc(x, hidden)), 0.3)
            self.logit = layers.fc(features, 1)
            self.probability = layers.sigmoid(self.logit)
            self.y = y
            losses = layers.sigmoid_cross_entropy_with_logits(self.logit, y)
            self.loss = layers.mean(losses)
            self.size = layers.mean(layers.abs(self.logit))
            both = fluid.metrics.CompositeMetric()
            both.add_metric(fluid.metrics.Precision())
            both.add_metric(fluid.metrics.Recall())
            metrics = {
                "size": self.size,
                "auc": (fluid.metrics.Auc(num_thresholds=15), [self.probability, y]),
                "both": (both, [self.probability, y]),
            }
            self.trainer = fluid.Trainer(
                self.loss,
                fluid.optimizer.Adam(learning_rate=0.05),
                metrics,
                startup_program=self.startup,
                scope=fluid.Scope(),
                **options,
            )
        self.loader = fluid.DataLoader({"x": X, "y": Y}, 4, shuffle=True, num_workers=2)
        self.tests = fluid.DataLoader({"x": X[:9], "y": Y[:9]}, 4, shuffle=True)

    def train(self, epochs: int, *handlers: Any, **options: Any) -> fluid.trainer.History:
        given = {"evaluate": self.tests, **QUIET, **options}
        return self.trainer.train(self.loader, epochs, list(handlers), **given)

    def values(self) -> dict[str, Any]:
        """All that lives between runs."""
        names = [each.name for each in self.main.list_vars() if each.persistable]
        scope = self.trainer.scope
        return {name: np.array(scope.find_var(name).get_tensor()).tolist() for name in names}

    def state(self) -> dict[str, Any]:
        """All that the next step depends on."""
        return {
            "values": self.values(),
            "random": self.trainer.executor.random_state(self.main),
            "loader": self.loader.state_dict(),
            "tests": self.tests.state_dict(),
        }


class Line:
    """y = w x, loss w x for x fed, in the default programs; w starts as 1."""

    def __init__(self, **options: Any) -> None:
        self.x = layers.data("x", [1])
        start = fluid.ParamAttr(name="w", initializer=fluid.initializer.Constant(1.0))
        self.loss = layers.mean(layers.fc(self.x, 1, param_attr=start, bias_attr=False))
        self.trainer = fluid.Trainer(self.loss, fluid.optimizer.SGD(0.125), **options)

    @property
    def w(self) -> float:
        return np.array(fluid.global_scope().find_var("w").get_tensor()).item()


def feeds(*columns: list[float]) -> list[dict[str, Any]]:
    return [{"x": np.array(column, np.float32)[:, None]} for column in columns]
