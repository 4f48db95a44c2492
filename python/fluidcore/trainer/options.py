"""What a user may say of a training, checked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from fluidcore import core
from fluidcore.base.checks import check_whole, did_you_mean
from fluidcore.trainer.early_stopping import EarlyStopping
from fluidcore.trainer.events import EventHandler
from fluidcore.trainer.history import Mode, check_mode
from fluidcore.trainer.measures import EVALUATED


class Options(NamedTuple):
    """The arguments of `Trainer.train` by their names, beside the loaders."""

    epochs: int
    event_handlers: list[EventHandler]
    checkpoint_dir: str | None
    checkpoint_every: int | None
    keep_last: int | None
    keep_best: int
    resume: bool
    checkpoint_on_interrupt: bool
    early_stopping: EarlyStopping | None
    monitor: str
    mode: Mode
    stop_on_nan: bool


def checked_options(
    epochs: int,
    event_handler: EventHandler | Sequence[EventHandler] | None,
    checkpoint_dir: str | os.PathLike[str] | None,
    checkpoint_every: int | None,
    keep_last: int | None,
    keep_best: int,
    resume: bool,
    checkpoint_on_interrupt: bool,
    early_stopping: EarlyStopping | None,
    monitor: str | None,
    mode: Mode,
    stop_on_nan: bool,
    names: list[str],
    is_evaluated: bool,
) -> Options:
    """The options.

    Args:
        epochs: As in `Trainer.train`, and so are the others, but for the last two.
        event_handler: One, several or none.
        checkpoint_dir: Folder of checkpoints.
        checkpoint_every: Steps between them.
        keep_last: How many of the last ones stay.
        keep_best: How many of the best ones stay.
        resume: Whether to go on from the last one.
        checkpoint_on_interrupt: Whether Ctrl-C makes one.
        early_stopping: When to end.
        monitor: The metric that says what is best.
        mode: Whether lower is better.
        stop_on_nan: Whether a loss that is not finite is an error.
        names: Of the metrics.
        is_evaluated: Whether there is an evaluation.
    """
    what = "Trainer.train"
    epochs = check_whole(f"{what}: epochs", epochs, 1)
    if checkpoint_every is not None:
        checkpoint_every = check_whole(f"{what}: checkpoint_every", checkpoint_every, 1)
    if keep_last is not None:
        keep_last = check_whole(f"{what}: keep_last", keep_last, 1)
    keep_best = check_whole(f"{what}: keep_best", keep_best, 0)
    if checkpoint_dir is None:
        asked = {
            "checkpoint_every": checkpoint_every is not None,
            "resume": resume,
            "checkpoint_on_interrupt": checkpoint_on_interrupt,
        }
        for name, is_asked in asked.items():
            if is_asked:
                raise core.InvalidArgument(
                    f"{what}: {name} must come with a checkpoint_dir, got none"
                )
    if early_stopping is not None and not isinstance(early_stopping, EarlyStopping):
        raise TypeError(
            f"{what}: early_stopping must be an EarlyStopping, got {early_stopping!r}; write "
            "fluid.EarlyStopping(patience=...)"
        )
    check_mode(what, mode)
    folder = None if checkpoint_dir is None else os.fspath(checkpoint_dir)
    return Options(
        epochs,
        _handlers(event_handler),
        folder,
        checkpoint_every,
        keep_last,
        keep_best,
        bool(resume),
        bool(checkpoint_on_interrupt),
        early_stopping,
        _monitored(monitor, names, is_evaluated),
        mode,
        bool(stop_on_nan),
    )


def _monitored(monitor: str | None, names: list[str], is_evaluated: bool) -> str:
    if monitor is None:
        return f"{EVALUATED}loss" if is_evaluated else "loss"
    known = [*names, *(EVALUATED + name for name in names if is_evaluated)]
    if monitor not in known:
        raise core.NotFound(
            f"Trainer.train: monitor must be a metric, got '{monitor}'; there are: "
            f"{', '.join(known)}{did_you_mean(str(monitor), known)}"
        )
    return monitor


def _handlers(given: Any) -> list[EventHandler]:
    handlers = [] if given is None else [given] if callable(given) else given
    if not isinstance(handlers, (list, tuple)) or not all(callable(each) for each in handlers):
        raise TypeError(
            f"Trainer.train: event_handler must be a function of an event, or a list of them, got "
            f"{given!r}"
        )
    return list(handlers)
