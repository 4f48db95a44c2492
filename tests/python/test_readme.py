import re
from pathlib import Path

import pytest

import fluidcore as fluid

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)  # language, text


def run_page(page: Path) -> dict[str, object]:
    """Runs the Python of a page from top to bottom, as a reader would in one session."""
    namespace: dict[str, object] = {"__name__": page.stem}
    text = page.read_text(encoding="utf-8")
    for match in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        line = text.count("\n", 0, match.start(1))
        exec(compile("\n" * line + match[1], str(page), "exec"), namespace)
    return namespace


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_python_of_the_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    threads = fluid.get_num_threads()
    try:
        run_page(page)
    finally:
        fluid.set_num_threads(threads)


def test_the_readme_trains_a_network_that_recognizes_digits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    right = run_page(ROOT / "README.md")["right"]
    assert right.item() > 0.9
    assert "elementwise_add: " in capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda page: page.name)
def test_what_a_page_of_the_docs_shows_is_what_it_prints(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    threads = fluid.get_num_threads()
    try:
        run_page(page)
    finally:
        fluid.set_num_threads(threads)
    printed = capsys.readouterr().out
    # Blocks have a language, or are what a block of Python above prints.
    for language, shown in FENCE.findall(page.read_text(encoding="utf-8")):
        assert language or shown in printed


def test_every_link_of_a_page_leads_to_a_file():
    for page in [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "bench" / "README.md"]:
        text = FENCE.sub("", page.read_text(encoding="utf-8"))
        for target in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
