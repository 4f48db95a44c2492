"""Tests of fluidcore.data_loader.loader: batches, epochs, orders, resuming."""

import itertools
import json

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers

pytestmark = pytest.mark.usefixtures("no_thread_remains")


class Squares:
    """Samples (i, i * i)."""

    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return np.float32(index), index * index


def arrays(size):
    index = np.arange(size)
    return index.astype(np.float32), index * index


def endless(loader):
    while True:
        yield from loader


def firsts(batches):
    """The samples of each batch."""
    return [batch[0].astype(int).tolist() for batch in batches]


def message(call, *arguments, error=fluid.InvalidArgument, **options):
    with pytest.raises(error) as caught:
        call(*arguments, **options)
    return str(caught.value)


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("make", [Squares, arrays], ids=["samples", "arrays"])
class TestBatches:
    def test_samples_come_in_order_in_batches_of_arrays(self, make, workers):
        loader = fluid.DataLoader(make(10), 4, num_workers=workers)
        batches = list(loader)
        assert firsts(batches) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
        assert len(loader) == 3
        x, y = batches[1]
        assert (x.dtype, y.dtype) == (np.float32, np.int64)
        np.testing.assert_array_equal(y, [16, 25, 36, 49])

    def test_a_shorter_last_batch_is_left_out_where_told(self, make, workers):
        loader = fluid.DataLoader(make(10), 4, num_workers=workers, drop_last=True)
        assert firsts(loader) == [[0, 1, 2, 3], [4, 5, 6, 7]]
        assert len(loader) == 2
        assert len(fluid.DataLoader(make(8), 4, drop_last=True)) == 2
        assert len(fluid.DataLoader(make(8), 4)) == 2

    def test_each_epoch_is_shuffled_in_an_order_of_its_own(self, make, workers):
        loader = fluid.DataLoader(make(20), 6, shuffle=True, num_workers=workers, seed=5)
        epochs = [firsts(loader) for _ in range(3)]
        for epoch, batches in enumerate(epochs):
            assert [len(batch) for batch in batches] == [6, 6, 6, 2]
            order = np.random.default_rng((5, epoch)).permutation(20)
            assert list(itertools.chain(*batches)) == order.tolist()
        assert epochs[0] != epochs[1] != epochs[2]

    def test_names_make_dicts_that_can_be_run(self, make, workers):
        x = layers.data("x", [1])
        y = layers.data("y", [1], dtype="int64")
        sums = [layers.reduce_sum(x), layers.reduce_sum(y)]
        loader = fluid.DataLoader(make(5), 5, num_workers=workers, feed_list=[x, "y"])
        (batch,) = loader
        assert list(batch) == ["x", "y"]
        found = fluid.Executor().run(feed=batch, fetch_list=sums)
        assert [value.item() for value in found] == [10, 30]

    @pytest.mark.parametrize("shuffle", [False, True])
    @pytest.mark.parametrize("taken", range(9))
    def test_a_resumed_loader_gives_what_the_uninterrupted_one_gives_next(
        self, make, workers, shuffle, taken
    ):
        options = {"shuffle": shuffle, "num_workers": workers}
        loader = fluid.DataLoader(make(10), 3, seed=7, **options)
        going = endless(loader)
        for _ in range(taken):
            next(going)
        state = json.loads(json.dumps(loader.state_dict()))
        rest = firsts(itertools.islice(going, 12 - taken))
        resumed = fluid.DataLoader(make(10), 3, seed=0, **options)
        resumed.load_state_dict(state)
        assert resumed.state_dict() == state
        assert firsts(itertools.islice(endless(resumed), 12 - taken)) == rest


@pytest.mark.parametrize("workers", [0, 2])
def test_the_state_counts_batches_that_were_given_not_those_that_are_ahead(workers):
    loader = fluid.DataLoader(Squares(100), 5, num_workers=workers, prefetch=3)
    assert (loader.state_dict()["epoch"], loader.state_dict()["batch"]) == (0, 0)
    for number, _ in enumerate(loader, 1):
        assert (loader.epoch, loader.state_dict()["batch"]) == (0, number)
    assert (loader.epoch, loader.state_dict()["batch"]) == (1, 0)


def test_a_resumed_loader_ends_its_epoch_where_that_ended():
    loader = fluid.DataLoader(Squares(10), 3, shuffle=True)
    for _ in loader:
        state = loader.state_dict()  # at the end that of the last batch
    loader.load_state_dict(state)
    assert loader.epoch == 0
    assert list(loader) == []
    assert loader.epoch == 1
    assert len(list(loader)) == 4


def test_an_epoch_that_is_left_early_is_followed_by_the_next():
    loader = fluid.DataLoader(Squares(10), 3, shuffle=True)
    for _ in loader:
        break
    assert (loader.epoch, loader.state_dict()["batch"]) == (0, 1)
    second = firsts(loader)
    assert second == firsts_of_epoch(1)
    assert loader.epoch == 2


def firsts_of_epoch(epoch):
    order = np.random.default_rng((0, epoch)).permutation(10).tolist()
    return [order[i : i + 3] for i in range(0, 10, 3)]


def test_of_two_iterations_the_latest_has_the_position():
    loader = fluid.DataLoader(Squares(10), 3, shuffle=True)
    first, second = iter(loader), iter(loader)
    assert firsts([next(first)]) == firsts_of_epoch(0)[:1]
    assert firsts([next(second)]) == firsts_of_epoch(1)[:1]
    assert firsts(first) == firsts_of_epoch(0)[1:]
    assert (loader.epoch, loader.state_dict()["batch"]) == (1, 1)


