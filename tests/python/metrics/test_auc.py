import numpy as np
import pytest

import fluidcore as fluid
from fluidcore.metrics import Auc


def pairwise_area(bins, labels):
    """The share of pairs of a one and a zero that are in order; equal ones count half."""
    ones, zeros = bins[labels == 1], bins[labels == 0]
    difference = ones[:, None] - zeros[None, :]
    return np.mean((difference > 0) + 0.5 * (difference == 0))


def average_precision(bins, labels):
    """The sum over thresholds, from the highest, of precision times gain in recall."""
    total, recall = 0.0, 0.0
    for threshold in sorted(set(bins.tolist()), reverse=True):
        predicted = bins >= threshold
        gained = labels[predicted].sum() / labels.sum() - recall
        total += labels[predicted].mean() * gained
        recall += gained
    return total


def test_four_examples_are_those_counted_by_hand():
    # pairs: 0.8 > 0.1, 0.8 > 0.4, 0.35 > 0.1, 0.35 < 0.4; the second point of PR has 2 of 3
    preds, labels = [0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]
    for curve, area in (("ROC", 3 / 4), ("PR", 1 / 2 * 1 + 1 / 2 * 2 / 3)):
        metric = Auc(curve=curve)
        metric.update(preds, labels)
        assert metric.eval() == pytest.approx(area, rel=1e-15)


@pytest.mark.parametrize("num_thresholds", [1, 5, 200, 4095])
@pytest.mark.parametrize("seed", range(4))
def test_random_examples_agree_with_brute_force(num_thresholds, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, 60)
    preds = np.clip(rng.normal(0.4 + 0.2 * labels, 0.2), 0, 1)
    bins = np.floor(preds * num_thresholds)
    for curve, area in (("ROC", pairwise_area), ("PR", average_precision)):
        metric = Auc(curve=curve, num_thresholds=num_thresholds)
        for part in np.array_split(np.arange(60), 7):
            metric.update(preds[part], labels[part])
        assert metric.eval() == pytest.approx(area(bins, labels), rel=1e-13)


def test_the_second_of_two_columns_is_the_probability_of_class_1():
    one, two = Auc(), Auc()
    preds, labels = np.array([0.2, 0.7, 0.9]), [0, 1, 0]
    one.update(preds, labels)
    two.update(np.stack([1 - preds, preds], axis=1), labels)
    assert one.eval() == two.eval() == 0.5


def test_the_ends_of_the_range_are_counted():
    metric = Auc()
    metric.update([0.0, 1.0], [0, 1])
    assert metric.eval() == 1.0
    metric.reset()
    metric.update([0.0, 1.0], [1, 0])
    assert metric.eval() == 0.0


def test_examples_in_one_bin_count_half():
    metric = Auc(num_thresholds=1)
    metric.update([0.2, 0.9], [0, 1])
    assert metric.eval() == 0.5


def test_eval_before_any_update_is_an_error():
    with pytest.raises(fluid.InvalidArgument, match=r"^Auc: eval must come after an update"):
        Auc().eval()


def test_labels_of_one_class_have_no_area():
    metric = Auc()
    metric.update([0.5, 0.6], [1, 1])
    message = "^Auc: labels must be of both classes, got 2 of class 1, 0 of class 0$"
    with pytest.raises(fluid.InvalidArgument, match=message):
        metric.eval()


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"curve": "DET"}, ValueError, "Auc: curve must be 'ROC' or 'PR', got 'DET'"),
        (
            {"num_thresholds": 0},
            ValueError,
            "Auc: num_thresholds must be a whole number of at least 1, got 0",
        ),
        (
            {"num_thresholds": 2.5},
            TypeError,
            "Auc: num_thresholds must be a whole number of at least 1, got float 2.5",
        ),
    ],
)
def test_wrong_settings_are_errors(settings, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        Auc(**settings)
