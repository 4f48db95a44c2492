"""Tests of fluidcore.io."""

import errno
import os
import resource
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest
from looped_models import FEED, MODELS

import fluidcore as fluid
from fluidcore import io, layers
from fluidcore.base.dtypes import numpy_dtype
from fluidcore.io.array_file import write_file

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture
def exe():
    return fluid.Executor()


def model(seed=1):
    fluid.default_startup_program().random_seed = seed
    x = layers.data("x", [3])
    h = layers.tanh(x * layers.create_parameter([3], "float32", "w"))
    return layers.dropout(h, 0.5)


def trained(exe, seed=1):
    """A model after its startup program, and what it answers when testing."""
    out = model(seed)
    exe.run(fluid.default_startup_program())
    test = fluid.default_main_program().clone(for_test=True)
    return out, exe.run(test, feed={"x": X}, fetch_list=[out])[0]


def value(name):
    return np.array(fluid.global_scope().find_var(name).get_tensor())


def set_value(name, array):
    fluid.global_scope().var(name).get_tensor().set(array)


def test_parameters_come_back(exe, tmp_path):
    trained(exe)
    before = value("w")
    io.save_params(exe, tmp_path)
    set_value("w", np.zeros(3, np.float32))
    io.load_params(exe, tmp_path)
    np.testing.assert_array_equal(value("w"), before)
    assert os.listdir(tmp_path) == ["params.safetensors"]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int64", "bool"])
def test_every_dtype_comes_back(exe, tmp_path, dtype):
    block = fluid.default_main_program().global_block()
    for name, shape in (("v", [2, 3]), ("scalar", []), ("empty", [0, 3])):
        block.create_var(name, shape=shape, dtype=dtype, persistable=True)
        set_value(name, _ones(shape, dtype))
    io.save_persistables(exe, tmp_path)
    set_value("v", _ones([2, 3], dtype) * 0)
    io.load_persistables(exe, tmp_path)
    assert value("v").dtype.name == dtype
    assert (value("v").astype(np.float64) == 1).all()
    assert value("scalar").shape == ()
    assert value("empty").shape == (0, 3)


def _ones(shape, dtype):
    return np.ones(shape, numpy_dtype(dtype))


def test_persistables_hold_more_than_parameters(exe, tmp_path):
    step = layers.create_global_var([1], 3.0, "float32", persistable=True, name="step")
    trained(exe)
    io.save_params(exe, tmp_path / "params")
    io.save_persistables(exe, tmp_path / "all")
    with pytest.raises(fluid.NotFound, match="no variable 'step' in"):
        io.load_persistables(exe, tmp_path / "params")
    set_value(step.name, np.zeros(1, np.float32))
    io.load_persistables(exe, tmp_path / "all")
    assert value("step") == 3.0


def test_other_tools_can_read_the_parameters(exe, tmp_path):
    from safetensors.numpy import load_file

    trained(exe)
    io.save_params(exe, tmp_path)
    np.testing.assert_array_equal(load_file(tmp_path / "params.safetensors")["w"], value("w"))


def test_an_inference_model_answers_as_before(exe, tmp_path):
    out, answer = trained(exe)
    io.save_inference_model(tmp_path, ["x"], [out], exe)
    assert sorted(os.listdir(tmp_path)) == ["params.safetensors", "program.json"]
    with fluid.scope_guard(fluid.Scope()):
        program, feeds, fetches = io.load_inference_model(tmp_path, exe)
        assert feeds == ["x"]
        assert [v.name for v in fetches] == [out.name]
        loaded = exe.run(program, feed={feeds[0]: X}, fetch_list=fetches)[0]
    np.testing.assert_array_equal(loaded, answer)


def test_an_inference_model_holds_only_what_it_needs(exe, tmp_path):
    w = layers.create_parameter([3], "float32", "w")
    x, label = layers.data("x", [3]), layers.data("label", [3])
    out = x * w
    layers.mean(layers.square_error_cost(out, label))
    layers.create_parameter([3], "float32", "unused")
    exe.run(fluid.default_startup_program())
    io.save_inference_model(tmp_path, ["x"], [out], exe)
    program, _, _ = io.load_inference_model(tmp_path, exe)
    assert sorted(program.global_block().vars) == sorted(["x", "w", out.name])


def test_targets_must_need_only_what_is_fed(exe, tmp_path):
    out, _ = trained(exe)
    with pytest.raises(fluid.InvalidArgument, match=r"got targets that need \['x'\] too"):
        io.save_inference_model(tmp_path, [], [out], exe)
    with pytest.raises(TypeError, match="must be a list"):
        io.save_inference_model(tmp_path, "x", [out], exe)
    with pytest.raises(fluid.NotFound, match="no variable 'y'"):
        io.save_inference_model(tmp_path, ["x", "y"], [out], exe)
    assert os.listdir(tmp_path) == []


def test_parameters_without_value_cannot_be_saved(exe, tmp_path):
    model()
    with pytest.raises(fluid.NotFound, match="'w' must have a value in the global scope, got none"):
        io.save_params(exe, tmp_path)


