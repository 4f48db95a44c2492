"""Tests of fluidcore.reader.select."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore.reader import batch, cache, firstn, shuffle


def ten():
    return iter(range(10))


def test_batch_gives_lists_and_a_last_one_that_is_shorter():
    assert list(batch(ten, 4)()) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_batch_leaves_out_a_shorter_last_list_where_told():
    assert list(batch(ten, 4, drop_last=True)()) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert list(batch(ten, 5, drop_last=True)()) == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]


def test_batches_of_nothing_are_none():
    assert list(batch(list, 4)()) == []


def test_a_batch_size_from_numpy_is_one():
    assert list(batch(ten, np.int64(10))()) == [list(range(10))]


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda n: batch(ten, n), "batch: batch_size"),
        (lambda n: shuffle(ten, n), "shuffle: buf_size"),
    ],
)
def test_a_size_must_be_whole_and_at_least_1(make, what):
    for size in (0, -3):
        with pytest.raises(fluid.InvalidArgument) as caught:
            make(size)
        assert str(caught.value) == f"{what} must be a whole number of at least 1, got {size}"
    for size, text in [(2.0, "float 2.0"), (True, "bool True"), ("2", "str '2'")]:
        with pytest.raises(TypeError) as caught:
            make(size)
        assert str(caught.value) == f"{what} must be a whole number of at least 1, got {text}"


def test_firstn_reads_no_more_than_it_gives():
    taken = []

    def endless():
        for i in range(100):
            taken.append(i)
            yield i

    assert list(firstn(endless, 3)()) == [0, 1, 2]
    assert taken == [0, 1, 2]
    assert list(firstn(ten, 100)()) == list(range(10))
    assert list(firstn(ten, 0)()) == []


def test_firstn_needs_a_number_that_is_not_negative():
    with pytest.raises(
        fluid.InvalidArgument, match=r"^firstn: n must be a whole number of at least 0, got -1$"
    ):
        firstn(ten, -1)


def test_cache_reads_once():
    times = []

    def read():
        times.append(1)
        yield from range(3)

    cached = cache(read)
    assert list(cached()) == list(cached()) == [0, 1, 2]
    assert times == [1]


def test_shuffle_gives_every_item_once():
    shuffled = list(shuffle(lambda: range(1000), 1000, seed=0)())
    assert sorted(shuffled) == list(range(1000))
    assert shuffled != sorted(shuffled)


def test_shuffle_moves_items_within_its_buffer_only():
    shuffled = np.array(list(shuffle(lambda: range(1000), 10, seed=0)()))
    np.testing.assert_array_equal(shuffled // 10, np.arange(1000) // 10)


def test_a_seed_gives_the_same_orders_and_another_each_time_it_is_read():
    first, again = shuffle(ten, 10, seed=3), shuffle(ten, 10, seed=3)
    orders = [list(first()) for _ in range(5)]
    assert [list(again()) for _ in range(5)] == orders
    assert len({tuple(order) for order in orders}) == 5
    assert list(shuffle(ten, 10, seed=4)()) != orders[0]


def test_without_a_seed_orders_differ():
    def read():
        return range(100)

    assert list(shuffle(read, 100)()) != list(shuffle(read, 100)())


def test_a_seed_must_not_be_negative():
    with pytest.raises(
        fluid.InvalidArgument, match=r"^shuffle: seed must be a whole number of at least 0, got -1$"
    ):
        shuffle(ten, 10, seed=-1)
