import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import cli, datasets, demo
from fluidcore.gradcheck import GradRow


def _losses(folder: Path, threads: int) -> list[float]:
    code = (
        "import json, sys, fluidcore as fluid; from fluidcore import demo; "
        f"fluid.set_num_threads({threads}); result = demo.run(3, demo.QUICK, sys.argv[1]); "
        "print(json.dumps(result.losses))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True
    )
    return list(json.loads(run.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> demo.Result:
    return demo.run(0, demo.QUICK, tmp_path_factory.mktemp("demo"))


def test_the_network_learns(quick: demo.Result):
    assert quick.accuracy >= 0.9
    assert np.mean(quick.losses[-10:]) < 0.2 * quick.losses[0]


def test_every_parameter_is_in_the_table_and_right(quick: demo.Result):
    assert [row.name for row in quick.table] == [
        "conv1.w",
        "norm1.scale",
        "norm1.shift",
        "conv2.w",
        "norm2.scale",
        "norm2.shift",
        "fc.w",
        "fc.b",
    ]
    assert all(row.ok for row in quick.table)


def test_the_saved_model_predicts_what_the_demo_says(quick: demo.Result):
    program, feeds, targets = fluid.io.load_inference_model(quick.folder, fluid.Executor())
    data = datasets.digits(0)
    assert feeds == ["image"]
    (p,) = fluid.Executor().run(program, {"image": data.test_images}, targets)
    right = p.argmax(axis=1) == data.test_labels[:, 0]
    assert right.mean() == pytest.approx(quick.accuracy, abs=1e-6)


def test_the_same_seed_gives_the_same_losses_bit_for_bit(tmp_path: Path):
    one, two = (_losses(tmp_path, threads) for threads in (1, 2))
    assert one == _losses(tmp_path, 1)
    assert two == _losses(tmp_path, 2)
    # The gradient of a filter may be added up in another order by another number of threads.
    assert one == pytest.approx(two, rel=1e-2)


def test_the_command_prints_the_five_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert cli.main(["demo", "--quick", "--epochs", "2", "--dir", str(tmp_path / "model")]) == 0
    text = capsys.readouterr().out
    for number in range(1, 6):
        assert f"\n{number}. " in text
    for words in (
        "conv2d(image, conv1.w) -> conv1.tmp_0[?,32,8,8]",
        "conv2d_grad(",
        "sgd(",
        "epoch   2/2",
        "images/s",
        "bit for bit",
        str(tmp_path / "model"),
        "Next:",
    ):
        assert words in text
    short = [line for line in text.splitlines() if str(tmp_path) not in line]
    assert max(map(len, short[: short.index("Next:")])) <= 100


def test_a_wrong_gradient_ends_the_demo_with_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    wrong = [GradRow("conv1.w", (32, 1, 3, 3), 4, 1.0, 1.0, False)]
    monkeypatch.setattr(demo.gradcheck, "grad_table", lambda *_, **__: wrong)
    assert cli.main(["demo", "--quick", "--dir", str(tmp_path)]) == 1
    shown = capsys.readouterr()
    assert "WRONG" in shown.out
    assert "conv1.w" in shown.err


def test_a_network_that_learns_too_little_ends_the_demo_with_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(demo, "QUICK", demo.Settings(epochs=1, elements=1, accuracy=1.0))
    assert cli.main(["demo", "--quick", "--dir", str(tmp_path)]) == 1
    assert "try more epochs" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "file").write_text("")
    assert cli.main(["demo", "--quick", "--dir", str(tmp_path / "file")]) == 1
    assert "fluidcore: " in capsys.readouterr().err
