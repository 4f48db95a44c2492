"""Programs of one block: layers, fan-out, and what writes in place."""

from __future__ import annotations

from fluidcore import layers
from fluidcore.backward import append_backward, gradients
from fluidcore.clip import error_clip_callback
from fluidcore.gradcheck.cases.model import Builder, Model, weighted
from fluidcore.param_attr import ParamAttr
from fluidcore.program import Variable
from fluidcore.program.error_clip import ErrorClipByValue


def _cost(m: Model, logits: Variable, classes: int = 4) -> Variable:
    label = m.labels("label", classes, logits.shape[0], 1)
    return layers.mean(layers.softmax_with_cross_entropy(logits, label))


def _regression(m: Model) -> Variable:
    predicted = layers.fc(m.input("x", 5, 3), 1)
    return layers.mean(layers.square_error_cost(predicted, m.input("y", 5, 1)))


def _mlp(m: Model) -> Variable:
    hidden = layers.fc(m.input("x", 4, 5, constant=True), 6, act="relu")
    return _cost(m, layers.fc(hidden, 4))


def _fan_out(m: Model) -> Variable:
    x = layers.fc(m.input("x", 3, 4), 4, act="tanh")
    branches = [layers.sigmoid(x), layers.square(x), x * x, layers.scale(x, scale=-0.5), x]
    return weighted(layers.sums(branches))


def _residual(m: Model) -> Variable:
    x = m.input("x", 3, 4)
    for _ in range(3):
        x = x + layers.fc(layers.fc(x, 5, act="gelu"), 4)
    return weighted(x)


def _shared_weights(m: Model) -> Variable:
    x = m.input("x", 3, 4)
    for _ in range(3):
        x = layers.fc(x, 4, param_attr="shared.w", bias_attr="shared.b", act="tanh")
    return weighted(x)


def _conv_net(m: Model) -> Variable:
    x = m.input("image", 2, 1, 8, 8)
    x = layers.pool2d(layers.conv2d(x, 3, 3, act="relu"), 2, "max", 2)
    x = layers.pool2d(layers.conv2d(x, 2, 2, padding=1, act="tanh"), 2, "avg", 1)
    return _cost(m, layers.fc(x, 4))


def _batch_norm(m: Model) -> Variable:
    x = layers.conv2d(m.input("image", 3, 2, 4, 4), 3, 3, bias_attr=False)
    x = layers.batch_norm(x, act="sigmoid")
    return _cost(m, layers.fc(layers.pool2d(x, pool_type="avg", global_pooling=True), 4))


def _dropout(m: Model) -> Variable:
    x = layers.dropout(layers.fc(m.input("x", 4, 6), 8, act="tanh"), 0.5, seed=7)
    return _cost(m, layers.fc(x, 4))


def _embedding(m: Model) -> Variable:
    words = m.labels("words", 6, 5, 1)
    table = "table"
    vectors = layers.embedding(words, [6, 3], padding_idx=2, param_attr=table, dtype=m.dtype)
    following = m.labels("following", 6, 5, 1)
    others = layers.embedding(following, [6, 3], param_attr=table, dtype=m.dtype)
    return _cost(m, layers.fc(layers.concat([vectors, others], 1), 4))


def _lstm(m: Model) -> Variable:
    cell, hidden = m.input("c0", 2, 3), m.input("h0", 2, 3)
    for step in range(3):
        x = m.input(f"x{step}", 2, 4)
        names = ["lstm.w", "lstm.u"]
        gates = layers.fc([x, hidden], 12, param_attr=names, bias_attr="lstm.b")
        i, f, o, j = layers.split(gates, 4, 1)
        cell = cell * layers.sigmoid(f) + layers.sigmoid(i) * layers.tanh(j)
        hidden = layers.sigmoid(o) * layers.tanh(cell)
    return weighted(hidden)


def _attention(m: Model) -> Variable:
    x = m.input("x", 2, 4, 6)
    query, key, value = (layers.fc(x, 6, num_flatten_dims=2, bias_attr=False) for _ in range(3))
    heads = []
    for part in zip(*(layers.split(t, 2, 2) for t in (query, key, value)), strict=True):
        q, k, v = part
        scores = layers.scale(layers.matmul(q, k, transpose_y=True), scale=3**-0.5)
        heads.append(layers.matmul(layers.softmax(scores), v))
    return weighted(x + layers.fc(layers.concat(heads, 2), 6, num_flatten_dims=2))


