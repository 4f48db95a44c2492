"""Tests of fluidcore.data_loader.sources: arrays, samples, collate."""

import traceback

import numpy as np
import pytest

import fluidcore as fluid

pytestmark = pytest.mark.usefixtures("no_thread_remains")


def message(call, *arguments, error=fluid.InvalidArgument, **options):
    with pytest.raises(error) as caught:
        call(*arguments, **options)
    return str(caught.value)


class Faces:
    """Calls a function for each sample."""

    def __init__(self, sample, size=6):
        self.sample = sample
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        assert type(index) is int
        return self.sample(index)


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_of_arrays_are_views_where_nothing_is_shuffled(workers):
    x, y = np.arange(20.0).reshape(10, 2), np.arange(10)
    for batch in fluid.DataLoader((x, y), 4, num_workers=workers):
        assert all(map(np.shares_memory, batch, (x, y)))
    for batch in fluid.DataLoader({"x": x, "y": y}, 4, num_workers=workers):
        assert np.shares_memory(batch["x"], x)


def test_batches_of_shuffled_arrays_are_copies_of_their_dtype():
    x = np.arange(10, dtype=np.int16)
    for (batch,) in fluid.DataLoader((x,), 4, shuffle=True):
        assert batch.dtype == np.int16
        assert not np.shares_memory(batch, x)


def test_one_array_is_a_tuple_of_one():
    ((first,), _) = fluid.DataLoader(np.arange(12).reshape(4, 3), 2)
    assert first.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_names_choose_fields_of_a_dict():
    data = {name: np.arange(3) + i for i, name in enumerate("abc")}
    (batch,) = fluid.DataLoader(data, 3, feed_list=["c", "a"])
    assert {name: array.tolist() for name, array in batch.items()} == {
        "c": [2, 3, 4],
        "a": [0, 1, 2],
    }


def test_arrays_of_different_lengths_are_told_with_their_shapes():
    assert message(fluid.DataLoader, {"x": np.zeros((3, 2)), "y": np.zeros(4)}, 2) == (
        "DataLoader: the first extents of the arrays, the number of samples, must be equal, got "
        "'x' [3, 2], 'y' [4]"
    )
    assert message(fluid.DataLoader, (np.zeros(3), np.array(4)), 2) == (
        "DataLoader: the first extents of the arrays, the number of samples, must be equal, got "
        "0 [3], 1 []"
    )
    assert message(fluid.DataLoader, {}, 2) == (
        "DataLoader: the first extents of the arrays, the number of samples, must be equal, got "
        "no array"
    )
    assert message(fluid.DataLoader, np.array(3), 2).endswith("got 0 []")


def test_lists_among_arrays_are_refused_with_what_to_write():
    assert message(fluid.DataLoader, {"x": [1, 2]}, 2, error=TypeError) == (
        "DataLoader: 'x' of the arrays must be an array, got list; write np.asarray(...)"
    )
    assert message(fluid.DataLoader, (np.zeros(2), [1, 2]), 2, error=TypeError) == (
        "DataLoader: 1 of the arrays must be an array, got list; write np.asarray(...)"
    )


def test_names_that_do_not_match_arrays_are_refused():
    assert message(fluid.DataLoader, (np.zeros(2), np.ones(2)), 2, feed_list=["x"]) == (
        "DataLoader: the arrays must have 1 fields, ['x'], got 2"
    )
    assert message(fluid.DataLoader, {"image": np.zeros(2)}, 2, feed_list=["imag"]) == (
        "DataLoader: the arrays must have a field 'imag', got ['image']; did you mean 'image'?"
    )


def test_a_list_or_tuple_of_samples_is_a_data_set():
    samples = [([1.0, 2.0], 3), ([4.0, 5.0], 6)]
    for dataset in (samples, tuple(samples)):
        ((x, y),) = fluid.DataLoader(dataset, 2)
        assert (x.tolist(), x.dtype) == ([[1, 2], [4, 5]], np.float32)
        assert (y.tolist(), y.dtype) == ([3, 6], np.int64)


@pytest.mark.parametrize(
    ("sample", "shape", "dtype"),
    [
        (lambda i: i, [6], "int64"),
        (lambda i: i / 2, [6], "float32"),
        (lambda i: i > 2, [6], "bool"),
        (lambda i: [i, 0.5], [6, 2], "float32"),
        (lambda i: np.float64(i), [6], "float64"),
        (lambda i: np.full((2, 3), i, np.uint8), [6, 2, 3], "uint8"),
    ],
)
def test_a_sample_may_be_one_number_or_array(sample, shape, dtype):
    ((batch,),) = fluid.DataLoader(Faces(sample), 6)
    assert (list(batch.shape), batch.dtype.name) == (shape, dtype)


def test_dicts_give_dicts():
    (batch,) = fluid.DataLoader(Faces(lambda i: {"x": np.zeros(2), "n": i}), 6)
    assert batch["x"].shape == (6, 2)
    assert batch["n"].tolist() == [0, 1, 2, 3, 4, 5]
    (batch,) = fluid.DataLoader(Faces(lambda i: {"x": i, "n": "text"}), 6, feed_list=["x"])
    assert list(batch) == ["x"]


