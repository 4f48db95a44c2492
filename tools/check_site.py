"""Checks the site in a folder for what its builder does not: python tools/check_site.py build/site.

Fonts, scripts and pictures must be the site's own, and the reference must have every layer, those
of the stub, too. Prints what is wrong, and exits with 1 if something is.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STUB = ROOT / "python" / "fluidcore" / "layers" / "__init__.pyi"
FETCHED = re.compile(r'<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="((?:https?:)?//[^"]*)"')


def fetched(site: Path) -> Iterator[str]:
    """What pages would fetch from elsewhere."""
    for page in sorted(site.rglob("*.html")):
        for address in FETCHED.findall(page.read_text(encoding="utf-8")):
            yield f"{page.relative_to(site)}: must not fetch anything, fetches {address}"


def missing(site: Path, stub: str) -> Iterator[str]:
    """The layers that the reference lacks."""
    page = "api/fluidcore.layers.html"
    text = (site / page).read_text(encoding="utf-8")
    for name in re.findall(r"^def ([a-z]\w*)|^from .* as (\w+)$", stub, re.MULTILINE):
        layer = "".join(name)
        if f'id="fluidcore.layers.{layer}"' not in text:
            yield f"{page}: must have every layer, lacks {layer}"


def main() -> int:
    """Prints the findings."""
    site = Path(sys.argv[1])
    found = [*fetched(site), *missing(site, STUB.read_text(encoding="utf-8"))]
    print("\n".join(found) or f"{site}: complete")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
