"""load_op_library, and the project that `fluidcore new-op` writes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import core, eager
from fluidcore.cli import main
from fluidcore.cmake_dir import cmake_dir
from fluidcore.gradcheck import GradientError

_NAME = "squared_by_tests"


def build(folder: Path) -> None:
    settings = ["-G", "Ninja", "-B", "build", f"-Dfluidcore_DIR={cmake_dir()}"]
    for command in (["cmake", *settings], ["cmake", "--build", "build"]):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of new-op, built."""
    folder = tmp_path_factory.mktemp("new_op") / _NAME
    assert main(["new-op", _NAME, str(folder)]) == 0
    build(folder)
    return folder


@pytest.fixture
def loaded(project: Path) -> Path:
    """Its library, in this process."""
    path = project / "build" / f"lib{_NAME}.so"
    assert fluid.load_op_library(path, check=False) == [_NAME, f"{_NAME}_grad"]
    return path


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command], cwd=folder, capture_output=True, text=True, check=False
    )


class TestAProjectOfNewOp:
    def test_is_short(self, project):
        files = ["CMakeLists.txt", f"{_NAME}.cc"]
        lines = [line for name in files for line in (project / name).read_text().splitlines()]
        assert len(lines) <= 40

    def test_passes_its_tests_and_says_how_fast_it_is(self, project):
        tests = run(["-m", "pytest", "-q", "-p", "no:cacheprovider"], project)
        assert tests.returncode == 0, tests.stdout
        assert "2 passed" in tests.stdout
        timed = run([f"bench_{_NAME}.py"], project)
        assert "GB/s" in timed.stdout, timed.stderr

    def test_finds_a_wrong_gradient_and_says_what_is_wrong(self, project, tmp_path):
        wrong = tmp_path / "wrong"
        assert main(["new-op", "wrong_by_tests", str(wrong)]) == 0
        source = wrong / "wrong_by_tests.cc"
        source.write_text(source.read_text().replace("T(2) * x * dout", "x * dout"))
        build(wrong)
        tests = run(["-m", "pytest", "-q", "-p", "no:cacheprovider"], wrong)
        assert "1 error" in tests.stdout  # when it is loaded
        assert "0.5" in tests.stdout  # the factor
        path = wrong / "build" / "libwrong_by_tests.so"
        with pytest.raises(GradientError, match="wrong_by_tests"):
            fluid.load_op_library(path)
        assert "wrong_by_tests" not in core.op_types()
        unchecked = ["wrong_by_tests", "wrong_by_tests_grad"]
        assert fluid.load_op_library(path, check=False) == unchecked
        unproven = ["gradcheck", "op", "wrong_by_tests", "--library"]
        done = run(["-m", "fluidcore", *unproven, str(path), "--per-op", "2"], wrong)
        assert done.returncode == 1
        assert "FAIL" in done.stdout

    def test_is_not_written_over_another(self, project):
        before = (project / f"{_NAME}.cc").read_text()
        assert main(["new-op", _NAME, str(project)]) == 1
        assert (project / f"{_NAME}.cc").read_text() == before

    @pytest.mark.parametrize(
        ("name", "message"),
        [("relu", "the name must be free"), ("a-b", "letters, digits and _"), ("a_grad", "_grad")],
    )
    def test_has_a_name_of_its_own(self, name, message, tmp_path, capsys):
        assert main(["new-op", name, str(tmp_path / "new")]) == 1
        assert message in capsys.readouterr().err
        assert not (tmp_path / "new").exists()


class TestALoadedOperator:
    def test_has_a_documented_layer_and_a_gradient(self, loaded):
        layer = getattr(fluid.layers, _NAME)
        assert "Out = X X" in layer.__doc__
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            x = fluid.layers.data("x", [3], append_batch_size=False, stop_gradient=False)
            (gradient,) = fluid.gradients([layer(x)], [x])
            value = np.array([1, -2, 3], "float32")
            (got,) = fluid.Executor().run(feed={"x": value}, fetch_list=[gradient])
        np.testing.assert_array_equal(got, 2 * value)

    @pytest.mark.parametrize("dtype", ["float64", "float16"])
    def test_has_kernels_of_narrower_dtypes(self, loaded, dtype):
        x = eager.Tensor(np.array([1.5, -2], dtype))
        y = getattr(eager, _NAME)(x).numpy()
        assert y.dtype == dtype
        np.testing.assert_array_equal(y, [2.25, 4])

    def test_is_not_defined_twice(self, loaded):
        with pytest.raises(core.InvalidArgument, match=f"'{_NAME}' is defined twice"):
            fluid.load_op_library(loaded)

    def test_is_fused_with_its_neighbours(self, loaded):
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            x = fluid.layers.data("x", [1000])
            y = fluid.layers.relu(getattr(fluid.layers, _NAME)(fluid.layers.tanh(x)))
            plan = core.Executor(core.CPUPlace()).listing(
                fluid.default_main_program().desc,
                {"x": np.ones((8, 1000), "float32")},
                [y.name],
                core.Scope(),
            )
        line = next(line for line in plan.splitlines() if _NAME in line)
        assert "tanh" in line
        assert "relu" in line


class TestAFile:
    def test_that_is_not_there_is_named(self, tmp_path):
        with pytest.raises(core.NotFound, match=r"load_op_library: no file .*/libnone\.so"):
            fluid.load_op_library(tmp_path / "libnone.so")

    def test_that_is_no_library_is_refused(self, tmp_path):
        path = tmp_path / "libtext.so"
        path.write_text("not a library")
        with pytest.raises(core.InvalidArgument, match=r"must be a shared library .*libtext\.so"):
            fluid.load_op_library(path)

    @pytest.fixture
    def make(self, tmp_path):
        def make(source: str) -> Path:
            (tmp_path / "lib.cc").write_text(source)
            path = tmp_path / "libmade.so"
            compiler = os.environ.get("CXX", "g++")
            command = [compiler, "-shared", "-fPIC", "lib.cc", "-o", path.name]
            subprocess.run(command, cwd=tmp_path, check=True)
            return path

        return make

    def test_without_the_functions_is_refused(self, make):
        path = make("int nothing;")
        with pytest.raises(core.InvalidArgument, match="without fluidcore_version"):
            fluid.load_op_library(path)

    def test_of_another_version_is_refused_with_both(self, make):
        path = make(
            'extern "C" const char* fluidcore_version() { return "9.9.9"; }\n'
            'extern "C" void fluidcore_register(void*) { __builtin_trap(); }\n'
        )
        message = f"must be built against fluidcore {fluid.__version__}, got .* against 9.9.9"
        with pytest.raises(core.InvalidArgument, match=message):
            fluid.load_op_library(path)

    def test_that_fails_to_register_adds_nothing(self, make):
        before = core.op_types()
        path = make(
            "#include <stdexcept>\n"
            f'extern "C" const char* fluidcore_version() {{ return "{fluid.__version__}"; }}\n'
            'extern "C" void fluidcore_register(void*) { throw std::runtime_error("broken"); }\n'
        )
        with pytest.raises(core.InvalidArgument, match="must not fail, got broken"):
            fluid.load_op_library(path)
        assert core.op_types() == before
