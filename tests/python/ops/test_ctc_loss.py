"""Connectionist temporal classification, against all paths one by one."""

import itertools
from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import Doubles, normal
from op_runner import Array, run_op


def read(path: tuple[int, ...], blank: int) -> list[int]:
    """Without repetitions, then without blanks."""
    return [symbol for symbol, _ in itertools.groupby(path) if symbol != blank]


def softmax(x: Doubles) -> Doubles:
    shares = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True))


class Sample:
    """All paths of one sample that read as its labels."""

    def __init__(self, logits: Doubles, labels: list[int], blank: int) -> None:
        steps, classes = logits.shape
        self.shares = softmax(logits)
        paths = itertools.product(range(classes), repeat=steps)
        self.paths = [path for path in paths if read(path, blank) == labels]
        chances = np.array(
            [np.prod([self.shares[t, k] for t, k in enumerate(path)]) for path in self.paths]
        )
        self.total = float(chances.sum())
        self.chances = chances / self.total if self.paths else chances

    def loss(self) -> float:
        return -float(np.log(self.total)) if self.paths else np.inf

    def symbols(self, weights: Doubles) -> Doubles:
        """How often there is a symbol at a step, where each path counts its weight."""
        counts = np.zeros_like(self.shares)
        for path, weight in zip(self.paths, weights, strict=True):
            for t, k in enumerate(path):
                counts[t, k] += weight
        return counts

    def gradient(self) -> Doubles:
        return self.shares - self.symbols(self.chances) if self.paths else 0 * self.shares

    def curvature(self, direction: Doubles) -> Doubles:
        if not self.paths:
            return 0 * direction
        along = np.array([sum(direction[t, k] for t, k in enumerate(p)) for p in self.paths])
        along = along - self.chances @ along
        means = (self.shares * direction).sum(axis=-1, keepdims=True)
        return self.shares * (direction - means) - self.symbols(self.chances * along)


def samples(
    Logits: Array,
    Label: Array,
    LogitsLength: Array | None = None,
    LabelLength: Array | None = None,
    blank: int = 0,
) -> list[Sample]:
    steps, batch, _ = Logits.shape
    result = []
    for i in range(batch):
        length = steps if LogitsLength is None else LogitsLength[i]
        count = Label.shape[1] if LabelLength is None else LabelLength[i]
        result.append(Sample(Logits[:length, i], Label[i, :count].tolist(), blank))
    return result


def ctc_loss(**given: Any) -> dict[str, Array]:
    losses = [sample.loss() for sample in samples(**given)]
    return {"Loss": np.array(losses, dtype=np.float64).reshape(-1, 1)}


def ctc_curvature(Direction: Array, **given: Any) -> dict[str, Array]:
    dloss = given.pop("Loss@GRAD")
    curvature = np.zeros_like(Direction)
    slope = np.zeros((Direction.shape[1], 1))
    for i, sample in enumerate(samples(**given)):
        direction = Direction[: len(sample.shares), i]
        slope[i] = (sample.gradient() * direction).sum()
        curvature[: len(direction), i] = dloss[i] * sample.curvature(direction)
    return {"Slope": slope, "Curvature": curvature}


def inputs(
    steps: int, classes: int, label: Any, lengths: Any = None, counts: Any = None
) -> dict[str, Array]:
    label = np.array(label)
    given = {"Logits": normal(steps, len(label), classes), "Label": label}
    if lengths is not None:
        given["LogitsLength"] = np.array(lengths)
    if counts is not None:
        given["LabelLength"] = np.array(counts)
    return given


