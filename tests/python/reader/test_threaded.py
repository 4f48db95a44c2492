"""Tests of fluidcore.reader.threaded."""

import threading
import traceback

import pytest

import fluidcore as fluid
from fluidcore.reader import batch, buffered, map_readers, xmap_readers

pytestmark = pytest.mark.usefixtures("no_thread_remains")

READ = [
    lambda r: buffered(r, 3),
    lambda r: xmap_readers(lambda x: x, r, 2, 3, order=True),
    lambda r: xmap_readers(lambda x: x, r, 2, 3),
]
IDS = ["buffered", "xmap_readers in order", "xmap_readers"]


def hundred():
    yield from range(100)


def failing():
    yield from range(5)
    raise OSError("the disk is gone")


@pytest.mark.parametrize("read", READ, ids=IDS)
def test_every_item_comes_once(read):
    assert sorted(read(hundred)()) == list(range(100))
    assert list(read(list)()) == []
    assert list(read(lambda: [None])()) == [None]


def test_buffered_keeps_the_order():
    assert list(buffered(hundred, 7)()) == list(range(100))
    assert list(buffered(hundred, 1)()) == list(range(100))


def test_buffered_reads_in_a_thread_and_ahead():
    names, third = [], threading.Event()

    def read():
        for i in range(10):
            names.append(threading.current_thread().name)
            if i == 3:
                third.set()
            yield i

    items = buffered(read, 3)()
    assert next(items) == 0
    assert third.wait(60)  # 1, 2 and 3 are read while 0 is used
    items.close()
    assert len(names) == 4
    assert len(set(names)) == 1
    assert names[0].startswith("fluidcore-data-")


def test_xmap_readers_maps_in_threads_and_keeps_the_order_where_told():
    second_done = threading.Event()

    def mapper(x):
        if x == 0:
            assert second_done.wait(60)
        if x == 1:
            second_done.set()
        return x * x

    assert list(xmap_readers(mapper, hundred, 2, 4, order=True)()) == [x * x for x in range(100)]


def test_xmap_readers_gives_first_what_is_done_first_where_order_does_not_matter():
    others_done = threading.Event()

    def mapper(x):
        if x == 0:
            assert others_done.wait(60)
        return x

    results = xmap_readers(mapper, hundred, 2, 4)()
    seen = [next(results) for _ in range(3)]
    assert 0 not in seen
    others_done.set()
    assert sorted([*seen, *results]) == list(range(100))


@pytest.mark.parametrize("read", READ, ids=IDS)
def test_what_a_reader_raises_comes_with_traceback_and_item(read):
    with pytest.raises(OSError, match="the disk is gone") as caught:
        list(read(failing)())
    assert str(caught.value) == "the disk is gone"
    what = "buffered" if read is READ[0] else "xmap_readers"
    assert caught.value.__notes__ == [f"{what}: at item 5 of reader failing"]
    text = "".join(traceback.format_exception(caught.value))
    assert 'raise OSError("the disk is gone")' in text


@pytest.mark.parametrize("read", READ[:2], ids=IDS[:2])
def test_everything_before_an_error_comes_before_it(read):
    items = read(failing)()
    assert [next(items) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(OSError, match="the disk is gone"):
        next(items)


def test_what_a_mapper_raises_comes_in_its_turn_with_traceback_and_item():
    def mapper(x):
        return 1 // (7 - x)

    items = xmap_readers(mapper, hundred, 3, 5, order=True)()
    assert [next(items) for _ in range(7)] == [1 // (7 - x) for x in range(7)]
    with pytest.raises(ZeroDivisionError) as caught:
        next(items)
    assert caught.value.__notes__ == ["xmap_readers: at item 7 of reader hundred"]
    assert "return 1 // (7 - x)" in "".join(traceback.format_exception(caught.value))
    assert list(items) == []


@pytest.mark.parametrize("read", READ, ids=IDS)
def test_threads_end_and_the_reader_is_closed_when_who_reads_stops_early(read):
    closed = []

    def endless():
        try:
            while True:
                yield 1
        finally:
            closed.append(True)

    before = threading.active_count()
    items = read(endless)()
    next(items)
    assert threading.active_count() > before
    del items
    assert threading.active_count() == before
    assert closed == [True]


@pytest.mark.parametrize("read", READ, ids=IDS)
def test_threads_end_although_an_error_of_who_reads_is_kept(read):
    before = threading.active_count()

    def fail(item):
        raise ValueError(item)

    with pytest.raises(ValueError, match="0") as caught:
        list(batch(map_readers(fail, read(hundred)), 2)())
    assert threading.active_count() == before
    assert caught.tb is not None


@pytest.mark.parametrize("read", READ, ids=IDS)
def test_threads_end_when_the_loop_that_reads_fails(read):
    before = threading.active_count()

    def loop():
        for items in batch(read(hundred), 2)():
            raise ValueError(f"stop at {items}")

    with pytest.raises(ValueError, match="stop") as caught:
        loop()
    assert threading.active_count() == before
    assert caught.tb is not None


def test_threads_of_readers_in_readers_end():
    before = threading.active_count()
    items = buffered(batch(xmap_readers(str, buffered(hundred, 2), 2, 2), 3), 2)()
    assert len(next(items)) == 3
    assert threading.active_count() > before
    items.close()
    assert threading.active_count() == before


def test_a_reader_that_is_opened_and_not_read_starts_no_thread():
    before = threading.active_count()
    items = buffered(hundred, 3)()
    assert threading.active_count() == before
    del items


def test_sizes_must_be_whole_and_at_least_1():
    with pytest.raises(
        fluid.InvalidArgument, match=r"^buffered: size must be a whole number of at least 1, got 0$"
    ):
        buffered(hundred, 0)
    with pytest.raises(
        fluid.InvalidArgument,
        match=r"^xmap_readers: process_num must be a whole number of at least 1, got 0$",
    ):
        xmap_readers(str, hundred, 0, 1)
    with pytest.raises(
        TypeError,
        match=r"^xmap_readers: buffer_size must be a whole number of at least 1, got float 1.5$",
    ):
        xmap_readers(str, hundred, 1, 1.5)


def test_what_maps_must_be_a_function():
    with pytest.raises(TypeError, match=r"^xmap_readers: mapper must be a function, got None"):
        xmap_readers(None, hundred, 1, 1)
