"""How an iteration of a DataLoader ends: early, by an error, by Ctrl-C; no thread is left."""

import signal
import threading

import numpy as np
import pytest

import fluidcore as fluid

pytestmark = pytest.mark.usefixtures("no_thread_remains")


class Numbers:
    """Samples i; calls a function before."""

    def __init__(self, before=lambda i: None):
        self.before = before

    def __len__(self):
        return 1000

    def __getitem__(self, index):
        self.before(index)
        return index


@pytest.fixture(params=["samples", "arrays"])
def loader(request):
    dataset = Numbers() if request.param == "samples" else (np.arange(1000),)
    return fluid.DataLoader(dataset, 3, num_workers=3, prefetch=2)


def workers():
    return sum(thread.name.startswith("fluidcore-data") for thread in threading.enumerate())


def loop(loader, stop):
    """Goes through the loader in a frame that an error keeps alive."""
    for number, _ in enumerate(loader):
        if number == 5:
            assert workers() > 0
            stop()


def raise_value_error():
    raise ValueError("of the consumer")


def test_an_exception_of_the_consumer_ends_the_threads_before_it_is_handled(loader):
    with pytest.raises(ValueError, match="of the consumer") as caught:
        loop(loader, raise_value_error)
    assert workers() == 0
    assert caught.tb is not None


def test_ctrl_c_in_the_consumer_ends_the_threads(loader):
    with pytest.raises(KeyboardInterrupt):
        loop(loader, lambda: signal.raise_signal(signal.SIGINT))
    assert workers() == 0


def test_an_iterator_that_is_dropped_ends_its_threads(loader):
    batches = iter(loader)
    next(batches)
    assert workers() > 0
    del batches
    assert workers() == 0


def test_an_iterator_that_is_never_asked_starts_no_thread(loader):
    batches = iter(loader)
    assert workers() == 0
    del batches


def test_an_exception_of_a_worker_ends_all_threads():
    def fail(index):
        if index == 500:
            raise OSError("of a worker")

    loader = fluid.DataLoader(Numbers(fail), 3, num_workers=3)
    with pytest.raises(OSError, match="of a worker") as caught:
        list(loader)
    assert workers() == 0
    assert caught.value.__notes__ == ["DataLoader: at sample 500 of Numbers"]
    assert loader.state_dict()["batch"] == 166  # those before it were given


def test_after_an_error_the_loader_can_be_resumed_where_it_was():
    broken = [True]

    def fail(index):
        if index == 10 and broken:
            broken.pop()
            raise OSError("once")

    loader = fluid.DataLoader(Numbers(fail), 4, num_workers=2)
    with pytest.raises(OSError, match="once"):
        list(loader)
    loader.load_state_dict(loader.state_dict())
    assert next(iter(loader))[0].tolist() == [8, 9, 10, 11]


def test_no_more_batches_are_made_than_may_be_ahead():
    made = []
    loader = fluid.DataLoader(Numbers(made.append), 1, num_workers=2, prefetch=3)
    batches = iter(loader)
    for given in range(1, 30):
        next(batches)
        assert len(made) <= given + 6
    batches.close()
    assert len(made) <= 29 + 6


def test_batches_are_made_while_the_consumer_works():
    ahead = threading.Event()
    loader = fluid.DataLoader(
        Numbers(lambda i: ahead.set() if i == 6 else None), 1, num_workers=2, prefetch=3
    )
    batches = iter(loader)
    next(batches)
    assert ahead.wait(60)
    batches.close()


def test_without_workers_nothing_is_made_ahead_and_no_thread_starts():
    made = []
    for number, _ in enumerate(fluid.DataLoader(Numbers(made.append), 10), 1):
        assert len(made) == 10 * number
        assert workers() == 0
