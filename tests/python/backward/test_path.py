"""Tests of fluidcore.backward.path."""

from texts import forward, show

from fluidcore.backward.path import ops_on_path


def test_operators_beside_the_path_are_left_out():
    ops = forward("mul: x, w -> h", "accuracy: h -> acc", "mean: h -> loss", "scale: lr -> lr2")
    path = ops_on_path(ops, ["w"], ["loss"])
    assert show(path.ops) == ["mul: x, w -> h", "mean: h -> loss"]
    assert path.variables == {"w", "h", "loss"}


def test_a_stopped_variable_ends_the_path():
    ops = forward("mul: x, w -> h", "mul: h, v -> k", "mean: k -> loss")
    path = ops_on_path(ops, ["w", "v"], ["loss"], stopped={"h"})
    assert show(path.ops) == ["mul: h, v -> k", "mean: k -> loss"]


def test_a_constant_operator_ends_the_path():
    ops = forward("top_k: w -> h", "mul: h, v -> loss")
    path = ops_on_path(ops, ["w", "v"], ["loss"], is_constant=lambda op_type: op_type == "top_k")
    assert show(path.ops) == ["mul: h, v -> loss"]


def test_no_path_gives_nothing():
    assert ops_on_path(forward("mean: x -> loss"), ["w"], ["loss"]).ops == []
