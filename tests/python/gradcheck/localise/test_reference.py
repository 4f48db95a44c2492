"""The gradient operators that a program should have, beside those that it has."""

import backward_programs
import pytest
from backward_programs import MODELS, Built, build, built

import fluidcore as fluid
from fluidcore import core, layers
from fluidcore.gradcheck.adapters.program import ProgramTarget, program_target
from fluidcore.gradcheck.localise.alignment import align
from fluidcore.gradcheck.localise.reference import OF, Pair, backward_pair
from fluidcore.gradcheck.localise.search import same
from fluidcore.gradcheck.program.places import every_op

every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)


def target_of(made: Built, desc: core.ProgramDesc | None = None) -> ProgramTarget:
    program = made.program if desc is None else fluid.Program.from_desc(desc)
    return program_target(program, made.feed, made.loss, scope=made.scope)


def pair_of(made: Built, desc: core.ProgramDesc | None = None) -> Pair:
    return backward_pair(target_of(made, desc))


def made_anew(pair: Pair) -> list[core.OpDesc]:
    assert pair.reference is not None
    return [op for _, _, op in every_op(pair.reference) if op.call_site().startswith(OF)]


@every_model
def test_the_gradient_operators_of_a_right_program_are_made_anew(model) -> None:
    pair = pair_of(built(model))
    assert pair.reference is not None
    found = align(pair.actual, pair.reference, pair.forward)
    ops = {op.call_site(): op for _, _, op in every_op(pair.actual)}
    assert found.missing == []
    assert set(found.twins) == set(ops) - pair.forward
    for name, twin in found.twins.items():
        assert same(ops[name], twin), name
        assert twin.call_site().removeprefix(OF) in {*pair.forward, ""}  # "" of what has none
    assert len(made_anew(pair)) == len(found.twins) > 2


def named(desc: core.ProgramDesc) -> dict[str, core.OpDesc]:
    return {op.call_site(): op for _, _, op in every_op(desc)}


@every_model
def test_every_operator_has_its_place_in_the_users_program(model) -> None:
    made = built(model)
    pair = pair_of(made)
    desc = made.program.desc
    assert set(named(pair.actual)) == set(pair.places)
    for name, place in pair.places.items():
        op = desc.block(place.block).op(place.op)
        assert name == f"{place.block}:{place.op}"
        assert (op.type(), op.call_site()) == (place.op_type, place.call_site)


def test_the_reference_does_not_depend_on_what_the_gradient_operators_are() -> None:
    made = built(backward_programs.fan_out)
    right = [str(op) for op in made_anew(pair_of(made))]
    wrong = made.program.desc.clone()
    (position,) = (i for i, op in enumerate(wrong.block(0).ops()) if op.type() == "exp_grad")
    wrong.block(0).op(position).set_type("tanh_grad")
    pair = pair_of(made, wrong)
    assert [str(op) for op in made_anew(pair)] == right
    (edited,) = (op for name, op in named(pair.actual).items() if name == f"0:{position}")
    assert edited.type() == "tanh_grad"


def test_an_error_clip_is_made_anew_where_the_program_has_clips() -> None:
    made = built(backward_programs.error_clip)
    assert [op.type() for op in made_anew(pair_of(made))].count("clip") == 1
    without = made.program.desc.clone()
    (position,) = (i for i, op in enumerate(without.block(0).ops()) if op.type() == "clip")
    without.block(0).remove_op(position, position + 1)
    assert [op.type() for op in made_anew(pair_of(made, without))].count("clip") == 0


def test_optimizers_are_removed() -> None:
    with_optimizer = built(backward_programs.chain).program.clone()
    names = [p.name for p in with_optimizer.all_parameters()]
    made = built(backward_programs.chain)._replace(program=with_optimizer)
    block = with_optimizer.desc.block(0)
    count = len(named(pair_of(made).actual))
    op = block.append_op()
    rate = with_optimizer.global_block().create_var(name="rate", shape=[1], dtype="float32")
    slots = {"Param": [names[0]], "Grad": [f"{names[0]}@GRAD"], "LearningRate": [rate.name]}
    op.copy_from(core.OpDesc("sgd", slots, {"ParamOut": [names[0]]}, {}))
    pair = pair_of(made, with_optimizer.desc)
    assert len(named(pair.actual)) == count
    assert all(op.type() != "sgd" for op in named(pair.actual).values())


@every_model
def test_appended_gradients_are_their_own_reference(model) -> None:
    loss = model()
    fluid.Executor().run(fluid.default_startup_program())
    program = fluid.default_main_program()
    text = str(program)
    target = program_target(program, built(model).feed, [loss], scope=fluid.global_scope())
    pair = backward_pair(target)
    assert pair.reference is not None
    assert str(program) == text
    actual, reference = named(pair.actual), named(pair.reference)
    added = set(actual) - pair.forward
    assert all(name.startswith("gradient ") for name in added)
    assert len(pair.forward) == sum(len(block.ops) for block in program.blocks)
    for block, position, op in every_op(pair.actual):
        twin = pair.reference.block(block.id()).op(position)
        assert same(op, twin)
        if op.call_site() in added:
            assert op.call_site() == f"gradient {block.id()}:{position}"
            undone = twin.call_site().removeprefix(OF)
            assert undone in {*pair.forward, ""}
            place = pair.places[op.call_site()]
            assert (place.block, place.op, place.op_type) == (block.id(), position, op.type())
            assert place.call_site == (pair.places[undone].call_site if undone else "")
    assert len(reference) <= len(actual)


def test_a_constant_that_gradients_do_not_pass_stays_one() -> None:
    def model() -> fluid.Variable:
        x = layers.data("x", [4, 3], append_batch_size=False, stop_gradient=False)
        w = layers.create_parameter([3], "float32", "w")
        return layers.reduce_sum(layers.tanh(x * w))

    made = build(model, no_grad_set={"x"})
    pair = pair_of(made)
    written = {name for op in made_anew(pair) for name in op.output_arg_names()}
    assert "w@GRAD" in written
    assert "x@GRAD" not in written
