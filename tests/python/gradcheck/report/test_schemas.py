"""Reports against the published schemas, where a folder FLUIDCORE_SCHEMAS holds them.

It holds sarif-2.1.0.json (of OASIS), junit-10.xsd (of Jenkins' xUnit plugin), and vnu.jar (the
validator of the W3C); the packages jsonschema and xmlschema read the first two.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest
import samples

from fluidcore.gradcheck.report.saving import save


def schema(name: str) -> Path:
    path = Path(os.environ.get("FLUIDCORE_SCHEMAS", "")) / name
    if "FLUIDCORE_SCHEMAS" not in os.environ or not path.is_file():
        pytest.skip(f"FLUIDCORE_SCHEMAS names no folder with {name}")
    return path


def test_sarif_is_valid(tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    rules = json.loads(schema("sarif-2.1.0.json").read_text("utf-8-sig"))
    for reports in (samples.few(), samples.many(), []):
        save(reports, tmp_path / "report.sarif")
        jsonschema.validate(json.loads((tmp_path / "report.sarif").read_text()), rules)


def test_junit_is_valid(tmp_path: Path) -> None:
    xmlschema = pytest.importorskip("xmlschema")
    rules = xmlschema.XMLSchema(schema("junit-10.xsd"))
    for reports in (samples.few(), samples.many(), []):
        for skip in (False, True):
            save(reports, tmp_path / "report.xml", skip_inconclusive=skip)
            rules.validate(tmp_path / "report.xml")


def test_html_is_valid(tmp_path: Path) -> None:
    command = ["java", "-jar", os.fspath(schema("vnu.jar")), "--errors-only"]
    for name, reports in {"few": samples.few(), "many": samples.many(), "none": []}.items():
        save(reports, tmp_path / f"{name}.html")
    found = subprocess.run(
        [*command, *map(str, tmp_path.glob("*.html"))], capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stderr) == (0, "")
