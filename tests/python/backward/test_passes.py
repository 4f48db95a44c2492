"""Tests of fluidcore.backward.passes: golden texts in, golden texts out."""

from texts import grads, show

from fluidcore.backward.passes import NoGradBranches, _addup_repetitive_outputs_, drop_unread


def test_the_passes_are_found_under_the_names_of_the_seeds():
    from fluidcore import backward
    from fluidcore.backward import append

    assert backward._addup_repetitive_outputs_ is _addup_repetitive_outputs_
    assert backward._append_backward_ops_ is append._append_backward_ops_
    assert backward._append_backward_vars_ is append._append_backward_vars_
    assert backward._remove_no_grad_branch_ is append._remove_no_grad_branch_


def test_single_producer_keeps_its_name():
    assert show(_addup_repetitive_outputs_(grads("relu_grad: y@GRAD -> x@GRAD"))) == [
        "relu_grad: y@GRAD -> x@GRAD"
    ]


def test_two_producers_are_summed_after_the_second():
    ops = grads("a_grad: y@GRAD -> x@GRAD", "b_grad: z@GRAD -> x@GRAD", "c_grad: x@GRAD -> w@GRAD")
    assert show(_addup_repetitive_outputs_(ops)) == [
        "a_grad: y@GRAD -> x@GRAD@RENAME@0",
        "b_grad: z@GRAD -> x@GRAD@RENAME@1",
        "sum: x@GRAD@RENAME@0, x@GRAD@RENAME@1 -> x@GRAD",
        "c_grad: x@GRAD -> w@GRAD",
    ]


def test_one_operator_may_give_both_partials():
    assert show(_addup_repetitive_outputs_(grads("add_grad: y@GRAD -> x@GRAD, x@GRAD"))) == [
        "add_grad: y@GRAD -> x@GRAD@RENAME@0, x@GRAD@RENAME@1",
        "sum: x@GRAD@RENAME@0, x@GRAD@RENAME@1 -> x@GRAD",
    ]


def test_unwanted_outputs_are_no_partials():
    assert show(
        _addup_repetitive_outputs_(grads("mul_grad: y@GRAD -> @EMPTY@, @EMPTY@, w@GRAD"))
    ) == ["mul_grad: y@GRAD -> @EMPTY@, @EMPTY@, w@GRAD"]


def test_sum_partials_changes_nothing_it_is_given():
    ops = grads("add_grad: y@GRAD -> x@GRAD, x@GRAD")
    before = show(ops)
    _addup_repetitive_outputs_(ops)
    assert show(ops) == before


def test_a_gradient_that_nobody_makes_is_filled_with_zeros():
    ops = grads("split_grad: a@GRAD, b@GRAD -> x@GRAD")
    assert show(NoGradBranches(["a@GRAD"]).remove(ops)) == [
        "fill_zeros_like: b -> b@GRAD",
        "split_grad: a@GRAD, b@GRAD -> x@GRAD",
    ]


def test_zeros_are_made_once():
    ops = grads("f_grad: a@GRAD, b@GRAD -> x@GRAD", "g_grad: x@GRAD, b@GRAD -> y@GRAD")
    assert show(NoGradBranches(["a@GRAD"]).remove(ops)) == [
        "fill_zeros_like: b -> b@GRAD",
        "f_grad: a@GRAD, b@GRAD -> x@GRAD",
        "g_grad: x@GRAD, b@GRAD -> y@GRAD",
    ]


def test_an_operator_without_wanted_outputs_is_dropped():
    ops = grads("mul_grad: y@GRAD -> @EMPTY@", "relu_grad: y@GRAD -> w@GRAD")
    assert show(NoGradBranches(["y@GRAD"]).remove(ops)) == ["relu_grad: y@GRAD -> w@GRAD"]


def test_an_operator_that_gets_only_zeros_is_dropped_and_so_are_its_readers():
    ops = grads("f_grad: a@GRAD -> x@GRAD", "g_grad: x@GRAD -> w@GRAD")
    assert show(NoGradBranches([]).remove(ops)) == []


def test_variables_that_operators_add_to_are_no_partials():
    ops = grads("fill_zeros_like: w -> c", "while_grad: n -> c", "assign: c -> w@GRAD")
    assert show(_addup_repetitive_outputs_(ops, in_place={"c"})) == show(ops)


def test_a_missing_array_is_not_filled():
    ops = grads("f_grad: a@GRAD, b@GRAD -> x@GRAD")
    assert show(NoGradBranches(["a@GRAD"], arrays={"b@GRAD"}).remove(ops)) == show(ops)


def test_operators_that_belong_together_are_kept_or_dropped_together():
    steps = [
        op._replace(incoming=("y@GRAD",)) for op in grads("square: x -> t", "mul: t -> x@GRAD")
    ]
    assert show(NoGradBranches([]).remove(steps)) == []
    kept = [op._replace(cotangents={"y@GRAD": "y"}) for op in steps]
    assert show(NoGradBranches(["y@GRAD"]).remove(kept)) == show(steps)


def test_an_operator_whose_results_nobody_reads_is_dropped():
    ops = grads("square: x -> t", "scale: t -> u", "relu_grad: y@GRAD -> x@GRAD")
    assert show(drop_unread(ops, {"x@GRAD"})) == ["relu_grad: y@GRAD -> x@GRAD"]
