"""Products of matrices."""

from __future__ import annotations

from fluidcore.onnx.writing.graph import Value
from fluidcore.onnx.writing.operator import Op, Rule
from fluidcore.onnx.writing.shapes import extents, matrix, reshaped, transposed


def _mul(op: Op) -> None:
    x, y = op.input("X"), op.input("Y")
    x_rows, y_rows = op.attr("x_num_col_dims"), op.attr("y_num_col_dims")
    is_plain = x_rows == x.rank - 1 and y_rows == y.rank - 1 == 1
    if is_plain:  # the rows of X may have any number of dimensions
        op.set("Out", op.emit("MatMul", x, y))
        return
    out = op.emit("MatMul", matrix(op, x, x_rows), matrix(op, y, y_rows))
    shape = [*extents(op, x, 0, x_rows), *extents(op, y, y_rows)]
    op.set("Out", reshaped(op, out, shape) if len(shape) != 2 else out)


def _matmul(op: Op) -> None:
    x = _side(op, op.input("X"), op.attr("transpose_X"), 1)
    y = _side(op, op.input("Y"), op.attr("transpose_Y"), 0)
    op.set("Out", op.emit("MatMul", x, y))


def _side(op: Op, x: Value, is_transposed: bool, new_axis: int) -> Value:
    """One side of a product; NumPy sees a vector as a row in front and as a column behind, too."""
    if not is_transposed:
        return x
    if x.rank == 1:
        return op.emit("Unsqueeze", x, [new_axis])
    axes = list(range(x.rank))
    return transposed(op, x, [*axes[:-2], axes[-1], axes[-2]])


RULES: dict[str, Rule] = {"mul": _mul, "matmul": _matmul}
