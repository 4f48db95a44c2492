"""Checks the site in a folder for what its builder does not: python tools/check_site.py build/site.

Fonts, scripts and pictures must be the site's own, and the reference must have every layer, those
of the stub, too. Prints what is wrong, and exits with 1 if something is.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ROOT / "python" / "fluidcore" / "layers"
FETCHED = re.compile(r'<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="((?:https?:)?//[^"]*)"')


def fetched(site: Path) -> Iterator[str]:
    """What pages would fetch from elsewhere."""
    for page in sorted(site.rglob("*.html")):
        for address in FETCHED.findall(page.read_text(encoding="utf-8")):
            yield f"{page.relative_to(site)}: must not fetch anything, fetches {address}"


def missing(site: Path, layers: Iterable[str]) -> Iterator[str]:
    """The layers that the reference lacks."""
    page = "api/fluidcore.layers.html"
    text = (site / page).read_text(encoding="utf-8")
    for name in layers:
        if f'id="fluidcore.layers.{name}"' not in text:
            yield f"{page}: must have every layer, lacks {name}"


def names_of_layers(source: str, stub: str) -> list[str]:
    """What `__all__` has from modules of the package, and the functions that only the stub has."""
    body = ast.parse(source).body
    imports = [node for node in body if isinstance(node, ast.ImportFrom)]
    own = [node for node in imports if (node.module or "").startswith("fluidcore.layers.")]
    imported = {name.name for node in own for name in node.names}
    made = re.findall(r"^def ([a-z]\w*)", stub, re.MULTILINE)
    for node in body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            made += [name for name in ast.literal_eval(node.value) if name in imported]
    return sorted(made)


def main() -> int:
    """Prints the findings."""
    site = Path(sys.argv[1])
    files = (LAYERS / name for name in ("__init__.py", "__init__.pyi"))
    layers = names_of_layers(*(file.read_text(encoding="utf-8") for file in files))
    found = [*fetched(site), *missing(site, layers)]
    print("\n".join(found) or f"{site}: complete")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
