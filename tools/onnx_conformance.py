"""Runs the backend tests that the package onnx carries, and says what came of each.

    python tools/onnx_conformance.py                   all, with a table
    python tools/onnx_conformance.py --kind node --only softmax --list refused
    python tools/onnx_conformance.py --kind node --gradients

A test passed, or was refused with fluidcore's error, or is WRONG: another result, or another
exception. With --gradients the gradients of what passed are checked at the inputs of the test. The
exit code is 1 if a result is WRONG or a gradient is.
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
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

from fluidcore import core
from fluidcore.base.dtypes import FLOATING
from fluidcore.gradcheck import GradCheckConfig, GradientChecker, Verdict
from fluidcore.onnx.backend import Backend, Prepared
from fluidcore.onnx.reading import Unsupported

PASSED, REFUSED, WRONG = "passed", "refused", "WRONG"
ROUNDED, DRAWN = "rounded", "drawn"
PROVEN, OPEN, NONE, FALSE = "proven", "undecided", "none", "FALSE"  # of gradients
# Tests that expect numbers which were rounded at each step, and are farther from the exact ones
# than what fluidcore calculates: the tolerances, relative and absolute, that allow for that.
EXPECTED_ROUNDED = {
    "test_attention_4d_causal_fp16": (2**-9, 1e-7),  # two units of float16
    "test_attention_4d_causal_fp16_expanded": (2**-9, 1e-7),
    "test_dft_inverse": (1e-3, 1e-6),  # 2e-7 for an exact 0, beside numbers up to 90
    "test_dft_inverse_opset19": (1e-3, 1e-6),
}
KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "light")
# Tests that expect certain random numbers: only their shapes and element types can be compared.
RANDOM = re.compile("test_bernoulli|test_training_dropout(_default)?(_mask)?$")


class Outcome(NamedTuple):
    """What came of one test."""

    kind: str
    name: str
    verdict: str
    message: str
    gradient: str = ""


class OutOfTimeError(Exception):
    """A test took too long."""


def run(kind: str, test: Any, seconds: int, gradients: bool) -> Outcome:
    """Runs one test for a limited time, and checks its gradients then."""

    def stop(*_: object) -> None:
        raise OutOfTimeError(f"more than {seconds} s")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            verdict, prepared, inputs = compare(kind, test)
            signal.alarm(0)
            if not gradients:
                return Outcome(kind, test.name, verdict, "")
            gradient, message = gradient_of(prepared, inputs, seconds)
            return Outcome(kind, test.name, verdict, message, gradient)
    except Unsupported as refusal:
        return Outcome(kind, test.name, REFUSED, str(refusal))
    except Exception as error:  # whatever it is, it is wrong
        notes = " ".join(getattr(error, "__notes__", ()))
        text = re.sub(r"\s+", " ", f"{type(error).__name__}: {error} {notes}")
        return Outcome(kind, test.name, WRONG, text)
    finally:
        signal.alarm(0)


def compare(kind: str, test: Any) -> tuple[str, Prepared, list[Any]]:
    """Runs the data sets of a test; an error if a result is another one."""
    verdict = PASSED
    model = test.model
    if model is None:
        folder = test.model_dir
        path = os.path.join(folder, "model.onnx") if folder else _light_file(test.url)
        model = onnx.load(path)
    prepared = Backend.prepare(model)
    for inputs, expected in data_sets(kind, test, model):
        results = prepared.run(inputs)
        if RANDOM.match(test.name):
            verdict = DRAWN
            results = [np.zeros_like(each) for each in results]
            expected = [np.zeros_like(each) for each in expected]
        try:
            Runner.assert_similar_outputs(expected, results, test.rtol, test.atol)
        except AssertionError:
            if test.name not in EXPECTED_ROUNDED:
                raise
            Runner.assert_similar_outputs(expected, results, *EXPECTED_ROUNDED[test.name])
            verdict = ROUNDED
    return verdict, prepared, inputs


def gradient_of(prepared: Prepared, inputs: list[Any], seconds: int) -> tuple[str, str]:
    """What the checker says of the gradients of all floating results at these inputs."""
    model, feed = prepared.model_for(inputs)
    block = model.program.global_block()
    for name in model.feeds:
        block.var(name).stop_gradient = block.var(name).dtype not in FLOATING
    outputs = [variable for variable in model.fetches if variable.dtype in FLOATING]
    outputs = list({variable.name: variable for variable in outputs}.values())
    config = GradCheckConfig(budget_s=seconds, localise=False, explain=False)
    try:
        if not outputs:
            return NONE, "no floating result"
        checker = GradientChecker(config)
        report = checker.check_program(
            model.program, feed, outputs, scope=model.scope, raise_exception=False
        )
    except core.Error as error:
        return NONE, str(error)
    gradient = {Verdict.PASS: PROVEN, Verdict.FAIL: FALSE}.get(report.verdict, OPEN)
    return gradient, "" if gradient == PROVEN else re.sub(r"\s+", " ", str(report))


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


def print_table(outcomes: Sequence[Outcome], kinds: Sequence[str], gradients: bool) -> None:
    """How many came out how, a row for each kind; then the gradients of those that ran."""
    columns = (PASSED, REFUSED, ROUNDED, DRAWN, WRONG)
    print(f"{'tests':20}{'number':>8}" + "".join(f"{column:>9}" for column in columns))
    for kind in kinds:
        counts = Counter(each.verdict for each in outcomes if each.kind == kind)
        numbers = [sum(counts.values()), *(counts[column] for column in columns)]
        print(f"{kind:20}{numbers[0]:8,}" + "".join(f"{number:9,}" for number in numbers[1:]))
    if gradients:
        columns = (PROVEN, OPEN, NONE, FALSE)
        print(f"\n{'gradients':28}" + "".join(f"{column:>10}" for column in columns))
        for kind in kinds:
            counts = Counter(each.gradient for each in outcomes if each.kind == kind)
            print(f"{kind:28}" + "".join(f"{counts[column]:10,}" for column in columns))


def main() -> int:
    """Runs the tests that the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kind", choices=KINDS, action="append", help="default: all")
    parser.add_argument("--only", default="", help="a regular expression that names contain")
    parser.add_argument("--seconds", type=int, default=20, help="for each test; default 20")
    parser.add_argument("--gradients", action="store_true", help="check them, too")
    verdicts = (PASSED, REFUSED, ROUNDED, DRAWN, WRONG, PROVEN, OPEN, NONE, FALSE)
    parser.add_argument("--list", choices=verdicts, action="append", default=[])
    parser.add_argument("--operators", action="store_true", help="what refusals name, by number")
    parser.add_argument("--json", help="where the outcomes go")
    chosen = parser.parse_args()
    outcomes: list[Outcome] = []
    for kind in chosen.kind or KINDS:
        for test in tests(kind):
            if re.search(chosen.only, test.name):
                outcomes.append(run(kind, test, chosen.seconds, chosen.gradients))
    for outcome in outcomes:
        for verdict in {outcome.verdict, outcome.gradient} & {*chosen.list, WRONG, FALSE}:
            print(f"{verdict:9} {outcome.name}: {outcome.message[:300]}")
    if chosen.operators:
        for what, count in Counter(
            operator_of(each.message) for each in outcomes if each.verdict == REFUSED
        ).most_common():
            print(f"{count:5}  {what[:160]}")
    print_table(outcomes, chosen.kind or KINDS, chosen.gradients)
    if chosen.json:
        with open(chosen.json, "w", encoding="utf-8") as file:
            json.dump([each._asdict() for each in outcomes], file, indent=1)
    return int(any(each.verdict == WRONG or each.gradient == FALSE for each in outcomes))


if __name__ == "__main__":
    sys.exit(main())