@pytest.mark.parametrize("workers", [0, 2])
def test_what_a_data_set_raises_has_its_traceback_and_names_the_sample(workers):
    def sample(index):
        if index == 4:
            raise OSError("cannot be read")
        return index

    batches = iter(fluid.DataLoader(Faces(sample), 2, num_workers=workers))
    assert [next(batches)[0].tolist() for _ in range(2)] == [[0, 1], [2, 3]]
    with pytest.raises(OSError, match="cannot be read") as caught:
        next(batches)
    assert caught.value.__notes__ == ["DataLoader: at sample 4 of Faces"]
    assert 'raise OSError("cannot be read")' in "".join(traceback.format_exception(caught.value))


def test_samples_of_different_shapes_are_told_with_both():
    loader = fluid.DataLoader(Faces(lambda i: (np.zeros((2, 2 + i // 4)), i)), 6)
    assert message(list, loader) == (
        "DataLoader: the samples of a batch must be of one shape in field 0, got [2, 2] in sample "
        "0 and [2, 3] in sample 4 of Faces; pad them, or give a function as collate"
    )
    loader = fluid.DataLoader(Faces(lambda i: {"x": [0] * (1 + i // 5)}), 6)
    assert "one shape in 'x', got [1] in sample 0 and [2] in sample 5 of Faces" in message(
        list, loader
    )


def test_samples_of_different_fields_are_told():
    loader = fluid.DataLoader(Faces(lambda i: (1,) * (2 + i // 3)), 6)
    assert message(list, loader) == (
        "DataLoader: the samples of a batch must have the same fields, got [0, 1] in sample 0 and "
        "[0, 1, 2] in sample 3 of Faces"
    )
    loader = fluid.DataLoader(Faces(lambda i: {"x": 1} if i else {"y": 1}), 6)
    assert "got ['y'] in sample 0 and ['x'] in sample 1" in message(list, loader)


def test_samples_that_do_not_match_the_names_are_told():
    loader = fluid.DataLoader(Faces(lambda i: (i, i, i)), 6, feed_list=["x", "y"])
    assert message(list, loader) == (
        "DataLoader: sample 0 of Faces must have 2 fields, ['x', 'y'], got 3"
    )
    loader = fluid.DataLoader(Faces(lambda i: {"label": i}), 6, feed_list=["lable"])
    assert message(list, loader) == (
        "DataLoader: sample 0 of Faces must have a field 'lable', got ['label']; did you mean "
        "'label'?"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [("abc", "str 'abc'"), (None, "NoneType None"), (np.ma.zeros(2), "a masked array")],
)
def test_samples_that_are_no_numbers_are_told(value, text):
    loader = fluid.DataLoader(Faces(lambda i: (i, value)), 6, feed_list=["x", "y"])
    assert message(list, loader) == (
        f"DataLoader: 'y' must be numbers, got {text} in sample 0 of Faces"
    )


def test_nested_lists_of_unequal_lengths_are_told():
    loader = fluid.DataLoader(Faces(lambda i: ([[1], [2, 3]],)), 6)
    assert message(list, loader).startswith(
        "DataLoader: field 0 must be numbers in extents that are all equal, got list in sample 0 "
        "of Faces: "
    )


def test_collate_makes_the_batch():
    def padded(samples):
        longest = max(map(len, samples))
        return np.array([[*sample, *[0] * (longest - len(sample))] for sample in samples])

    words = [[1], [2, 3], [4, 5, 6]]
    assert [batch.tolist() for batch in fluid.DataLoader(words, 2, collate=padded)] == [
        [[1, 0], [2, 3]],
        [[4, 5, 6]],
    ]
    first = next(iter(fluid.DataLoader(words, 2, collate=padded, feed_list=["words"])))
    assert first["words"].tolist() == [[1, 0], [2, 3]]


def test_collate_gets_samples_of_arrays():
    data = {"x": np.arange(4), "y": np.arange(4) * 2}
    loader = fluid.DataLoader(data, 3, collate=lambda samples: [s["x"] + s["y"] for s in samples])
    assert list(loader) == [[0, 3, 6], [9]]
    loader = fluid.DataLoader(tuple(data.values()), 3, collate=list)
    assert next(iter(loader)) == [(0, 0), (1, 2), (2, 4)]


def test_what_collate_raises_or_returns_wrong_is_told():
    loader = fluid.DataLoader(Faces(lambda i: i), 3, collate=lambda samples: samples[3])
    with pytest.raises(IndexError) as caught:
        list(loader)
    assert caught.value.__notes__ == ["DataLoader: in collate of samples [0, 1, 2] of Faces"]
    loader = fluid.DataLoader([1, 2], 2, collate=tuple, feed_list=["x"])
    assert message(list, loader) == (
        "DataLoader: what collate returns must have 1 fields, ['x'], got 2"
    )
    loader = fluid.DataLoader([1, 2], 2, collate=list, feed_list=["x", "y"])
    assert message(list, loader).endswith("must have 2 fields, ['x', 'y'], got 1")
