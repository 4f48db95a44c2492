"""Tests of fluidcore.reader.workers."""

import gc
import signal
import subprocess
import sys
import textwrap
import threading

import pytest

from fluidcore.reader.workers import worked

pytestmark = pytest.mark.usefixtures("no_thread_remains")


def counted(taken):
    for i in range(1000):
        taken.append(i)
        yield i


@pytest.mark.parametrize(("threads", "ahead"), [(1, 1), (1, 4), (3, 1), (3, 5), (8, 20)])
def test_no_more_items_are_taken_than_may_be_ahead(threads, ahead):
    taken = []
    results = worked(counted(taken), lambda x: x, threads=threads, ahead=ahead)
    for given in range(1, 50):
        next(results)
        assert len(taken) <= given + ahead
    results.close()
    assert len(taken) <= 49 + ahead


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_are_in_the_order_of_the_items(threads):
    results = worked(iter(range(500)), lambda x: -x, threads=threads, ahead=2 * threads)
    assert list(results) == [-x for x in range(500)]


def test_all_threads_work_at_once():
    barrier = threading.Barrier(4)

    def wait(x):
        barrier.wait(60)
        return x

    assert list(worked(iter(range(8)), wait, threads=4, ahead=4)) == list(range(8))


def test_the_first_error_in_the_order_of_the_items_is_raised():
    later_failed = threading.Event()

    def fail(x):
        if x == 1:
            assert later_failed.wait(60)
            raise ValueError("first")
        if x == 2:
            later_failed.set()
            raise ValueError("second")
        return x

    results = worked(iter(range(5)), fail, threads=2, ahead=4)
    assert next(results) == 0
    with pytest.raises(ValueError, match="first"):
        next(results)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError])
def test_whatever_a_thread_raises_is_raised(error):
    def fail(x):
        raise error("in a thread")

    with pytest.raises(error, match="in a thread"):
        list(worked(iter(range(5)), fail, threads=2, ahead=4))


def test_a_stop_iteration_of_a_function_does_not_end_the_results_in_silence():
    def fail(x):
        raise StopIteration

    with pytest.raises(RuntimeError, match="StopIteration"):
        list(worked(iter(range(5)), fail, threads=2, ahead=4))


def test_ctrl_c_ends_the_wait_for_a_thread():
    main = threading.main_thread().ident
    interrupted = threading.Event()

    def interrupt(*_):
        if not interrupted.is_set():
            interrupted.set()
            raise KeyboardInterrupt

    def wait(x):
        while x == 3 and not interrupted.wait(0.005):  # that is, while the results are waited for
            signal.pthread_kill(main, signal.SIGINT)
        return x

    before = signal.signal(signal.SIGINT, interrupt)
    results = worked(iter(range(100)), wait, threads=1, ahead=2)
    try:
        with pytest.raises(KeyboardInterrupt):
            list(results)
    finally:
        signal.signal(signal.SIGINT, before)
    assert interrupted.is_set()


def test_an_iterator_that_is_garbage_in_a_circle_ends_its_threads():
    before = threading.active_count()
    circle = {}
    circle["results"] = worked(iter(range(100)), lambda x, c=circle: x, threads=2, ahead=4)
    next(circle["results"])
    del circle
    while threading.active_count() > before:  # a thread that works holds the circle, too
        gc.collect()


def test_an_iterator_that_is_collected_in_one_of_its_threads_ends_without_waiting_for_itself():
    held, ended = {}, threading.Event()

    def collect(x):
        if x == 1:
            held["go"].wait(60)
            held.pop("results").close()
            ended.set()
        return x

    held["go"] = threading.Event()
    results = worked(iter(range(100)), collect, threads=1, ahead=1)
    held["results"] = results
    assert next(results) == 0
    workers = [each for each in threading.enumerate() if each.name.startswith("fluidcore-data")]
    held["go"].set()
    assert ended.wait(60)
    for worker in workers:
        worker.join()
    assert list(results) == []


def run_python(code):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


STARTED = """
from fluidcore.reader import buffered, xmap_readers

def endless():
    while True:
        yield 1

items = xmap_readers(str, buffered(endless, 5), 3, 9)()
next(items)
"""


@pytest.mark.parametrize(("end", "status"), [("", 0), ("import sys; sys.exit(3)", 3)])
def test_the_interpreter_exits_while_threads_are_ahead(end, status):
    result = run_python(STARTED + end)
    assert (result.returncode, result.stderr) == (status, "")


def test_an_error_at_the_top_of_a_script_ends_it():
    result = run_python(STARTED + "raise ValueError('seen')")
    assert result.returncode == 1
    assert result.stderr.endswith("ValueError: seen\n")
