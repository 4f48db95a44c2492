import pytest
from numpy.testing import assert_array_equal

from fluidcore import core
from fluidcore.gradcheck import cases
from fluidcore.gradcheck.cases.one_op import one_op
from fluidcore.picture.flops import flops

COUNTED = {
    *("mul", "matmul", "conv1d", "conv2d", "conv3d", "depthwise_conv2d"),
    *("conv1d_transpose", "conv2d_transpose", "conv3d_transpose"),
    "scaled_dot_product_attention",
}


def counted_by_the_profiler(example: cases.OpExample) -> int:
    single = one_op(example)
    scope, profile = core.Scope(), core.Profile()
    for name, value in single.values.items():
        scope.var(name).get_tensor().set(value)
    names = [name for name in single.op.output_arg_names() if name != core.EMPTY_VAR_NAME]
    executor = core.Executor(core.CPUPlace())
    executor.run(single.program, {}, names, scope, profile=profile)
    return sum(event[6] for event in profile.content()["events"])


def counted_from_shapes(example: cases.OpExample) -> int:
    single = one_op(example)
    block = single.program.block(0)
    slots = {**single.op.inputs(), **single.op.outputs()}
    shapes = {slot: block.find_var(names[0]).shape() for slot, names in slots.items() if names}
    return flops(single.op, shapes)


@pytest.mark.parametrize("op_type", [t for t in core.op_types() if cases.has_case(t)])
def test_counts_are_those_of_the_profiler(op_type: str) -> None:
    if cases.is_control_flow(op_type):
        return
    examples = list(cases.examples(op_type, seed=0, dtype=cases.dtypes_of(op_type)[0]))[:4]
    expected = [counted_by_the_profiler(example) for example in examples]
    assert_array_equal([counted_from_shapes(example) for example in examples], expected)
    if op_type.removesuffix("_grad") in COUNTED and "_grad_grad" not in op_type:
        assert any(expected)


def test_shapes_that_are_missing_count_as_nothing():
    op = core.OpDesc("mul", {"X": ["x"], "Y": ["y"]}, {"Out": ["z"]}, {"y_num_col_dims": 1})
    assert flops(op, {"X": [2, 3]}) == 0
