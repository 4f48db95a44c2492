"""`fluidcore demo`: a network from a program to a saved model, on real handwritten digits."""

from __future__ import annotations

import shutil
import sys
import time
from os import PathLike
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from fluidcore import core, datasets, gradcheck, io
from fluidcore.datasets import Digits
from fluidcore.demo.network import Network, build
from fluidcore.demo.progress import progress
from fluidcore.executor import Executor, get_num_threads, scope_guard
from fluidcore.gradcheck import GradRow
from fluidcore.listing import operator_lines

Array: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[np.float32]]"

BATCH = 32
MODEL_FOLDER = "fluidcore-demo"


class Settings(NamedTuple):
    """How long the demo takes.

    Attributes:
        epochs: How often training sees every image.
        elements: How many elements of each parameter are checked; 0 for all.
        accuracy: What the network must reach on the images it has not seen.
    """

    epochs: int = 20
    elements: int = 500
    accuracy: float = 0.97


FULL = Settings()
QUICK = Settings(epochs=3, elements=4, accuracy=0.9)


class Result(NamedTuple):
    """What the demo found.

    Attributes:
        losses: The loss of every step.
        accuracy: On the held-out images, 0 to 1.
        table: The gradient check.
        folder: Where the model is.
    """

    losses: list[float]
    accuracy: float
    table: list[GradRow]
    folder: Path


class DemoError(Exception):
    """A step of the demo did not give what it must give."""


def run(
    seed: int = 0, settings: Settings = FULL, folder: str | PathLike[str] = MODEL_FOLDER
) -> Result:
    """Builds, prints, checks, trains, saves and loads a network, telling what it does.

    Args:
        seed: Of the split, the first parameters and the order of the images.
        settings: How long it takes.
        folder: Where the model goes; made if there is none.

    Raises:
        DemoError: A gradient is wrong, the network did not learn, or the loaded model differs.
    """
    data = datasets.digits(seed)
    network = build(seed)
    _print_programs(network, data)
    executor = Executor()
    with scope_guard(core.Scope()):
        executor.run(network.startup)
        table = _check_gradients(network, data, settings)
        losses = _train(network, executor, data, seed, settings)
        accuracy = _test(network, executor, data, settings)
        saved = _save_and_load(network, executor, data, Path(folder))
    _print_next_steps(Path(folder))
    return Result(losses, accuracy, table, saved)


def _heading(number: int, text: str) -> None:
    print(f"\n{number}. {text}\n")


def _print_programs(network: Network, data: Digits) -> None:
    ops = network.main.global_block().ops
    forward = ops[: network.forward_ops]
    added = ops[network.forward_ops :]
    updates = len(network.update_ops)
    _heading(1, f"A network as a program: {len(forward)} operators")
    print(f"   {len(data.train_labels):,} images of handwritten digits to learn from, ", end="")
    print(f"{len(data.test_labels)} held out.\n   What each operator reads -> what it writes:\n")
    print("\n".join(operator_lines(forward, shapes=True)))
    _heading(2, f"What minimize(loss) added: {len(added)} operators")
    print("   The gradients, from the loss back to the parameters:\n")
    print("\n".join(operator_lines(added[:-updates], len(forward))))
    print("\n   and the update of every parameter:\n")
    print("\n".join(operator_lines(added[-updates:], len(ops) - updates)))


def _check_gradients(network: Network, data: Digits, settings: Settings) -> list[GradRow]:
    _heading(3, "Is every gradient right? Compared with numerical ones, in float64")
    start = time.perf_counter()
    feed = {"image": data.train_images[:4], "label": data.train_labels[:4]}
    table = gradcheck.grad_table(
        network.main, network.loss, feed, network.params_grads, elements=settings.elements
    )
    print(f"   {'parameter':13} {'shape':16} {'checked':>16}   {'largest relative error'}")
    for row in table:
        shape, checked = str(list(row.shape)), f"{row.checked:,} of {int(np.prod(row.shape)):,}"
        verdict = "right" if row.ok else "WRONG"
        print(f"   {row.name:13} {shape:16} {checked:>16}   {row.max_rel_error:.1e}   {verdict}")
    elements = sum(row.checked for row in table)
    print(f"\n   {elements:,} derivatives checked in {time.perf_counter() - start:.1f} s")
    wrong = [row.name for row in table if not row.ok]
    if wrong or not table:
        raise DemoError(f"every gradient must agree with the numerical one, got {wrong or 'none'}")
    return table


