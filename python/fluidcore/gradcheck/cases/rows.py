"""What chooses: losses, look-up and selection of rows, the greatest elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fluidcore.gradcheck.cases.example import Array, Data, OpExample, Shape


def _loss(op_type: str) -> Callable[[Data], Iterator[OpExample]]:
    slot = "X" if op_type == "cross_entropy" else "Logits"

    def case(data: Data, shape: Shape, label: Array, note: str = "", **attrs: Any) -> OpExample:
        x = data.probabilities(*shape) if slot == "X" else data.normal(*shape)
        one_class = shape[-1] == 1
        inputs = {slot: x, "Label": label}
        to_check = (slot, "Label") if attrs.get("soft_label") else (slot,)
        return OpExample(op_type, inputs, attrs, to_check, note=note, is_flat=one_class)

    def cases(data: Data) -> Iterator[OpExample]:
        n, c = data.extents(2, 2)
        labels = data.integers(0, c, n, 1)
        yield from (
            case(data, (n, c), labels),
            case(data, (1, 1), data.integers(0, 1, 1, 1)),
            case(data, (c,), data.integers(0, c, 1), "one sample"),
            case(data, (n, c), labels[:, 0], "flat labels"),
            case(data, (n, 2, c), data.integers(0, c, n, 2, 1)),
            case(data, (0, c), labels[:0]),
            case(data, (n, c), np.where(labels == labels[0], -100, labels), "some ignored"),
            case(data, (n, c), labels, ignore_index=int(labels[0, 0])),
            case(data, (n, c), data.probabilities(n, c), soft_label=True),
            case(data, (n, c), data.positive(n, c), "labels of any sum", soft_label=True),
            case(data, (n, 2, c), data.probabilities(n, 2, c), soft_label=True),
        )

    return cases


def _nll_loss(data: Data) -> Iterator[OpExample]:
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
        yield OpExample("nll_loss", inputs, attrs, ("X",))
        weighted = {**inputs, "Weight": data.positive(c)}
        yield OpExample("nll_loss", weighted, attrs, ("X",))
        if label.size and "ignore_index" not in attrs:
            for reduction in ("mean", "sum"):
                yield OpExample("nll_loss", weighted, {"reduction": reduction}, ("X",))


def _lookup_table(op_type: str, *last: int) -> Callable[[Data], Iterator[OpExample]]:
    """Of the operator whose Ids end in the extents `last`."""

    def cases(data: Data) -> Iterator[OpExample]:
        height, width = data.extents(2, 2)

        def case(ids: Array, note: str = "", **attrs: Any) -> OpExample:
            inputs = {"W": data.normal(height, width), "Ids": ids}
            return OpExample(op_type, inputs, attrs, note=note)

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

    return cases


def _top_k(data: Data) -> Iterator[OpExample]:
    a, b, c = data.extents(3, 2)
    for shape, k in (
        ((a, b), 1),
        ((a, b), b),
        ((17 + a,), 5),
        ((1,), 1),
        ((a, b, c), 2),
        ((0, b), 1),
    ):
        yield OpExample("top_k", {"X": data.distinct(*shape)}, {"k": k}, outputs={"Out": 1})


def _select_input(data: Data) -> Iterator[OpExample]:
    for shape in (data.extents(2), (), (3,), (0, 2)):
        for dtype in ("int32", "int64"):
            count = data.extent(1, 3)
            mask = data.integers(0, count, 1).astype(dtype)
            choices = [data.normal(*shape) for _ in range(count)]
            yield OpExample("select_input", {"X": choices, "Mask": mask})


def _masks(data: Data) -> Iterator[tuple[str, Array]]:
    yield "mixed", np.array([True, False, *data.truths(3)])
    yield "all", np.ones(5, dtype=bool)
    yield "none", np.zeros((5, 1), dtype=bool)


def _split_lod_tensor(data: Data) -> Iterator[OpExample]:
    for row in ((3,), (), data.extents(2, 1, 3)):
        for note, mask in _masks(data):
            inputs = {"X": data.normal(5, *row), "Mask": mask}
            yield OpExample("split_lod_tensor", inputs, note=note)


def _merge_lod_tensor(data: Data) -> Iterator[OpExample]:
    for row in ((3,), (), data.extents(2, 1, 3)):
        for note, mask in _masks(data):
            inputs = {
                "X": data.normal(5, *row),
                "Mask": mask,
                "InTrue": data.normal(int(mask.sum()), *row),
                "InFalse": data.normal(5 - int(mask.sum()), *row),
            }
            yield OpExample("merge_lod_tensor", inputs, to_check=("InTrue", "InFalse"), note=note)


CASES = {
    **{name: _loss(name) for name in ("cross_entropy", "softmax_with_cross_entropy")},
    "lookup_table": _lookup_table("lookup_table", 1),
    "nll_loss": _nll_loss,
    "lookup_table_v2": _lookup_table("lookup_table_v2"),
    "top_k": _top_k,
    "select_input": _select_input,
    "split_lod_tensor": _split_lod_tensor,
    "merge_lod_tensor": _merge_lod_tensor,
}
