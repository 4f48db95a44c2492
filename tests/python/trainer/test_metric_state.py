import json

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore.trainer.metric_state import metric_state, restore_metric


class Own(fluid.metrics.MetricBase):
    """A metric of a user."""

    def reset(self):
        self.seen, self.pair, self.least = [], (1.5, None), None

    def update(self, value):
        self.seen.append(value)
        self.pair = (self.pair[0], "text")
        self.least = np.minimum(self.least, value) if self.least is not None else value

    def eval(self):
        return self.seen, self.pair, self.least.tolist()


def composite():
    made = fluid.metrics.CompositeMetric()
    made.add_metric(fluid.metrics.Precision())
    made.add_metric(fluid.metrics.F1())
    return made


BINARY = (np.array([0.2, 0.9, 0.7]), np.array([0, 1, 0]))


@pytest.mark.parametrize(
    ("make", "batch"),
    [
        (fluid.metrics.Accuracy, (0.1, 3)),
        (fluid.metrics.Precision, BINARY),
        (fluid.metrics.Auc, BINARY),
        (composite, BINARY),
        (lambda: fluid.metrics.ConfusionMatrix(2), (np.array([0, 1, 1]), np.array([0, 1, 0]))),
        (fluid.metrics.ChunkEvaluator, (3, 4, 2)),
        (fluid.metrics.EditDistance, (np.array([[1.0], [0.0]]), 2)),
        (Own, (np.array([0.1, 0.7], np.float32),)),
    ],
)
def test_a_metric_goes_on_from_its_state_with_the_same_bits(make, batch):
    first, second = make(), make()
    first.update(*batch)
    restore_metric(second, json.loads(json.dumps(metric_state("m", first))))
    assert str(second.eval()) == str(first.eval())
    first.update(*batch)
    second.update(*batch)
    assert str(second.eval()) == str(first.eval())
