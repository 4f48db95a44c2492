"""Programs in C++ that tests build and run, and a training for examples/cpp/train_digits.cc."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import fluidcore as fluid

ROOT = Path(__file__).resolve().parents[2]


def run(line: str, folder: Path) -> str:
    """What the command prints, run by a shell in the folder."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        line,
        shell=True,
        cwd=folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout


def _strokes() -> dict[str, np.ndarray]:
    """As in train_digits.cc."""
    images, labels = np.zeros((64, 64), "float32"), (np.arange(64) % 10).reshape(64, 1)
    for i in range(64):
        images[i, i % 10 : 60 : 10] = 1
    return {"img": images, "label": labels}


class Training:
    """A network for digits, some steps old, which the folder holds for train_digits.cc."""

    def __init__(self, folder: Path) -> None:
        fluid.default_main_program().random_seed = 5
        fluid.default_startup_program().random_seed = 5
        img = fluid.layers.data("img", [64])
        label = fluid.layers.data("label", [1], dtype="int64")
        hidden = fluid.layers.dropout(fluid.layers.fc(img, 32, act="relu"), 0.2)
        logits = fluid.layers.fc(hidden, 10)
        self.loss = fluid.layers.mean(fluid.layers.softmax_with_cross_entropy(logits, label))
        fluid.optimizer.Adam(0.01).minimize(self.loss)
        self.exe = fluid.Executor()
        self.exe.run(fluid.default_startup_program())
        self.losses(3)
        fluid.io.save_training_model(folder, ["img", "label"], [self.loss], self.exe)

    def losses(self, steps: int, program: fluid.Program | None = None) -> list[float]:
        """Those of the next steps."""
        program = program or fluid.default_main_program()
        feed, fetch = _strokes(), [self.loss.name]
        fetched = [self.exe.run(program, feed=feed, fetch_list=fetch) for _ in range(steps)]
        return [float(values[0].item()) for values in fetched]


def numbers(printed: str) -> list[float]:
    """The float32 that each line holds."""
    return [float(np.float32(line)) for line in printed.split()]
