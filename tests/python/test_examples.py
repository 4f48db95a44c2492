import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
EXPECTED = {
    "char_rnn.py": "written by the one with error clip:\nThe",
    "check_c_function.py": (
        "only the element [7] is wrong" if shutil.which("cc") or shutil.which("gcc") else "no C"
    ),
    "check_numpy_function.py": "without the mean: FAIL",
    "check_torch_function.py": (
        "FAIL" if importlib.util.find_spec("torch") else "PyTorch is not installed"
    ),
    "check_gradient.py": "the gradient operator of tanh is right",
    "eager_digits.py": "the program gives the same bits",
    "error_clip.py": "clip(",
    "gradient_penalty.py": "mean of the last 300 steps: 2.",
    "hessian_vector_product.py": "fc_1.b_0   [3] ",
    "train_digits.py": "accuracy on 599 unseen digits: 9",
    "trainer.py": "accuracy on unseen digits: 9",
    "two_players.py": "forged numbers: mean",
    "wrong_gradient_operator.py": "sigmoid_grad, grad-mismatch",
}
ARGUMENTS = {"char_rnn.py": ["--steps", "300"]}


def run_example(name: str, folder: Path) -> str:
    """What an example prints, run as a user runs it, but for warnings, which are errors."""
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *ARGUMENTS.get(name, [])]
    run = subprocess.run(command, cwd=folder, env=os.environ, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    return run.stdout


def numbers_in(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", text)]


def test_every_example_has_something_to_show():
    assert sorted(path.name for path in EXAMPLES.glob("*.py")) == sorted(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_example_runs_from_any_folder(name: str, tmp_path: Path):
    assert EXPECTED[name] in run_example(name, tmp_path)


def test_the_network_that_is_shipped_as_a_program_recognizes_digits(tmp_path: Path):
    printed = run_example("eager_digits.py", tmp_path)
    assert "accuracy on 599 unseen digits: 9" in printed
    assert (tmp_path / "digits_model" / "program.json").exists()


def test_the_trainer_goes_on_and_its_best_checkpoint_is_its_best_epoch(tmp_path: Path):
    printed = run_example("trainer.py", tmp_path)
    (best, loaded) = re.findall(r"[\d.]+%", printed)
    assert best == loaded
    again = run_example("trainer.py", tmp_path)
    assert "epoch  1/12" in printed
    assert "epoch  1/12" not in again  # all was done
    assert again.splitlines()[-2:] == printed.splitlines()[-2:]


def test_the_error_clip_tames_the_gradient_of_the_recurrent_network(tmp_path: Path):
    printed = run_example("char_rnn.py", tmp_path)
    first, last, largest = numbers_in(re.search(r"^with error clip(.*)", printed, re.M)[1])
    first_without, last_without, wild = numbers_in(re.search(r"^without(.*)", printed, re.M)[1])
    (bound,) = numbers_in(re.search(r"^the clip's bound(.*)", printed, re.M)[1])
    assert largest <= bound < wild / 100
    assert first == first_without
    assert last < first - 1.5
    assert last < last_without - 0.5
    picture = ElementTree.parse(tmp_path / "char_rnn.svg").getroot()
    lines = picture.findall("{http://www.w3.org/2000/svg}polyline")
    assert [len(line.get("points").split()) for line in lines] == [66, 66, 2]


def test_the_forged_numbers_are_distributed_like_the_real_ones(tmp_path: Path):
    printed = run_example("two_players.py", tmp_path)
    mean, deviation = numbers_in(re.search(r"^real   numbers:(.*)", printed, re.M)[1])
    forged_mean, forged_deviation = numbers_in(re.search(r"^forged numbers:(.*)", printed, re.M)[1])
    assert forged_mean == pytest.approx(mean, abs=0.2)
    assert forged_deviation == pytest.approx(deviation, rel=0.3)
