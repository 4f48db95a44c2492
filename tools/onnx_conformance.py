"""Runs the backend tests that the package onnx carries, and says what came of each.

    python tools/onnx_conformance.py                   all, with a table
    python tools/onnx_conformance.py --kind node --only softmax --list refused

A test passed, or was refused with fluidcore's error, or is WRONG: another result, or another
exception. The exit code is 1 if one is WRONG.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import re
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

from fluidcore.onnx.backend import Backend
from fluidcore.onnx.reading import Unsupported

PASSED, REFUSED, WRONG = "passed", "refused", "WRONG"
KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "light")


class Outcome(NamedTuple):
    """What came of one test."""

    kind: str
    name: str
    verdict: str
    message: str


class OutOfTimeError(Exception):
    """A test took too long."""


def run(kind: str, test: Any, seconds: int) -> Outcome:
    """Runs one test for a limited time."""

    def stop(*_: object) -> None:
        raise OutOfTimeError(f"more than {seconds} s")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compare(kind, test)
        return Outcome(kind, test.name, PASSED, "")
    except Unsupported as refusal:
        return Outcome(kind, test.name, REFUSED, str(refusal))
    except Exception as error:  # whatever it is, it is wrong
        notes = " ".join(getattr(error, "__notes__", ()))
        text = re.sub(r"\s+", " ", f"{type(error).__name__}: {error} {notes}")
        return Outcome(kind, test.name, WRONG, text)
    finally:
        signal.alarm(0)


def compare(kind: str, test: Any) -> None:
    """Runs the data sets of a test; an error if a result is another one."""
    model = test.model
    if model is None:
        folder = test.model_dir
        path = os.path.join(folder, "model.onnx") if folder else _light_file(test.url)
        model = onnx.load(path)
    prepared = Backend.prepare(model)
    for inputs, expected in data_sets(kind, test, model):
        results = prepared.run(inputs)
        Runner.assert_similar_outputs(expected, results, test.rtol, test.atol)


def data_sets(kind: str, test: Any, model: Any) -> Iterator[tuple[list[Any], list[Any]]]:
    """Inputs and expected results."""
    if test.data_sets is not None:
        for inputs, results in test.data_sets:
            yield [_plain(each) for each in inputs], [_plain(each) for each in results]
    elif kind == "light":
        path = _light_file(test.url).replace(".onnx", "_output_0.pb")
        inputs = [Runner.generate_dummy_data(each, seed=0, name=test.name) for each in _fed(model)]
        with open(path, "rb") as file:
            yield inputs, [onnx.numpy_helper.to_array(onnx.load_tensor_from_string(file.read()))]
    else:
        for folder in sorted(glob.glob(os.path.join(test.model_dir, "test_data_set_*"))):
            yield (
                _stored(folder, "input", model.graph.input),
                _stored(folder, "output", model.graph.output),
            )


def _fed(model: Any) -> list[Any]:
    known = {each.name for each in model.graph.initializer}
    return [each for each in model.graph.input if each.name not in known]


def _light_file(url: str) -> str:
    return os.path.join(os.path.dirname(onnx.__path__[0]), url)


def _stored(folder: str, what: str, declared: Any) -> list[Any]:
    files = sorted(glob.glob(os.path.join(folder, f"{what}_*.pb")), key=_number)
    found = []
    for path, info in zip(files, declared, strict=False):
        with open(path, "rb") as file:
            text = file.read()
        if info.type.HasField("sequence_type"):
            sequence = onnx.SequenceProto()
            sequence.ParseFromString(text)
            found.append(onnx.numpy_helper.to_list(sequence))
        else:
            found.append(_plain(onnx.load_tensor_from_string(text)))
    return found


def _number(path: str) -> int:
    return int(re.findall(r"\d+", os.path.basename(path))[0])


def _plain(value: Any) -> Any:
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    return np.asarray(value) if isinstance(value, (int, float)) else value


def tests(kind: str) -> list[Any]:
    """The tests of a kind; the light models are those that the suite calls real."""
    return sorted(
        load_model_tests(kind="real" if kind == "light" else kind), key=lambda test: test.name
    )


def operator_of(message: str) -> str:
    """The operator that a refusal names, and what is missing, in short."""
    found = re.search(r"\(([\w.]+), opset \d+\): (.*)", message)
    return f"{found[1]}: {found[2]}" if found else re.sub(r"^[^:]*: ", "", message)


def main() -> int:
    """Runs the tests that the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kind", choices=KINDS, action="append", help="default: all")
    parser.add_argument("--only", default="", help="a regular expression that names contain")
    parser.add_argument("--seconds", type=int, default=20, help="for each test; default 20")
    parser.add_argument("--list", choices=(PASSED, REFUSED, WRONG), action="append", default=[])
    parser.add_argument("--operators", action="store_true", help="what refusals name, by number")
    parser.add_argument("--json", help="where the outcomes go")
    chosen = parser.parse_args()
    outcomes: list[Outcome] = []
    for kind in chosen.kind or KINDS:
        for test in tests(kind):
            if re.search(chosen.only, test.name):
                outcomes.append(run(kind, test, chosen.seconds))
    for outcome in outcomes:
        if outcome.verdict in (*chosen.list, WRONG):
            print(f"{outcome.verdict:8} {outcome.name}: {outcome.message[:300]}")
    if chosen.operators:
        for what, count in Counter(
            operator_of(each.message) for each in outcomes if each.verdict == REFUSED
        ).most_common():
            print(f"{count:5}  {what[:160]}")
    print(f"{'tests':20}{'number':>8}{PASSED:>8}{REFUSED:>9}{WRONG:>7}")
    for kind in chosen.kind or KINDS:
        verdicts = Counter(each.verdict for each in outcomes if each.kind == kind)
        numbers = [verdicts[verdict] for verdict in (PASSED, REFUSED, WRONG)]
        print(f"{kind:20}{sum(numbers):8,}{numbers[0]:8,}{numbers[1]:9,}{numbers[2]:7,}")
    if chosen.json:
        with open(chosen.json, "w", encoding="utf-8") as file:
            json.dump([each._asdict() for each in outcomes], file, indent=1)
    return int(any(each.verdict == WRONG for each in outcomes))


if __name__ == "__main__":
    sys.exit(main())
