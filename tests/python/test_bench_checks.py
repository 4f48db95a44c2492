"""The benchmark of gradient checks: its table, its targets, and what is measured again."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[2])
    return importlib.import_module("bench.gradient_checks")


def row(
    framework: str, case: str, seconds: float, verdict: str = "pass", threads: int = 2
) -> dict[str, object]:
    shared = {"framework": framework, "workload": f"check {case}", "threads": threads}
    return {**shared, "median": seconds, "verdict": verdict, "peak_mb": 50.0}


def lines(results) -> list[str]:
    return [line for line in results.table().splitlines() if "matmul" in line]


def test_targets_are_met_missed_or_not_known(checks: ModuleType) -> None:
    rows = [
        row("fluidcore", "matmul differences", 0.01),
        row("fluidcore", "matmul error bars", 2.0),
        row("fluidcore", "matmul directional", 0.001),
        row("torch", "matmul slow", 1.0),
        {"framework": "torch", "workload": "check matmul fast", "threads": 2, "error": "died"},
    ]
    results = checks.Results(rows, ["matmul"], ["torch"])
    differences, bars, directional, anew = lines(results)
    assert "100.00x" in differences
    assert "10x: met" in differences
    assert "0.50x" in bars
    assert "1x: missed" in bars
    assert "1x: not known" in directional
    assert "| directional anew |" in anew
    assert anew.split("|")[-2].strip() == ""
    assert results.missed == [
        "matmul, error bars: target missed",
        "matmul, directional: target not known",
    ]


def test_two_threads_are_compared_with_one(checks: ModuleType) -> None:
    rows = [
        row("fluidcore", "softmax error bars", 1.0),
        row("fluidcore", "softmax error bars", 1.9, threads=1),
        row("fluidcore", "softmax default", 0.1),
    ]
    results = checks.Results(rows, ["softmax"])
    assert "fluidcore error bars, 1 thread | 1900.0 | 1.90x | 1.7x: met" in results.table()
    assert results.missed == []


def test_without_a_peer_there_is_no_target_beside_it(checks: ModuleType) -> None:
    results = checks.Results([row("fluidcore", "matmul differences", 0.01)], ["matmul"])
    assert all(line.split("|")[-2].strip() == "" for line in lines(results))
    assert results.missed == []


def test_a_verdict_other_than_pass_is_shown(checks: ModuleType) -> None:
    results = checks.Results([row("fluidcore", "matmul differences", 0.01, "fail")], ["matmul"])
    assert "10.0 (fail)" in results.table()
    assert results.missed == ["fluidcore: matmul differences says fail"]


def test_what_is_known_is_not_measured_again(
    checks: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = []

    def measure(framework: object, workload: str, threads: int) -> dict[str, object]:
        measured.append((framework.name, workload))
        return {}

    monkeypatch.setattr(checks, "measure", measure)
    frameworks = [checks.Framework(name, "python") for name in ("fluidcore", "torch")]
    known = [
        row("fluidcore", "tanh default", 1),
        row("fluidcore", "sin default", 1),
        {"framework": "torch", "workload": "check sin slow", "threads": 2, "error": "no result"},
    ]
    list(checks.measurements(frameworks, 2, ["tanh", "sin"], known))
    assert sorted(measured) == [
        ("fluidcore", "check sin default"),
        ("fluidcore", "check tanh default"),
        ("torch", "check sin slow"),
        ("torch", "check sin slow"),
    ]
