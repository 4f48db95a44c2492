"""Tests of Program.memory: what is kept while operators run."""

import pytest

import fluidcore as fluid
from fluidcore import layers


def chain(batch=None):
    """Three operators on [?, 3]: exp, tanh, and a sum over the second."""
    x = layers.data("x", [3])
    return layers.reduce_sum(layers.tanh(layers.exp(x)))


def test_a_value_is_kept_from_its_writer_to_its_last_reader():
    chain()
    memory = fluid.default_main_program().memory(batch=2)
    assert [moment.bytes for moment in memory.moments] == [24, 48, 28]
    assert [(held.name, held.bytes, held.first, held.last) for held in memory.values] == [
        ("exp_0.tmp_0", 24, 0, 1),
        ("tanh_0.tmp_0", 24, 1, 2),
        ("reduce_sum_0.tmp_0", 4, 2, 2),
    ]
    assert memory.peak == memory.moments[1]
    assert [held.name for held in memory.at(1)] == ["exp_0.tmp_0", "tanh_0.tmp_0"]


def test_the_picture_has_a_bar_for_each_operator_and_the_largest_values():
    chain()
    lines = str(fluid.default_main_program().memory(batch=2)).splitlines()
    where = lines[4].partition(" (")[2].partition(")")[0]
    assert where.startswith("test_memory.py:") or "test_memory.py:" in where
    assert lines == [
        f"0  exp         forward  24 B  {'█' * 20}",
        f"1  tanh        forward  48 B  {'█' * 40}",
        f"2  reduce_sum  forward  28 B  {'█' * 23}",
        "",
        f"most: 48 B at operator 1, tanh ({where}), at a batch of 2",
        "  exp_0.tmp_0   float32 [2,3]  from 0 to 1  24 B",
        "  tanh_0.tmp_0  float32 [2,3]  from 1 to 2  24 B",
        "parameters   0 B, all the time",
        "other state  0 B, all the time",
    ]


def test_parameters_and_the_optimizers_state_are_kept_all_the_time():
    x = layers.data("x", [3])
    x.stop_gradient = False
    loss = layers.mean(layers.fc(x, 4, param_attr="w", bias_attr=False))
    fluid.optimizer.Momentum(0.1, 0.9).minimize(loss)
    memory = fluid.default_main_program().memory()
    assert (memory.parameter_bytes, memory.state_bytes) == (48, 48 + 4)
    assert {held.name for held in memory.values}.isdisjoint({"w", "x"})
    assert "w@GRAD" in {held.name for held in memory.values}
    assert {moment.role for moment in memory.moments} == {"forward", "backward", "optimizer"}


def test_what_a_loop_keeps_in_a_step_counts_at_the_loop():
    x = layers.data("x", [2, 3], append_batch_size=False)
    rnn = layers.StaticRNN()
    with rnn.step():
        part = rnn.step_input(x)
        state = rnn.memory(shape=[3], init_value=0.0)
        total = layers.elementwise_add(layers.exp(part), state)
        rnn.update_memory(state, total)
        rnn.step_output(total)
    rnn()
    memory = fluid.default_main_program().memory()
    outside = {held.name: held for held in memory.values}
    loop = next(moment for moment in memory.moments if moment.type == "recurrent")
    kept = sum(held.bytes for held in outside.values() if held.first <= loop.number <= held.last)
    assert loop.bytes == kept + 24  # exp and the sum, of 3 numbers each


def test_many_operators_share_rows_and_the_one_with_most_is_named():
    x = layers.data("x", [3])
    for _ in range(70):
        x = layers.exp(x)
    lines = str(fluid.default_main_program().memory()).splitlines()
    assert lines[0].split()[:4] == ["0", "to", "2", "exp"]
    assert lines.index("") == 24


def test_more_than_ten_values_are_counted():
    x = layers.data("x", [3])
    parts = [layers.exp(x) for _ in range(14)]
    layers.sums(parts)
    assert "  and 5 more, 60 B" in str(fluid.default_main_program().memory())


def test_an_empty_program_has_no_peak():
    memory = fluid.Program().memory()
    assert memory.peak is None
    assert str(memory) == "parameters   0 B, all the time\nother state  0 B, all the time"


def test_a_wrong_batch_is_an_error():
    with pytest.raises(fluid.InvalidArgument) as refused:
        fluid.Program().memory(0)
    assert str(refused.value) == "memory: batch must be a whole number of at least 1, got 0"
