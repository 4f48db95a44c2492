"""Tensors in files, by name."""

from pathlib import Path

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import eager, layers
from fluidcore.eager import Tensor, nn


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm(2))
    model(eager.randn([4, 3]))
    eager.save(model.state_dict(), tmp_path / "model.safetensors")
    found = eager.load(str(tmp_path / "model.safetensors"))
    other = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm(2))
    assert other.load_state_dict(found) == ([], [])
    x = eager.randn([4, 3])
    assert model.eval()(x).tolist() == other.eval()(x).tolist()


@pytest.mark.parametrize("dtype", ["bool", "int16", "int64", "float16", "bfloat16", "float64"])
def test_every_dtype_and_shape_comes_back(dtype: str, tmp_path: Path) -> None:
    given = {
        "scalar": Tensor(1, dtype),
        "empty": eager.zeros([2, 0], dtype),
        "table": np.arange(6).reshape(2, 3).T.astype(eager.ones([1], dtype).numpy().dtype),
    }
    eager.save(given, tmp_path / "x")
    found = eager.load(tmp_path / "x")
    assert set(found) == set(given)
    for name, value in given.items():
        assert (found[name].dtype, found[name].shape) == (dtype, value.shape)
        assert found[name].tolist() == value.tolist()
    assert eager.save({}, tmp_path / "x") is None
    assert eager.load(tmp_path / "x") == {}


def test_a_program_reads_what_a_module_saved_and_the_other_way_round(tmp_path: Path) -> None:
    x = layers.data("x", [3])
    out = layers.fc(x, 2, param_attr="weight", bias_attr="bias")
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    fluid.io.save_params(exe, tmp_path)
    linear, array = nn.Linear(3, 2), np.ones((1, 3), np.float32)
    state = eager.load(tmp_path / fluid.io.PARAMS_FILE)
    linear.load_state_dict(state | {"weight": state["weight"].T})
    (wanted,) = exe.run(feed={"x": array}, fetch_list=[out])
    np.testing.assert_allclose(linear(array).numpy(), wanted, rtol=1e-6)


def test_bad_files_and_arguments_are_errors(tmp_path: Path) -> None:
    with pytest.raises(fluid.NotFound, match=r"load: no file .*nowhere"):
        eager.load(tmp_path / "nowhere")
    (tmp_path / "bad").write_bytes(b"12345678901234567890")
    with pytest.raises(fluid.InvalidArgument, match="must be a whole safetensors file"):
        eager.load(tmp_path / "bad")
    with pytest.raises(TypeError) as caught:
        eager.save("model", {})  # type: ignore[arg-type]
    assert str(caught.value) == (
        "save: the first argument must map names to tensors, as state_dict() does, got str"
    )
    with pytest.raises(TypeError, match="save: 'lr' must be a Tensor or an array, got float"):
        eager.save({"lr": 0.1}, tmp_path / "x")
    with pytest.raises(TypeError, match="save: a name must be a str, got int 0"):
        eager.save({0: eager.ones([1])}, tmp_path / "x")  # type: ignore[dict-item]
    assert not (tmp_path / "x").exists()
    with pytest.raises(OSError, match="No such file"):
        eager.save({}, tmp_path / "no folder" / "x")


def test_pytorch_reads_and_writes_the_same_files(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    files = pytest.importorskip("safetensors.torch")
    theirs, mine = torch.nn.Linear(3, 2), nn.Linear(3, 2)
    files.save_file(theirs.state_dict(), tmp_path / "theirs")
    mine.load_state_dict(eager.load(tmp_path / "theirs"))
    eager.save(mine.state_dict(), tmp_path / "mine")
    theirs.load_state_dict(files.load_file(tmp_path / "mine"))
    assert theirs.weight.tolist() == mine.weight.tolist()
