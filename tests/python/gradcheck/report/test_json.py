import json
import math
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import samples

from fluidcore import core
from fluidcore.gradcheck.report.json_ import json_text
from fluidcore.gradcheck.report.loading import load
from fluidcore.gradcheck.report.result import GradCheckReport
from fluidcore.gradcheck.report.saving import save


def document(reports: list[GradCheckReport] | None = None) -> Any:
    return json.loads(json_text(samples.few() if reports is None else reports))


def values(reports: list[GradCheckReport]) -> str:
    return repr([asdict(report) for report in reports])


def written(tmp_path: Path, content: Any) -> Path:
    path = tmp_path / "report.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_reports_come_back_as_they_were(tmp_path: Path) -> None:
    reports = [*samples.few(), *samples.many(3)]
    save(reports, tmp_path / "report.json")
    back = load(tmp_path / "report.json")
    assert values(back) == values(reports)  # NaN is not equal to itself
    assert [report.verdict for report in back] == [report.verdict for report in reports]


def test_every_field_comes_back(tmp_path: Path) -> None:
    save([samples.program_report()], tmp_path / "report.json")
    assert load(tmp_path / "report.json") == [samples.program_report()]


def test_no_reports_are_a_file_too(tmp_path: Path) -> None:
    save([], tmp_path / "report.json")
    assert load(tmp_path / "report.json") == []


def test_the_file_is_strict_json() -> None:
    def refuse(constant: str) -> None:
        pytest.fail(f"{constant} is not JSON")

    text = json_text([samples.report("relu", samples.undecided())])
    found = json.loads(text, parse_constant=refuse)
    assert found["schema"] == "fluidcore.gradcheck/1"
    assert found["reports"][0]["verdict"] == "inconclusive"
    result = found["reports"][0]["results"][0]
    assert result["resolution"] == "inf"
    assert result["element_errors"][1]["analytical"] == "nan"
    assert text.isascii()


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    result = replace(
        samples.right(),
        max_relative_error=np.float32(0.5),
        num_elements=np.int64(20),
        shape=(np.int64(4), np.int64(5)),
        resolution=np.float64(-math.inf),
    )
    save([samples.report("matmul", result)], tmp_path / "report.json")
    back = load(tmp_path / "report.json")[0].results[0]
    assert back == result
    assert type(back.num_elements) is int
    assert type(back.max_relative_error) is float


def test_fields_with_defaults_may_be_missing_and_unknown_ones_may_be_there(tmp_path: Path) -> None:
    found = document([samples.report("matmul", samples.right())])
    del found["reports"][0]["env"]
    found["reports"][0]["colour"] = "blue"
    assert load(written(tmp_path, found))[0].env == {}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "must be a whole JSON file, got a damaged one"),
        (json_text(samples.few())[:-40], "must be a whole JSON file, got a damaged one"),
        ("[" * 100_000, "must be a whole JSON file, got a damaged one"),
        ('{"schema": ' + "9" * 5000 + "}", "must be a whole JSON file, got a damaged one"),
        ("[]", "got 'None'; it is no report of a gradient check"),
        ('{"schema": "sarif"}', "got 'sarif'; it is no report of a gradient check"),
        (
            '{"schema": "fluidcore.gradcheck/2"}',
            "must have the schema 'fluidcore.gradcheck/1', got 'fluidcore.gradcheck/2'; "
            "it is of a newer fluidcore: update this one",
        ),
        (
            '{"schema": "fluidcore.gradcheck/1"}',
            "is damaged: reports must be of type list, got",
        ),
    ],
    ids=["empty", "cut", "deep", "long number", "list", "other", "newer", "no reports"],
)
def test_a_file_that_is_none_of_ours_is_an_error(
    tmp_path: Path, content: str, message: str
) -> None:
    path = written(tmp_path, content)
    with pytest.raises(core.InvalidArgument, match=message) as caught:
        load(path)
    assert str(caught.value).startswith(f"load: {path} ")
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("shape", [4, "5"], r"shape\[1\] must be of type int, got '5'"),
        ("shape", [4, True], r"shape\[1\] must be of type int, got True"),
        ("verdict", "maybe", "verdict must be one of 'pass', 'fail', 'inconclusive', got 'maybe'"),
        ("verdict", [], "verdict must be one of"),
        ("reasons", ["none"], r"reasons\[0\] must be one of 'grad-mismatch'"),
        ("resolution", "1e3", "resolution must be a number, 'inf', '-inf' or 'nan', got '1e3'"),
        ("resolution", True, "resolution must be a number"),
        ("resolution", 10**400, "resolution must be a number"),
        ("name", None, "name must be of type str, got None"),
        ("element_errors", {}, "element_errors must be of type list, got {}"),
        ("levels", [{"step": 1}], r"levels\[0\].difference must be there, got nothing"),
        ("levels", [1], r"levels\[0\] must be of type dict, got 1"),
    ],
)
def test_a_damaged_field_is_named(tmp_path: Path, field: str, value: Any, message: str) -> None:
    found = document([samples.report("matmul", samples.right())])
    found["reports"][0]["results"][0][field] = value
    with pytest.raises(core.InvalidArgument, match=rf"reports\[0\].results\[0\]\.{message}"):
        load(written(tmp_path, found))


def test_bytes_that_are_no_text_are_damage(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(core.InvalidArgument, match="damaged"):
        load(tmp_path / "report.json")


def test_a_file_that_is_not_there_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.json")


@pytest.mark.parametrize("end", [".html", ".json", ".sarif", ".txt", ".xml", ".JSON"])
def test_the_end_of_the_name_chooses_the_format(tmp_path: Path, end: str) -> None:
    path = tmp_path / f"report{end}"
    samples.few()[0].save(os.fspath(path))
    start = {".html": "<!DOCTYPE", ".txt": "FAIL", ".xml": "<?xml"}.get(end, "{")
    assert path.read_text().startswith(start)
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("name", ["report.pdf", "report", ".json"])
def test_another_end_is_an_error_that_names_those_there_are(tmp_path: Path, name: str) -> None:
    message = r"save: the path must end in one of .html, .json, .sarif, .txt, .xml, got "
    with pytest.raises(core.InvalidArgument, match=message):
        save(samples.few(), tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_a_path_that_cannot_be_written_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        save(samples.few(), tmp_path / "none" / "report.json")


def test_a_write_that_fails_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.json"
    save([], path)
    before = path.read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        save(samples.few(), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["report.json"]
