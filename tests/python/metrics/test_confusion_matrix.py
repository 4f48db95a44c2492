import numpy as np
import pytest

import fluidcore as fluid
from fluidcore.metrics import ConfusionMatrix


def test_rows_are_labels_and_columns_predictions():
    metric = ConfusionMatrix(3)
    metric.update(preds=[0, 1, 1, 2], labels=[0, 0, 1, 0])
    metric.update(preds=[[1]], labels=[[0]])
    assert metric.eval().tolist() == [[1, 2, 1], [0, 1, 0], [0, 0, 0]]
    assert metric.eval().dtype == np.int64


def test_what_eval_gives_does_not_change_with_later_batches():
    metric = ConfusionMatrix(2)
    metric.update([0], [0])
    before = metric.eval()
    metric.update([1], [1])
    assert before.tolist() == [[1, 0], [0, 0]]
    metric.reset()
    metric.update([1], [0])
    assert metric.eval().tolist() == [[0, 1], [0, 0]]


def test_eval_before_any_update_is_an_error():
    with pytest.raises(fluid.InvalidArgument, match=r"^ConfusionMatrix: eval must come after"):
        ConfusionMatrix(2).eval()


def test_wrong_arguments_are_errors():
    message = r"^ConfusionMatrix: num_classes must be a whole number of at least 1, got 0$"
    with pytest.raises(ValueError, match=message):
        ConfusionMatrix(0)
    message = r"^ConfusionMatrix: preds must be whole numbers in \[0, 2\), got 2 at 0$"
    with pytest.raises(fluid.InvalidArgument, match=message):
        ConfusionMatrix(2).update([2], [0])
