"""What operators say of their rows holds: a row of an input moves no other row of an output."""

import numpy as np
import pytest

from fluidcore import core
from fluidcore.gradcheck import cases
from fluidcore.gradcheck.adapters.network_target import NetworkTarget
from fluidcore.gradcheck.adapters.operator import operator_target
from fluidcore.gradcheck.cases.one_op import one_op

TYPES = cases.differentiable_types()


def target_of(example: cases.OpExample) -> NetworkTarget:
    one = one_op(example)
    checked = [name for slot in example.slots_to_check() for name in one.op.input(slot)]
    return operator_target(one.op, one.values, inputs_to_check=list(dict.fromkeys(checked)))


def moved_by(target: NetworkTarget, k: int, rows: int, row: int) -> set[int]:
    """The rows of outputs that change when a row of input `k` does."""
    xs = [part.value.copy() for part in target.inputs]
    before = target.forward(xs, target.dtype)
    xs[k].reshape(rows, -1)[row] *= 1 + 2.0**-9
    pairs = zip(target.forward(xs, target.dtype), before, strict=True)
    return {int(i) for y, old in pairs for i in np.nonzero((y != old).reshape(rows, -1))[0]}


def acts_by_element(target: NetworkTarget) -> bool:
    x = target.inputs[0].value
    if any(y.shape != x.shape for y in target.forward([x], target.dtype)):
        return False
    return all(moved_by(target, 0, x.size, i) <= {i} for i in range(x.size))


@pytest.mark.parametrize("op_type", TYPES)
def test_a_row_of_an_input_moves_no_other_row_of_an_output(op_type: str) -> None:
    for example in cases.examples(op_type, 3, "float64"):
        target = target_of(example)
        for k, part in enumerate(target.inputs):
            for row in {0, part.rows // 2, part.rows - 1} if part.rows > 1 else ():
                moved = moved_by(target, k, part.rows, row)
                assert moved <= {row}, (str(example), part.name, row)


@pytest.mark.parametrize(
    ("op_type", "slot", "shape", "attrs", "rows"),
    [
        ("tanh", "X", (2, 3), {}, 6),
        ("tanh_grad", "Out@GRAD", (2, 3), {}, 6),
        ("elementwise_pow", "Y", (2, 3), {}, 6),
        ("elementwise_mul_grad", "X", (2, 3), {}, 6),
        ("dropout", "X", (5,), {"dropout_prob": 0.5}, 5),
        ("softmax", "X", (2, 3, 4), {}, 6),
        ("softmax", "X", (4,), {}, 0),
        ("top_k", "X", (5, 4), {"k": 2}, 5),
        ("reduce_sum", "X", (2, 3, 4), {"dim": [-1]}, 6),
        ("reduce_max", "X", (2, 3, 4), {"dim": [1]}, 2),
        ("reduce_mean", "X", (2, 3, 4), {"dim": [0]}, 0),
        ("reduce_sum", "X", (2, 3, 4), {"reduce_all": True}, 0),
        ("mean", "X", (2, 3), {}, 0),
        ("transpose", "X", (2, 3), {"axis": [1, 0]}, 0),
    ],
)
def test_rows_come_from_the_definition(
    op_type: str, slot: str, shape: tuple[int, ...], attrs: dict[str, object], rows: int
) -> None:
    definition = core.op_def(op_type)
    inputs = {each.name: [each.name] for each in definition.inputs}
    outputs = {each.name: [each.name] for each in definition.outputs}
    op = core.OpDesc(op_type, inputs, outputs, attrs)
    shapes = {each: [shape] for each in inputs}
    assert definition.num_rows(op, slot, shapes) == rows


def test_rows_of_a_product_are_those_of_its_first_factor() -> None:
    op = core.OpDesc("mul", {"X": ["x"], "Y": ["y"]}, {"Out": ["z"]}, {"x_num_col_dims": 2})
    shapes = {"X": [(2, 3, 4)], "Y": [(4, 5)]}
    assert core.op_def("mul").num_rows(op, "X", shapes) == 6
    assert core.op_def("mul").num_rows(op, "Y", shapes) == 0


def test_elements_are_no_rows_where_an_input_is_broadcast() -> None:
    op = core.OpDesc("elementwise_add", {"X": ["x"], "Y": ["y"]}, {"Out": ["z"]}, {})
    definition = core.op_def("elementwise_add")
    assert definition.num_rows(op, "X", {"X": [(2, 3)], "Y": [(2, 3)]}) == 6
    assert definition.num_rows(op, "X", {"X": [(2, 3)], "Y": [(3,)]}) == 0


@pytest.mark.parametrize("op_type", TYPES)
def test_what_acts_element_by_element_says_so(op_type: str) -> None:
    slots = core.op_def(op_type).inputs
    if len(slots) > 1 or slots[0].list:
        return
    targets = [target_of(e) for e in cases.examples(op_type, 3, "float64")]
    large = [t for t in targets if t.inputs[0].value.size >= 4]
    if large and all(map(acts_by_element, large)):
        assert [t.inputs[0].rows for t in large] == [t.inputs[0].value.size for t in large]
