"""What is trained: programs, and what runs them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any, NamedTuple

from fluidcore import core
from fluidcore.executor import Executor, Scope
from fluidcore.program import Program
from fluidcore.trainer.batches import Batches, CountSamples, Feed, samples_of
from fluidcore.trainer.measures import Measures
from fluidcore.trainer.totals import Totals


class Model(NamedTuple):
    """What is trained.

    Attributes:
        program: Forward, backward and update.
        test_program: Forward alone, as for prediction.
        executor: Runs both.
        scope: Where variables live between runs.
        measures: What is fetched.
        count_samples: How many samples a batch has; None for `samples_of`.
    """

    program: Program
    test_program: Program
    executor: Executor
    scope: Scope
    measures: Measures
    count_samples: CountSamples | None

    def samples(self, feed: Feed) -> int:
        """How many samples a batch has."""
        if self.count_samples is None:
            return samples_of(feed, self.program)
        return int(self.count_samples(feed))

    def run(self, program: Program, feed: Feed, fetches: list[str]) -> list[Any]:
        """Runs one of the programs."""
        return self.executor.run(program, feed, fetches, self.scope)


def evaluate(
    model: Model,
    batches: Batches,
    what: str,
    prefix: str = "",
    between: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """The metrics of all batches, weighted by their samples, by the program for tests.

    Args:
        model: What is evaluated.
        batches: Of one epoch.
        what: How errors call the batches.
        prefix: Starts the names of the metrics.
        between: Called before each batch.

    Raises:
        core.InvalidArgument: There is no batch.
    """
    totals = Totals(model.measures)
    number = 0
    with closing(batches.feeds()) as feeds:
        for feed in feeds:
            between()
            try:
                needed = _needed(feed, model)
                values = model.run(model.test_program, needed, model.measures.fetches)
                totals.add(values, model.samples(feed))
            except Exception as error:
                error.add_note(f"in batch {number} of {what}")
                raise
            number += 1
    if not number:
        raise core.InvalidArgument(f"{what} must give a batch, got none")
    return totals.results(prefix)


def _needed(feed: Feed, model: Model) -> Feed:
    """Without what only the program that trains has a variable for."""
    trained, tested = (
        program.global_block().desc for program in (model.program, model.test_program)
    )
    unneeded = {
        name
        for name in feed
        if isinstance(name, str) and not tested.has_var(name) and trained.has_var(name)
    }
    if not unneeded:
        return feed
    return {name: value for name, value in feed.items() if name not in unneeded}