def _layer_norm(m: Model) -> Variable:
    x = layers.fc(m.input("x", 4, 5), 6, act="gelu")
    centred = layers.elementwise_sub(x, layers.reduce_mean(x, 1), axis=0)
    variance = layers.reduce_mean(layers.square(centred), 1)
    x = layers.elementwise_div(centred, layers.sqrt(variance + 1e-3), axis=0)
    x = x * m.parameter("gain", 6) + m.parameter("shift", 6)
    return _cost(m, layers.fc(x, 4))


def _shapes(m: Model) -> Variable:
    x = m.input("x", 2, 3, 4)
    turned = layers.reshape(layers.transpose(x, [2, 0, 1]), [4, 6])
    parts = layers.split(turned, [1, 3], 0)
    x = layers.concat([layers.exp(parts[1]), parts[0]], 0)
    return weighted(layers.reduce_max(x, 1)) + layers.reduce_sum(layers.abs(turned))


def _in_place(m: Model) -> Variable:
    x = layers.tanh(m.input("x", 3, 4))
    layers.assign(x * 2.0, output=x)
    y = layers.square(x)
    layers.assign(layers.sigmoid(y), output=y)
    layers.sums([y, x], out=y)
    return weighted(y)


def _stop_gradient(m: Model) -> Variable:
    x = m.input("x", 3, 4)
    frozen = ParamAttr("frozen", trainable=False)
    target = layers.fc(m.input("other", 3, 4, constant=True), 5, param_attr=frozen, bias_attr=False)
    target.stop_gradient = True
    got = layers.fc(x, 5, bias_attr=False)
    return layers.mean(layers.square(got - target * m.constant(0.5, 1)))


def _error_clip(m: Model) -> Variable:
    return _clipped(m, 100.0)


def _active_error_clip(m: Model) -> Variable:
    return _clipped(m, 1e-3)


def _clipped(m: Model, bound: float) -> Variable:
    """With its gradient operators: the clips are among them."""
    x = layers.fc(m.input("x", 3, 4, constant=True), 4, act="tanh")
    x.error_clip = ErrorClipByValue(max=bound)
    loss = weighted(layers.fc(x, 3))
    append_backward(loss, callbacks=[error_clip_callback])
    return loss


def _gradient_penalty(m: Model) -> Variable:
    x = m.input("x", 3, 4)
    score = layers.reduce_sum(layers.fc(layers.fc(x, 5, act="tanh"), 1))
    (slope,) = gradients(score, x)
    assert slope is not None
    return layers.mean(layers.square(slope)) + layers.scale(score, scale=0.1)


def _embedding_penalty(m: Model) -> Variable:
    table, words = m.parameter("table", 6, 3), m.labels("words", 6, 5)
    vectors = layers.lookup_table_v2(table, words, is_sparse=True)
    (slope,) = gradients(layers.reduce_sum(layers.tanh(vectors)), table)
    assert slope is not None
    merged = layers.selected_rows_to_dense(layers.merge_selected_rows(slope))
    return layers.mean(layers.square(merged))


def _batch_norm_penalty(m: Model) -> Variable:
    x = m.input("x", 4, 3)
    normal = layers.batch_norm(x)
    (slope,) = gradients(layers.reduce_sum(layers.tanh(normal) * m.input("weight", 4, 3)), x)
    assert slope is not None
    return layers.mean(layers.square(slope))


NETWORKS: dict[str, Builder] = {
    "regression": _regression,
    "mlp": _mlp,
    "fan-out": _fan_out,
    "residual": _residual,
    "shared weights": _shared_weights,
    "conv net": _conv_net,
    "batch norm": _batch_norm,
    "dropout": _dropout,
    "embedding": _embedding,
    "lstm": _lstm,
    "attention": _attention,
    "layer norm": _layer_norm,
    "shapes": _shapes,
    "in place": _in_place,
    "stop gradient": _stop_gradient,
    "error clip": _error_clip,
    "active error clip": _active_error_clip,
    "gradient penalty": _gradient_penalty,
    "embedding penalty": _embedding_penalty,
    "batch norm penalty": _batch_norm_penalty,
}
