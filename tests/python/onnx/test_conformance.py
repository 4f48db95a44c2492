"""Backend tests of the package onnx; tools/onnx_conformance.sh runs them all."""

import importlib.util
import sys
import warnings
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).resolve().parents[3] / "tools" / "onnx_conformance.py"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("onnx_conformance", TOOL)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of NumPy, where the tests make their numbers
        spec.loader.exec_module(module)
        module.all_tests = {kind: module.tests(kind) for kind in module.KINDS}
    yield module
    del sys.modules[spec.name]


def outcomes(tool: ModuleType, kind: str, every: int) -> Counter:
    found = [tool.run(kind, test, 20, False) for test in tool.all_tests[kind][::every]]
    wrong = [each for each in found if each.verdict == tool.WRONG]
    assert not wrong, "\n".join(f"{each.name}: {each.message}" for each in wrong)
    return Counter(each.verdict for each in found)


@pytest.mark.parametrize(("kind", "least"), [("pytorch-converted", 82), ("pytorch-operator", 35)])
def test_models_that_pytorch_wrote_run(tool, kind, least):
    assert outcomes(tool, kind, 1)["passed"] >= least


def test_whole_networks_run(tool):
    light = [t for t in tool.all_tests["light"] if "squeezenet" in t.name or "shuffle" in t.name]
    assert [tool.run("light", test, 60, False).verdict for test in light] == ["passed"] * 2


@pytest.mark.slow
def test_every_light_network_runs(tool):
    assert outcomes(tool, "light", 1)["passed"] == 9


def test_no_result_of_a_node_is_wrong(tool):
    assert outcomes(tool, "node", 10)["passed"] >= 135


@pytest.mark.slow
def test_at_least_1400_nodes_run(tool):
    assert outcomes(tool, "node", 1)["passed"] >= 1400


def test_a_gradient_is_checked_at_the_inputs_of_a_test(tool):
    (test,) = (t for t in tool.all_tests["node"] if t.name == "test_layer_normalization_2d_axis0")
    outcome = tool.run("node", test, 20, True)
    assert (outcome.verdict, outcome.gradient) == ("passed", "proven")
    (test,) = (t for t in tool.all_tests["node"] if t.name == "test_argmax_keepdims_example")
    assert tool.run("node", test, 20, True).gradient == "none"


def test_a_wrong_result_is_told(tool, monkeypatch, capsys):
    monkeypatch.setattr(tool, "tests", lambda kind: list(tool.all_tests[kind]))
    monkeypatch.setattr(tool.Prepared, "run", lambda self, inputs: [inputs[0] + 1])
    monkeypatch.setattr(
        sys, "argv", ["onnx_conformance", "--kind", "node", "--only", "^test_relu$"]
    )
    assert tool.main() == 1
    printed = capsys.readouterr().out
    assert printed.startswith("WRONG     test_relu: AssertionError")
    assert "node                       1        0        0        0        0        1" in printed
