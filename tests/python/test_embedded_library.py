"""The library for programs without Python, `cmake --preset embed`: its size, and its bits."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from cpp_programs import ROOT, Training, numbers, run

import fluidcore as fluid
from fluidcore import core

# The whole core is compiled.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

LIMIT = 4_000_000  # bytes

PROJECT = """
cmake_minimum_required(VERSION 3.22)
project(operators LANGUAGES CXX)
find_package(fluidcore REQUIRED)
add_executable(operators operators.cc)
target_link_libraries(operators PRIVATE fluidcore::fluidcore)
"""
OPERATORS = """
#include <cstdio>
#include "fluidcore/ops/register_ops.h"
int main() {
  for (const std::string& type : fluidcore::builtin_ops().types()) std::puts(type.c_str());
}
"""


@pytest.fixture(scope="module")
def prefix() -> Path:
    """Where the library for the instruction set that this process uses is installed."""
    build = ROOT / f"build/embed-{core.cpu_isa()}"
    run(f"cmake --preset embed -B {build} -D FLUIDCORE_ISA={core.cpu_isa()}", ROOT)
    run(f"cmake --build {build}", ROOT)
    run(f"cmake --install {build} --prefix {build}/prefix", ROOT)
    return build / "prefix"


@pytest.fixture(scope="module")
def programs(prefix, tmp_path_factory) -> Path:
    """The programs of examples/cpp with the library inside."""
    build = tmp_path_factory.mktemp("embedded")
    release = "-D CMAKE_BUILD_TYPE=Release"
    run(f"cmake -G Ninja -S examples/cpp -B {build} {release} -D CMAKE_PREFIX_PATH={prefix}", ROOT)
    run(f"cmake --build {build} --target train_digits predict", ROOT)
    return build


def test_the_library_is_one_archive_of_less_than_four_megabytes(prefix):
    (archive,) = (prefix / "lib").glob("libfluidcore*")
    assert archive.name == "libfluidcore.a"
    sections = re.findall(r"^ *(\d+)\t *(\d+)\t", run(f"size {archive}", ROOT), re.M)
    assert sum(int(code) + int(data) for code, data in sections) < LIMIT


def test_a_stripped_program_is_a_file_of_less_than_four_megabytes(programs, tmp_path):
    run(f"strip -o {tmp_path}/train_digits {programs}/train_digits", ROOT)
    assert (tmp_path / "train_digits").stat().st_size < LIMIT


def test_every_operator_of_python_is_there(prefix, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(PROJECT, encoding="utf-8")
    (tmp_path / "operators.cc").write_text(OPERATORS, encoding="utf-8")
    run(f"cmake -G Ninja -B build -D CMAKE_PREFIX_PATH={prefix} && cmake --build build", tmp_path)
    assert run("build/operators", tmp_path).split() == core.op_types()


def test_a_program_needs_neither_python_nor_onednn_nor_openmp(programs):
    needed = run(f"ldd {programs}/train_digits", ROOT)
    assert not re.search("python|dnnl|gomp|fluidcore.*=>", needed)


def test_a_training_has_the_losses_of_python_bit_for_bit(programs, tmp_path):
    training = Training(tmp_path)
    assert numbers(run(f"{programs}/train_digits {tmp_path} 100", ROOT)) == training.losses(100)


def test_a_saved_model_gives_the_same_bits(programs, tmp_path):
    x = fluid.layers.data("x", [1, 8, 8])
    hidden = fluid.layers.conv2d(x, 4, 3, act="relu")
    y = fluid.layers.fc(fluid.layers.batch_norm(hidden, is_test=True), 5, act="softmax")
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    fluid.io.save_inference_model(tmp_path, ["x"], [y], exe)
    (expected,) = exe.run(feed={"x": np.ones((3, 1, 8, 8), "float32")}, fetch_list=[y])
    assert numbers(run(f"{programs}/predict {tmp_path} 3,1,8,8", ROOT)) == expected.ravel().tolist()
