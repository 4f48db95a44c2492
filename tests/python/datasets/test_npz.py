"""Tests of fluidcore.datasets.npz."""

import contextlib
import os
import pickle
import zipfile

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import datasets


def message(path):
    with pytest.raises(fluid.InvalidArgument) as caught:
        datasets.npz(path)
    return str(caught.value)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_the_arrays_are_given_by_name(tmp_path, save):
    arrays = {
        "x": np.random.default_rng(0).standard_normal((5, 2)),
        "y": np.arange(5),
        "bytes": np.zeros((5, 3, 3), np.uint8),
        "flags": np.array([True, False]),
        "none": np.empty((0, 3), np.float16),
        "number": np.float32(3),
    }
    save(tmp_path / "a.npz", **arrays)
    read = datasets.npz(tmp_path / "a.npz")
    assert list(read) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(read[name], array, strict=True)


def test_a_data_loader_takes_them(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.zeros((5, 2)), y=np.arange(5))
    (first, _) = fluid.DataLoader(datasets.npz(tmp_path / "a.npz"), 3)
    assert first["y"].tolist() == [0, 1, 2]


def test_pickles_are_refused_and_not_executed(tmp_path):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "exploded"),)

    path = tmp_path / "a.npz"
    np.savez(path, good=np.zeros(2), bad=np.array([Bomb()], object))
    assert message(path) == (
        f"npz: 'bad' of {path} must be a whole array of numbers, got what NumPy refuses: Object "
        "arrays cannot be loaded when allow_pickle=False"
    )
    path.write_bytes(pickle.dumps(Bomb()))
    assert message(path) == (
        f"npz: {path} must be a .npz archive of arrays, got a file of another kind, or damaged"
    )
    assert not (tmp_path / "exploded").exists()


def test_a_single_array_is_no_archive(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros(3))
    assert "must be a .npz archive of arrays" in message(tmp_path / "a.npy")


def test_texts_and_files_that_are_no_arrays_are_refused(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, names=np.array(["a", "bc"]))
    assert message(path) == f"npz: 'names' of {path} must be an array of numbers, got <U2"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    assert message(path) == (
        f"npz: 'readme.txt' of {path} must be an array of numbers, got a file that is no array"
    )


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(fluid.NotFound) as caught:
        datasets.npz(tmp_path / "none.npz")
    assert str(caught.value) == f"npz: no file {tmp_path}/none.npz"


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_every_beginning_of_an_archive_is_an_error(tmp_path, save):
    path = tmp_path / "a.npz"
    save(path, x=np.arange(6.0).reshape(2, 3))
    content = path.read_bytes()
    for end in range(0, len(content), 3):
        path.write_bytes(content[:end])
        assert message(path).startswith("npz: ")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_an_archive_with_a_damaged_byte_is_read_as_it_was_or_an_error(tmp_path, save):
    path = tmp_path / "a.npz"
    array = np.arange(6.0).reshape(2, 3)
    save(path, x=array)
    content = path.read_bytes()
    for place in range(0, len(content), 3):
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 7
        path.write_bytes(damaged)
        with contextlib.suppress(fluid.InvalidArgument):
            (read,) = datasets.npz(path).values()
            assert np.array_equal(read, array)


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 31), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (999999999999999,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2**50,), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }",
        "__import__('os').abort()",
        "{'descr': (((",
        "[" * 5000,
    ],
)
def test_headers_made_by_hand_are_errors(tmp_path, header):
    path = tmp_path / "a.npz"
    text = header.encode() + b"\n"
    content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(16)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", content)
    start = f"npz: 'x' of {path} must be a whole array of numbers, got what NumPy refuses: "
    assert message(path).startswith(start)