def test_missing_files_are_errors(exe, tmp_path):
    out, _ = trained(exe)
    with pytest.raises(fluid.NotFound, match="no file"):
        io.load_params(exe, tmp_path / "nowhere")
    with pytest.raises(fluid.NotFound, match="no file"):
        io.load_inference_model(tmp_path, exe)
    io.save_inference_model(tmp_path, ["x"], [out], exe)
    os.remove(tmp_path / "program.json")
    with pytest.raises(fluid.NotFound, match=r"no file .*program.json"):
        io.load_inference_model(tmp_path, exe)


def test_a_wrong_shape_or_dtype_leaves_the_scope_as_it_was(exe, tmp_path):
    trained(exe)
    io.save_params(exe, tmp_path)
    for shape, dtype in (([4], "float32"), ([3], "float64")):
        other = fluid.Program()
        other.global_block().create_parameter([1], "float32", "a")
        other.global_block().create_parameter(shape, dtype, "w")
        with fluid.scope_guard(fluid.Scope()):
            with pytest.raises(fluid.Error):
                io.load_params(exe, tmp_path, other)
            assert fluid.global_scope().local_var_names() == []


@pytest.mark.parametrize("keep", [0, 4, 8, 20, -1])
def test_a_truncated_file_is_an_error(exe, tmp_path, keep):
    out, _ = trained(exe)
    io.save_inference_model(tmp_path, ["x"], [out], exe)
    path = tmp_path / "params.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    before = value("w")
    with pytest.raises(fluid.InvalidArgument, match="must be a whole safetensors file"):
        io.load_params(exe, tmp_path)
    with pytest.raises(fluid.InvalidArgument, match="must be a whole safetensors file"):
        io.load_inference_model(tmp_path, exe)
    np.testing.assert_array_equal(value("w"), before)


@pytest.mark.parametrize("damage", [b"", b"{", b'{"format": "other"}'])
def test_a_damaged_program_is_an_error(exe, tmp_path, damage):
    out, _ = trained(exe)
    io.save_inference_model(tmp_path, ["x"], [out], exe)
    (tmp_path / "program.json").write_bytes(damage)
    with pytest.raises(fluid.InvalidArgument, match="must come from the same save"):
        io.load_inference_model(tmp_path, exe)


def test_plain_parameters_are_no_inference_model(exe, tmp_path):
    trained(exe)
    io.save_params(exe, tmp_path)
    with pytest.raises(fluid.InvalidArgument, match="was it written by save_inference_model"):
        io.load_inference_model(tmp_path, exe)


class CrashError(Exception):
    pass


@pytest.mark.parametrize("call", range(1, 3))
@pytest.mark.parametrize("function", ["replace", "fsync"])
def test_a_crash_while_saving_leaves_a_whole_model(exe, tmp_path, monkeypatch, function, call):
    out, old = trained(exe, seed=1)
    io.save_inference_model(tmp_path, ["x"], [out], exe)
    set_value("w", np.full(3, 2.0, np.float32))
    out = layers.scale(out, scale=10.0)
    test = fluid.default_main_program().clone(for_test=True)
    new = exe.run(test, feed={"x": X}, fetch_list=[out])[0]

    calls = 0
    real = getattr(os, function)

    def crash(*args):
        nonlocal calls
        calls += 1
        if calls == call:
            raise CrashError
        return real(*args)

    monkeypatch.setattr(os, function, crash)
    with pytest.raises(CrashError):
        io.save_inference_model(tmp_path, ["x"], [out], exe)
    monkeypatch.undo()
    with fluid.scope_guard(fluid.Scope()):
        program, feeds, fetches = io.load_inference_model(tmp_path, exe)
        answer = exe.run(program, feed={feeds[0]: X}, fetch_list=fetches)[0]
    assert any(np.array_equal(answer, expected) for expected in (old, new))


@pytest.mark.parametrize("call", range(1, 3))
def test_a_full_disk_leaves_the_old_model_and_nothing_else(exe, tmp_path, monkeypatch, call):
    out, old = trained(exe, seed=1)
    io.save_inference_model(tmp_path, ["x"], [out], exe)
    files = sorted(tmp_path.iterdir())
    set_value("w", np.full(3, 2.0, np.float32))
    calls = iter(range(1, 10))

    def full(handle):
        if next(calls) == call:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="what was saved before is unchanged") as caught:
        io.save_inference_model(tmp_path, ["x"], [out], exe)
    monkeypatch.undo()
    assert caught.value.errno == errno.ENOSPC
    assert str(tmp_path) in str(caught.value)
    assert sorted(tmp_path.iterdir()) == files
    with fluid.scope_guard(fluid.Scope()):
        program, feeds, fetches = io.load_inference_model(tmp_path, exe)
        answer = exe.run(program, feed={feeds[0]: X}, fetch_list=fetches)[0]
    np.testing.assert_array_equal(answer, old)


