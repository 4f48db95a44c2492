"""Tests of fluidcore.reader.combine."""

import pytest

import fluidcore as fluid
from fluidcore.reader import ComposeNotAligned, chain, compose, map_readers


def of(*items):
    def read():
        yield from items

    return read


def test_map_readers_gives_the_function_of_an_item_of_each():
    assert list(map_readers(lambda a, b: a * b, of(1, 2, 3), of(4, 5, 6))()) == [4, 10, 18]


def test_map_readers_ends_with_the_shortest():
    assert list(map_readers(max, of(1, 5, 3), of(2, 2))()) == [2, 5]


def test_map_readers_reads_no_further_than_it_is_asked():
    taken = []

    def endless():
        for i in range(100):
            taken.append(i)
            yield i

    results = map_readers(str, endless)()
    assert taken == []
    assert [next(results), next(results)] == ["0", "1"]
    assert taken == [0, 1]


def test_chain_gives_one_reader_after_the_other():
    assert list(chain(of(1, 2), of(), of(3))()) == [1, 2, 3]


def test_chain_opens_a_reader_when_the_one_before_has_ended():
    opened = []

    def second():
        opened.append("second")
        return [2]

    items = chain(of(1), second)()
    assert next(items) == 1
    assert opened == []
    assert next(items) == 2


def test_compose_joins_tuples_and_takes_others_as_tuples_of_one():
    composed = compose(of((1, 2), "a"), of(3, None), of((4, 5), [6]))
    assert list(composed()) == [(1, 2, 3, 4, 5), ("a", None, [6])]


def test_readers_that_are_not_aligned_are_an_error_that_names_them():
    def images():
        return [1, 2, 3]

    def labels():
        return [1, 2]

    items = compose(images, labels)()
    assert [next(items), next(items)] == [(1, 1), (2, 2)]
    with pytest.raises(ComposeNotAligned) as caught:
        next(items)
    assert str(caught.value) == (
        "compose: the readers must have equally many items, got 2 of labels (reader 1) and more of "
        "images (reader 0); check_alignment=False leaves these out"
    )
    assert isinstance(caught.value, fluid.InvalidArgument)
    assert isinstance(caught.value, ValueError)


def test_without_check_alignment_compose_ends_with_the_shortest():
    assert list(compose(of(1, 2, 3), of(4), check_alignment=False)()) == [(1, 4)]


@pytest.mark.parametrize("check_alignment", [True, False])
def test_compose_of_readers_of_nothing_gives_nothing(check_alignment):
    assert list(compose(of(), of(), check_alignment=check_alignment)()) == []


@pytest.mark.parametrize(
    ("name", "combine"),
    [("map_readers", lambda: map_readers(str)), ("chain", chain), ("compose", compose)],
)
def test_there_must_be_a_reader(name, combine):
    with pytest.raises(TypeError, match=f"^{name}: there must be at least one reader, got none$"):
        combine()


def test_what_maps_must_be_a_function():
    with pytest.raises(TypeError, match=r"^map_readers: func must be a function, got int$"):
        map_readers(3, of(1))


@pytest.mark.parametrize("combine", [compose, chain, lambda r: map_readers(str, r)])
def test_a_reader_is_closed_when_who_reads_stops_early(combine):
    closed = []

    def endless():
        try:
            while True:
                yield 1
        finally:
            closed.append(True)

    items = combine(endless)()
    next(items)
    items.close()
    assert closed == [True]


def test_a_reader_is_closed_although_an_error_keeps_the_frame_alive():
    closed = []

    def endless():
        try:
            while True:
                yield 1
        finally:
            closed.append(True)

    with pytest.raises(ZeroDivisionError) as caught:
        list(map_readers(lambda x: x // 0, endless)())
    assert closed == [True]
    assert caught.tb is not None
