"""Checks the #includes of csrc/ and the imports of python/: a room knows only rooms below it.

A room is a folder of csrc/fluidcore, or a module or package of python/fluidcore, or of its
gradcheck. Prints each forbidden include, each forbidden import and each circle, and exits with 1 if
there is one.

Imports count wherever they stand, in functions and under TYPE_CHECKING too: those that are made
late, or for types only, tie two modules for whoever reads them. A circle is an error at every
depth, of packages and of modules, but for those of MUTUAL. Imports by `importlib` are not seen.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

_BELOW_GRADCHECK = {"base", "program", "tensor", "op", "runtime"}
_GRADCHECK = {"gradcheck/function", "gradcheck/difference", "gradcheck/verdict"}
# folder -> folders it may include, besides itself; one in another has its own row, or that one's
LAYERS: dict[str, set[str]] = {
    "base": set(),
    "program": {"base"},
    "tensor": {"base"},
    "kernels": {"base", "tensor"},
    "op": {"base", "program", "tensor"},
    "ops": {"base", "program", "tensor", "kernels", "op"},
    "runtime": {"base", "program", "tensor", "op"},
    "io": {"base", "program", "tensor", "op", "ops", "runtime"},
    "gradcheck/function": _BELOW_GRADCHECK,
    "gradcheck/difference": {*_BELOW_GRADCHECK, "gradcheck/function"},
    "gradcheck/verdict": {*_BELOW_GRADCHECK, "gradcheck/function", "gradcheck/difference"},
    "gradcheck": {*_BELOW_GRADCHECK, *_GRADCHECK},
    "bindings": {
        "base",
        "program",
        "tensor",
        "kernels",
        "op",
        "ops",
        "runtime",
        "gradcheck",
        *_GRADCHECK,
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


def row_of(folder: str) -> str:
    """The folder in LAYERS that is, or holds, "kernels/cpu"; the outermost one if there is none."""
    while folder not in LAYERS and "/" in folder:
        folder = folder.rpartition("/")[0]
    return folder


def forbidden(folder: str, header: str) -> str | None:
    """Why a file in `folder` ("kernels/cpu") may not include `header`; None if it may."""
    layer = row_of(folder)
    parts = re.split(r"[/.]", header)
    if parts[0] == "fluidcore":
        if layer not in LAYERS:
            return f"{layer}/ is not in LAYERS of tools/check_layers.py"
        included = row_of("/".join(header.split("/")[1:-1]))
        if included and included not in LAYERS[layer] | {layer}:
            return f"{layer}/ may not include {included}/"
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


# room of python/fluidcore -> rooms it may import, besides itself; "fluidcore" is its __init__
_BASE = {"core", "base"}
_PROGRAM = {*_BASE, "unique_name", "program"}
_LAYERS = {*_PROGRAM, "initializer", "param_attr", "layers"}
_RUN = {*_PROGRAM, "backward", "executor"}
PYTHON_LAYERS: dict[str, set[str]] = {
    "_core": set(),
    "_openmp": {"_core"},
    "_var_type": set(),
    "_fluid_members": {"_core", "_var_type"},
    "core": {"_core", "_var_type", "_fluid_members"},
    "base": {"core"},
    "unique_name": _BASE,
    "picture": _BASE,
    "program": {*_BASE, "unique_name", "picture"},
    "backward": _PROGRAM,
    "executor": _PROGRAM,
    "io": {*_PROGRAM, "executor"},
    "checkpoint": {*_PROGRAM, "executor", "io"},
    "profiler": {*_PROGRAM, "executor", "io"},
    "initializer": _PROGRAM,
    "regularizer": _PROGRAM,
    "clip": _PROGRAM,
    "param_attr": {*_PROGRAM, "initializer", "regularizer", "clip"},
    "layers": {*_PROGRAM, "initializer", "param_attr"},
    "cmake_dir": {"_core"},
    "learning_rate_decay": {"layers"},
    "layer_helper": {*_LAYERS},
    "evaluator": {*_LAYERS, "executor"},
    "average": _BASE,
    "parallel_executor": {"core", "executor", "program"},
    "default_scope_funcs": {"core", "executor"},
    "optimizer": {*_LAYERS, "backward", "executor", "io", "regularizer", "clip"},
    "amp": {*_LAYERS, "optimizer"},
    "metrics": _BASE,
    "onnx": {*_LAYERS, "executor", "io"},
    "listing": _PROGRAM,
    "datasets": _BASE,
    "framework": _PROGRAM,
    "memory": _PROGRAM,
    "memory_optimization_transpiler": {"memory"},
    "nets": _LAYERS | {"param_attr"},
    "op": _BASE,
    "reader": _BASE,
    "data_feeder": {*_PROGRAM, "executor"},
    "data_loader": {*_PROGRAM, "executor", "reader"},
    "trainer": {*_PROGRAM, "executor", "checkpoint", "metrics", "data_feeder"},
    "gradcheck": {*_LAYERS, *_RUN, "clip", "io", "onnx"},
    "parallel": {*_LAYERS, "clip", "executor", "gradcheck", "optimizer", "unique_name"},
    "custom": {*_LAYERS, "gradcheck"},
    "eager": {*_LAYERS, *_RUN, "gradcheck", "io"},
    "fluidcore": {
        *_LAYERS,
        *_RUN,
        "_openmp",
        "amp",
        "average",
        "checkpoint",
        "clip",
        "custom",
        "data_feeder",
        "data_loader",
        "datasets",
        "default_scope_funcs",
        "evaluator",
        "framework",
        "io",
        "layer_helper",
        "memory",
        "nets",
        "op",
        "learning_rate_decay",
        "metrics",
        "optimizer",
        "parallel",
        "parallel_executor",
        "profiler",
        "reader",
        "regularizer",
        "trainer",
    },
    "demo": {*_LAYERS, *_RUN, "datasets", "gradcheck", "io", "listing", "optimizer"},
    "cli": {
        *_PROGRAM,
        "custom",
        "demo",
        "executor",
        "fluidcore",
        "gradcheck",
        "io",
        "onnx",
        "parallel",
        "profiler",
    },
    "__main__": {"cli"},
    "fluidcore_gradcheck": {"gradcheck"},
}
# likewise of python/fluidcore/gradcheck; "gradcheck" is its __init__
_MEASURED = {"config", "verdict", "target", "report", "measure"}
_SEEN = {"config", "verdict", "target", "program", "report", "adapters"}
_CHECK = {*_SEEN, "pipeline"}
GRADCHECK_LAYERS: dict[str, set[str]] = {
    "config": set(),
    "verdict": set(),
    "target": {"config", "verdict"},
    "program": {"target"},
    "cases": {"target"},
    "report": {"target", "verdict"},
    "adapters": {"verdict", "target", "program", "report"},
    "explain": {"target", "report"},
    "measure": {"config", "verdict", "target", "report"},
    "fixed_step": _SEEN,
    "localise": _SEEN,
    "pipeline": {*_SEEN, *_MEASURED, "explain", "fixed_step", "localise"},
    "all_ops": {*_CHECK, "cases"},
    "api": _CHECK,
    "operator_check": {*_CHECK, "fixed_step"},
    "strategies": {"cases"},
    "op_test_case": {"operator_check"},
    "checker": {*_CHECK, "fixed_step", "all_ops", "api"},
    "cli": {*_CHECK, "cases", "all_ops", "api"},
    "pytest_plugin": {*_CHECK, "cases", "all_ops", "api"},
    "gradcheck": {*_CHECK, "fixed_step", "operator_check", "op_test_case", "api", "checker"},
    "__main__": {"cli"},
}
# package -> its modules that may import each other in a circle, and why
MUTUAL: dict[str, set[str]] = {
    # a Program holds Blocks, a Block Variables, and each knows what it is in
    "fluidcore.program": {
        *("arguments", "arithmetic", "block", "block_variables", "error_clip"),
        *("gradient_hooks", "mark"),
        *("operator", "outer_writes", "program", "variable"),
    },
    # a Tensor's methods append operators, and operators return Tensors
    "fluidcore.eager": {
        *("apply", "arithmetic", "autograd", "composed", "conversion", "create", "exchange"),
        *("functions", "record", "second_order", "tape", "target", "tensor"),
    },
}


class Import(NamedTuple):
    """One import: which module imports which, and where."""

    importer: str
    imported: str
    place: str  # "file.py:12"


def imports(root: Path) -> list[Import]:
    """The imports of one another of all modules and packages below `root`."""
    files = sorted([*root.rglob("*.pyi"), *root.rglob("*.py")])  # a stub is also of what is built
    modules = {_module(root, path): path for path in files}
    return [
        Import(module, imported, f"{path}:{line}")
        for module, path in modules.items()
        for imported, line in _imported(ast.parse(path.read_text()), modules)
    ]


def _module(root: Path, path: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def _imported(tree: ast.Module, modules: Iterable[str]) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module in modules:
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            for name in dict.fromkeys(n if n in modules else node.module for n in names):
                yield name, node.lineno


def forbidden_imports(
    found: Iterable[Import], layers: Mapping[str, set[str]], house: str = ""
) -> Iterator[str]:
    """A line of text for every import of a room that is not below that of the importer.

    Args:
        found: All imports.
        layers: Room -> rooms that it may import.
        house: The package whose rooms these are; "" for the whole of python/.
    """
    table = "GRADCHECK_LAYERS" if house else "PYTHON_LAYERS"
    for importer, imported, place in found:
        if house and not all(f"{each}.".startswith(f"{house}.") for each in (importer, imported)):
            continue
        room, other = (_room(module, house) for module in (importer, imported))
        if room not in layers:
            yield f"{place}: {room} is not in {table} of tools/check_layers.py"
        elif other != room and other not in layers[room]:
            yield f"{place}: {room} may not import {other}"


def _room(module: str, house: str) -> str:
    """The room of a module; the `__init__` of a house is a room by the name of the house."""
    package, _, rest = module.removeprefix(house.rpartition(".")[0]).lstrip(".").partition(".")
    return rest.partition(".")[0] or package


def circles(found: Iterable[Import], mutual: Mapping[str, set[str]] | None = None) -> Iterator[str]:
    """A line of text for every package or module that is in a circle with others, and how.

    Args:
        found: All imports.
        mutual: Package -> its modules that may be in a circle.
    """
    found, mutual = list(found), mutual or {}
    packages = {package for each in found for package in _packages(each.importer)}
    for package in sorted(packages):
        ties: dict[str, dict[str, str]] = defaultdict(dict)
        free = {f"{package}.{name}" for name in mutual.get(package, ())}
        for importer, imported, place in found:
            a, b = _member(package, importer), _member(package, imported)
            if a and b and a != b:
                ties[a].setdefault(b, place)
        told: set[str] = set()
        for member in sorted(ties.keys() - free):
            way = _way_round(ties, member)
            if way and told.isdisjoint(way):
                told.update(way)
                steps = pairwise(way)
                lines = "".join(f"\n    {ties[a][b]}: {a} imports {b}" for a, b in steps)
                yield f"a circle: {' -> '.join(way)}{lines}"


def _packages(module: str) -> Iterator[str]:
    """The packages that hold a module; "" holds all."""
    parts = module.split(".")
    return (".".join(parts[:end]) for end in range(len(parts)))


def _member(package: str, module: str) -> str:
    """The module or package directly in `package` that is or holds `module`; "" if it is outside.

    The `__init__` of a package is a member by the name of the package.
    """
    if module == package:
        return module
    start = f"{package}." if package else ""
    return start + module.removeprefix(start).split(".")[0] if module.startswith(start) else ""


def _way_round(ties: Mapping[str, Mapping[str, str]], start: str) -> list[str]:
    """The shortest way from `start` back to it; empty if there is none."""
    ways = [[start]]
    seen: set[str] = set()
    for way in ways:
        for after in ties.get(way[-1], ()):
            if after == start:
                return [*way, start]
            if after not in seen:
                seen.add(after)
                ways.append([*way, after])
    return []


def main() -> int:
    """Checks csrc/fluidcore and python/."""
    root = Path(__file__).resolve().parent.parent
    found = imports(root / "python")
    lines = [
        *violations(root / "csrc" / "fluidcore"),
        *forbidden_imports(found, PYTHON_LAYERS),
        *forbidden_imports(found, GRADCHECK_LAYERS, "fluidcore.gradcheck"),
        *circles(found, MUTUAL),
    ]
    print("\n".join(lines) or "includes and imports: ok")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
