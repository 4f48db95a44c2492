"""Examples of operators and programs."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import core
from fluidcore.base.dtypes import FLOATING
from fluidcore.gradcheck import cases
from fluidcore.gradcheck.cases.example import Array, Data, as_list
from fluidcore.gradcheck.cases.one_op import one_op

TYPES = cases.differentiable_types()
CONTROL_FLOW = [
    name for name in core.op_types() if core.op_def(name).has_grad and cases.is_control_flow(name)
]


def arrays(example: cases.OpExample) -> list[Array]:
    return [array for value in example.inputs.values() for array in as_list(value)]


@pytest.mark.parametrize("op_type", TYPES)
def test_every_differentiable_operator_has_several_examples(op_type: str) -> None:
    assert cases.has_case(op_type)
    for dtype in cases.dtypes_of(op_type):
        names = {str(example) for example in cases.examples(op_type, 0, dtype)}
        assert len(names) >= 3, names


@pytest.mark.parametrize("op_type", TYPES)
def test_examples_run_and_are_finite_in_every_dtype(op_type: str) -> None:
    for dtype in cases.dtypes_of(op_type):
        for seed in (0, 1):
            for example in cases.examples(op_type, seed, dtype):
                one = one_op(example)
                outputs = one.run(one.op.output_arg_names())
                floating = [*arrays(example), *outputs.values()]
                kinds = {a.dtype.name for a in arrays(example)}
                assert kinds & FLOATING == {dtype}, example
                for array in floating:
                    assert np.isfinite(array.astype(np.float64)).all(), (str(example), dtype)


@pytest.mark.parametrize("op_type", TYPES)
def test_what_is_to_be_checked_has_a_gradient(op_type: str) -> None:
    for example in cases.examples(op_type, 0, cases.dtypes_of(op_type)[0]):
        one = one_op(example)
        _, grad_to_var = core.get_grad_op_desc(one.op, set(), [])
        assert example.slots_to_check(), str(example)
        for slot in example.slots_to_check():
            assert set(one.op.input(slot)) <= set(grad_to_var.values()), str(example)


@pytest.mark.parametrize("op_type", ["conv2d", "reduce_max", "elementwise_add_grad"])
def test_the_same_seed_gives_the_same_examples_and_another_seed_others(op_type: str) -> None:
    def numbers(seed: int) -> list[list[float]]:
        found = cases.examples(op_type, seed, "float32")
        return [a.ravel().tolist() for example in found for a in arrays(example)]

    assert numbers(3) == numbers(3)
    assert numbers(3) != numbers(4)


@pytest.mark.parametrize("op_type", ["elementwise_max", "reduce_max", "pool2d"])
def test_maxima_are_well_separated_but_in_one_example(op_type: str) -> None:
    found = cases.examples(op_type, 0, cases.dtypes_of(op_type)[-1])
    tied = [e for e in found if len(np.unique(joined(e))) < joined(e).size]
    assert [example.note for example in tied if "twice" not in example.note] == ["with ties"]


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_a_number_alone_is_neither_near_zero_nor_large(dtype: str) -> None:
    data = Data(0, "numbers", dtype)
    sizes = np.array([abs(float(data.normal(*s).item())) for s in [(), (1,)] * 200])
    assert 0.25 <= sizes.min() < 0.3
    assert 0.9 < sizes.max() <= 1
    scaled = Data(0, "numbers", dtype).normal(1, scale=2.0, mean=8.0)
    assert 0.5 <= abs(float(scaled[0]) - 8) <= 2


def joined(example: cases.OpExample) -> Array:
    return np.concatenate([a.ravel() for a in arrays(example)])


def test_an_operator_without_a_gradient_or_of_control_flow_has_no_examples() -> None:
    for op_type in ("adam", "while"):
        assert not cases.has_case(op_type)
        with pytest.raises(core.NotFound, match=f"{op_type}: an operator must have a gradient"):
            cases.examples(op_type)
    with pytest.raises(core.NotFound, match="tanhh"):
        cases.has_case("tanhh")


def test_a_dtype_that_the_operator_is_not_made_for_is_an_error() -> None:
    message = "conv2d: the dtype must be one of float64, float32, float16, bfloat16, got int64"
    with pytest.raises(core.InvalidArgument, match=message):
        cases.examples("conv2d", dtype="int64")


@pytest.mark.parametrize("op_type", TYPES)
def test_every_slot_has_a_gradient_or_says_that_it_has_none(op_type: str) -> None:
    definition = core.op_def(op_type)
    for example in cases.examples(op_type, dtype=cases.dtypes_of(op_type)[0]):
        one = one_op(example)
        grads, grad_to_var = core.get_grad_op_desc(one.op, set(), [])
        given, read = set(grad_to_var.values()), {n for g in grads for n in g.input_arg_names()}
        cotangents = {n for n in one.op.output_arg_names() if core.grad_var_name(n) in read}
        for slots, names_of, found in (
            (definition.inputs, one.op.input, given),
            (definition.outputs, one.op.output, cotangents),
        ):
            for slot in slots:
                silent = slot.no_gradient or slot.needs_no_gradient or slot.shape_only
                for name in names_of(slot.name):
                    if one.program.block(0).var(name).dtype() in FLOATING:
                        assert silent or name in found, f"{example}: {slot.name}"
                    assert not (slot.no_gradient and name in found), f"{example}: {slot.name}"


def test_no_family_has_examples_of_what_is_not_differentiable() -> None:
    assert set(TYPES) == {t for t in core.op_types() if t not in CONTROL_FLOW and cases.has_case(t)}


def test_the_programs_use_every_operator_of_control_flow() -> None:
    used = set()
    for example in cases.program_examples():
        program = example.program.clone()
        block = program.global_block()
        fluid.gradients(block.var(example.loss), [block.var(n) for n in example.wanted()])
        used |= {op.type for block in program.blocks for op in block.ops}
    assert set(CONTROL_FLOW) - used == set()


@pytest.mark.parametrize("name", cases.program_names())
def test_the_gradient_of_a_program_is_that_of_differences_along_a_line(name: str) -> None:
    example = cases.program_example(name, seed=2, dtype="float64")
    program = example.program.clone()
    block = program.global_block()
    wanted = example.wanted()
    assert wanted
    found = fluid.gradients(block.var(example.loss), [block.var(n) for n in wanted])
    executor = fluid.Executor()
    grads = executor.run(program, example.data(), found, example.scope())
    rng = np.random.default_rng(0)
    direction = {n: rng.standard_normal(example.feed[n].shape) for n in wanted}

    def loss(step: float) -> float:
        moved = example._replace(
            feed=example.feed | {n: example.feed[n] + step * d for n, d in direction.items()}
        )
        (value,) = executor.run(moved.program, moved.data(), [moved.loss], moved.scope())
        return float(value.item())

    step = 1e-6
    slope = (loss(step) - loss(-step)) / (2 * step)
    claimed = sum(np.vdot(g, d) for g, d in zip(grads, direction.values(), strict=True))
    assert claimed == pytest.approx(slope, rel=1e-6, abs=1e-8)


def test_the_values_of_a_program_depend_on_the_seed_alone() -> None:
    first, again, other = (cases.program_example("gru", seed) for seed in (1, 1, 2))
    assert str(first.program) == str(again.program)
    assert first.feed.keys() == again.feed.keys()
    for name, value in first.feed.items():
        np.testing.assert_array_equal(value, again.feed[name])
    assert not np.array_equal(first.feed["x"], other.feed["x"])


def test_an_unknown_program_is_an_error_that_names_those_there_are() -> None:
    with pytest.raises(core.NotFound, match="no example program 'rnn'; there are: regression, "):
        cases.program_example("rnn")


def test_an_elementwise_function_needs_no_examples_of_its_own() -> None:
    assert "softsign" not in cases._FAMILIES
    assert {"", "wide", "near zero"} == {e.note for e in cases.examples("softsign")}
    assert not cases.has_case("isnan")  # has no gradient