def test_loading_a_state_begins_anew_while_an_iteration_goes_on():
    loader = fluid.DataLoader(Squares(10), 3, shuffle=True)
    state = loader.state_dict()
    old = iter(loader)
    next(old)
    loader.load_state_dict(state)
    next(old)
    assert loader.state_dict() == state
    assert firsts(loader) == firsts_of_epoch(0)


def test_the_seed_decides_the_orders():
    one, same, other = (
        firsts(fluid.DataLoader(Squares(50), 50, shuffle=True, seed=seed)) for seed in (1, 1, 2)
    )
    assert one == same != other


def test_a_state_of_another_loader_is_refused():
    loader = fluid.DataLoader(Squares(10), 3)
    state = fluid.DataLoader(Squares(10), 5, shuffle=True).state_dict()
    assert message(loader.load_state_dict, state) == (
        "DataLoader: the state must be of a loader like this one, {'samples': 10, 'batch_size': 3, "
        "'shuffle': 0, 'drop_last': 0}, got {'samples': 10, 'batch_size': 5, 'shuffle': 1, "
        "'drop_last': 0}"
    )


def test_a_state_that_is_none_is_refused_and_leaves_the_loader_as_it_was():
    loader = fluid.DataLoader(Squares(10), 3)
    good = loader.state_dict()
    assert message(loader.load_state_dict, {"epoch": 1}) == (
        "DataLoader: the state must be what state_dict returned, got none of ['samples', "
        "'batch_size', 'shuffle', 'drop_last', 'seed', 'batch']"
    )
    assert message(loader.load_state_dict, None, error=TypeError) == (
        "DataLoader: the state must be a dict, got NoneType"
    )
    assert message(loader.load_state_dict, {**good, "batch": 5}) == (
        "DataLoader: 'batch' of the state must be at most 4, got 5"
    )
    assert message(loader.load_state_dict, {**good, "epoch": -1}) == (
        "DataLoader: 'epoch' of the state must be a whole number of at least 0, got -1"
    )
    assert message(loader.load_state_dict, {**good, "seed": "a"}, error=TypeError) == (
        "DataLoader: 'seed' of the state must be a whole number of at least 0, got str 'a'"
    )
    assert loader.state_dict() == good


@pytest.mark.parametrize(
    ("name", "least"), [("batch_size", 1), ("num_workers", 0), ("prefetch", 1), ("seed", 0)]
)
def test_numbers_must_be_whole_and_not_too_small(name, least):
    for value, error, text in [
        (least - 1, fluid.InvalidArgument, f"{least - 1}"),
        (2.0, TypeError, "float 2.0"),
        (True, TypeError, "bool True"),
    ]:
        options = {"batch_size": 2, name: value}
        assert message(fluid.DataLoader, Squares(3), error=error, **options) == (
            f"DataLoader: {name} must be a whole number of at least {least}, got {text}"
        )


@pytest.mark.parametrize(
    ("dataset", "name"),
    [([], "list"), (Squares(0), "Squares"), ({"x": np.empty((0, 3))}, "dict")],
)
def test_a_data_set_must_have_a_sample(dataset, name):
    assert message(fluid.DataLoader, dataset, 2) == (
        f"DataLoader: dataset must have at least one sample, got {name} of length 0"
    )


def test_an_epoch_must_have_a_batch():
    assert message(fluid.DataLoader, Squares(3), 4, drop_last=True) == (
        "DataLoader: an epoch must have a batch, got batch_size 4 and drop_last=True for 3 samples"
    )


def test_a_batch_may_be_larger_than_the_data_set():
    assert firsts(fluid.DataLoader(Squares(3), 2**40)) == [[0, 1, 2]]


@pytest.mark.parametrize("dataset", [3, iter([1]), None, {1, 2}])
def test_what_has_no_length_or_no_samples_is_refused(dataset):
    assert message(fluid.DataLoader, dataset, 2, error=TypeError) == (
        "DataLoader: dataset must have __len__ and __getitem__, or be a dict or a tuple of arrays, "
        f"got {type(dataset).__name__}"
    )


def test_collate_must_be_a_function():
    assert message(fluid.DataLoader, [1], 2, collate=3, error=TypeError) == (
        "DataLoader: collate must be a function, got int"
    )


def test_a_checkpoint_holds_the_position(tmp_path):
    x = layers.data("x", [1])
    layers.create_global_var([1], 0.0, "float32", persistable=True)
    main, exe = fluid.default_main_program(), fluid.Executor()
    exe.run(fluid.default_startup_program())
    loader, other = (
        fluid.DataLoader(arrays(10), 3, shuffle=True, seed=seed, feed_list=[x, "y"])
        for seed in (1, 2)
    )
    batches = endless(loader)
    for _ in range(6):
        next(batches)
    fluid.checkpoint.save(tmp_path, 6, exe, main, reader=loader)
    fluid.checkpoint.load(tmp_path, exe, main, reader=other)
    for ours, theirs in itertools.islice(zip(batches, endless(other), strict=True), 9):
        np.testing.assert_array_equal(ours["x"], theirs["x"])


def test_a_network_is_trained():
    x, y = layers.data("x", [1]), layers.data("y", [1])
    loss = layers.mean(layers.square_error_cost(layers.fc(x, 1), y))
    fluid.optimizer.SGD(0.1).minimize(loss)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    inputs = np.linspace(-1, 1, 32, dtype=np.float32)[:, None]
    data = {"x": inputs, "y": 3 * inputs + 1}
    for _ in range(40):
        for batch in fluid.DataLoader(data, 8, shuffle=True, num_workers=1):
            (value,) = exe.run(feed=batch, fetch_list=[loss])
    assert value.item() < 1e-4
