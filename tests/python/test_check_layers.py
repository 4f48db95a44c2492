"""tools/check_layers.py finds includes and imports that run up, and circles of imports."""

import importlib.util
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "check_layers.py"
LAYERS = {"low": set(), "high": {"low"}, "fluidcore": {"high"}}


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("check_layers", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def tree(tmp_path):
    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write


def test_an_include_of_a_folder_above_is_named_with_its_line(tool, tree):
    root = tree({"tensor/a.h": '#pragma once\n#include "fluidcore/op/b.h"\n', "op/b.h": ""})
    assert list(tool.violations(root)) == [f"{root}/tensor/a.h:2: tensor/ may not include op/"]


def test_folders_in_a_folder_have_layers_of_their_own(tool, tree):
    up = '#include "fluidcore/gradcheck/verdict/b.h"\n'
    root = tree({"gradcheck/function/a.h": up, "gradcheck/c.h": up, "gradcheck/verdict/b.h": ""})
    assert list(tool.violations(root)) == [
        f"{root}/gradcheck/function/a.h:1: gradcheck/function/ may not include gradcheck/verdict/"
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("from fluidcore.high import f\n", 1),
        ("import fluidcore.high\n", 1),
        ("from fluidcore import high\n", 1),
        ("from fluidcore.high.inner import f\n", 1),
        ("def g():\n    from fluidcore.high import f\n", 2),
        (
            "from typing import TYPE_CHECKING\n"
            "if TYPE_CHECKING:\n    from fluidcore.high import f\n",
            3,
        ),
    ],
)
def test_an_import_of_a_room_above_is_named_wherever_it_stands(tool, tree, text, line):
    root = tree(
        {
            "fluidcore/__init__.py": "from fluidcore.high import f\n",
            "fluidcore/low.py": text,
            "fluidcore/high/__init__.py": "from fluidcore.high.inner import f\n",
            "fluidcore/high/inner.py": "f = 1\n",
        }
    )
    found = list(tool.forbidden_imports(tool.imports(root), LAYERS))
    assert found == [f"{root}/fluidcore/low.py:{line}: low may not import high"]


def test_a_room_that_the_table_does_not_name_is_refused(tool, tree):
    root = tree({"fluidcore/new.py": "import fluidcore.low\n", "fluidcore/low.py": ""})
    assert list(tool.forbidden_imports(tool.imports(root), LAYERS)) == [
        f"{root}/fluidcore/new.py:1: new is not in PYTHON_LAYERS of tools/check_layers.py"
    ]


def test_a_circle_between_packages_is_told_with_every_import_of_it(tool, tree):
    root = tree(
        {
            "a/__init__.py": "",
            "a/b/__init__.py": "",
            "a/b/x.py": "def f():\n    from a.c import y\n",
            "a/c.py": "import a.d.z\n",
            "a/d/__init__.py": "",
            "a/d/z.py": "\nfrom a.b.x import f\n",
        }
    )
    assert list(tool.circles(tool.imports(root))) == [
        "a circle: a.b -> a.c -> a.d -> a.b\n"
        f"    {root}/a/b/x.py:2: a.b imports a.c\n"
        f"    {root}/a/c.py:1: a.c imports a.d\n"
        f"    {root}/a/d/z.py:2: a.d imports a.b"
    ]


def test_the_face_of_a_package_is_above_its_modules(tool, tree):
    root = tree({"a/__init__.py": "from a.x import f\n", "a/x.py": "import a\nf = 1\n"})
    assert list(tool.circles(tool.imports(root))) == [
        "a circle: a -> a.x -> a\n"
        f"    {root}/a/__init__.py:1: a imports a.x\n"
        f"    {root}/a/x.py:1: a.x imports a"
    ]


def test_modules_of_one_package_know_each_other_only_where_that_is_written_down(tool, tree):
    root = tree({"a/__init__.py": "", "a/x.py": "import a.y\n", "a/y.py": "import a.x\n"})
    found = tool.imports(root)
    assert list(tool.circles(found)) == [
        "a circle: a.x -> a.y -> a.x\n"
        f"    {root}/a/x.py:1: a.x imports a.y\n"
        f"    {root}/a/y.py:1: a.y imports a.x"
    ]
    assert list(tool.circles(found, {"a": {"x", "y"}})) == []


def test_a_circle_through_modules_that_may_be_in_one_is_told_if_another_is_in_it(tool, tree):
    root = tree(
        {
            "a/__init__.py": "",
            "a/x.py": "import a.y\n",
            "a/y.py": "import a.x\nimport a.z\n",
            "a/z.py": "import a.x\n",
        }
    )
    (line,) = tool.circles(tool.imports(root), {"a": {"x", "y"}})
    assert line.startswith("a circle: a.z -> a.x -> a.y -> a.z\n")


def test_every_module_that_may_be_in_a_circle_is_in_one(tool):
    found = tool.imports(TOOL.parents[1] / "python")
    for package, names in tool.MUTUAL.items():
        for name in names:
            others = {package: names - {name}}
            assert any(f"{package}.{name} " in line for line in tool.circles(found, others))


def test_an_import_of_a_room_above_within_a_package_is_named(tool, tree):
    root = tree(
        {
            "fluidcore/__init__.py": "",
            "fluidcore/low.py": "",
            "fluidcore/gradcheck/__init__.py": "import fluidcore.low\n",
            "fluidcore/gradcheck/high.py": "",
            "fluidcore/gradcheck/low/__init__.py": "",
            "fluidcore/gradcheck/low/x.py": "import fluidcore.gradcheck.high\n",
        }
    )
    layers = {"low": set(), "high": {"low"}, "gradcheck": {"high"}}
    house = "fluidcore.gradcheck"
    assert list(tool.forbidden_imports(tool.imports(root), layers, house)) == [
        f"{root}/fluidcore/gradcheck/low/x.py:1: low may not import high"
    ]
    del layers["low"]
    assert list(tool.forbidden_imports(tool.imports(root), layers, house)) == [
        f"{root}/fluidcore/gradcheck/low/x.py:1: low is not in GRADCHECK_LAYERS of "
        "tools/check_layers.py"
    ]


@pytest.mark.parametrize("table", ["PYTHON_LAYERS", "GRADCHECK_LAYERS"])
def test_a_row_of_the_table_names_only_rooms_above_it(tool, table):
    before = set()
    for room, below in getattr(tool, table).items():
        assert below <= before
        before.add(room)


def test_the_project_keeps_its_layers(tool, capsys):
    assert tool.main() == 0
    assert capsys.readouterr().out == "includes and imports: ok\n"
