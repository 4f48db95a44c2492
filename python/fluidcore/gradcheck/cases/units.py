"""Units of recurrent networks."""

from __future__ import annotations

from fluidcore.gradcheck.cases.table import Cases, row, table

CASES: dict[str, Cases] = {
    "gru_cell": table(
        "X Recurrent HiddenPrev",
        lambda batch, size: [
            row((rows, 3 * columns), (rows, 3 * columns), (rows, columns))
            for rows, columns in ((batch, size), (2, 3), (1, 17), (0, size))
        ],
        least=1,
        most=4,
    ),
    "lstm_unit": table(
        "X C_prev",
        lambda batch, size: [
            row((batch, 4 * size), (batch, size)),
            row((2, 12), (2, 3), forget_bias=1.0),
            row((1, 68), (1, 17)),
            row((0, 4 * size), (0, size)),
        ],
        least=1,
        most=4,
    ),
}
