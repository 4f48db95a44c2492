"""Tests of fluidcore.datasets.idx."""

import gzip
import struct

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import datasets

CODES = {"u1": 0x08, "i1": 0x09, ">i2": 0x0B, ">i4": 0x0C, ">f4": 0x0D, ">f8": 0x0E}


def content_of(array, code):
    header = struct.pack(f">HBB{array.ndim}I", 0, code, array.ndim, *array.shape)
    return header + array.tobytes()


@pytest.fixture
def written(tmp_path):
    def write(content, name="file-idx"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


def message(path):
    with pytest.raises(fluid.InvalidArgument) as caught:
        datasets.idx(path)
    return str(caught.value)


@pytest.mark.parametrize("dtype", CODES)
@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (2, 3, 4), (0, 28, 28), (2, 0)])
def test_every_element_type_and_rank_is_read(written, dtype, shape):
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    read = datasets.idx(written(content_of(array, CODES[dtype])))
    assert read.dtype == np.dtype(dtype).newbyteorder("=")
    assert read.dtype.isnative
    np.testing.assert_array_equal(read, array)
    assert read.shape == shape
    assert read.flags.writeable


def test_the_most_significant_byte_is_the_first(written):
    path = written(bytes([0, 0, 0x0B, 1, 0, 0, 0, 2, 0x01, 0x02, 0xFF, 0xFE]))
    assert datasets.idx(path).tolist() == [258, -2]


def test_gzip_is_recognized_by_its_content(written):
    images = np.random.default_rng(0).integers(0, 256, (7, 28, 28), np.uint8)
    content = gzip.compress(content_of(images, 0x08))
    for name in ("train-images-idx3-ubyte.gz", "train-images-idx3-ubyte"):
        np.testing.assert_array_equal(datasets.idx(written(content, name)), images)
    np.testing.assert_array_equal(datasets.idx(str(written(content))), images)


def test_a_data_loader_takes_images_and_labels(written):
    images = datasets.idx(written(content_of(np.zeros((5, 2, 2), np.uint8), 0x08), "images"))
    labels = datasets.idx(written(content_of(np.arange(5, dtype=np.uint8), 0x08), "labels"))
    shapes = [[a.shape for a in batch] for batch in fluid.DataLoader((images, labels), 3)]
    assert shapes == [[(3, 2, 2), (3,)], [(2, 2, 2), (2,)]]


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(fluid.NotFound) as caught:
        datasets.idx(tmp_path / "none")
    assert str(caught.value) == f"idx: no file {tmp_path}/none"
    with pytest.raises(fluid.NotFound):
        datasets.idx(tmp_path)


@pytest.mark.parametrize("content", [b"", b"\0\0\x08", b"\x89PNG", b"\0\0\x0a\x01", b"\0\1\x08\1"])
def test_a_file_of_another_kind_is_told_by_its_first_bytes(written, content):
    path = written(content)
    assert message(path) == (
        f"idx: {path} must begin with two bytes 0, one of [8, 9, 11, 12, 13, 14] for the element "
        f"type, and the number of dimensions, got {list(content)}"
    )


def test_a_truncated_file_is_told_by_what_is_missing(written):
    content = content_of(np.zeros((2, 3), ">i4"), 0x0C)
    path = written(content[:-1])
    assert message(path) == (
        f"idx: {path} must hold 24 bytes for int32 [2, 3], got 23; it is not whole"
    )
    assert message(written(content[:9])) == (
        f"idx: {path} must have 8 bytes of extents behind its first 4, got 5; it is not whole"
    )


def test_a_longer_file_is_refused(written):
    path = written(content_of(np.zeros((2, 3), ">i2"), 0x0B) + b"\0")
    assert message(path) == f"idx: {path} must hold 12 bytes for int16 [2, 3], got more"


def test_every_beginning_of_a_file_is_an_error(written):
    content = content_of(np.arange(6, dtype=np.uint8).reshape(2, 3), 0x08)
    for end in range(len(content)):
        assert message(written(content[:end])).startswith("idx: ")


def test_every_beginning_of_a_gzip_file_is_an_error(written):
    content = gzip.compress(content_of(np.arange(6, dtype=np.uint8).reshape(2, 3), 0x08))
    for end in range(len(content)):
        assert message(written(content[:end])).startswith("idx: ")
    path = written(content[:-3])
    assert message(path).startswith(f"idx: {path} must be a whole gzip file, got a damaged one: ")


def test_a_header_that_promises_more_than_memory_holds_needs_none(written):
    path = written(bytes([0, 0, 0x0E, 4]) + b"\xff" * 16 + b"\0" * 100)
    assert message(path) == (
        f"idx: {path} must hold {8 * (2**32 - 1) ** 4} bytes for float64 {[2**32 - 1] * 4}, got "
        "100; it is not whole"
    )
    path = written(bytes([0, 0, 0x08, 65]) + b"\0" * 400)
    assert message(path) == f"idx: {path} must have at most 64 dimensions, got 65"
