"""What is saved can be loaded: the same results, and the same gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from every_case import every_case
from networks import NETWORKS
from op_case import OpCase, assert_close, is_floating
from op_runner import OneOp
from runtimes import Array, by_reference, checked
from saved import Saved
from test_every_operator import TENSOR_OPS, is_refused, known_runs

import fluidcore as fluid
from fluidcore import core, layers
from fluidcore.onnx import Unsupported, load
from fluidcore.onnx.writing import to_model
from fluidcore.program import Program

DIFFERENTIABLE = [
    case
    for case in every_case()
    if case.type in TENSOR_OPS
    and case.differentiable()
    and "float64" in case.dtypes_to_test()
    and all(array.size for array in case.arrays())
    and not is_refused(case)
]

# Rows that are chosen at run time, and windows of which the place is kept, are not read.
NOT_READ = {"split_lod_tensor", "max_pool3d_with_index"}
# Of random numbers there are other ones.
SAME_EACH_TIME = [t for t in TENSOR_OPS if t == "dropout" or not core.op_def(t).is_random]


@pytest.mark.parametrize("op_type", SAME_EACH_TIME)
def test_an_operator_comes_back_with_the_same_results(op_type: str) -> None:
    loaded = 0
    for run in known_runs(op_type):
        with fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
            try:
                model = load(run.model)
            except Unsupported:
                continue
            loaded += 1
            run.compare(fluid.Executor().run(model.program, run.feed, model.fetches))
    assert (loaded > 0) != (op_type in NOT_READ)


def gradients(
    program: Program, targets: Sequence[fluid.Variable], wrt: Sequence[str], feed: object
) -> list[Array]:
    """Of the mean of the squares of the targets, by some variables."""
    variables = [program.global_block().var(name) for name in wrt]
    for variable in variables:
        variable.stop_gradient = False
    with fluid.program_guard(program, fluid.Program()):
        cost = layers.sums([layers.mean(layers.square(target)) for target in targets])
        found = fluid.gradients([cost], variables)
        known = [gradient for gradient in found if gradient is not None]
        values = iter(fluid.Executor().run(program, feed, fetch_list=known))
    return [
        np.zeros(v.shape) if gradient is None else np.array(next(values))
        for gradient, v in zip(found, variables, strict=True)
    ]


def differentiable_names(case: OpCase, one: OneOp) -> tuple[list[str], list[str]]:
    """The inputs by which an operator is differentiated, and the outputs that have gradients."""
    definition = core.op_def(case.type)
    without = {s.name for s in (*definition.inputs, *definition.outputs) if s.no_gradient}
    inputs = [n for s in case.differentiable() if s not in without for n in one.op.input(s)]
    outputs = [
        name
        for slot, names in one.op.outputs().items()
        if slot not in without
        for name in names
        if one.block.var(name).dtype() == "float64"
    ]
    return [n for n in dict.fromkeys(inputs) if is_floating(one.values[n])], outputs


@pytest.mark.parametrize("op_type", sorted({case.type for case in DIFFERENTIABLE}))
def test_an_operator_comes_back_with_the_same_gradients(op_type: str) -> None:
    for case in [case for case in DIFFERENTIABLE if case.type == op_type][:4]:
        one, _ = case.build("float64")
        if one.op.has_attr("is_test"):
            one.op.set_attr("is_test", True)
        program = Program.from_desc(one.program)
        inputs, outputs = differentiable_names(case, one)
        model = to_model(program, list(one.values), outputs, one.scope)
        targets = [program.global_block().var(name) for name in outputs]
        wanted = gradients(program, targets, inputs, one.values)
        with fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
            try:
                loaded = load(model)
            except Unsupported:
                continue
            got = gradients(loaded.program, loaded.fetches, inputs, one.values)
        for name, want, gradient in zip(inputs, wanted, got, strict=True):
            assert_close(gradient, want, 1e-6, f"{case}: the gradient of {name}")


@pytest.mark.parametrize("network", NETWORKS, ids=lambda build: build.__name__)
def test_a_network_comes_back_with_the_same_results_and_gradients(
    network: Callable[[], Saved],
) -> None:
    first = network()
    trained = [p.name for p in first.program.all_parameters() if not p.stop_gradient]
    with fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        model = load(first.model)
        got = fluid.Executor().run(model.program, first.feed, model.fetches)
        assert {p.name for p in model.program.all_parameters()} == {
            v.name for v in first.program.list_vars() if v.persistable
        }
        got_gradients = gradients(model.program, model.fetches, trained, first.feed)
    for want, result in zip(first.wanted, got, strict=True):
        assert_close(result, want, 1e-5, "the result")
    test = first.program
    targets = [test.global_block().var(name) for name in first.fetches]
    wanted = gradients(test, targets, trained, first.feed)
    for name, want, gradient in zip(trained, wanted, got_gradients, strict=True):
        assert_close(gradient, want, 1e-4, f"the gradient of {name}")


@pytest.mark.parametrize("network", NETWORKS, ids=lambda build: build.__name__)
def test_a_network_that_was_loaded_can_be_saved_again(network: Callable[[], Saved]) -> None:
    first = network()
    with fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        model = load(first.model)
        again = checked(to_model(model.program, model.feeds, model.fetches, model.scope))
    for want, result in zip(first.wanted, by_reference(again, first.feed), strict=True):
        assert_close(result, want, 1e-5, "the result")
