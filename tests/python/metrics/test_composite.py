import pytest

import fluidcore as fluid
from fluidcore.metrics import Auc, CompositeMetric, Precision, Recall


def test_each_metric_gets_each_batch():
    metric = CompositeMetric()
    for part in (Precision(), Recall(), Auc()):
        metric.add_metric(part)
    metric.update([0.9, 0.2], [1, 1])
    metric.update([0.6, 0.1], [0, 0])
    assert metric.eval() == [1 / 2, 1 / 2, 3 / 4]
    metric.reset()
    metric.update([0.9, 0.1], [1, 0])
    assert metric.eval() == [1.0, 1.0, 1.0]


def test_eval_before_any_update_is_an_error_of_the_first_metric():
    metric = CompositeMetric()
    metric.add_metric(Recall("of ones"))
    with pytest.raises(fluid.InvalidArgument, match=r"^of ones: eval must come after an update"):
        metric.eval()


def test_without_a_metric_it_is_an_error():
    message = "^CompositeMetric: there must be a metric, got none; call add_metric first$"
    with pytest.raises(fluid.InvalidArgument, match=message):
        CompositeMetric().eval()
    with pytest.raises(fluid.InvalidArgument, match=message):
        CompositeMetric().update([1.0], [1])


def test_only_a_metric_is_added():
    with pytest.raises(TypeError, match=r"^CompositeMetric: metric must be a MetricBase, got 3$"):
        CompositeMetric().add_metric(3)