@contextmanager
def small_files(limit):
    """Makes writing a file of more bytes than this an error, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("limit", [0, 300, 4000])  # of program.json, of params.safetensors
def test_a_save_that_cannot_be_finished_leaves_the_folder_as_it_was(exe, tmp_path, limit):
    w = layers.create_parameter([1000], "float32", "w")
    out = layers.data("x", [1000]) * w
    exe.run(fluid.default_startup_program())
    saves = [
        lambda: io.save_params(exe, tmp_path),
        lambda: io.save_persistables(exe, tmp_path),
        lambda: io.save_inference_model(tmp_path, ["x"], [out], exe),
    ]
    for save in saves:
        with small_files(limit), pytest.raises(OSError, match="what was saved before is unchanged"):
            save()
        assert contents(tmp_path) == {}
    for save in saves:
        save()
        set_value("w", value("w") + 1)
        before = contents(tmp_path)
        for again in saves:
            with small_files(limit), pytest.raises(OSError, match="what was saved before is unch"):
                again()
            assert contents(tmp_path) == before


def test_an_interrupt_between_the_files_of_a_model_leaves_one_whole_model(
    exe, tmp_path, monkeypatch
):
    out, _ = trained(exe)
    io.save_inference_model(tmp_path, ["x"], [out], exe)
    answers = []
    replace = os.replace
    for move in (True, False):
        set_value("w", np.full(3, 2.0 + move, np.float32))
        fluid.default_main_program().random_seed = 5 + move  # another program, too

        def interrupted(source, target, move=move):
            if move:
                replace(source, target)
            monkeypatch.undo()
            raise KeyboardInterrupt

        monkeypatch.setattr(os, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            io.save_inference_model(tmp_path, ["x"], [out], exe)
        assert sorted(os.listdir(tmp_path)) == ["params.safetensors", "program.json"]
        with fluid.scope_guard(fluid.Scope()):
            program, *_ = io.load_inference_model(tmp_path, exe)
            answers.append((program.random_seed, value("w")[0]))
    assert answers == [(6, 3.0), (6, 3.0)]


def test_a_save_that_was_cut_off_is_finished_before_the_next_one(exe, tmp_path):
    out, answer = trained(exe)
    io.save_inference_model(tmp_path, ["x"], [out], exe)
    os.replace(tmp_path / "program.json", tmp_path / "program.json.new")
    with small_files(0), pytest.raises(OSError, match="what was saved before is unchanged"):
        io.save_inference_model(tmp_path, ["x"], [out], exe)
    assert sorted(os.listdir(tmp_path)) == ["params.safetensors", "program.json"]
    with fluid.scope_guard(fluid.Scope()):
        program, feeds, fetches = io.load_inference_model(tmp_path, exe)
        loaded = exe.run(program, feed={feeds[0]: X}, fetch_list=fetches)[0]
    np.testing.assert_array_equal(loaded, answer)


def test_a_file_that_cannot_take_its_place_leaves_nothing(tmp_path):
    (tmp_path / "report").mkdir()
    with pytest.raises(OSError, match="what was saved before is unchanged"):
        write_file(str(tmp_path / "report"), b"text")
    assert os.listdir(tmp_path) == ["report"]


def test_a_killed_process_leaves_a_whole_model(exe, tmp_path):
    code = f"""
import fluidcore as fluid
x = fluid.layers.data("x", [64])
y = fluid.layers.fc(x, 300)
exe = fluid.Executor()
exe.run(fluid.default_startup_program())
while True:
    fluid.io.save_inference_model({str(tmp_path)!r}, ["x"], [y], exe)
    print("saved", flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        for _ in range(3):
            process.stdout.readline()
        process.kill()
    with fluid.scope_guard(fluid.Scope()):
        program, feeds, fetches = io.load_inference_model(tmp_path, exe)
        batch = np.ones((1, 64), np.float32)
        assert exe.run(program, feed={feeds[0]: batch}, fetch_list=fetches)[0].shape == (1, 300)


@pytest.mark.parametrize("model", MODELS)
def test_a_trained_model_with_blocks_answers_as_before(exe, tmp_path, model):
    out = layers.dropout(model(), 0.5)
    test = fluid.default_main_program().clone(for_test=True)
    fluid.optimizer.Adam(0.1).minimize(layers.mean(out))
    exe.run(fluid.default_startup_program())
    exe.run(feed=FEED)
    answer = exe.run(test, feed=FEED, fetch_list=[out])[0]
    io.save_inference_model(tmp_path, list(FEED), [out], exe)
    with fluid.scope_guard(fluid.Scope()):
        program, feeds, fetches = io.load_inference_model(tmp_path, exe)
        loaded = exe.run(program, feed={name: FEED[name] for name in feeds}, fetch_list=fetches)[0]
    np.testing.assert_array_equal(loaded, answer)
    assert program.num_blocks == test.num_blocks
    assert "GRAD" not in str(program)
    assert "_array" not in str(program)  # what steps keep for gradients


def test_an_error_clip_of_ones_own_is_not_saved(exe, tmp_path):
    class Own(fluid.BaseErrorClipAttr):
        pass

    out, _ = trained(exe)
    out.error_clip = Own()
    io.save_inference_model(tmp_path, ["x"], [out], exe)
    _, _, (loaded,) = io.load_inference_model(tmp_path, exe)
    assert loaded.error_clip is None
