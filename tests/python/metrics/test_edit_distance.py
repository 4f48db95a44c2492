import functools

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore.metrics import EditDistance, edit_distance, edit_distances


def recursive(a, b):
    """The distance by its definition: each way of beginning is tried."""

    @functools.cache
    def rest(i, j):
        if i == len(a) or j == len(b):
            return len(a) - i + len(b) - j
        replaced = rest(i + 1, j + 1) + (a[i] != b[j])
        return min(rest(i + 1, j) + 1, rest(i, j + 1) + 1, replaced)

    return rest(0, 0)


@pytest.mark.parametrize(
    ("a", "b", "distance"),
    [
        ("kitten", "sitting", 3),
        ("saturday", "sunday", 3),
        ("abc", "abc", 0),
        ("", "abc", 3),
        ("abc", "x", 3),
        ([1, 2, 3], [2, 3, 4], 2),
        (["the", "cat"], ["a", "cat"], 1),
    ],
)
def test_distances_are_those_counted_by_hand(a, b, distance):
    assert edit_distance(a, b, normalized=False) == distance
    assert edit_distance(a, b) == distance / len(b)


@pytest.mark.parametrize("seed", range(20))
def test_random_sequences_agree_with_the_definition(seed):
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(0, 3, rng.integers(0, 9)) for _ in range(2))
    expected = recursive(tuple(a.tolist()), tuple(b.tolist()))
    assert edit_distance(a, b, normalized=False) == expected
    assert edit_distance(b, a, normalized=False) == expected


def test_an_empty_reference_has_no_length_to_divide_by():
    assert edit_distance("ab", "", normalized=False) == 2.0
    message = (
        "^edit_distance: the reference must not be empty where the distance is divided by its "
        "length, got 2 items and an empty reference; write normalized=False$"
    )
    with pytest.raises(fluid.InvalidArgument, match=message):
        edit_distance("ab", "")


def test_several_pairs_give_an_array():
    distances = edit_distances(["ab", "b"], ["abc", "a"], normalized=False)
    assert (distances.dtype, distances.tolist()) == (np.float64, [1.0, 1.0])
    assert edit_distances([], []).shape == (0,)
    message = "^edit_distances: there must be a reference for each .*, got 1 hypotheses, 2 ref"
    with pytest.raises(fluid.InvalidArgument, match=message):
        edit_distances(["a"], ["a", "b"])


def test_the_metric_is_the_mean_and_the_share_of_wrong_sequences():
    metric = EditDistance()
    metric.update(edit_distances(["abc", "abd", "x"], ["abc", "abc", "yy"], False), 3)
    metric.update(np.array([[0.0]]), 1)
    assert metric.eval() == (3 / 4, 2 / 4)
    metric.reset()
    metric.update([2], 1)
    assert metric.eval() == (2.0, 1.0)


def test_eval_before_any_update_is_an_error():
    with pytest.raises(fluid.InvalidArgument, match=r"^EditDistance: eval must come after"):
        EditDistance().eval()


@pytest.mark.parametrize(
    ("distances", "seq_num", "error", "message"),
    [
        (
            [1.0],
            2,
            fluid.InvalidArgument,
            "there must be seq_num distances, got 1 distances, seq_num 2",
        ),
        ([-1.0], 1, fluid.InvalidArgument, "distances must be at least 0, got -1.0"),
        ([np.nan], 1, fluid.InvalidArgument, "distances must be at least 0, got nan"),
        ([1.0], 0, ValueError, "seq_num must be a whole number of at least 1, got 0"),
        ([1.0], 1.0, TypeError, "seq_num must be a whole number of at least 1, got float 1.0"),
    ],
)
def test_a_wrong_batch_is_an_error(distances, seq_num, error, message):
    with pytest.raises(error, match=f"^EditDistance: {message}$"):
        EditDistance().update(distances, seq_num)
