"""What chooses: losses, look-up and selection of rows, the greatest elements."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from fluidcore.gradcheck.cases.example import Array, Data, OpExample, Shape
from fluidcore.gradcheck.cases.table import Cases, row, table


def _loss(op_type: str, data: Data) -> Iterator[OpExample]:
    slot = "X" if op_type == "cross_entropy" else "Logits"

    def case(shape: Shape, label: Array, note: str = "", **attrs: Any) -> OpExample:
        x = data.probabilities(*shape) if slot == "X" else data.normal(*shape)
        one_class = shape[-1] == 1
        inputs = {slot: x, "Label": label}
        to_check = (slot, "Label") if attrs.get("soft_label") else (slot,)
        return OpExample(op_type, inputs, attrs, to_check, note=note, is_flat=one_class)

    n, c = data.extents(2, 2)
    labels = data.integers(0, c, n, 1)
    yield from (
        case((n, c), labels),
        case((1, 1), data.integers(0, 1, 1, 1)),
        case((c,), data.integers(0, c, 1), "one sample"),
        case((n, c), labels[:, 0], "flat labels"),
        case((n, 2, c), data.integers(0, c, n, 2, 1)),
        case((0, c), labels[:0]),
        case((n, c), np.where(labels == labels[0], -100, labels), "some ignored"),
        case((n, c), labels, ignore_index=int(labels[0, 0])),
        case((n, c), data.probabilities(n, c), soft_label=True),
        case((n, c), data.positive(n, c), "labels of any sum", soft_label=True),
        case((n, 2, c), data.probabilities(n, 2, c), soft_label=True),
    )


def _nll_loss(op_type: str, data: Data) -> Iterator[OpExample]:
    n, c = data.extents(2, 2)
    labels = data.integers(0, c, n, 1)
    for shape, label, attrs in (
        ((n, c), labels, {}),
        ((c,), labels[0], {}),
        ((n, c), labels[:, 0], {"ignore_index": int(labels[0, 0])}),
        ((n, 2, c), data.integers(0, c, n, 2, 1), {}),
        ((0, c), labels[:0], {}),
    ):
        inputs = {"X": data.uniform(-3, -0.25, *shape), "Label": label}
        yield OpExample(op_type, inputs, attrs, ("X",))
        weighted = {**inputs, "Weight": data.positive(c)}
        yield OpExample(op_type, weighted, attrs, ("X",))
        if label.size and "ignore_index" not in attrs:
            for reduction in ("mean", "sum"):
                yield OpExample(op_type, weighted, {"reduction": reduction}, ("X",))


def _lookup_table(op_type: str, data: Data, *, last: Shape = ()) -> Iterator[OpExample]:
    """Of the operator whose Ids end in the extents `last`."""
    height, width = data.extents(2, 2)

    def case(ids: Array, note: str = "", **attrs: Any) -> OpExample:
        return OpExample(op_type, {"W": data.normal(height, width), "Ids": ids}, attrs, note=note)

    ids = data.integers(0, height, 4, *last)
    yield from (
        case(ids),
        case(data.integers(0, height, *last), "one row"),
        case(data.integers(0, height, 2, 3, *last)),
        case(data.integers(0, height, 17, *last), "every row often"),
        case(ids[:0]),
        case(ids, padding_idx=int(ids.flat[0])),
        case(ids, is_sparse=True),
    )


def _select_input(op_type: str, data: Data) -> Iterator[OpExample]:
    for shape in (data.extents(2), (), (3,), (0, 2)):
        for dtype in ("int32", "int64"):
            count = data.extent(1, 3)
            mask = data.integers(0, count, 1).astype(dtype)
            choices = [data.normal(*shape) for _ in range(count)]
            yield OpExample(op_type, {"X": choices, "Mask": mask})


def _by_mask(op_type: str, data: Data) -> Iterator[OpExample]:
    """Of what splits rows in two by a mask, or merges them."""
    merges = op_type == "merge_lod_tensor"
    for width in ((3,), (), data.extents(2, 1, 3)):
        for note, mask in (
            ("mixed", np.array([True, False, *data.truths(3)])),
            ("all", np.ones(5, dtype=bool)),
            ("none", np.zeros((5, 1), dtype=bool)),
        ):
            inputs = {"X": data.normal(5, *width), "Mask": mask}
            if merges:
                inputs["InTrue"] = data.normal(int(mask.sum()), *width)
                inputs["InFalse"] = data.normal(5 - int(mask.sum()), *width)
            to_check = ("InTrue", "InFalse") if merges else None
            yield OpExample(op_type, inputs, to_check=to_check, note=note)


CASES: dict[str, Cases] = {
    "cross_entropy": _loss,
    "softmax_with_cross_entropy": _loss,
    "lookup_table": partial(_lookup_table, last=(1,)),
    "lookup_table_v2": _lookup_table,
    "nll_loss": _nll_loss,
    "top_k": table(
        "X:distinct",
        lambda a, b, c: [
            row((a, b), k=1),
            row((a, b), k=b),
            row((17 + a,), k=5),
            row((1,), k=1),
            row((a, b, c), k=2),
            row((0, b), k=1),
        ],
        outputs={"Out": 1},
    ),
    "select_input": _select_input,
    "split_lod_tensor": _by_mask,
    "merge_lod_tensor": _by_mask,
}
