import pytest

from fluidcore import metrics


def test_a_metric_says_what_it_is():
    assert repr(metrics.Recall()) == "Recall('Recall')"
    assert repr(metrics.Auc("of clicks")) == "Auc('of clicks')"


def test_a_name_is_a_text():
    with pytest.raises(TypeError, match=r"^Precision: name must be a str, got int 3$"):
        metrics.Precision(3)


def test_a_metric_of_ones_own_has_its_three_methods():
    class Largest(metrics.MetricBase):
        def reset(self):
            self.value = None

        def update(self, value):
            self.value = value if self.value is None else max(self.value, value)

        def eval(self):
            self._check_updated(self.value is not None)
            return self.value

    metric = Largest()
    metric.update(3)
    metric.update(2)
    assert metric.eval() == 3


@pytest.mark.parametrize("method", ["reset", "update", "eval"])
def test_a_metric_without_a_method_says_so(method):
    class Nothing(metrics.MetricBase):
        def __init__(self):
            pass

    with pytest.raises(NotImplementedError):
        getattr(Nothing(), method)()
