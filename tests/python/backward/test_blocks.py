"""Tests of fluidcore.backward.blocks: the text of gradient blocks."""

import pytest

import fluidcore as fluid
from fluidcore import layers
from fluidcore.listing import operator_lines


@pytest.fixture
def block():
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()), fluid.unique_name.guard():
        yield main.global_block()


def vector(block, name, **settings):
    return block.create_var(name, shape=[2], dtype="float64", **settings)


def loop(block, body, trips=3):
    """While i < n: body()."""
    i = layers.fill_constant([1], "int64", 0, out=block.create_var("i", shape=[1], dtype="int64"))
    n = block.create_var("n", shape=[1], dtype="int64")
    layers.fill_constant([1], "int64", trips, out=n)
    c = layers.less_than(i, n, cond=block.create_var("c", shape=[1], dtype="bool"))
    running = layers.While(c)
    with running.block():
        body(block.program.current_block())
        layers.increment(i)
        layers.less_than(i, n, cond=c)


def append(block, op_type, out, **inputs):
    block.append_op(op_type, inputs, {"Out": out})


def gradient_text(loss, inputs):
    """What gradients() adds, each sub-block below its operator."""
    program = loss.block.program
    first = len(program.global_block().ops)
    fluid.gradients(loss, inputs)
    return [line.strip() for line in operator_lines(program.global_block().ops[first:])]


def test_the_gradient_of_a_loop_carries_what_the_loop_carries_and_adds_up_what_it_reads(block):
    w = vector(block, "w")
    h = vector(block, "h", stop_gradient=False)

    def body(inside):
        z = vector(inside, "z")
        append(inside, "elementwise_mul", z, X=h, Y=w)
        append(inside, "tanh", h, X=z)

    loop(block, body)
    append(block, "mean", "loss", X=h)
    assert gradient_text(block.var("loss"), [w]) == [
        "0  fill_constant() -> loss@GRAD  # shape=[1], dtype=float64, value=1",
        "1  mean_grad(h, loss@GRAD) -> h@GRAD",
        "2  assign(h@GRAD) -> h@GRAD@CARRY",
        "3  fill_zeros_like(w) -> w@GRAD@CARRY",
        "4  while_grad(h@VERSION@1@STEPS, h@VERSION@0@STEPS, h@GRAD@CARRY, w, w@GRAD@CARRY,",
        "while.stepscopes_0)",
        "-> h@VERSION@1@STEPS, h@VERSION@0@STEPS, h@GRAD@CARRY, w@GRAD@CARRY  # sub_block=block 2",
        "0  pop_from_array(h@VERSION@1@STEPS) -> h@VERSION@1, h@VERSION@1@STEPS",
        "1  pop_from_array(h@VERSION@0@STEPS) -> h@VERSION@0, h@VERSION@0@STEPS",
        "2  tanh_grad(h@VERSION@1, h@GRAD@CARRY) -> z@GRAD",
        "3  elementwise_mul_grad(h@VERSION@0, w, z@GRAD) -> h@GRAD, w@GRAD",
        "4  assign(h@GRAD) -> h@GRAD@CARRY",
        "5  sum(w@GRAD@CARRY, w@GRAD) -> w@GRAD@CARRY",
        "5  assign(w@GRAD@CARRY) -> w@GRAD",
    ]


def test_the_gradient_of_a_branch_passes_what_was_there_if_the_branch_is_not_taken(block):
    w = vector(block, "w")
    h = vector(block, "h", stop_gradient=False)
    taken = block.create_var("taken", shape=[1], dtype="bool")
    branch = layers.ConditionalBlock([taken], is_scalar_condition=True)
    with branch.block():
        append(block.program.current_block(), "elementwise_add", h, X=h, Y=w)
    append(block, "mean", "loss", X=h)
    assert gradient_text(block.var("loss"), [w]) == [
        "0  fill_constant() -> loss@GRAD  # shape=[1], dtype=float64, value=1",
        "1  mean_grad(h, loss@GRAD) -> h@GRAD",
        "2  assign(h@GRAD) -> h@GRAD@CARRY",
        "3  fill_zeros_like(w) -> w@GRAD@CARRY",
        "4  conditional_block_grad(conditional_block.scope_0, h@GRAD@CARRY, h, w, w@GRAD@CARRY)",
        "-> h@GRAD@CARRY, w@GRAD@CARRY  # sub_block=block 2",
        "0  elementwise_add_grad(h, w, h@GRAD@CARRY) -> h@GRAD, w@GRAD",
        "1  assign(h@GRAD) -> h@GRAD@CARRY",
        "2  sum(w@GRAD@CARRY, w@GRAD) -> w@GRAD@CARRY",
        "5  assign(w@GRAD@CARRY) -> w@GRAD",
    ]


def test_the_gradient_of_a_recurrence_runs_backwards_over_the_sequence(block):
    xs = block.create_var("xs", shape=[4, 2], dtype="float64", stop_gradient=False)
    start = vector(block, "start")
    rnn = layers.StaticRNN(name="rnn")
    with rnn.step():
        memory = rnn.memory(init=start)
        new = vector(block.program.current_block(), "new")
        append(
            block.program.current_block(), "elementwise_mul", new, X=memory, Y=rnn.step_input(xs)
        )
        rnn.update_memory(memory, new)
        rnn.step_output(new)
    append(block, "mean", "loss", X=rnn())
    text = gradient_text(block.var("loss"), [xs, start])
    assert text[4:] == [
        "# sub_block=block 2, step_inputs=[new@GRAD@STEP,rnn.xs_0], step_outputs=[rnn.xs_0@GRAD],",
        "reverse=True",
        "0  pop_from_array(rnn.memory_0@STEPS) -> rnn.memory_0, rnn.memory_0@STEPS",
        "1  assign(start@GRAD@CARRY) -> new@GRAD@RENAME@0",
        "2  assign(new@GRAD@STEP) -> new@GRAD@RENAME@1",
        "3  sum(new@GRAD@RENAME@0, new@GRAD@RENAME@1) -> new@GRAD",
        "4  elementwise_mul_grad(rnn.memory_0, rnn.xs_0, new@GRAD)",
        "-> rnn.memory_0@GRAD, rnn.xs_0@GRAD",
        "5  assign(rnn.memory_0@GRAD) -> start@GRAD@CARRY",
        "4  assign(start@GRAD@CARRY) -> start@GRAD",
    ]
