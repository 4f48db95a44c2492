import sample_programs

import fluidcore as fluid
from fluidcore import layers
from fluidcore.picture.shapes import at_batch
from fluidcore.picture.table import amount, bytes_text, table_text


def test_the_table_has_shapes_parameters_memory_arithmetic_and_totals():
    x = layers.data("x", [3])
    layers.tanh(layers.fc(x, 4, param_attr="w", bias_attr="b", name="fc"))
    text = str(fluid.default_main_program().summary(batch=2))
    assert text.splitlines() == [
        "   operator         output        shape  parameters  bytes  activations  FLOPs",
        "0  mul              fc.tmp_0      [2,4]          12   48 B         32 B     48",
        "1  elementwise_add  fc.tmp_1      [2,4]           4   16 B         32 B",
        "2  tanh             tanh_0.tmp_0  [2,4]                            32 B",
        "",
        "parameters   16 numbers, 64 B",
        "other state  0 B",
        "activations  96 B if all are kept, at a batch of 2",
        "arithmetic   48 FLOP in a run of 3 operators",
    ]


def test_a_training_program_is_in_three_parts_with_the_state_of_the_optimizer():
    summary = sample_programs.perceptron().summary()
    assert [row.role for row in summary.rows] == sorted(
        [row.role for row in summary.rows], key=["forward", "backward", "optimizer"].index
    )
    # Two moments of 16 numbers, two powers and the learning rate.
    assert summary.state_bytes == 4 * (2 * 16 + 3)
    for part in ("(forward)", "(backward)", "(optimizer)"):
        assert part in str(summary)


def test_a_parameter_counts_once_even_where_it_is_shared():
    x = layers.data("x", [3])
    for _ in range(2):
        x = layers.fc(x, 3, param_attr="shared", bias_attr=False)
    summary = x.block.program.summary()
    assert summary.parameters == sum(row.parameters for row in summary.rows) == 9
    assert [row.parameters for row in summary.rows] == [9, 0]


def test_parameters_that_are_frozen_are_said():
    frozen = fluid.ParamAttr("w", trainable=False)
    layers.fc(layers.data("x", [3]), 4, param_attr=frozen, bias_attr="b")
    summary = fluid.default_main_program().summary()
    assert (summary.parameters, summary.trainable) == (16, 4)
    assert "16 numbers, 64 B; 12 of them are not learnt" in str(summary)


def test_an_array_that_is_written_again_takes_memory_once():
    x = layers.data("x", [3])
    y = layers.tanh(x)
    layers.assign(x, y)
    assert [row.activation_bytes for row in y.block.program.summary().rows] == [12, 0]


def test_the_summary_is_what_a_run_calculates():
    x = layers.data("x", [2, 6, 6])
    y = layers.conv2d(x, 4, 3, act="relu")
    loss = layers.mean(layers.fc(y, 5))
    fluid.optimizer.SGD(0.1).minimize(loss)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    import numpy as np

    with fluid.profiler.profile() as recorded:
        exe.run(feed={"x": np.ones((7, 2, 6, 6), np.float32)}, fetch_list=[loss])
    summary = fluid.default_main_program().summary(batch=7)
    assert summary.flops == sum(row.flops for row in recorded)


def test_the_steps_of_a_recurrent_network_are_all_counted():
    x = layers.data("x", [5, 2, 3], append_batch_size=False)
    start = layers.data("start", [2, 4], append_batch_size=False)
    rnn = layers.StaticRNN()
    with rnn.step():
        before = rnn.memory(init=start)
        state = layers.fc(rnn.step_input(x), 4, bias_attr=False) + before
        rnn.update_memory(before, state)
        rnn.step_output(state)
    rnn()
    rows = fluid.default_main_program().summary().rows
    (product,) = [row for row in rows if row.type == "mul"]
    assert product.place.endswith(".0") or "." in product.place
    assert product.flops == 5 * (2 * 2 * 3 * 4)


def test_operators_of_a_loop_are_rows_below_it():
    rows = sample_programs.loop().summary().rows
    places = [row.place for row in rows if row.type == "while"]
    assert any(row.place.startswith(f"{places[0]}.") for row in rows)


def test_open_extents_are_the_batch_in_every_shape_that_follows_from_them():
    x = layers.data("x", [4, 6])
    layers.reshape(x, [-1, 6])
    program = fluid.default_main_program()
    shapes = [row.shape for row in program.summary(batch=3).rows]
    assert shapes == [(12, 6)]
    assert program.global_block().var("x").shape == (-1, 4, 6)


def test_what_cannot_be_inferred_gets_the_batch_as_extent():
    x = layers.data("x", [3])
    y = layers.tanh(x)
    y.block.var("x").desc.set_shape([-1, 3])
    known = at_batch(y.block.program.desc, 8)
    assert known.block(0).find_var(y.name).shape() == [8, 3]


def test_an_empty_program_has_a_summary():
    assert "0 FLOP in a run of 0 operators" in str(fluid.Program().summary())


def test_numbers_have_three_digits_and_a_prefix():
    texts = [amount(count) for count in (0, 999, 1000, 1234, 999_499, 999_500, 2 * 10**12)]
    assert texts == ["0 ", "999 ", "1 k", "1.23 k", "999 k", "1 M", "2 T"]
    assert bytes_text(1500) == "1.5 kB"


def test_long_cells_are_cut_in_the_middle():
    assert table_text([["a" * 50, "1"]], numbers=1) == f"{'a' * 17}…{'a' * 18}  1"
