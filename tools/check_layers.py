"""Checks the #includes of csrc/: a folder includes only folders below it.

Prints each forbidden include and exits with 1 if there is one.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

# folder -> folders it may include, besides itself
LAYERS: dict[str, set[str]] = {
    "base": set(),
    "program": {"base"},
    "tensor": {"base"},
    "kernels": {"base", "tensor"},
    "op": {"base", "program", "tensor"},
    "ops": {"base", "program", "tensor", "kernels", "op"},
    "runtime": {"base", "program", "tensor", "op"},
    "gradcheck": {"base", "program", "tensor", "op", "runtime"},
    "bindings": {
        "base",
        "program",
        "tensor",
        "kernels",
        "op",
        "ops",
        "runtime",
        "gradcheck",
    },
}
# library -> the one folder that may include it
LIBRARIES = {
    "dnnl": "kernels/onednn",
    "oneapi": "kernels/onednn",
    "pybind11": "bindings",
    "nlohmann": "program",
}
SOURCES = {".h", ".cc", ".cu", ".cuh"}
INCLUDE = re.compile(r'\s*#\s*include\s*["<]([^">]+)[">]')


def forbidden(folder: str, header: str) -> str | None:
    """Why a file in `folder` ("kernels/cpu") may not include `header`; None if it may."""
    layer = folder.split("/")[0]
    parts = re.split(r"[/.]", header)
    if parts[0] == "fluidcore":
        if layer not in LAYERS:
            return f"{layer}/ is not in LAYERS of tools/check_layers.py"
        if len(parts) > 3 and parts[1] not in LAYERS[layer] | {layer}:
            return f"{layer}/ may not include {parts[1]}/"
    home = LIBRARIES.get(parts[0])
    if home is not None and not f"{folder}/".startswith(f"{home}/"):
        return f"only {home}/ may include {header}"
    return None


def violations(root: Path) -> Iterator[str]:
    """A line of text for every forbidden include below `root`."""
    for path in sorted(root.rglob("*")):
        if path.suffix not in SOURCES:
            continue
        folder = path.parent.relative_to(root).as_posix()
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            if match := INCLUDE.match(line):
                reason = forbidden(folder, match[1])
                if reason:
                    yield f"{path}:{number}: {reason}"


def main() -> int:
    """Checks csrc/fluidcore."""
    found = list(violations(Path(__file__).resolve().parent.parent / "csrc" / "fluidcore"))
    print("\n".join(found) or "include order: ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