def _train(
    network: Network, executor: Executor, data: Digits, seed: int, settings: Settings
) -> list[float]:
    threads = get_num_threads()
    _heading(4, f"Training, {settings.epochs} epochs in batches of {BATCH}, {threads} threads")
    random = np.random.RandomState(seed)
    count = len(data.train_labels)
    losses: list[float] = []
    start = time.perf_counter()
    with progress(settings.epochs) as show:
        for epoch in range(1, settings.epochs + 1):
            order = random.permutation(count)
            for first in range(0, count, BATCH):
                chosen = order[first : first + BATCH]
                feed = {"image": data.train_images[chosen], "label": data.train_labels[chosen]}
                (loss,) = executor.run(network.main, feed, [network.loss])
                losses.append(float(loss[0]))
            steps = -(-count // BATCH)
            show(epoch, float(np.mean(losses[-steps:])), epoch * count)
    print(f"\n   {len(losses)} steps in {time.perf_counter() - start:.1f} s")
    return losses


def _test(network: Network, executor: Executor, data: Digits, settings: Settings) -> float:
    feed = {"image": data.test_images, "label": data.test_labels}
    (value,) = executor.run(network.test, feed, [network.accuracy])
    accuracy = float(value[0])
    count = len(data.test_labels)
    print(f"   {accuracy:.1%} of the {count} held-out images are recognized ", end="")
    print(f"({count - round(accuracy * count)} mistakes)")
    if not accuracy >= settings.accuracy:
        raise DemoError(
            f"at least {settings.accuracy:.0%} of the held-out images must be recognized, "
            f"got {accuracy:.1%}; try more epochs"
        )
    return accuracy


def _save_and_load(network: Network, executor: Executor, data: Digits, folder: Path) -> Path:
    _heading(5, "Saved, and loaded again")
    feed = {"image": data.test_images}
    (before,) = executor.run(network.test, feed, [network.prediction])
    io.save_inference_model(folder, ["image"], [network.prediction], executor, network.test)
    with scope_guard(core.Scope()):
        program, _, targets = io.load_inference_model(folder, executor)
        (after,) = executor.run(program, feed, targets)
    if not np.array_equal(before, after):
        difference = np.max(np.abs(before - after))
        raise DemoError(f"the loaded model must predict the same, got a difference {difference}")
    folder = folder.resolve()
    for file in sorted(folder.iterdir()):
        print(f"   {file}   {file.stat().st_size:,} bytes")
    print(f"\n   The loaded model gives the same {before.size:,} probabilities, bit for bit.")
    _print_digit(data.test_images[0, 0], int(data.test_labels[0, 0]), after[0])
    return folder


def _print_digit(image: Array, label: int, probabilities: Array) -> None:
    print("   For example:\n")
    for row in image:
        print("      " + "".join(" .:-=+*#%@"[round(float(v) * 9)] * 2 for v in row).rstrip())
    digit = int(probabilities.argmax())
    print(f"\n   is a {digit} with a probability of {probabilities[digit]:.1%}; ", end="")
    print(f"whoever wrote it meant a {label}")


def _print_next_steps(folder: Path) -> None:
    steps = {
        f"show {folder}": "the program that was saved",
        "demo --seed 1": "another split, other first parameters",
        "ops conv2d": "what an operator reads, writes and means",
    }
    command = _command()
    width = max(map(len, steps))
    print("\nNext:\n")
    for arguments, meaning in steps.items():
        print(f"   {command} {arguments:{width}}   {meaning}")
    print(
        f"""
   In Python:

   import fluidcore as fluid
   exe = fluid.Executor()
   program, feeds, targets = fluid.io.load_inference_model("{folder}", exe)
   images = fluid.datasets.digits().test_images
   print(exe.run(program, {{"image": images}}, targets)[0].argmax(axis=1))
"""
    )


def _command() -> str:
    """How the user can call the command again."""
    called = sys.argv[0]
    if Path(called).name != "fluidcore":
        return "python -m fluidcore"
    found = shutil.which("fluidcore")
    return "fluidcore" if found and Path(found).samefile(called) else called
