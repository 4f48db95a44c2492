"""Products of matrices."""

from __future__ import annotations

from fluidcore import layers
from fluidcore.onnx.reading.node import Node
from fluidcore.onnx.reading.rules.common import Result, Rules, append, binary, scaled


def matmul(node: Node) -> Result:
    """The product of matrices, as NumPy's matmul."""
    x, y = node.var(0), node.var(1)
    out = append("matmul", {"X": x, "Y": y})
    return layers.reshape(out, []) if len(x.shape) == len(y.shape) == 1 and out.shape else out


def gemm(node: Node) -> Result:
    """Alpha A B + beta C, of A and B transposed or not."""
    attrs = {"transpose_X": node.flag("transA"), "transpose_Y": node.flag("transB")}
    product = append("matmul", {"X": node.var(0), "Y": node.var(1)}, attrs)
    product = scaled(product, node.attr("alpha"))
    node.ignore("broadcast")  # before opset 7; then it always is
    beta = node.attr("beta")
    bias = node.optional_var(2)
    return product if bias is None else binary("elementwise_add", product, scaled(bias, beta))


def einsum(node: Node) -> Result:
    """A sum of products."""
    return layers.einsum(node.attr("equation"), *node.all_vars())


def det(node: Node) -> Result:
    """Determinants."""
    return append("det", {"X": node.var(0)})


def trilu(node: Node) -> Result:
    """The upper or lower triangle of matrices."""
    op_type = "triu" if node.flag("upper") else "tril"
    diagonal = node.ints(1)[0] if node.has(1) else 0
    return append(op_type, {"X": node.var(0)}, {"diagonal": diagonal})


RULES: Rules = {
    "Det": det,
    "Einsum": einsum,
    "Gemm": gemm,
    "MatMul": matmul,
    "Trilu": trilu,
}
