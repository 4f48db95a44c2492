import numpy as np
import pytest
from saved import every_runtime, saved

import fluidcore as fluid
from fluidcore import layers

SEQUENCES = np.random.default_rng(0).standard_normal((3, 7, 5)).astype(np.float32)


@every_runtime
@pytest.mark.parametrize("time_major", [False, True])
def test_an_lstm_is_a_scan(time_major: bool, runtime: str) -> None:
    x = layers.data("x", [7, 5])
    found = layers.lstm(x, 6, num_layers=2, time_major=time_major, forget_bias=1.0)
    model = saved(found, x=SEQUENCES)
    assert model.node_types().count("Scan") == 2
    model.agrees(runtime)


# The reference implementation runs Scan forwards only.
def test_both_directions_and_lengths_run_in_onnx_runtime() -> None:
    x, lengths = layers.data("x", [7, 5]), layers.data("lengths", [], dtype="int64")
    found = layers.gru(x, 6, num_layers=2, lengths=lengths, is_bidirec=True)
    saved(found, x=SEQUENCES, lengths=np.array([7, 3, 1])).agrees("onnxruntime")


@every_runtime
def test_lengths_are_respected(runtime: str) -> None:
    x, lengths = layers.data("x", [7, 5]), layers.data("lengths", [], dtype="int64")
    found = layers.rnn(x, 6, lengths=lengths, act="relu")
    saved(found, x=SEQUENCES, lengths=np.array([7, 3, 1])).agrees(runtime)


@every_runtime
def test_first_states_may_be_fed(runtime: str) -> None:
    x, first = layers.data("x", [7, 5]), layers.data("h", [1, -1, 6], append_batch_size=False)
    found = layers.gru(x, 6, init_h=first)
    hidden = np.random.default_rng(1).standard_normal((1, 3, 6)).astype(np.float32)
    saved(found, x=SEQUENCES, h=hidden).agrees(runtime)


@every_runtime
def test_what_the_steps_write_around_their_block_stays(runtime: str) -> None:
    x = layers.data("x", [7, 5])
    count = layers.zeros([1], "int64")
    total = layers.fill_constant([1], "float32", 0.5)
    steps = layers.transpose(x, [1, 0, 2])
    loop = layers.StaticRNN()
    with loop.step():
        part = loop.step_input(steps)
        layers.increment(count)
        layers.assign(total + layers.mean(part), total)
        loop.step_output(part * total)
    model = saved([loop(), count, total], x=SEQUENCES)
    assert model.wanted[1].item() == 7
    model.agrees(runtime)


def test_an_array_that_the_steps_write_to_is_refused() -> None:
    x = layers.data("x", [7, 5])
    array = layers.create_array("float32", shape=[-1, 5])
    count = layers.zeros([1], "int64")
    steps = layers.transpose(x, [1, 0, 2])
    loop = layers.StaticRNN()
    with loop.step():
        part = loop.step_input(steps)
        layers.array_write(part, count, array=array)
        layers.increment(count)
        loop.step_output(part)
    with pytest.raises(
        fluid.InvalidArgument,
        match=r"^onnx.save: recurrent: the steps must write to tensors alone, got the array 'array",
    ):
        saved([loop(), layers.array_read(array, layers.zeros([1], "int64"))], x=SEQUENCES)
