"""Tests of fluidcore.data_feeder."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers


def digit_variables():
    return layers.data("image", [1, 2, 2]), layers.data("label", [1], dtype="int64")


@pytest.fixture
def feeder():
    return fluid.DataFeeder(digit_variables())


def message(call, *arguments, error=fluid.InvalidArgument):
    with pytest.raises(error) as caught:
        call(*arguments)
    return str(caught.value)


def test_flat_lists_become_images_and_numbers_labels(feeder):
    feed = feeder.feed([([0.0, 0.25, 0.5, 1.0], 3), ([1, 2, 3, 4], 5), ([5] * 4, 7)])
    assert list(feed) == ["image", "label"]
    assert feed["image"].dtype == np.float32
    assert feed["image"].shape == (3, 1, 2, 2)
    assert feed["image"][0].ravel().tolist() == [0.0, 0.25, 0.5, 1.0]
    assert feed["label"].dtype == np.int64
    np.testing.assert_array_equal(feed["label"], [[3], [5], [7]])


def test_arrays_and_numbers_of_numpy_are_stacked(feeder):
    image = np.arange(4, dtype=np.float32)
    feed = feeder.feed([(image, np.int64(3)), (image.reshape(1, 2, 2), np.array([4]))])
    np.testing.assert_array_equal(feed["image"], np.stack([image.reshape(1, 2, 2)] * 2))
    np.testing.assert_array_equal(feed["label"], [[3], [4]])


def test_bytes_of_images_and_small_integers_are_widened(feeder):
    feed = feeder.feed([(np.full((2, 2), 255, np.uint8), np.uint8(9))])
    assert (feed["image"].dtype, feed["image"].max()) == (np.float32, 255)
    assert feed["label"].dtype == np.int64


def test_lists_and_arrays_may_be_mixed(feeder):
    feed = feeder.feed([([1.5, 2, 3, 4], 1), (np.ones((2, 2), np.float32), np.int64(2))])
    assert feed["image"][:, 0, 0, 0].tolist() == [1.5, 1]


@pytest.mark.filterwarnings("default:feed 'image'")
def test_float64_arrays_are_rounded_with_the_warning_of_a_run(feeder):
    with pytest.warns(UserWarning, match="feed 'image': a float64 array is rounded to float32"):
        feed = feeder.feed([(np.full(4, 0.1), 1)])
    assert feed["image"].dtype == np.float32


def test_what_it_gives_can_be_run():
    image, label = digit_variables()
    total = layers.reduce_sum(image)
    twice = layers.scale(label, scale=2.0)
    feeder = fluid.DataFeeder([image, label], place=fluid.CPUPlace())
    feed = feeder.feed([([1, 2, 3, 4], 5)] * 3)
    sums, labels = fluid.Executor().run(feed=feed, fetch_list=[total, twice])
    assert sums.item() == 30
    assert labels.ravel().tolist() == [10, 10, 10]


def test_a_minibatch_of_fluid_batch_is_fed():
    feeder = fluid.DataFeeder(digit_variables())

    def train():
        for i in range(5):
            yield [i] * 4, i

    shapes = [feeder.feed(minibatch)["image"].shape for minibatch in fluid.batch(train, 2)()]
    assert shapes == [(2, 1, 2, 2), (2, 1, 2, 2), (1, 1, 2, 2)]


def test_an_iterator_is_a_minibatch(feeder):
    assert feeder.feed(([i] * 4, i) for i in range(3))["label"].shape == (3, 1)


def test_names_stand_for_variables_of_the_program():
    other = fluid.Program()
    with fluid.program_guard(other):
        digit_variables()
    feeder = fluid.DataFeeder(["label", "image"], fluid.CUDAPlace(0), other)
    assert feeder.feed([(3, [0] * 4)])["image"].shape == (1, 1, 2, 2)


def test_variables_bring_their_program():
    with fluid.program_guard(fluid.Program()):
        image, _ = digit_variables()
    assert fluid.DataFeeder([image, "label"]).feed([([0] * 4, 1)])["label"].tolist() == [[1]]


def test_where_there_is_one_variable_a_sample_may_be_the_field_itself():
    feeder = fluid.DataFeeder([layers.data("x", [2])])
    rows = [np.zeros(2, np.float32), (np.ones(2, np.float32),), ([2, 3],)]
    np.testing.assert_array_equal(feeder.feed(rows)["x"], [[0, 0], [1, 1], [2, 3]])
    numbers = fluid.DataFeeder([layers.data("n", [1], dtype="int64")])
    np.testing.assert_array_equal(numbers.feed([4, 5])["n"], [[4], [5]])


def test_extents_that_are_not_known_come_from_the_samples():
    feeder = fluid.DataFeeder([layers.data("x", [-1, -1, 3], append_batch_size=False)])
    assert feeder.feed([(np.zeros((7, 3), np.float32),)] * 2)["x"].shape == (2, 7, 3)


@pytest.mark.parametrize("dtype", ["bool", "int16", "float16", "bfloat16", "float64"])
def test_the_dtype_is_that_of_the_variable(dtype):
    feeder = fluid.DataFeeder([layers.data("x", [2], dtype=dtype)])
    value = [True, False] if dtype == "bool" else [1, 0]
    x = feeder.feed([(value,), (value,)])["x"]
    assert x.dtype.name == dtype
    assert x.tolist() == [[1, 0], [1, 0]]


def test_no_fields_and_too_many_are_told_with_the_sample(feeder):
    good = ([0] * 4, 1)
    assert message(feeder.feed, [good, ([0] * 4, 1, 2)]) == (
        "DataFeeder.feed: a sample must have 2 fields, ['image', 'label'], got 3 in sample 1"
    )
    assert message(feeder.feed, [()]) == (
        "DataFeeder.feed: a sample must have 2 fields, ['image', 'label'], got 0 in sample 0"
    )
    assert message(feeder.feed, [np.zeros(4)]) == (
        "DataFeeder.feed: a sample must have 2 fields, ['image', 'label'], got 1 in sample 0"
    )
    single = fluid.DataFeeder(["image"])
    assert message(single.feed, [[0, 0, 0, 0]]) == (
        "DataFeeder.feed: a sample must have 1 fields, ['image'], got 4 in sample 0; write (x,) "
        "for a sample of one field x"
    )


def test_extents_that_do_not_fit_are_told_with_the_sample(feeder):
    assert message(feeder.feed, [([0] * 4, 1), ([0] * 5, 1)]) == (
        "DataFeeder.feed: a sample of 'image' must have 4 numbers, for [1, 2, 2], got 5, [5], in "
        "sample 1"
    )
    assert message(feeder.feed, [([0] * 4, [1, 2])]) == (
        "DataFeeder.feed: a sample of 'label' must have 1 numbers, for [1], got 2, [2], in sample 0"
    )


def test_extents_that_differ_where_none_is_declared_are_told_with_both_shapes():
    feeder = fluid.DataFeeder([layers.data("x", [-1, -1, 3], append_batch_size=False)])
    rows = [np.zeros((n, 3), np.float32) for n in (2, 2, 4)]
    assert message(feeder.feed, rows) == (
        "DataFeeder.feed: the samples of 'x' must be of one shape, got [2, 3] in sample 0 and "
        "[4, 3] in sample 2; pad them"
    )
    assert message(feeder.feed, [np.zeros((2, 2))]) == (
        "DataFeeder.feed: a sample of 'x' must be [-1, 3], -1 for any extent, got [2, 2] in "
        "sample 0"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("abc", "str 'abc'"),
        (None, "NoneType None"),
        ([1, 2, None, 4], "list [1, 2, None, 4]"),
        (np.array(["a"] * 4), "ndarray array(['a', 'a', 'a', 'a'], dtype='<U1')"),
        (np.array(1j), "ndarray array(0.+1.j)"),
        (np.ma.array([1, 2, 3, 4]), "a masked array"),
    ],
)
def test_what_is_no_number_is_told_with_the_sample(feeder, value, text):
    assert message(feeder.feed, [([0] * 4, 1), (value, 1)]) == (
        f"DataFeeder.feed: 'image' must be numbers, got {text} in sample 1"
    )


def test_nested_lists_of_unequal_lengths_are_told_with_the_sample(feeder):
    assert message(feeder.feed, [([[0, 0], [0]], 1)]).startswith(
        "DataFeeder.feed: 'image' must be numbers in extents that are all equal, got list in "
        "sample 0: "
    )


def test_numbers_that_would_lose_something_are_refused_as_in_a_run(feeder):
    assert message(feeder.feed, [([0] * 4, 1.5)]) == (
        "feed 'label': must be an array, a Tensor, or numbers that int64 can hold, got list: "
        "float64 does not convert to int64"
    )
    assert "must be float32 as the variable, got int64" in message(feeder.feed, [(np.arange(4), 1)])


def test_a_minibatch_must_have_a_sample(feeder):
    assert message(feeder.feed, []) == "DataFeeder.feed: minibatch must have a sample, got none"
    assert message(feeder.feed, 3, error=TypeError) == (
        "DataFeeder.feed: minibatch must be a list, got 3"
    )


def test_a_declared_number_of_samples_must_be_met():
    feeder = fluid.DataFeeder([layers.data("x", [2, 3], append_batch_size=False)])
    assert feeder.feed([[[1, 2, 3]]] * 2)["x"].shape == (2, 3)
    assert message(feeder.feed, [[[1, 2, 3]]] * 3) == (
        "DataFeeder.feed: a minibatch of 'x' must have 2 samples, its first extent, got 3"
    )


def test_nested_sequences_are_refused_with_a_way_out():
    words = layers.data("words", [1], dtype="int64", lod_level=1)
    assert message(fluid.DataFeeder, [words]) == (
        "DataFeeder: 'words' must be a plain tensor, got lod_level 1; pad its sequences to one "
        "length and feed their lengths as a variable of their own"
    )


def test_a_variable_without_extents_has_no_room_for_samples():
    x = layers.data("x", [], append_batch_size=False)
    assert message(fluid.DataFeeder, [x]) == (
        "DataFeeder: the first extent of 'x' must be for the samples, got shape []"
    )


def test_arguments_of_other_types_are_refused():
    image, label = digit_variables()
    for feed_list, names in [([], []), ([image, "image"], ["image", "image"])]:
        assert message(fluid.DataFeeder, feed_list) == (
            f"DataFeeder: feed_list must be different variables, got {names}"
        )
    assert "DataFeeder: feed_list must be a list or a set" in message(
        fluid.DataFeeder, image, error=TypeError
    )
    assert message(fluid.DataFeeder, [3], error=TypeError) == (
        "DataFeeder: feed_list must hold Variables or names, got int"
    )
    assert message(fluid.DataFeeder, [image], "cpu", error=TypeError) == (
        "DataFeeder: place must be CPUPlace() or CUDAPlace(i), got 'cpu'"
    )
    assert message(fluid.DataFeeder, [image], None, "main", error=TypeError) == (
        "DataFeeder: program must be a Program, got str"
    )
    with pytest.raises(fluid.NotFound, match="imago"):
        fluid.DataFeeder(["imago"])
    with pytest.raises(fluid.InvalidArgument, match=r"^DataFeeder: feed_list: the Variables must"):
        fluid.DataFeeder([image, label], program=fluid.Program())
