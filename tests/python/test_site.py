"""The site that tools/docs.sh builds has every page, and its links lead to pages of it."""

import re
from pathlib import Path
from types import SimpleNamespace

from tools import site_pages

ROOT = Path(__file__).resolve().parents[2]
CONFIG = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
NAV = re.findall(r"(\S+\.md)\b", CONFIG.partition("\nnav:\n")[2].partition("\nnot_in_nav:")[0])
# What the others stand on, and the command; core is on the page of _core, its stub.
NOT_IMPORTED = {"base", "cli", "core", "demo", "listing", "picture"}


def modules() -> set[str]:
    """The public modules and packages of fluidcore."""
    package = ROOT / "python" / "fluidcore"
    found = {path.stem for path in package.glob("[!_]*.py")}
    return found | {path.parent.name for path in package.glob("[!_]*/__init__.py")}


def test_the_navigation_names_every_page_of_the_docs_once():
    pages = {page.name for page in (ROOT / "docs").glob("*.md")}
    assert sorted(uri for uri in NAV if "/" not in uri) == sorted(
        pages | set(site_pages.PAGES.values())
    )


def test_the_navigation_names_every_public_module():
    wanted = {f"fluidcore.{name}" for name in modules() - NOT_IMPORTED}
    named = {Path(uri).stem for uri in NAV if uri.startswith("api/")}
    assert wanted <= named
    for name in named:
        path = ROOT / "python" / name.replace(".", "/")
        assert (
            any(file.exists() for file in (path.with_name(f"{path.name}.py"), path / "__init__.py"))
            or path.with_name(f"{path.name}.pyi").exists()
        ), name


def test_every_page_of_the_navigation_exists_or_is_made():
    made = site_pages.made_pages(NAV)
    for uri in NAV:
        assert uri in made or (ROOT / "docs" / uri).exists(), uri


def test_every_operator_is_in_the_navigation():
    nav = [{"Home": "index.md"}, {"Operators": ["operators/README.md"]}]
    site_pages.on_config(SimpleNamespace(docs_dir=str(ROOT / "docs"), nav=nav))
    operators = nav[1]["Operators"]
    pages = {f"operators/{page.name}" for page in (ROOT / "docs" / "operators").glob("*.md")}
    assert set(site_pages.uris(operators)) == pages
    assert operators[0] == "operators/README.md"
    assert operators[1] == {"abs": "operators/abs.md"}


def test_links_to_pages_of_the_site_are_rewritten():
    text = "[a](docs/data.md#readers) [b](https://example.org) [c](CONTRIBUTING.md)"
    assert site_pages.rewritten(text, "README.md", "index.md") == (
        "[a](data.md#readers) [b](https://example.org) [c](contributing.md)"
    )


def test_links_to_sources_lead_to_pages_that_show_them():
    text = site_pages.rewritten(
        "[x](../examples/train_digits.py)", "docs/training.md", "training.md"
    )
    assert text == "[x](source/examples/train_digits.py.md)"
    page = site_pages.source_page("examples/train_digits.py")
    assert page.startswith("# examples/train_digits.py\n\n````python\n")


def test_links_that_lead_nowhere_are_left_for_mkdocs_to_find():
    assert site_pages.rewritten("[x](nowhere.md)", "README.md", "index.md") == "[x](nowhere.md)"


def test_code_is_not_rewritten():
    text = "```python\nf = table[0](README.md)\n```\n"
    assert site_pages.rewritten(text, "docs/data.md", "data.md") == text


def test_a_folder_is_a_list_of_its_sources():
    assert "* [check_gradient.py](examples/check_gradient.py.md)" in site_pages.source_page(
        "examples"
    )
