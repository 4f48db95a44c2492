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
    stub = "from fluidcore.layers.nn import fc as fc\nfrom a import b as b\ndef relu(\n"
    assert list(check_site.missing(tmp_path, stub)) == [
        "api/fluidcore.layers.html: must have every layer, lacks b",
        "api/fluidcore.layers.html: must have every layer, lacks relu",
    ]
