"""Tests of fluidcore.reader.creator."""

import functools

import pytest

import fluidcore as fluid
from fluidcore import reader
from fluidcore.reader.creator import name_of, opened


def numbers():
    return range(3)


def of_path(path):
    return [path]


class Lines:
    def __call__(self):
        return ["a", "b"]


DECORATED = [
    ("batch", lambda r: reader.batch(r, 2)),
    ("shuffle", lambda r: reader.shuffle(r, 2)),
    ("buffered", lambda r: reader.buffered(r, 2)),
    ("map_readers", lambda r: reader.map_readers(str, r)),
    ("xmap_readers", lambda r: reader.xmap_readers(str, r, 1, 1)),
    ("chain", lambda r: reader.chain(r)),
    ("compose", lambda r: reader.compose(r)),
    ("firstn", lambda r: reader.firstn(r, 2)),
    ("cache", lambda r: reader.cache(r)),
]


@pytest.mark.parametrize(("name", "decorate"), DECORATED, ids=[name for name, _ in DECORATED])
def test_a_list_in_the_place_of_a_reader_is_refused(name, decorate):
    with pytest.raises(TypeError) as caught:
        decorate([1, 2])
    assert str(caught.value) == (
        f"{name}: a reader must be a function without arguments that returns an iterable, got list"
    )


@pytest.mark.parametrize(("name", "decorate"), DECORATED, ids=[name for name, _ in DECORATED])
def test_a_reader_that_takes_arguments_is_refused_with_what_to_write(name, decorate):
    with pytest.raises(TypeError) as caught:
        decorate(of_path)
    assert str(caught.value) == (
        f"{name}: a reader must be a function without arguments that returns an iterable, got "
        "of_path(path); write lambda: of_path(...)"
    )


@pytest.mark.parametrize(("name", "decorate"), DECORATED, ids=[name for name, _ in DECORATED])
def test_a_reader_that_returns_no_iterable_is_an_error_when_it_is_read(name, decorate):
    def three():
        return 3

    with pytest.raises(TypeError) as caught:
        list(decorate(three)())
    assert str(caught.value) == f"{name}: reader three must return an iterable, got int"


@pytest.mark.parametrize(("name", "decorate"), DECORATED, ids=[name for name, _ in DECORATED])
def test_a_decorated_reader_is_named_after_what_it_reads(name, decorate):
    decorated = decorate(numbers)
    assert decorated.__name__ == f"{name}(numbers)"
    assert f"{name}(numbers)" in repr(decorated)


@pytest.mark.parametrize(("name", "decorate"), DECORATED, ids=[name for name, _ in DECORATED])
def test_a_decorated_reader_can_be_read_again_and_again(name, decorate):
    decorated = decorate(numbers)
    first = sorted(map(str, decorated()))
    assert len(first) == len(list(decorated())) > 0
    if name != "shuffle" and name != "batch":
        assert sorted(map(str, decorated())) == first


def test_anything_that_is_called_without_arguments_is_a_reader():
    assert list(reader.firstn(Lines(), 1)()) == ["a"]
    assert name_of(Lines()) == "Lines"
    bound = functools.partial(of_path, "x")
    assert list(reader.chain(bound, lambda: "yz")()) == ["x", "y", "z"]
    assert list(reader.chain(list, dict)()) == []


def test_fluid_batch_is_that_of_reader():
    assert fluid.batch is reader.batch


def test_what_was_opened_is_closed_when_a_later_reader_fails():
    closed = []

    def first():
        try:
            yield 1
        finally:
            closed.append("first")

    def second():
        raise OSError("no such disk")

    with pytest.raises(OSError, match="no such disk"), opened("compose", first, second):
        pass
    assert closed == []  # a generator that has not begun has no end

    def begun():
        items = first()
        next(items)
        return items

    with pytest.raises(OSError, match="no such disk"), opened("compose", begun, second):
        pass
    assert closed == ["first"]
