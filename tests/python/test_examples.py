import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
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
    "data_parallel.py": "epoch 15: loss",
    "eager_digits.py": "the program's scores are the module's within ",
    "error_clip.py": "clip(",
    "gan.py": "forged points in a cloud: ",
    "gpt.py": "written:\n",
    "gradient_penalty.py": "mean of the last 300 steps: 2.",
    "hessian_vector_product.py": "fc_1.b_0   [3] ",
    "resnet18.py": "accuracy on 500 unseen images of 9 classes: ",
    "train_digits.py": "accuracy on 599 unseen digits: 9",
    "trainer.py": "accuracy on unseen digits: 9",
    "two_players.py": "forged numbers: mean",
    "unet.py": "disc     intersection over union 0.",
    "vae.py": "drawn:\n",
    "word2vec.py": "near float32: ",
    "wrong_gradient_operator.py": "sigmoid_grad, grad-mismatch",
}
MODELS = {"gan.py", "gpt.py", "resnet18.py", "unet.py", "vae.py", "word2vec.py"}  # run once, below
MPI = {"data_parallel.py"}  # in parallel/test_mpi.py
ARGUMENTS = {"char_rnn.py": ["--steps", "300"]}


def run_example(name: str, folder: Path) -> str:
    """What an example prints, run as a user runs it, but for warnings, which are errors."""
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *ARGUMENTS.get(name, [])]
    run = subprocess.run(command, cwd=folder, env=os.environ, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    assert EXPECTED[name] in run.stdout
    return run.stdout


def numbers_in(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", text)]


def test_every_example_has_a_line_in_the_docs():
    page = (EXAMPLES.parent / "docs" / "examples.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(\w+\.py)\]\(\.\./examples/\1\) \|", page, re.MULTILINE)
    assert sorted(rows) == sorted(EXPECTED)


def test_every_example_has_something_to_show():
    assert sorted(path.name for path in EXAMPLES.glob("*.py")) == sorted(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED.keys() - MODELS - MPI))
def test_the_example_runs_from_any_folder(name: str, tmp_path: Path):
    run_example(name, tmp_path)


def test_the_network_that_is_shipped_as_a_program_recognizes_digits(tmp_path: Path):
    printed = run_example("eager_digits.py", tmp_path)
    assert "accuracy on 599 unseen digits: 9" in printed
    assert (
        numbers_in(printed)[-1] < 5e-5
    )  # of scores up to 20 or so: their long sums are rounded otherwise
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


def losses_in(printed: str) -> list[float]:
    return [float(number) for number in re.findall(r"loss (\d+\.\d+)", printed)]


def test_the_residual_network_tells_coloured_shapes_apart(tmp_path: Path):
    printed = run_example("resnet18.py", tmp_path)
    assert printed.startswith("177,537 parameters\n")
    losses = losses_in(printed)
    assert losses[-1] < 0.4 * losses[0]
    assert numbers_in(printed)[-1] > 60  # percent; 11 by chance


def test_the_transformer_writes_words(tmp_path: Path):
    printed = run_example("gpt.py", tmp_path)
    losses = losses_in(printed)
    assert losses[-1] < 0.5 * losses[0]
    written = printed.split("written:\n")[1]
    assert len(written) == 201
    words = set((EXAMPLES.parent / "LICENSE").read_text().split())
    assert np.mean([word in words for word in written.split()[1:-1]]) > 0.4


def test_the_autoencoder_needs_few_nats_for_an_unseen_image(tmp_path: Path):
    printed = run_example("vae.py", tmp_path)
    costs = re.findall(r"costs (\S+) nats, its code (\S+)", printed)
    (first, _), *_, (last, code) = [tuple(map(float, pair)) for pair in costs]
    assert last + code < 0.6 * first
    assert code > 1.0  # it is used
    drawing = printed.split("drawn:\n")[1].splitlines()
    assert [len(line) for line in drawing] == [8 * 8 + 7 * 3] * 8
    assert {"@", " "} <= set("".join(drawing))


def test_the_forger_makes_points_of_all_clouds(tmp_path: Path):
    printed = run_example("gan.py", tmp_path)
    assert "clouds with at least 4% of the forged points: 8 of 8" in printed
    assert numbers_in(printed)[-1] > 80


def test_the_segmented_shapes_overlap_the_true_ones(tmp_path: Path):
    printed = run_example("unet.py", tmp_path)
    losses = losses_in(printed)
    assert losses[-1] < 0.2 * losses[0]
    overlaps = [float(n) for n in re.findall(r"intersection over union (\S+)", printed)]
    assert overlaps == [pytest.approx(1.0, abs=limit) for limit in (0.05, 0.45, 0.45)]


def test_words_of_one_meaning_are_near_each_other(tmp_path: Path):
    printed = run_example("word2vec.py", tmp_path)
    losses = [numbers_in(line)[1:] for line in printed.splitlines() if line.startswith("epoch")]
    assert losses[-1][-1] < 0.5 * losses[0][0]
    near = set(re.search(r"^near float32: (.*)", printed, re.M)[1].split(", "))
    assert len(near & {"float16", "float64", "bfloat16"}) >= 2
