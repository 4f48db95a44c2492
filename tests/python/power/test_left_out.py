"""What a measurement leaves out is counted and printed."""

from collections import Counter

import numpy as np
import pytest

from fluidcore import core
from fluidcore.gradcheck import cases
from fluidcore.gradcheck.adapters.operator import operator_target
from tests.power.__main__ import main
from tests.power.bug import Bug, BuggyTarget, distance
from tests.power.left_out import LARGEST, LeftOut, left_out_text
from tests.power.measure import measure, merge
from tests.power.planted import operator_case, program_case

SEED = 1000


def target():
    return operator_target("tanh", {"X": np.linspace(-1, 1, 5)})


def buggy(change):
    return BuggyTarget(target(), Bug("it", 1.0, change), 0)


@pytest.mark.parametrize("factor", [0.5, 1 + 1e-5, -1.0])
def test_the_distance_of_a_bug_is_relative_to_the_largest_element(factor):
    wrong = buggy(lambda gradient, point: gradient * factor)
    assert distance(target(), wrong) == pytest.approx(abs(1 - factor))
    assert distance(target(), target()) == 0


@pytest.mark.parametrize("change", [lambda g, _: g * np.nan, lambda g, _: g[1:]])
def test_a_gradient_without_numbers_or_of_another_shape_is_infinitely_far(change):
    assert distance(target(), buggy(change)) == np.inf


def test_a_bug_without_place_is_an_error():
    with pytest.raises(core.InvalidArgument, match="tanh with it: the bug has no place in this"):
        distance(target(), buggy(lambda gradient, point: None))


@pytest.mark.parametrize("op_type", ["softmax_grad", "sigmoid_grad", "cross_entropy_grad"])
def test_examples_are_counted_by_why_they_are_not_drawn(op_type):
    left_out = operator_case(op_type, SEED, "float32", 0).left_out
    forward = cases.examples(op_type.removesuffix("_grad"), SEED)
    assert left_out[LeftOut.FLAT] == sum(e.is_flat for e in forward) > 0
    sizes = [[np.size(v) for v in e.inputs.values()] for e in cases.examples(op_type, SEED)]
    assert left_out[LeftOut.EMPTY] == sum(0 in each for each in sizes)
    assert left_out[LeftOut.LARGE] == sum(max(each) > LARGEST for each in sizes if 0 not in each)


def test_a_bug_that_is_too_small_or_has_no_place_is_counted_and_another_is_planted():
    planned = [
        operator_case(op, SEED + i, "bfloat16", 4)
        for op in ("tanh", "exp", "scale", "mean")
        for i in range(5)  # what is drawn depends on which operators there are
    ]
    total = sum((Counter(case.left_out) for case in planned), Counter())
    assert total[LeftOut.SMALL] > 0
    assert total[LeftOut.UNFIT] > 0
    assert [len(case.bugs) for case in planned] == len(planned) * [4]
    assert program_case(cases.program_names()[0], SEED, "float64", 10**6).left_out.keys() <= {
        LeftOut.SMALL,
        LeftOut.UNFIT,
    }


def test_counts_of_several_measurements_add_up():
    case = operator_case("softmax_grad", SEED, "float32", 1)
    one = measure([case], {"no": lambda target, seed: None}, 0)
    assert merge([one, one])["no"].left_out == {w: 2 * n for w, n in case.left_out.items()}


def test_every_reason_that_there_was_has_a_line():
    counts = {LeftOut.SMALL: 1200, LeftOut.FLAT: 3, LeftOut.KINK: 0}
    assert left_out_text(counts).splitlines() == [
        "left out (of a bug, another is drawn in its place):",
        "  3 flat examples of gradient operators: they lose all digits there, right or wrong",
        "  1,200 bugs that change the gradient by 2e-05 of its largest element or less",
    ]
    assert left_out_text({}) == ""


def test_the_command_says_what_it_left_out(capsys):
    arguments = ["--types", "softmax_grad", "--dtypes", "float32", "--seeds", "1"]
    assert main(arguments) == 0
    counts = operator_case("softmax_grad", SEED, "float32", 4).left_out
    assert f"\n\n{left_out_text(counts)}\n" in capsys.readouterr().out
