"""Recurrent networks."""

from __future__ import annotations

import numpy as np

from fluidcore import core
from fluidcore.base.dtypes import DTypeLike, dtype_number
from fluidcore.eager.apply import apply, apply_single
from fluidcore.eager.functions import unstack
from fluidcore.eager.nn.checks import check_dtype, check_share, check_tensor
from fluidcore.eager.nn.dropout import dropped
from fluidcore.eager.nn.module import Module
from fluidcore.eager.nn.parameter import uniform
from fluidcore.eager.tensor import Tensor
from fluidcore.layers.helper import check_size


class LSTM(Module):
    """Long short-term memories (Hochreiter and Schmidhuber 1997), one on top of the other.

    Names, layouts and the order of the gates are those of PyTorch: input, forget, candidate,
    output. `lstm_unit` and `layers.lstm` have the candidate last and transposed weights; rows are
    put in that order in each call, once for all steps.

    Attributes:
        weight_ih_l0: [4 hidden_size, features] of layer 0; `weight_ih_l0_reverse` of its other
            direction. Features of the layers above are directions hidden_size.
        weight_hh_l0: [4 hidden_size, hidden_size].
        bias_ih_l0: [4 hidden_size], and `bias_hh_l0`, whose sum counts; None without `bias`. All
            are uniform in ±1 / sqrt(hidden_size) at first.

    Args:
        input_size: Features of x.
        hidden_size: Elements of a state.
        num_layers: How many.
        bias: Whether there are biases.
        batch_first: Whether x and the result are [batch, time, ...].
        dropout: Probability of a zero among the results of each layer but the last.
        bidirectional: Whether each layer has a second part that begins at the last step.
        dtype: Of the parameters.
    """

    weight_hh_l0: Tensor

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        dtype: DTypeLike = "float32",
    ) -> None:
        check_size("LSTM", "input_size", input_size)
        check_size("LSTM", "hidden_size", hidden_size)
        check_size("LSTM", "num_layers", num_layers)
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.batch_first = bool(batch_first)
        self.dropout = check_share("LSTM: dropout", dropout)
        self.bidirectional = bool(bidirectional)
        self._directions = ("", "_reverse") if bidirectional else ("",)
        for layer in range(num_layers):
            features = len(self._directions) * hidden_size if layer else input_size
            for direction in self._directions:
                key = f"l{layer}{direction}"
                for name, extent in (("weight_ih", features), ("weight_hh", hidden_size)):
                    shape = [4 * hidden_size, extent]
                    setattr(self, f"{name}_{key}", uniform(shape, hidden_size, dtype))
                for name in ("bias_ih", "bias_hh"):
                    value = uniform([4 * hidden_size], hidden_size, dtype) if bias else None
                    setattr(self, f"{name}_{key}", value)
        rows = np.arange(4 * hidden_size).reshape(4, hidden_size)
        self._order = Tensor(rows[[0, 1, 3, 2]].ravel())  # of lstm_unit's gates

    def forward(
        self, x: Tensor, state: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Runs all layers.

        Args:
            x: [time, batch, input_size], or [batch, time, input_size] with `batch_first`.
            state: The first states h and c, [num_layers directions, batch, hidden_size]; None for
                0. In a layer the reverse direction follows the other.

        Returns:
            The states h of the last layer in all steps, [time, batch, directions hidden_size] in
            the layout of x; and the states h and c after the last step, as `state`.
        """
        x = self._steps(check_tensor("LSTM", x))
        first = self._first(x, state)
        last: list[tuple[Tensor, Tensor]] = []
        for layer in range(self.num_layers):
            results = []
            for direction in self._directions:
                out, ends = self._direction(x, first[len(last)], f"l{layer}{direction}")
                results.append(out)
                last.append(ends)
            x = results[0] if len(results) == 1 else apply_single("concat", {"X": results}, _LAST)
            if layer + 1 < self.num_layers and self.training:
                x = dropped(x, self.dropout)
        h, c = ([states[i] for states in last] for i in (0, 1))
        out = x.transpose(1, 0, 2) if self.batch_first else x
        return out, (_stacked(h), _stacked(c))

    def _steps(self, x: Tensor) -> Tensor:
        """[time, batch, input_size]."""
        if x.ndim != 3 or x.shape[2] != self.input_size or not x.shape[self.batch_first]:
            layout = "[batch, time" if self.batch_first else "[time, batch"
            raise core.InvalidArgument(
                f"LSTM: x must be {layout}, {self.input_size}], with at least one step, got "
                f"{x.dtype} {list(x.shape)}"
            )
        check_dtype("LSTM", x, self.weight_hh_l0)
        return x.transpose(1, 0, 2) if self.batch_first else x

    def _first(self, x: Tensor, state: tuple[Tensor, Tensor] | None) -> list[tuple[Tensor, Tensor]]:
        """The states h and c [batch, hidden_size] of each layer and direction before all steps."""
        count = self.num_layers * len(self._directions)
        if state is None:
            attrs = {
                "shape": [-1, self.hidden_size],
                "dtype": dtype_number(x.dtype),
                "input_dim_idx": 1,
            }
            zeros = apply_single("fill_constant_batch_size_like", {"Input": x}, attrs)
            return [(zeros, zeros)] * count
        if not isinstance(state, (tuple, list)) or len(state) != 2:
            raise TypeError(f"LSTM: state must be (h, c) or None, got {type(state).__name__}")
        wanted = (count, x.shape[1], self.hidden_size)
        h, c = (check_tensor("LSTM", part) for part in state)
        for part in (h, c):
            if part.shape != wanted:
                raise core.InvalidArgument(
                    "LSTM: h and c must be [num_layers directions, batch, hidden_size], here "
                    f"{list(wanted)}, got {list(part.shape)}"
                )
        return list(zip(unstack(h), unstack(c), strict=True))

    def _direction(
        self, x: Tensor, first: tuple[Tensor, Tensor], key: str
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The states [time, batch, hidden_size] in all steps, and h and c after the last."""
        gates = _product(x, self._ordered(f"weight_ih_{key}"))
        if getattr(self, f"bias_ih_{key}") is not None:
            gates = gates + (self._ordered(f"bias_ih_{key}") + self._ordered(f"bias_hh_{key}"))
        recurrent = self._ordered(f"weight_hh_{key}")
        is_reverse = key.endswith("_reverse")
        parts = unstack(gates)
        hidden, cell = first
        states = []
        for part in reversed(parts) if is_reverse else parts:
            unit = {"X": part + _product(hidden, recurrent), "C_prev": cell}
            results = apply("lstm_unit", unit)
            hidden, cell = results["H"], results["C"]
            states.append(hidden)
        return _stacked(states[::-1] if is_reverse else states), (hidden, cell)

    def _ordered(self, name: str) -> Tensor:
        """A parameter with its rows in the order of lstm_unit's gates."""
        inputs = {"X": getattr(self, name), "Index": self._order}
        return apply_single("index_select", inputs, {"axis": 0})

    def extra_repr(self) -> str:
        """The arguments; those with their default are left out."""
        defaults = {"num_layers": 1, "batch_first": False, "dropout": 0.0, "bidirectional": False}
        shown = [
            f", {name}={getattr(self, name)}"
            for name, default in defaults.items()
            if getattr(self, name) != default
        ]
        return f"{self.input_size}, {self.hidden_size}{''.join(shown)}"


_LAST = {"axis": 2}


def _product(x: Tensor, weight: Tensor) -> Tensor:
    return apply_single("matmul", {"X": x, "Y": weight}, {"transpose_Y": True})


def _stacked(tensors: list[Tensor]) -> Tensor:
    return apply_single("stack", {"X": tensors}, {"axis": 0})
