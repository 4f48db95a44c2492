import numpy as np
import pytest
from saved import every_runtime, saved

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
