"""The values that variables have in the middle of a run."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import core, layers
from fluidcore.gradcheck.program.network import Network
from fluidcore.gradcheck.program.places import every_op, mark_places
from fluidcore.gradcheck.program.recording import Moment, Recording, can_be_recorded, record

X = np.array([[1.0, 2.0, 4.0]], np.float32)


def described(build: Callable[[fluid.Variable], Any]) -> core.ProgramDesc:
    """A program with the input x, whose operators have names."""
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()), fluid.unique_name.guard():
        build(layers.data("x", [1, 3], append_batch_size=False, stop_gradient=False))
    desc = main.desc.clone()
    mark_places(desc)
    return desc


def named(desc: core.ProgramDesc, op_type: str) -> core.OpDesc:
    """The last operator of a type."""
    return [op for _, _, op in every_op(desc) if op.type() == op_type][-1]


def around(op: core.OpDesc, variable: str) -> list[Moment]:
    return [Moment(op.call_site(), after, variable) for after in (False, True)]


def recorded(desc: core.ProgramDesc, moments: list[Moment], dtype: str | None = None) -> Recording:
    return record(desc, moments, {"x": X}, core.Scope(), dtype)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many values each run of a network has returned."""
    found: list[int] = []
    run = Network.run

    def counted(self: Network, outputs: Any) -> Any:
        found.append(len(outputs))
        return run(self, outputs)

    monkeypatch.setattr(Network, "run", counted)
    return found


def test_a_variable_is_recorded_before_and_after_it_is_overwritten(runs: list[int]) -> None:
    def build(x: fluid.Variable) -> None:
        y = layers.scale(x, scale=2.0)
        layers.assign(layers.scale(x, scale=5.0), y)

    desc = described(build)
    text = str(desc)
    op = named(desc, "assign")
    (name,) = op.output("Out")
    before, after = moments = around(op, name)
    for dtype in (None, "float64"):
        found = recorded(desc, moments, dtype).values
        assert list(found) == moments
        assert [len(values) for values in found.values()] == [1, 1]
        assert found[before][0].dtype == np.dtype(dtype or "float32")
        np.testing.assert_array_equal(found[before][0], 2 * X)
        np.testing.assert_array_equal(found[after][0], 5 * X)
    assert runs == [2, 2]  # the outermost block needs no second run
    assert str(desc) == text


def powers(x: fluid.Variable) -> None:
    """Of two, three times."""
    layers.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, layers.scale(h, scale=2.0)), [0, x])


def test_every_step_of_a_loop_is_recorded() -> None:
    desc = described(powers)
    op = named(desc, "scale")
    before, after = (
        Moment(op.call_site(), False, op.input("X")[0]),
        Moment(op.call_site(), True, op.output("Out")[0]),
    )
    found = recorded(desc, [before, after]).values
    for factor, moment in ((1, before), (2, after)):
        values = found[moment]
        assert len(values) == 3
        for step, value in enumerate(values):
            np.testing.assert_array_equal(value, factor * 2**step * X)


def test_values_of_all_blocks_are_recorded_in_one_go() -> None:
    def build(x: fluid.Variable) -> None:
        powers(layers.square(x))

    desc = described(build)
    square, scale = named(desc, "square"), named(desc, "scale")
    outer = Moment(square.call_site(), True, square.output("Out")[0])
    inner = Moment(scale.call_site(), True, scale.output("Out")[0])
    found = recorded(desc, [inner, outer]).values
    np.testing.assert_array_equal(found[outer], [X * X])
    np.testing.assert_array_equal(found[inner], [2 * X * X, 4 * X * X, 8 * X * X])


@pytest.mark.parametrize("taken", [False, True])
def test_what_a_branch_writes_is_recorded_whether_it_is_taken_or_not(taken: bool) -> None:
    def build(x: fluid.Variable) -> None:
        layers.cond(
            layers.reduce_sum(x) > (0.0 if taken else 100.0),
            lambda: layers.scale(x, scale=3.0),
            lambda: layers.square(x),
        )

    desc = described(build)
    op = named(desc, "scale")
    inside = Moment(op.call_site(), True, op.output("Out")[0])
    first, second = [op for op in desc.block(0).ops() if op.type() == "conditional_block"]
    last = desc.block(0).ops()[-1].call_site()
    outputs = [Moment(last, False, op.output("Out")[0]) for op in (first, second)]
    found = recorded(desc, [inside, *outputs]).values
    np.testing.assert_array_equal(found[inside], [3 * X] * taken)
    expected = (3 * X, 0 * X) if taken else (0 * X, X * X)  # of a branch that was not run, zeros
    for moment, value in zip(outputs, expected, strict=True):
        np.testing.assert_array_equal(found[moment], [value])


def test_only_tensors_that_have_a_value_can_be_recorded() -> None:
    def build(x: fluid.Variable) -> None:
        def body(i: Any, h: fluid.Variable) -> Any:
            shifted = layers.tanh(h) + layers.reduce_sum(layers.square(h), dim=[0])
            return i + 1, shifted

        y = layers.while_loop(lambda i, h: i < 3, body, [0, x])[1]
        fluid.gradients(layers.reduce_sum(y), [x])

    desc = described(build)
    (backward,) = [i for i in range(desc.num_blocks()) if desc.block(i).forward_block_idx() >= 0]
    forward = desc.block(backward).forward_block_idx()
    (shape_only,) = named(desc, "elementwise_add_grad").input("Y")
    (local,) = named(desc, "tanh_grad").input("Out")
    arrays = named(desc, "pop_from_array").input("Array")
    assert can_be_recorded(desc, forward, shape_only)
    assert not can_be_recorded(desc, backward, shape_only)
    assert can_be_recorded(desc, backward, local)
    assert can_be_recorded(desc, backward, "x")
    assert can_be_recorded(desc, 0, "x")
    assert not can_be_recorded(desc, backward, arrays[0])
    assert not can_be_recorded(desc, 0, core.EMPTY_VAR_NAME)
    assert not can_be_recorded(desc, 0, "unknown")
