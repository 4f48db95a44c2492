import numpy as np
import pytest

import fluidcore as fluid
from fluidcore.metrics import ChunkEvaluator, count_chunks


def test_counts_of_batches_add_up():
    metric = ChunkEvaluator()
    metric.update(3, 5, 2)
    metric.update(np.array([1]), np.int64(3), np.array(1))
    precision, recall, f1 = metric.eval()
    assert (precision, recall) == (3 / 4, 3 / 8)
    assert f1 == pytest.approx(2 * precision * recall / (precision + recall))
    metric.reset()
    metric.update(1, 1, 1)
    assert metric.eval() == (1.0, 1.0, 1.0)


def test_it_takes_what_count_chunks_gives():
    metric = ChunkEvaluator()
    metric.update(*count_chunks(["B-P", "O"], ["B-P", "B-L"]))
    assert metric.eval() == (1.0, 0.5, 2 / 3)


def test_without_chunks_all_is_0():
    metric = ChunkEvaluator()
    metric.update(0, 0, 0)
    assert metric.eval() == (0.0, 0.0, 0.0)


def test_eval_before_any_update_is_an_error():
    with pytest.raises(fluid.InvalidArgument, match=r"^ChunkEvaluator: eval must come after"):
        ChunkEvaluator().eval()


def test_wrong_counts_are_errors():
    message = (
        "^ChunkEvaluator: num_correct_chunks must be at least 0 and at most the others, got 3 "
        "found, 2 in the labels, 3 correct$"
    )
    with pytest.raises(fluid.InvalidArgument, match=message):
        ChunkEvaluator().update(3, 2, 3)
    message = r"^ChunkEvaluator: num_infer_chunks must be a whole number, got 1.5$"
    with pytest.raises(TypeError, match=message):
        ChunkEvaluator().update(1.5, 2, 1)
