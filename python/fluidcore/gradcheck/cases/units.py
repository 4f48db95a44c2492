"""Units of recurrent networks."""

from __future__ import annotations

from collections.abc import Iterator

from fluidcore.gradcheck.cases.example import Data, OpExample


def _lstm_unit(data: Data) -> Iterator[OpExample]:
    batch, size = data.extents(2, 1, 4)
    for rows, columns, attrs in (
        (batch, size, {}),
        (2, 3, {"forget_bias": 1.0}),
        (1, 17, {}),
        (0, size, {}),
    ):
        inputs = {"X": data.normal(rows, 4 * columns), "C_prev": data.normal(rows, columns)}
        yield OpExample("lstm_unit", inputs, attrs)


def _gru_cell(data: Data) -> Iterator[OpExample]:
    batch, size = data.extents(2, 1, 4)
    for rows, columns in ((batch, size), (2, 3), (1, 17), (0, size)):
        inputs = {
            "X": data.normal(rows, 3 * columns),
            "Recurrent": data.normal(rows, 3 * columns),
            "HiddenPrev": data.normal(rows, columns),
        }
        yield OpExample("gru_cell", inputs)


CASES = {"gru_cell": _gru_cell, "lstm_unit": _lstm_unit}
