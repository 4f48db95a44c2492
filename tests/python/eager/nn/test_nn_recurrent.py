"""Recurrent networks."""

import numpy as np
import pytest
from checked_modules import check_module

import fluidcore as fluid
from fluidcore import eager
from fluidcore.eager import Tensor, nn


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def one_direction(lstm: nn.LSTM, x: np.ndarray, h: np.ndarray, c: np.ndarray, key: str):
    """The states in all steps of x [time, batch, features], and the last ones, as PyTorch does."""
    state = {name: value.numpy() for name, value in lstm.state_dict().items()}
    states = []
    for step in x:
        gates = step @ state[f"weight_ih_{key}"].T + h @ state[f"weight_hh_{key}"].T
        gates = gates + state[f"bias_ih_{key}"] + state[f"bias_hh_{key}"]
        i, f, g, o = np.split(gates, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        states.append(h)
    return np.stack(states), h, c


def test_layers_and_directions_are_those_of_the_formula() -> None:
    lstm = nn.LSTM(3, 4, num_layers=2, bidirectional=True, dtype="float64")
    x = eager.randn([5, 2, 3], dtype="float64")
    h0, c0 = (eager.randn([4, 2, 4], dtype="float64") for _ in range(2))
    out, (h, c) = lstm(x, (h0, c0))
    below = x.numpy()
    for layer in range(2):
        first = [state.numpy()[2 * layer] for state in (h0, c0)]
        ahead, h1, c1 = one_direction(lstm, below, *first, f"l{layer}")
        first = [state.numpy()[2 * layer + 1] for state in (h0, c0)]
        back, h2, c2 = one_direction(lstm, below[::-1], *first, f"l{layer}_reverse")
        below = np.concatenate([ahead, back[::-1]], axis=2)
        for found, wanted in ((h, (h1, h2)), (c, (c1, c2))):
            part = found.numpy()[2 * layer : 2 * layer + 2]
            np.testing.assert_allclose(part, wanted, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(out.numpy(), below, rtol=1e-12, atol=1e-12)
    assert (out.shape, h.shape) == ((5, 2, 8), (4, 2, 4))


def test_batch_first_exchanges_the_first_dimensions() -> None:
    eager.seed(1)
    lstm = nn.LSTM(3, 4)
    eager.seed(1)
    other = nn.LSTM(3, 4, batch_first=True)
    x = eager.randn([5, 2, 3])
    out, (h, _) = lstm(x)
    out_first, (h_first, _) = other(x.transpose(1, 0, 2))
    np.testing.assert_array_equal(out_first.numpy(), out.numpy().transpose(1, 0, 2))
    np.testing.assert_array_equal(h_first.numpy(), h.numpy())
    np.testing.assert_array_equal(out.numpy()[-1], h.numpy()[0])


def test_states_are_zero_at_first_and_can_be_handed_on() -> None:
    lstm = nn.LSTM(3, 4, bias=False)
    assert lstm.bias_ih_l0 is None
    x = eager.randn([6, 2, 3])
    out, _ = lstm(x)
    first, state = lstm(x[:2])
    second, _ = lstm(x[2:], state)
    np.testing.assert_allclose(
        out.numpy(), np.concatenate([first.numpy(), second.numpy()]), atol=1e-6
    )


def test_dropout_is_between_layers_and_in_training_only() -> None:
    eager.seed(0)
    lstm = nn.LSTM(3, 4, num_layers=2, dropout=0.5)
    x = eager.randn([3, 2, 3])
    assert lstm(x)[0].tolist() != lstm(x)[0].tolist()
    lstm.eval()
    assert lstm(x)[0].tolist() == lstm(x)[0].tolist()
    assert repr(lstm) == "LSTM(3, 4, num_layers=2, dropout=0.5)"


def test_its_gradients_are_right() -> None:
    eager.seed(0)
    lstm = nn.LSTM(2, 2, num_layers=2, bidirectional=True)

    class Results(eager.Module):
        def __init__(self) -> None:
            self.lstm = lstm

        def forward(self, x: Tensor) -> tuple[Tensor, ...]:
            out, (h, c) = self.lstm(x)
            return out, h, c

    check_module(Results(), eager.randn([3, 1, 2]))


def test_bad_arguments_are_errors() -> None:
    lstm = nn.LSTM(3, 4)
    with pytest.raises(fluid.InvalidArgument) as caught:
        lstm(eager.ones([5, 2, 4]))
    assert str(caught.value) == (
        "LSTM: x must be [time, batch, 3], with at least one step, got float32 [5, 2, 4]"
    )
    with pytest.raises(fluid.InvalidArgument, match=r"x must be \[batch, time, 3\].*\[5, 0, 3\]"):
        nn.LSTM(3, 4, batch_first=True)(eager.ones([5, 0, 3]))
    state = eager.zeros([1, 1, 4])
    with pytest.raises(fluid.InvalidArgument, match=r"here \[1, 2, 4\], got \[1, 1, 4\]"):
        lstm(eager.ones([5, 2, 3]), (state, state))
    with pytest.raises(TypeError, match=r"state must be \(h, c\) or None, got Tensor"):
        lstm(eager.ones([5, 2, 3]), state)
    with pytest.raises(fluid.InvalidArgument, match=r"dropout must be in \[0, 1\], got 2"):
        nn.LSTM(3, 4, dropout=2)
