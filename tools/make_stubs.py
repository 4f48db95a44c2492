"""Writes the stub files of the package from the built extension module.

    python tools/make_stubs.py           writes python/fluidcore/_core.pyi, layers/__init__.pyi
    python tools/make_stubs.py --check   exit status 1 if the stored files differ

Needs an importable fluidcore and pybind11-stubgen.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

from fluidcore._fluid_members import MEMBERS

PACKAGE = Path(__file__).resolve().parent.parent / "python" / "fluidcore"
CORE = PACKAGE / "_core.pyi"
LAYERS = PACKAGE / "layers" / "__init__.pyi"
HEADER = "# Made by tools/make_stubs.py from the extension module; not to be edited.\n"
EXCEPTIONS = '''class Error(RuntimeError):
    """
    Root of fluidcore's exceptions.
    """
class InvalidArgument(Error, ValueError):
    """
    A wrong value, shape, dtype or attribute.
    """
class NotFound(Error, LookupError):
    """
    A name that is unknown.
    """
class RankFailed(Error, ConnectionError):
    """
    Another rank has ended, or was not heard of in time.
    """
class TimedOut(Error, TimeoutError):
    """
    The time of a run was over.
    """
class OutOfTime(BaseException):
    """
    A TimeLimit is over.
    """
'''


def core_stub() -> str:
    """The stub of the extension module, from its docstrings."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "pybind11_stubgen", "fluidcore._core", "-o", folder],
            check=True,
            capture_output=True,
        )
        text = (Path(folder) / "fluidcore" / "_core.pyi").read_text()
    # The exceptions call themselves fluidcore.Error, as users know them, but are defined here.
    text = re.sub(r"from fluidcore import \w+\n", "", text)
    # Attached in Python: VarType by core.py, the others by _fluid_members.py.
    text = re.sub(r"^    class VarType\(.*?(?=^    def )", "", text, flags=re.DOTALL | re.M)
    attached = rf"^    @staticmethod\n    def ({'|'.join(MEMBERS)})\(.*\n( {{8}}.*\n)*"
    text = re.sub(attached, "", text, flags=re.M)
    text = re.sub(r"import (builtins|enum|fluidcore\._var_type)\n", "", text)
    text = re.sub(r"\b(dict|list)\b(?=[\s,):])(?! \()", _with_any, text)
    text = re.sub(r"\bIterable\b(?=[\s,)])", "Iterable[typing.Any]", text)
    text = re.sub(r"__eq__\(self, arg0: \w+\)", "__eq__(self, arg0: object)", text)
    # Only pickle and copy call these.
    text = re.sub(r" +def __(getstate|setstate|reduce)__\(.*\n +\.\.\.\n", "", text)
    text = re.sub(r"(\*\w+)(?=[,)])", r"\1: typing.Any", text)
    return HEADER + text.rstrip() + "\n" + EXCEPTIONS


def _with_any(bare: re.Match[str]) -> str:
    return "dict[str, typing.Any]" if bare[1] == "dict" else "list[typing.Any]"


def _reexports() -> tuple[list[str], set[str]]:
    """The import lines of layers/__init__.py as re-exports, and the names they bring."""
    lines, names = [], set()
    for node in ast.parse((PACKAGE / "layers" / "__init__.py").read_text()).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fluidcore.layers."):
            for alias in node.names:
                names.add(alias.name)
                lines.append(f"from {node.module} import {alias.name} as {alias.name}")
    return lines, names


def _function_stub(op_type: str) -> str:
    from fluidcore.layers import generated

    layer = generated.describe(op_type)
    assert layer is not None

    def show(argument: generated.Argument) -> str:
        text = f"    {argument.name}: {argument.annotation}"
        if argument.default is not inspect.Parameter.empty:
            text += f" = {argument.default!r}"
        return text + ","

    doc = textwrap.indent('"""' + generated.docstring(layer) + '"""', "    ")
    lines = [f"def {op_type}("]
    positional, by_keyword = generated.split_arguments(layer)
    lines += [show(argument) for argument in positional]
    lines += ["    *,", *(show(argument) for argument in by_keyword)]
    lines += [f"    {name}: str | None = None," for name in generated.extras(layer)]
    lines += [f") -> {layer.annotation}:", doc, ""]
    return "\n".join(lines)


def layers_stub() -> str:
    """The stub of fluidcore.layers: what is written out, and one function for each operator."""
    from fluidcore.layers import generated

    imports, written = _reexports()
    functions = [_function_stub(name) for name in generated.layer_names() if name not in written]
    head = [
        HEADER.rstrip(),
        "from collections.abc import Sequence",
        "",
        "from fluidcore.base.dtypes import DTypeLike",
        *imports,
        "from fluidcore.program import Variable",
        "",
    ]
    return "\n".join([*head, *functions])


def main() -> int:
    """Writes or checks the stub files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the stored files")
    check = parser.parse_args().check
    stale = []
    for path, text in ((CORE, core_stub()), (LAYERS, layers_stub())):
        if path.exists() and path.read_text() == text:
            continue
        stale.append(path)
        if not check:
            path.write_text(text)
    for path in stale:
        print(f"{path}: {'differs; run tools/make_stubs.py' if check else 'written'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
