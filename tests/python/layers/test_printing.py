"""Tests of layers.Print, and of how an Executor prints."""

import copy
import pickle

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers

FEED = {"x": np.array([[0.0, 1.0, 2.0]], np.float32)}


def network(**settings):
    """The loss of x * 2, which is printed."""
    x = layers.data("x", [3])
    x.stop_gradient = False
    return layers.reduce_sum(layers.Print(x * 2, **settings))


def test_a_value_is_printed_before_its_gradient_and_passed_on(capsys):
    loss = network(message="twice")
    fluid.append_backward(loss)
    value, gradient = fluid.Executor().run(feed=FEED, fetch_list=[loss, "x@GRAD"])
    assert value.item() == 6
    assert gradient.tolist() == [[2, 2, 2]]
    assert capsys.readouterr().out == (
        "twice\nprint_0.tmp_0 float32 [1, 3]\n[[0. 2. 4.]]\n"
        "twice\nprint_0.tmp_0@GRAD float32 [1, 3]\n[[1. 1. 1.]]\n"
    )


def test_gradients_are_printed_from_the_last_one_back(capsys):
    x = layers.data("x", [3])
    x.stop_gradient = False
    settings = {"print_tensor_shape": False, "print_tensor_type": False, "summarize": 1}
    first = layers.Print(x, **settings)
    second = layers.Print(first * 3, **settings)
    fluid.append_backward(layers.reduce_sum(second))
    fluid.Executor().run(feed=FEED)
    names = capsys.readouterr().out.splitlines()[::2]
    assert names == [first.name, second.name, f"{second.name}@GRAD", f"{first.name}@GRAD"]


@pytest.mark.parametrize(
    ("phase", "names"), [("forward", ["print_0.tmp_0"]), ("backward", ["print_0.tmp_0@GRAD"])]
)
def test_one_phase_may_be_printed(capsys, phase, names):
    fluid.append_backward(network(print_phase=phase, summarize=0))
    fluid.Executor().run(feed=FEED)
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[::2]] == names


def test_what_is_printed_can_be_chosen(capsys):
    network(
        print_tensor_name=False,
        print_tensor_type=False,
        print_tensor_shape=False,
        print_tensor_lod=False,
        summarize=2,
    )
    fluid.Executor().run(feed=FEED)
    assert capsys.readouterr().out == "0.0 2.0 ...\n"


def test_only_the_first_runs_print(capsys):
    network(first_n=2, summarize=0)
    exe = fluid.Executor()
    for _ in range(4):
        exe.run(feed=FEED)
    assert capsys.readouterr().out.count("print_0.tmp_0") == 2


def test_fetches_are_as_without(capsys):
    x = layers.data("x", [3])
    printed = layers.Print(x)
    program = fluid.default_main_program()
    exe = fluid.Executor()
    assert exe.run(program, FEED) == []
    value, same = exe.run(program, FEED, [printed, x], return_numpy=False)
    assert isinstance(value, fluid.Tensor)
    assert np.asarray(same).tolist() == [[0, 1, 2]]
    assert capsys.readouterr().out.count("print_0.tmp_0") == 2


def test_a_fed_state_and_a_print_go_together(capsys):
    count = layers.create_global_var([1], 0.0, "float32", persistable=True, name="count")
    layers.increment(count)
    layers.Print(count)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    exe.run(feed={"count": np.array([5], np.float32)})
    assert "[6.]" in capsys.readouterr().out


@pytest.mark.parametrize(
    "copied", [fluid.Program.clone, copy.copy, lambda p: pickle.loads(pickle.dumps(p))]
)
def test_a_copy_prints_and_a_text_does_not(capsys, copied):
    loss = network(first_n=1)
    program = fluid.default_main_program()
    exe = fluid.Executor()
    exe.run(copied(program), FEED)
    assert capsys.readouterr().out.startswith("print_0.tmp_0 ")
    parsed = fluid.Program.parse_from_string(program.serialize_to_string())
    (value,) = exe.run(parsed, FEED, [loss.name])
    assert value.item() == 6
    assert capsys.readouterr().out == ""


def test_what_was_pruned_is_not_printed(capsys):
    x = layers.data("x", [3])
    layers.Print(x * 2)
    wanted = x * 3
    pruned = fluid.default_main_program().prune([wanted])
    (value,) = fluid.Executor().run(pruned, FEED, [wanted.name])
    assert value.tolist() == [[0, 3, 6]]
    assert capsys.readouterr().out == ""


def test_a_run_with_an_error_prints_nothing(capsys):
    network()
    with pytest.raises(fluid.InvalidArgument):
        fluid.Executor().run(feed={"x": np.zeros((1, 4), np.float32)})
    assert capsys.readouterr().out == ""


def test_wrong_arguments_are_errors_and_print_nothing():
    x = layers.data("x", [3])
    program = fluid.default_main_program()
    with pytest.raises(fluid.InvalidArgument) as refused:
        layers.Print(x, print_phase="all")
    assert str(refused.value) == (
        "Print: print_phase must be 'forward', 'backward' or 'both', got 'all'"
    )
    with pytest.raises(TypeError, match="Print: input must be a Variable, got int 3"):
        layers.Print(3)
    with pytest.raises(ValueError, match=r"Print: summarize must be .*, got -2"):
        layers.Print(x, summarize=-2)
    with program.sub_block(), pytest.raises(fluid.InvalidArgument) as refused:
        layers.Print(x)
    assert str(refused.value) == (
        "Print: must be in the outermost block, got block 1; write what the loop or branch "
        "calculates to a variable outside, and print that"
    )
    assert program.prints == ()
    assert program.global_block().ops == ()
