"""`fluidcore new-op`: a project of one operator in C++."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from fluidcore import core
from fluidcore.program.collective import is_collective

_FILES = {
    "CMakeLists.txt": "CMakeLists.txt.in",
    "{name}.cc": "op.cc.in",
    "test_{name}.py": "test_op.py.in",
    "bench_{name}.py": "bench.py.in",
}


def new_op(name: str, folder: Path) -> str:
    """Writes a project that builds, tests, proves and times an operator of its own.

    Args:
        name: Of the operator, the library and the files: "my_op".
        folder: Where the project goes; made if there is none.

    Returns:
        The commands to run next.

    Raises:
        core.InvalidArgument: The name is none, or taken, or a file exists; nothing is written.
    """
    is_name = name.isidentifier() and name.isascii()
    if not is_name or name.endswith("_grad") or is_collective(name):
        raise core.InvalidArgument(
            "new-op: the name must be letters, digits and _, not begin with c_, as what several "
            f"ranks run together does, and not end with _grad, got '{name}'"
        )
    if name in core.op_types():
        raise core.InvalidArgument(f"new-op: the name must be free, got the operator '{name}'")
    templates = files(__package__).joinpath("project")
    texts = {
        folder / path.format(name=name): templates.joinpath(template)
        .read_text(encoding="utf-8")
        .replace("@NAME@", name)
        for path, template in _FILES.items()
    }
    for path in texts:
        if path.exists():
            raise core.InvalidArgument(f"new-op: the files must be new, got {path}, which exists")
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return (
        f"cd {folder}\n"
        "cmake -G Ninja -B build -D fluidcore_DIR=$(python -m fluidcore.cmake_dir)\n"
        "cmake --build build\n"
        f"python -m pytest test_{name}.py && python bench_{name}.py"
    )
