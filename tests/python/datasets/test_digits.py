import numpy as np
import pytest

from fluidcore import datasets


def test_digits_are_1797_images_of_8_by_8_between_0_and_1():
    data = datasets.digits()
    assert data.train_images.shape == (1198, 1, 8, 8)
    assert data.test_images.shape == (599, 1, 8, 8)
    assert data.train_labels.shape == (1198, 1)
    assert data.test_labels.shape == (599, 1)
    assert data.train_images.dtype == data.test_images.dtype == np.float32
    assert data.train_labels.dtype == data.test_labels.dtype == np.int64
    images = np.concatenate([data.train_images, data.test_images])
    assert images.min() == 0
    assert images.max() == 1
    assert np.array_equal(images * 16, np.round(images * 16))


def test_every_digit_occurs_about_as_often_as_every_other():
    data = datasets.digits()
    labels = np.concatenate([data.train_labels, data.test_labels])
    assert np.bincount(labels[:, 0]).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_the_same_seed_gives_the_same_split_and_another_seed_another():
    first, again, other = datasets.digits(), datasets.digits(seed=0), datasets.digits(seed=1)
    for a, b in zip(first, again, strict=True):
        assert np.array_equal(a, b)
    assert not np.array_equal(first.test_images, other.test_images)


def test_no_image_is_both_learnt_and_tested():
    every = datasets.digits(test_fraction=0)
    assert len(every.test_labels) == 0
    unique = {image.tobytes() for image in every.train_images}
    data = datasets.digits()
    train = {image.tobytes() for image in data.train_images}
    test = {image.tobytes() for image in data.test_images}
    assert len(unique) == len(every.train_images)
    assert not train & test


def test_a_fraction_outside_0_to_1_is_an_error():
    with pytest.raises(ValueError, match="digits: test_fraction must be 0 to 1, got 2"):
        datasets.digits(test_fraction=2)
