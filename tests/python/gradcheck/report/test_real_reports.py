"""Reports of checks that were made, in all dtypes."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from fluidcore.gradcheck.adapters import callable_target
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.pipeline.run import run_check
from fluidcore.gradcheck.report.loading import load
from fluidcore.gradcheck.report.result import GradCheckReport
from fluidcore.gradcheck.report.saving import save
from fluidcore.gradcheck.verdict import Verdict

Array = np.ndarray[Any, Any]

DTYPES = {
    "float64": np.float64,
    "float32": np.float32,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
}


def tanh(x: Array) -> Array:
    return np.tanh(x)


def tanh_vjp(x: Array, v: Array) -> Array:
    return v * (1 - np.tanh(x) ** 2)


def wrong_vjp(x: Array, v: Array) -> Array:
    gradient = tanh_vjp(x, v)
    gradient[2] = 0
    return gradient


@pytest.fixture(scope="module")
def reports() -> list[GradCheckReport]:
    point = np.random.default_rng(1).standard_normal((4, 6))
    return [
        run_check(
            callable_target(tanh, [point.astype(dtype)], vjp=vjp), GradCheckConfig(levels=True)
        )
        for dtype in DTYPES.values()
        for vjp in (tanh_vjp, wrong_vjp)
    ]


def test_texts_are_short_and_complete(reports: list[GradCheckReport]) -> None:
    for report in reports:
        text = str(report)
        assert text.startswith(f"{report.verdict.name}  tanh: ")
        assert len(text.splitlines()) <= 25
        if report.verdict is Verdict.FAIL:
            assert "[2, " in text
            assert ": gradient 0, numerical " in text
            assert " ± " in text
            assert "grad-mismatch: " in text


def test_json_loses_nothing(reports: list[GradCheckReport], tmp_path: Path) -> None:
    save(reports, tmp_path / "report.json")
    back = load(tmp_path / "report.json")
    assert repr([asdict(report) for report in back]) == repr(list(map(asdict, reports)))


@pytest.mark.parametrize("end", ["html", "sarif", "txt", "xml"])
def test_every_format_holds_every_dtype(
    reports: list[GradCheckReport], tmp_path: Path, end: str
) -> None:
    save(reports, tmp_path / f"report.{end}")
    text = (tmp_path / f"report.{end}").read_text()
    assert all(dtype in text for dtype in DTYPES)
    assert "grad-mismatch" in text


def test_the_page_has_plots_of_what_is_wrong_and_of_what_is_right(
    reports: list[GradCheckReport], tmp_path: Path
) -> None:
    save(reports, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert page.count("<b>Where the differences are</b>") == 4
    assert page.count("<b>Taylor remainder</b>") >= 8
    assert "To keep the page small" not in page
