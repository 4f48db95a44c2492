"""tools/check_site.py finds what pages fetch from elsewhere, and layers that are not there."""

from pathlib import Path

from tools import check_site


def test_what_is_fetched_from_elsewhere_is_found(tmp_path: Path):
    (tmp_path / "index.html").write_text(
        '<link rel="icon" href="a.svg"><a href="https://example.org">there</a>'
        '<script src="https://example.org/a.js"></script><img alt="" src="//example.org/b.png">'
    )
    assert list(check_site.fetched(tmp_path)) == [
        "index.html: must not fetch anything, fetches https://example.org/a.js",
        "index.html: must not fetch anything, fetches //example.org/b.png",
    ]


def test_layers_that_the_reference_lacks_are_found(tmp_path: Path):
    (tmp_path / "api").mkdir()
    (tmp_path / "api" / "fluidcore.layers.html").write_text('<h2 id="fluidcore.layers.fc"></h2>')
    assert list(check_site.missing(tmp_path, ["fc", "relu"])) == [
        "api/fluidcore.layers.html: must have every layer, lacks relu"
    ]


def test_layers_are_those_of_all_and_those_of_the_stub():
    source = """
from fluidcore.layers import control_flow
from fluidcore.layers.nn import fc, helper
__all__ = ["control_flow", "fc"]
"""
    stub = "from fluidcore.layers.nn import fc as fc\ndef relu(\n"
    assert check_site.names_of_layers(source, stub) == ["fc", "relu"]
