"""Batches divided among ranks."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import core

X = np.arange(22)


def batches(size, batch_size=5, **options):
    """The first epoch of every rank."""
    return [
        list(fluid.DataLoader((X,), batch_size, feed_list=["x"], communicator=rank, **options))
        for rank in core.thread_group(size)
    ]


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize("shuffle", [False, True])
def test_every_sample_counts_once_an_epoch_in_the_batch_of_one_process(size, shuffle):
    options = {"samples": "n", "shuffle": shuffle, "seed": 3}
    expected = list(fluid.DataLoader((X,), 5, feed_list=["x"], shuffle=shuffle, seed=3))
    parts = batches(size, **options)
    for number, whole in enumerate(expected):
        mine = [rank[number] for rank in parts]
        counted = [part["x"][: part["n"][0]] for part in mine]
        np.testing.assert_array_equal(np.concatenate(counted), whole["x"])
        assert all(part["n"][1] == len(whole["x"]) for part in mine)
        assert all(len(part["x"]) >= 1 for part in mine)  # a rank without any is given one


def test_equal_parts_need_no_counts():
    parts = batches(2, batch_size=4, drop_last=True)
    assert [len(batch["x"]) for batch in parts[1]] == [2] * 5


@pytest.mark.parametrize(
    ("batch_size", "rest"), [(5, " and a last batch of 2"), (7, " and a last batch of 1")]
)
def test_sizes_that_do_not_divide_are_refused(batch_size, rest):
    message = f"must divide among 2 ranks, got batch_size {batch_size}{rest}; give another"
    with pytest.raises(core.InvalidArgument, match=message):
        batches(2, batch_size=batch_size)


def test_a_position_is_that_of_all_ranks_and_of_any_number_of_them():
    two, one = core.thread_group(2)[1], core.thread_group(1)[0]
    loader = fluid.DataLoader((X,), 4, feed_list=["x"], communicator=two, samples="n")
    next(iter(loader))
    other = fluid.DataLoader((X,), 4, feed_list=["x"], communicator=one, samples="n")
    other.load_state_dict(loader.state_dict())
    np.testing.assert_array_equal(next(iter(other))["x"], X[4:8])


def test_counts_need_names():
    loader = fluid.DataLoader((X,), 4, communicator=core.thread_group(2)[0], samples="n")
    with pytest.raises(core.InvalidArgument, match="batches must be dicts where samples is given"):
        next(iter(loader))


def test_a_communicator_that_is_none():
    with pytest.raises(TypeError, match="communicator must be a Communicator or None, got int"):
        fluid.DataLoader((X,), 4, communicator=2)
