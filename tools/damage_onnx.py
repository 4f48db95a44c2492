"""Loads damaged ONNX files: each must be read or refused, without a crash, a hang, or much memory.

    python tools/damage_onnx.py                 100,000 files
    python tools/damage_onnx.py --count 500 --seed 7

The files are models of the backend tests that the package onnx carries, with bytes that were
changed, cut off, repeated or left out. Prints what came of them; the exit code is 1 if a process
crashed, if a file took longer than --seconds, if loading it took more than --megabytes, or if an
error was none of fluidcore's.
"""

from __future__ import annotations

import argparse
import glob
import multiprocessing
import os
import resource
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Sequence

import numpy as np
import onnx.backend.test

import fluidcore as fluid
from fluidcore import core
from fluidcore import onnx as fluid_onnx

READ, REFUSED = "read", "refused"
_FILES = 500  # of one process
_LARGEST = 20_000  # bytes of a model


def models() -> list[bytes]:
    """The small models of the backend tests."""
    folder = os.path.join(os.path.dirname(onnx.backend.test.__file__), "data")
    paths = sorted(glob.glob(os.path.join(folder, "*", "*", "model.onnx")))
    small = [path for path in paths if os.path.getsize(path) <= _LARGEST]
    texts = []
    for path in small:
        with open(path, "rb") as file:
            texts.append(file.read())
    return texts


def damaged(text: bytes, random: np.random.Generator) -> bytes:
    """A file that is not as it was."""
    changed = bytearray(text)
    how = random.integers(8)
    begin, end = sorted(random.integers(0, len(text) + 1, 2))
    if how == 0:
        return bytes(changed[:end])
    if how == 1:
        return bytes(changed[:begin] + changed[end:])
    if how == 2:
        return bytes(changed[:end] + changed[begin:])
    for position in random.integers(0, len(text), how - 2):
        changed[position] = random.integers(256) if how < 6 else changed[position] ^ 0x80
    return bytes(changed)


def load(path: str, seconds: float, megabytes: float) -> str:
    """What comes of one file."""
    before, begin = _peak(), time.monotonic()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fluid_onnx.load(path, scope=fluid.Scope())
        result = READ
    except core.InvalidArgument:
        result = REFUSED
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if time.monotonic() - begin > seconds:
        return f"took {time.monotonic() - begin:.1f} s"
    grown = (_peak() - before) / 1024
    return result if grown <= megabytes else f"took {grown:.0f} MB"


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # KiB


def load_many(work: tuple[int, int, float, float]) -> Counter[str]:
    """What comes of some files; runs in a process of its own."""
    seed, count, seconds, megabytes = work
    random, texts = np.random.default_rng(seed), models()
    load_one = [random.integers(len(texts)) for _ in range(count)]
    results: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        for number, index in enumerate(load_one):
            with open(path, "wb") as file:
                file.write(damaged(texts[index], random))
            result = load(path, seconds, megabytes)
            if result not in (READ, REFUSED):
                with open(path, "rb") as file:
                    keep = f"damaged_{seed}_{number}.onnx"
                    with open(keep, "wb") as kept:
                        kept.write(file.read())
                result = f"{keep}: {result}"
            results[result] += 1
    return results


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--megabytes", type=float, default=64.0)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args(argv)
    # spawn, and a process for each part: a crash ends one, and its seed is known.
    context = multiprocessing.get_context("spawn")
    parts = [
        (given.seed + first, min(_FILES, given.count - first), given.seconds, given.megabytes)
        for first in range(0, given.count, _FILES)
    ]
    results: Counter[str] = Counter()
    for begin in range(0, len(parts), given.jobs):
        some = parts[begin : begin + given.jobs]
        processes = []
        for part in some:
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=_send, args=(sender, part))
            process.start()
            sender.close()
            processes.append((part, process, receiver))
        for part, process, receiver in processes:
            try:
                results += receiver.recv()
            except EOFError:
                results[f"a crash among the {part[1]} files of seed {part[0]}"] += 1
            process.join()
    for result, number in results.most_common():
        print(f"{number:9,} {result}")
    return int(any(result not in (READ, REFUSED) for result in results))


def _send(
    sender: multiprocessing.connection.Connection, part: tuple[int, int, float, float]
) -> None:
    sender.send(load_many(part))


if __name__ == "__main__":
    sys.exit(main())
