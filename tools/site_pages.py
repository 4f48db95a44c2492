"""The pages of the site that are not in docs/, as a hook of MkDocs.

* What is outside docs/ and a page all the same: README.md is its first one (`PAGES`).
* api/MODULE.md, for each such line of the navigation: what mkdocstrings makes of the docstrings.
* source/PATH.md, for each file or folder of the repository that a page links to.

Links lead where they lead in the repository; in the pages of the site they are rewritten. The
pages of the operators are added to the navigation.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "bench/README.md": "bench.md",
    "third_party/README.md": "third_party.md",
}
LANGUAGES = {".py": "python", ".cc": "cpp", ".h": "cpp", ".c": "c", ".txt": "text", ".sh": "bash"}
FENCE = re.compile(r"^( *)(```+|~~~+).*?^\1\2 *$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(\]\()([^)#:\s]+)((?:#[^)\s]*)?\))")
OPERATORS = "operators/README.md"


def on_config(config: Any) -> Any:
    """Names each operator in the navigation."""
    pages = sorted((Path(config.docs_dir) / "operators").glob("*.md"))
    for entry in config.nav:
        for entries in entry.values():
            if OPERATORS in entries and isinstance(entries, list):
                names = [page.stem for page in pages if page.name != "README.md"]
                entries[:] = [OPERATORS, *({name: f"operators/{name}.md"} for name in names)]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages that are not in docs/."""
    from mkdocs.structure.files import File

    for uri, text in made_pages(config.nav).items():
        files.append(File.generated(config, uri, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Lets the links of docs/ that leave it lead to the pages that stand for what is there."""
    uri = page.file.src_uri
    if uri == OPERATORS:
        page.meta["hide"] = ["toc"]  # it has none, and its table is wide
    if uri.startswith("source/"):
        page.meta["search"] = {"exclude": True}
    if page.file.generated_by:
        return markdown
    return rewritten(markdown, f"docs/{uri}", uri)


def made_pages(nav: Any) -> dict[str, str]:
    """The text of each page that is not in docs/, by its place in the site."""
    made = {uri: api_page(uri) for uri in uris(nav) if uri.startswith("api/")}
    made |= {uri: repository_page(path) for path, uri in PAGES.items()}
    sources = [f"docs/{page.relative_to(ROOT / 'docs').as_posix()}" for page in docs_pages()]
    queue = [*sources, *PAGES]
    for origin in queue:  # grows while it is read
        for target in targets(origin):
            uri = uri_of(target)
            if uri.startswith("source/") and uri not in made:
                made[uri] = source_page(target)
                queue.append(target)
    return made


def uris(nav: Any) -> Iterator[str]:
    """The pages that a navigation names, in its order."""
    if isinstance(nav, str):
        yield nav
    else:
        for entry in nav.values() if isinstance(nav, dict) else nav:
            yield from uris(entry)


def docs_pages() -> list[Path]:
    """The pages in docs/."""
    return sorted((ROOT / "docs").rglob("*.md"))


def api_page(uri: str) -> str:
    """A module's docstrings."""
    module = Path(uri).name.removesuffix(".md")
    return f"# `{module}`\n\n::: {module}\n"


def repository_page(path: str) -> str:
    """A page from outside docs/."""
    return rewritten((ROOT / path).read_text(encoding="utf-8"), path, PAGES[path])


def source_page(path: str) -> str:
    """A file with its lines highlighted, or a folder as a list."""
    found = ROOT / path
    if found.is_dir():
        lines = [f"* [{name}]({name})" for name in listed(path)]
        text = "\n".join([f"# {path}/", "", *lines, ""])
        return rewritten(text, f"{path}/", uri_of(path))
    if found.suffix == ".md":
        return rewritten(found.read_text(encoding="utf-8"), path, uri_of(path))
    language = LANGUAGES.get(found.suffix, "text")
    return f"# {path}\n\n````{language}\n{found.read_text(encoding='utf-8')}````\n"


def listed(path: str) -> list[str]:
    """The files of a folder that a reader would open."""
    return sorted(
        file.relative_to(ROOT / path).as_posix()
        for file in (ROOT / path).rglob("*")
        if file.suffix in LANGUAGES and "__pycache__" not in file.parts
    )


def targets(path: str) -> list[str]:
    """The files and folders of the repository that a page links to."""
    if (ROOT / path).is_dir():
        return [f"{path}/{name}" for name in listed(path)]
    if not path.endswith(".md"):
        return []
    text = FENCE.sub("", (ROOT / path).read_text(encoding="utf-8"))
    found = [repository_path(path, match[2]) for match in LINK.finditer(text)]
    return [target for target in found if (ROOT / target).exists()]


def repository_path(origin: str, target: str) -> str:
    """What a link of a file leads to, from the root of the repository."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(origin), target))


def uri_of(path: str) -> str:
    """The place in the site of a file of the repository."""
    if path in PAGES:
        return PAGES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"source/{path}.md"


def rewritten(text: str, origin: str, uri: str) -> str:
    """The text of a page with links to pages of the site, for a page at `uri`."""

    def link(match: re.Match[str]) -> str:
        target = repository_path(origin, match[2])
        if not (ROOT / target).exists():
            return match[0]  # MkDocs warns
        return match[1] + posixpath.relpath(uri_of(target), posixpath.dirname(uri)) + match[3]

    return outside_code(text, lambda part: LINK.sub(link, part))


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """The text with everything but its blocks of code changed."""
    parts, at = [], 0
    for fence in FENCE.finditer(text):
        parts += [change(text[at : fence.start()]), fence[0]]
        at = fence.end()
    return "".join([*parts, change(text[at:])])
