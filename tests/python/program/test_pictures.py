from pathlib import Path

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers


@pytest.fixture
def program() -> fluid.Program:
    return layers.tanh(layers.data("x", [3])).block.program


@pytest.mark.parametrize("method", ["to_dot", "to_svg", "to_html"])
def test_a_picture_is_returned_and_written(program: fluid.Program, method: str, tmp_path: Path):
    path = tmp_path / "picture"
    text = getattr(program, method)(path)
    assert path.read_text(encoding="utf-8") == text == getattr(program, method)()


@pytest.mark.parametrize("method", ["to_dot", "to_svg", "to_html"])
def test_a_path_that_cannot_be_written_is_an_error(
    program: fluid.Program, method: str, tmp_path: Path
):
    with pytest.raises(FileNotFoundError, match="missing"):
        getattr(program, method)(tmp_path / "missing" / "picture")
    with pytest.raises(IsADirectoryError):
        getattr(program, method)(tmp_path)


def test_a_limit_is_a_whole_number_of_at_least_1(program: fluid.Program):
    for method, wrong in (("to_svg", 0), ("to_html", 2.5), ("to_svg", True)):
        with pytest.raises(fluid.InvalidArgument) as error:
            getattr(program, method)(max_boxes=wrong)
        expected = f"{method}: max_boxes must be a whole number of at least 1, got {wrong}"
        assert str(error.value) == expected


def test_a_batch_is_a_whole_number_of_at_least_1(program: fluid.Program):
    with pytest.raises(fluid.InvalidArgument) as error:
        program.summary(batch=-1)
    assert str(error.value) == "summary: batch must be a whole number of at least 1, got -1"


def test_drawing_changes_nothing(program: fluid.Program):
    before, revision = str(program), program.desc.revision()
    for show in (program.to_dot, program.to_svg, program.to_html, program.summary):
        show()
    assert (str(program), program.desc.revision()) == (before, revision)


def test_variables_print_what_is_unusual_about_them():
    x = layers.data("x", [3])
    assert repr(x) == "Variable('x', float32 [-1, 3], data)"
    frozen = fluid.ParamAttr("w", trainable=False)
    layers.fc(x, 2, param_attr=frozen, bias_attr="b")
    block = x.block
    assert repr(block.var("w")) == "Parameter('w', float32 [3, 2], not trainable)"
    assert repr(block.var("b")) == "Parameter('b', float32 [2])"
    state = block.create_var("s", shape=[1], dtype="float32", persistable=True, stop_gradient=True)
    assert repr(state) == "Variable('s', float32 [1], persistable, stop_gradient)"


def test_an_executor_prints_where_it_runs_and_what_it_holds(program: fluid.Program):
    exe = fluid.Executor()
    assert repr(exe) == "Executor(CPUPlace())"
    exe.run(program, {"x": [[1.0, 2.0, 3.0]]}, [program.global_block().ops[0].output("Out")[0]])
    assert repr(exe) == "Executor(CPUPlace(), 1 prepared)"


def test_a_scope_prints_what_it_holds():
    scope = fluid.Scope()
    assert repr(scope) == "Scope(none)"
    for name in "abcdef":
        scope.var(name)
    assert repr(scope) == "Scope(a, b, c, d, and 2 more)"


def test_a_long_operator_is_cut_where_it_is_one_of_many_and_printed_complete(
    program: fluid.Program,
):
    (short,) = program.global_block().ops
    assert repr(short) == str(short) == "tanh(X=x) -> Out=tanh_0.tmp_0"
    layers.assign(np.arange(1000))
    long = program.global_block().ops[-1]
    assert str(long).endswith(" 999], shape=[1000]")
    assert repr(long) == f"{str(long)[:200]}..."
