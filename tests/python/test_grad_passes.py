"""Tests of fluidcore.grad_passes: golden texts in, golden texts out."""

import pytest

import fluidcore as fluid
from fluidcore.grad_passes import (
    ForwardOp,
    GradOp,
    check_values_kept,
    check_written_once,
    ops_on_path,
    remove_no_grad_branches,
    sum_partials,
)


def parse(text):
    """'mul: x, w -> y' as type, inputs, outputs."""
    op_type, rest = text.split(":")
    sides = rest.split("->")
    return op_type, *([n.strip() for n in side.split(",") if n.strip()] for side in sides)


def forward(*lines):
    return [ForwardOp(*parse(line), position) for position, line in enumerate(lines)]


def grads(*lines):
    """Gradient operators; y@GRAD is an incoming gradient of y."""
    made = []
    for line in lines:
        op_type, inputs, outputs = parse(line)
        cotangents = {name: name[: -len("@GRAD")] for name in inputs if name.endswith("@GRAD")}
        made.append(GradOp(op_type, {"X": inputs}, {"Out": outputs}, {}, cotangents))
    return made


def show(ops):
    result = []
    for op in ops:
        names = [op.inputs, op.outputs]
        if isinstance(op, GradOp):
            names = [[n for args in side.values() for n in args] for side in names]
        result.append(f"{op.type}: {', '.join(names[0])} -> {', '.join(names[1])}")
    return result


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


def test_a_variable_written_twice_on_the_path_is_refused():
    ops = forward("mul: x, w -> h", "relu: h -> h", "mean: h -> loss")
    path = ops_on_path(ops, ["w"], ["loss"])
    with pytest.raises(
        fluid.InvalidArgument, match="got 'h' written again by 'relu'; let the operator write a new"
    ):
        check_written_once(ops, path)


def test_a_variable_overwritten_beside_the_path_is_refused_if_it_is_read_again():
    ops = forward("relu: w -> a", "increment: w -> w", "mul: a, w -> loss")
    path = ops_on_path(ops, ["w"], ["loss"], is_constant=lambda op_type: op_type == "increment")
    with pytest.raises(fluid.InvalidArgument, match="got 'w' written again by 'mul'"):
        check_written_once(ops, path)


def test_counters_beside_the_path_may_be_written_in_place():
    ops = forward("increment: i -> i", "mul: x, w -> loss", "increment: i -> i")
    check_written_once(ops, ops_on_path(ops, ["w"], ["loss"]))


def test_a_value_that_the_gradient_reads_must_be_kept():
    ops = forward("mul: x, w -> loss", "increment: x -> x")
    with pytest.raises(
        fluid.InvalidArgument,
        match=r"the gradient of 'mul' needs the value of 'x' .* overwritten by 'increment'",
    ):
        check_values_kept(ops, [(ops[0], ["x", "loss@GRAD"])])
    check_values_kept(ops, [(ops[0], ["w", "loss@GRAD"])])


def test_single_producer_keeps_its_name():
    assert show(sum_partials(grads("relu_grad: y@GRAD -> x@GRAD"))) == [
        "relu_grad: y@GRAD -> x@GRAD"
    ]


def test_two_producers_are_summed_after_the_second():
    ops = grads("a_grad: y@GRAD -> x@GRAD", "b_grad: z@GRAD -> x@GRAD", "c_grad: x@GRAD -> w@GRAD")
    assert show(sum_partials(ops)) == [
        "a_grad: y@GRAD -> x@GRAD@RENAME@0",
        "b_grad: z@GRAD -> x@GRAD@RENAME@1",
        "sum: x@GRAD@RENAME@0, x@GRAD@RENAME@1 -> x@GRAD",
        "c_grad: x@GRAD -> w@GRAD",
    ]


def test_one_operator_may_give_both_partials():
    assert show(sum_partials(grads("add_grad: y@GRAD -> x@GRAD, x@GRAD"))) == [
        "add_grad: y@GRAD -> x@GRAD@RENAME@0, x@GRAD@RENAME@1",
        "sum: x@GRAD@RENAME@0, x@GRAD@RENAME@1 -> x@GRAD",
    ]


def test_unwanted_outputs_are_no_partials():
    assert show(sum_partials(grads("mul_grad: y@GRAD -> @EMPTY@, @EMPTY@, w@GRAD"))) == [
        "mul_grad: y@GRAD -> @EMPTY@, @EMPTY@, w@GRAD"
    ]


def test_sum_partials_changes_nothing_it_is_given():
    ops = grads("add_grad: y@GRAD -> x@GRAD, x@GRAD")
    before = show(ops)
    sum_partials(ops)
    assert show(ops) == before


def test_a_gradient_that_nobody_makes_is_filled_with_zeros():
    ops = grads("split_grad: a@GRAD, b@GRAD -> x@GRAD")
    assert show(remove_no_grad_branches(ops, ["a@GRAD"])) == [
        "fill_zeros_like: b -> b@GRAD",
        "split_grad: a@GRAD, b@GRAD -> x@GRAD",
    ]


def test_zeros_are_made_once():
    ops = grads("f_grad: a@GRAD, b@GRAD -> x@GRAD", "g_grad: x@GRAD, b@GRAD -> y@GRAD")
    assert show(remove_no_grad_branches(ops, ["a@GRAD"])) == [
        "fill_zeros_like: b -> b@GRAD",
        "f_grad: a@GRAD, b@GRAD -> x@GRAD",
        "g_grad: x@GRAD, b@GRAD -> y@GRAD",
    ]


def test_an_operator_without_wanted_outputs_is_dropped():
    ops = grads("mul_grad: y@GRAD -> @EMPTY@", "relu_grad: y@GRAD -> w@GRAD")
    assert show(remove_no_grad_branches(ops, ["y@GRAD"])) == ["relu_grad: y@GRAD -> w@GRAD"]


def test_an_operator_that_gets_only_zeros_is_dropped_and_so_are_its_readers():
    ops = grads("f_grad: a@GRAD -> x@GRAD", "g_grad: x@GRAD -> w@GRAD")
    assert show(remove_no_grad_branches(ops, [])) == []