GIVEN: list[tuple[dict[str, Array], dict[str, Any]]] = [
    (inputs(4, 3, [[1, 2], [2, 1]]), {}),
    (inputs(5, 3, [[1, 1], [2, 1]]), {}),
    (inputs(3, 4, [[0, 2], [2, 2]]), {"blank": 3}),
    (inputs(5, 3, [[1, 2, 1], [2, 0, 0], [0, 0, 0]], [5, 4, 3], [3, 1, 0]), {}),
    (inputs(1, 3, [[2]]), {}),
    (inputs(4, 2, np.zeros((1, 0), np.int64)), {}),
    (inputs(6, 3, np.array([[1, 2, 2]], np.int32), np.array([6], np.int32)), {}),
    (inputs(3, 3, np.zeros((0, 2), np.int64)), {}),
]
CASES = [
    OpCase("ctc_loss", given, ctc_loss, attrs, str(i)) for i, (given, attrs) in enumerate(GIVEN)
]
CASES += [
    OpCase(
        "ctc_curvature",
        {
            **given,
            "Direction": normal(*given["Logits"].shape, seed=1),
            "Loss@GRAD": normal(given["Logits"].shape[1], 1, seed=2),
        },
        ctc_curvature,
        attrs,
        str(i),
    )
    for i, (given, attrs) in enumerate(GIVEN)
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


def gradient(given: dict[str, Array], threads: int = 1) -> Array:
    cotangent = np.ones((given["Logits"].shape[1], 1), given["Logits"].dtype)
    return run_op("ctc_loss_grad", {**given, "Loss@GRAD": cotangent}, threads=threads)[
        "Logits@GRAD"
    ]


def test_labels_that_do_not_fit_the_steps_have_an_infinite_loss_and_no_gradient() -> None:
    given = inputs(3, 3, [[1, 1, 0], [1, 2, 1], [1, 1, 1]], [2, 3, 0], [2, 3, 0])
    loss = run_op("ctc_loss", given)["Loss"]
    assert (loss[0], loss[2]) == (np.inf, 0)
    assert np.isfinite(loss[1])
    found = gradient(given)
    assert not found[:, 0].any()
    assert found[:, 1].any()
    assert not found[:, 2].any()


def test_a_long_sample_neither_underflows_nor_loses_digits() -> None:
    steps = 2000
    given = inputs(steps, 5, [[1 + i % 4 for i in range(50)]])
    given = {**given, "Logits": given["Logits"].astype(np.float32)}
    loss = run_op("ctc_loss", given)["Loss"]
    exact = {**given, "Logits": given["Logits"].astype(np.float64)}
    np.testing.assert_allclose(loss, run_op("ctc_loss", exact)["Loss"], rtol=1e-7)
    np.testing.assert_allclose(gradient(given), gradient(exact), atol=1e-7)
    np.testing.assert_allclose(gradient(exact).sum(axis=-1), 0, atol=1e-9)


def test_what_is_behind_the_lengths_is_not_read() -> None:
    given = inputs(4, 3, [[1, 99], [2, 1]], [3, 4], [1, 2])
    spoiled = {**given, "Logits": given["Logits"].copy()}
    spoiled["Logits"][3, 0] = np.nan
    wanted, got = (run_op("ctc_loss", x)["Loss"] for x in (given, spoiled))
    np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(gradient(spoiled), gradient(given))


def test_one_thread_and_two_give_the_same_results() -> None:
    given = inputs(50, 7, np.arange(64).reshape(16, 4) % 6 + 1)
    np.testing.assert_array_equal(gradient(given), gradient(given, threads=2))


@pytest.mark.parametrize(
    ("changed", "attrs", "message"),
    [
        (
            {"Logits": normal(4, 3)},
            {},
            r"Logits must have rank 3 \[steps, batch, classes\], got \[4, 3\]",
        ),
        (
            {"Label": np.array([[1, 2]])},
            {},
            r"Label must have shape \[batch, labels\] for Logits \[4, 2, 3\], got \[1, 2\]",
        ),
        ({"Label": normal(2, 2)}, {}, "Label must be int32 or int64, got float64"),
        ({}, {"blank": 3}, r"blank must be a class, got 3 for Logits \[4, 2, 3\]"),
        (
            {"Label": np.array([[1, 2], [1, 0]])},
            {},
            r"labels must be in \[0, 3\) and not blank 0, got 0 in sample 1",
        ),
        (
            {"Label": np.array([[1, 3], [1, 2]])},
            {},
            r"labels must be in \[0, 3\) and not blank 0, got 3 in sample 0",
        ),
        (
            {"LogitsLength": np.array([4, 5])},
            {},
            r"LogitsLength must be in \[0, 4\], got 5 in sample 1",
        ),
        (
            {"LabelLength": np.array([-1, 2])},
            {},
            r"LabelLength must be in \[0, 2\], got -1 in sample 0",
        ),
        ({"LabelLength": np.array([2])}, {}, r"LabelLength must have shape \[2\], got \[1\]"),
    ],
)
def test_what_does_not_fit_is_an_error(
    changed: dict[str, Any], attrs: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"ctc_loss: {message}"):
        run_op("ctc_loss", {**inputs(4, 3, [[1, 2], [2, 1]]), **changed}, attrs)
