"""Losses, element by element, by rows and of whole tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from fluidcore.gradcheck.cases.example import Array, Data, OpExample, Shape
from fluidcore.gradcheck.cases.table import Attrs, Cases, each_shape, row, table

Inputs = Callable[[Data, Shape], dict[str, Array]]


def _signs(data: Data, shape: Shape) -> Array:
    return 2.0 * data.integers(0, 2, *shape) - 1.0


def _hinge(data: Data, shape: Shape) -> dict[str, Array]:
    sign = _signs(data, shape)
    margin = data.away_from_zero(*shape).astype("float64")
    return {"Logits": data.cast(sign * (1 - margin)), "Labels": data.cast((sign + 1) / 2)}


def _huber(data: Data, shape: Shape) -> dict[str, Array]:
    """Two tensors whose differences are odd sixteenths: no multiple of 1/8 is near."""
    return {"X": data.distinct(*shape), "Y": data.distinct(*shape, offset=1 / 16)}


def _log(data: Data, shape: Shape) -> dict[str, Array]:
    return {"Predicted": data.uniform(0.1, 0.9, *shape), "Labels": data.uniform(0.1, 0.9, *shape)}


def _margin_rank(data: Data, shape: Shape) -> dict[str, Array]:
    x1, x2 = _huber(data, shape).values()
    return {"X1": x1, "X2": x2, "Label": data.cast(_signs(data, shape))}


def _modified_huber(data: Data, shape: Shape) -> dict[str, Array]:
    labels = data.cast((_signs(data, shape) + 1) / 2)
    return {"X": data.distinct(*shape, offset=1 / 16), "Y": labels}


def _rank(data: Data, shape: Shape) -> dict[str, Array]:
    left, right = data.normal(*shape), data.normal(*shape)
    return {"Label": data.uniform(0.1, 0.9, *shape), "Left": left, "Right": right}


def _sigmoid(data: Data, shape: Shape) -> dict[str, Array]:
    return {"X": data.normal(*shape), "Label": data.uniform(0.1, 0.9, *shape)}


def _kl_div(data: Data, shape: Shape) -> dict[str, Array]:
    return {"X": data.uniform(-3, -0.25, *shape), "Target": data.positive(*shape)}


def _elements(inputs: Inputs, *attrs: Attrs) -> Cases:
    return partial(each_shape, inputs=inputs, choices=attrs)


def _rows(data: Data) -> Iterator[Shape]:
    a, b = data.extents(2, 2)
    yield from ((a, b), (1, b), (a, 2 * b + 17), (2, a, b), (0, b))


def _smooth_l1(op_type: str, data: Data) -> Iterator[OpExample]:
    for shape in _rows(data):
        for sigma in (1.0, 2.0):
            yield OpExample(op_type, _huber(data, shape), {"sigma": sigma})
    inputs = _huber(data, (2, 3))
    for slots in (["InsideWeight"], ["OutsideWeight"], ["InsideWeight", "OutsideWeight"]):
        # Powers of 2, so that differences keep away from the kink.
        weights = {slot: data.cast(2.0 ** data.integers(-1, 2, 2, 3)) for slot in slots}
        yield OpExample(op_type, {**inputs, **weights}, {"sigma": 2.0})


def _pairs_of_rows(op_type: str, data: Data) -> Iterator[OpExample]:
    for shape in _rows(data):
        for rows in {shape[0], 1}:
            inputs = {"X": data.normal(*shape), "Y": data.normal(rows, *shape[1:])}
            yield OpExample(op_type, inputs)


def _ctc_loss(op_type: str, data: Data) -> Iterator[OpExample]:
    steps, classes = data.extents(2, 4, 6)
    for batch, labels, with_lengths in ((2, 2, False), (3, 2, True), (1, 1, True), (0, 1, False)):
        inputs = {
            "Logits": data.normal(steps, batch, classes),
            "Label": data.integers(1, classes, batch, labels),
        }
        if with_lengths:
            inputs["LogitsLength"] = data.integers(2 * labels, steps + 1, batch)
            inputs["LabelLength"] = data.integers(0, labels + 1, batch)
        yield OpExample(op_type, inputs)
    inputs = {"Logits": data.normal(3, 1, 2), "Label": data.integers(0, 1, 1, 2)}
    yield OpExample(op_type, inputs, {"blank": 1})


CASES: dict[str, Cases] = {
    "ctc_loss": _ctc_loss,
    "hinge_loss": _elements(_hinge),
    "huber_loss": _elements(_huber, {"delta": 1.25}, {"delta": 0.5}),
    "log_loss": _elements(_log, {"epsilon": 1e-4}, {"epsilon": 0.125}),
    "margin_rank_loss": _elements(_margin_rank, {}, {"margin": 0.25}),
    "modified_huber_loss": _elements(_modified_huber),
    "rank_loss": _elements(_rank),
    "sigmoid_cross_entropy_with_logits": _elements(_sigmoid),
    "kl_div": _elements(_kl_div),
    "smooth_l1_loss": _smooth_l1,
    "squared_l2_distance": _pairs_of_rows,
    "cos_sim": _pairs_of_rows,
    "label_smooth": table(
        "X:probabilities PriorDist:probabilities",
        lambda a, b: [
            *(row(shape, None, epsilon=0.125) for shape in ((a, b), (b,), (2, a, b), (0, b))),
            row((a, b), (1, b), epsilon=0.25),
        ],
    ),
}
