"""How far sequences are from those that were wanted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fluidcore import core
from fluidcore.base.checks import check_list, check_whole
from fluidcore.metrics.base import MetricBase
from fluidcore.metrics.columns import as_column


class EditDistance(MetricBase):
    """The mean edit distance of sequences, and the share of sequences that are not right.

    Args:
        name: What it is called in messages.

    Example:
        metric = fluid.metrics.EditDistance()
        distances = fluid.metrics.edit_distances(recognized, wanted)
        metric.update(distances, len(distances))
        mean_distance, share_of_wrong_sequences = metric.eval()
    """

    def reset(self) -> None:
        """Forgets all batches."""
        self._distance = 0.0
        self._sequences = 0
        self._wrong = 0

    def update(self, distances: object, seq_num: int) -> None:
        """Adds a batch.

        Args:
            distances: [n] or [n, 1], the distance of each sequence; at least 0.
            seq_num: n.

        Raises:
            TypeError: An argument is not what it must be.
            core.InvalidArgument: There are not as many distances, or one is negative.
        """
        given = as_column(f"{self.name}: distances", distances)
        count = check_whole(f"{self.name}: seq_num", seq_num, 1)
        if len(given) != count:
            raise core.InvalidArgument(
                f"{self.name}: there must be seq_num distances, got {len(given)} distances, "
                f"seq_num {count}"
            )
        if not np.all(given >= 0):
            raise core.InvalidArgument(
                f"{self.name}: distances must be at least 0, got {given[~(given >= 0)][0]}"
            )
        self._distance += float(np.sum(given, dtype=np.float64))
        self._sequences += count
        self._wrong += int(np.sum(given > 0))

    def eval(self) -> tuple[float, float]:
        """The mean distance, and the share of sequences whose distance is not 0.

        Raises:
            core.InvalidArgument: No sequence was added.
        """
        self._check_updated(self._sequences)
        return self._distance / self._sequences, self._wrong / self._sequences


def edit_distance(
    hypothesis: Sequence[Any], reference: Sequence[Any], normalized: bool = True
) -> float:
    """How many items must be added, removed or replaced to make one sequence of another.

    D[i, j] = min(D[i-1, j] + 1, D[i, j-1] + 1, D[i-1, j-1] + (a[i] != b[j])), the distance of
    Levenshtein (1966) by the algorithm of Wagner and Fischer (1974).

    Args:
        hypothesis: What was found: a list, a str, or an array [n].
        reference: What was wanted.
        normalized: Whether it is divided by the length of the reference.

    Raises:
        core.InvalidArgument: The reference is empty, and the distance is to be normalized.
    """
    found, wanted = list(hypothesis), list(reference)
    if normalized and not wanted:
        raise core.InvalidArgument(
            "edit_distance: the reference must not be empty where the distance is divided by its "
            f"length, got {len(found)} items and an empty reference; write normalized=False"
        )
    row = list(range(len(wanted) + 1))  # of no item, from the starts of `wanted`
    for i, item in enumerate(found, start=1):
        diagonal, row[0] = row[0], i
        for j, other in enumerate(wanted, start=1):
            replaced = diagonal + (item != other)
            diagonal = row[j]
            row[j] = min(row[j] + 1, row[j - 1] + 1, replaced)
    return row[-1] / len(wanted) if normalized else float(row[-1])


def edit_distances(
    hypotheses: Sequence[Sequence[Any]],
    references: Sequence[Sequence[Any]],
    normalized: bool = True,
) -> NDArray[np.float64]:
    """The edit distance of each pair of sequences, float64 [n].

    Args:
        hypotheses: What was found: n lists, texts or arrays.
        references: What was wanted: as many.
        normalized: Whether each is divided by the length of its reference.

    Raises:
        core.InvalidArgument: As edit_distance; or there are not as many references.
    """
    found = check_list("edit_distances: hypotheses", hypotheses)
    wanted = check_list("edit_distances: references", references)
    if len(found) != len(wanted):
        raise core.InvalidArgument(
            "edit_distances: there must be a reference for each hypothesis, got "
            f"{len(found)} hypotheses, {len(wanted)} references"
        )
    pairs = zip(found, wanted, strict=True)
    return np.array([edit_distance(a, b, normalized) for a, b in pairs], np.float64)
