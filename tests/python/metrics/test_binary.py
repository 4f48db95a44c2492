import numpy as np
import pytest

import fluidcore as fluid
from fluidcore.metrics import F1, Precision, Recall

# 3 true positives, 1 false positive, 2 false negatives, 1 true negative
PREDS = np.array([0.9, 0.6, 0.51, 0.7, 0.2, 0.5, 0.1])
LABELS = np.array([1, 1, 1, 0, 1, 1, 0])
EXPECTED = {Precision: 3 / 4, Recall: 3 / 5, F1: 6 / 9}


@pytest.mark.parametrize("kind", EXPECTED)
def test_the_numbers_are_those_counted_by_hand(kind):
    metric = kind()
    metric.update(PREDS, LABELS)
    assert metric.eval() == EXPECTED[kind]


@pytest.mark.parametrize("kind", EXPECTED)
def test_batches_add_up(kind):
    metric = kind()
    for part in (slice(0, 2), slice(2, 7), slice(7, 7)):
        metric.update(PREDS[part].reshape(-1, 1).astype(np.float32), LABELS[part].reshape(-1, 1))
    assert metric.eval() == EXPECTED[kind]
    metric.reset()
    metric.update([1.0, 0.0], [1, 0])
    assert metric.eval() == 1.0


@pytest.mark.parametrize("seed", range(5))
def test_random_examples_agree_with_a_count_one_by_one(seed):
    rng = np.random.default_rng(seed)
    preds, labels = rng.random(40), rng.integers(0, 2, 40)
    pairs = [(p > 0.5, bool(y)) for p, y in zip(preds, labels, strict=True)]
    tp, fp, fn = (pairs.count(pair) for pair in ((True, True), (True, False), (False, True)))
    precision, recall = tp / (tp + fp), tp / (tp + fn)
    expected = {
        Precision: precision,
        Recall: recall,
        F1: 2 * precision * recall / (precision + recall),
    }
    for kind, value in expected.items():
        metric = kind()
        metric.update(preds, labels)
        assert metric.eval() == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize("kind", EXPECTED)
def test_where_there_is_no_one_it_is_0(kind):
    metric = kind()
    metric.update([0.1, 0.2], [0, 0])
    assert metric.eval() == 0.0


@pytest.mark.parametrize("kind", EXPECTED)
def test_eval_before_any_update_is_an_error(kind):
    metric = kind()
    metric.update(np.zeros((0, 1)), np.zeros((0, 1)))
    with pytest.raises(fluid.InvalidArgument, match=rf"^{kind.__name__}: eval must come after"):
        metric.eval()


@pytest.mark.parametrize(
    ("preds", "labels", "message"),
    [
        ([0.5, 1.5], [0, 1], r"F1: preds must be probabilities in \[0, 1\], got 1.5 at 1"),
        ([0.5, 0.5], [0, 2], r"F1: labels must be whole numbers in \[0, 2\), got 2 at 1"),
        (
            [0.5],
            [0, 1],
            "F1: there must be a label for each prediction, got 1 predictions, 2 labels",
        ),
        (np.zeros((2, 2)), [0, 1], r"F1: preds must be \[n\] or \[n, 1\], got \[2, 2\]"),
    ],
)
def test_a_wrong_batch_is_an_error_that_changes_nothing(preds, labels, message):
    metric = F1()
    metric.update([1.0], [1])
    with pytest.raises(fluid.InvalidArgument, match=f"^{message}$"):
        metric.update(preds, labels)
    assert metric.eval() == 1.0
