import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers
from fluidcore.metrics import Accuracy


def test_batches_count_by_their_weight():
    metric = Accuracy()
    metric.update(value=0.5, weight=10)
    metric.update(value=np.array([1.0], np.float32), weight=np.array([30]))
    assert metric.eval() == 0.875
    metric.update(0.0, 40)
    assert metric.eval() == 0.4375  # eval does not end the count


def test_reset_forgets_all_batches():
    metric = Accuracy()
    metric.update(0.5, 10)
    metric.reset()
    metric.update(0.25, 1)
    assert metric.eval() == 0.25


def test_it_takes_what_a_program_calculates():
    scores = layers.data("scores", [2])
    label = layers.data("label", [1], dtype="int64")
    value = layers.accuracy(scores, label)
    metric = Accuracy()
    for right, n in ((1, 4), (6, 6)):
        labels = np.array([[0]] * right + [[1]] * (n - right))
        feed = {"scores": np.tile(np.array([[0.9, 0.1]], np.float32), (n, 1)), "label": labels}
        metric.update(*fluid.Executor().run(feed=feed, fetch_list=[value]), weight=n)
    assert metric.eval() == pytest.approx(0.7)


def test_eval_before_any_update_is_an_error():
    message = (
        "Accuracy: eval must come after an update that counts something, got none since the last "
        "reset; call update with each batch"
    )
    metric = Accuracy()
    with pytest.raises(fluid.InvalidArgument, match=f"^{message}$"):
        metric.eval()
    metric.update(0.5, 0)
    with pytest.raises(fluid.InvalidArgument, match=f"^{message}$"):
        metric.eval()
    metric.update(0.5, 1)
    metric.reset()
    with pytest.raises(fluid.InvalidArgument, match=f"^{message}$"):
        metric.eval()
    with pytest.raises(fluid.InvalidArgument, match=r"^top-1: eval must come after an update"):
        Accuracy("top-1").eval()


@pytest.mark.parametrize(
    ("value", "weight", "error", "message"),
    [
        ("0.5", 1, TypeError, "Accuracy: value must be a number, got str '0.5'"),
        (0.5, -1, ValueError, "Accuracy: weight must be at least 0, got -1"),
        (float("nan"), 1, ValueError, "Accuracy: value must be finite, got nan"),
        (np.zeros(2), 1, TypeError, r"Accuracy: value must be one number, got an array \[2\]"),
    ],
)
def test_a_wrong_argument_is_an_error_that_changes_nothing(value, weight, error, message):
    metric = Accuracy()
    metric.update(0.25, 1)
    with pytest.raises(error, match=f"^{message}$"):
        metric.update(value, weight)
    assert metric.eval() == 0.25
