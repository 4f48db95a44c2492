"""Folders of checkpoints: one folder for each step, which is there whole or not at all."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from typing import Any

from fluidcore import core
from fluidcore.io.array_file import make_folder, sync_folder

STATE_FILE = "state.json"

_OLD = ".old"  # of a step that is being saved again
_NEW = ".new"
_NAME = re.compile(r"step_(\d+)")

Path = str | os.PathLike[str]


def step_folder(dirname: Path, step: int) -> str:
    """Where the checkpoint of a step is."""
    return os.path.join(os.fspath(dirname), f"step_{step:08d}")


def steps(dirname: Path) -> list[int]:
    """The steps that have a checkpoint, in their order; none if there is no folder."""
    try:
        names = os.listdir(dirname)
    except FileNotFoundError:
        return []
    return sorted(int(match[1]) for match in map(_NAME.fullmatch, names) if match)


def best(dirname: Path) -> int:
    """The step whose checkpoint has the lowest metric, the last one of equals.

    Raises:
        core.NotFound: No checkpoint in the folder has a metric.
    """
    ranked = _by_metric(dirname)
    if not ranked:
        raise core.NotFound(
            f"checkpoint.best: there must be a checkpoint with a metric in {os.fspath(dirname)}, "
            f"got steps {steps(dirname)} without one; give save(metric=...)"
        )
    return ranked[0]


def read_state(folder: str) -> dict[str, Any]:
    """What state.json of a checkpoint says.

    Raises:
        core.InvalidArgument: It is damaged.
        core.NotFound: There is none.
    """
    import json

    path = os.path.join(folder, STATE_FILE)
    try:
        with open(path, encoding="utf-8") as file:
            state = json.load(file)
    except FileNotFoundError:
        raise core.NotFound(f"checkpoint: no file {path}") from None
    except ValueError as error:
        raise core.InvalidArgument(
            f"checkpoint: {path} must be a whole JSON file, got a damaged one: {error}"
        ) from None
    if not isinstance(state, dict) or state.get("format") != "fluidcore checkpoint":
        raise core.InvalidArgument(
            f"checkpoint: {path} must be the state of a checkpoint, got something else"
        )
    return state


@contextlib.contextmanager
def written(dirname: Path, step: int) -> Iterator[str]:
    """A folder to write the checkpoint of a step into; its place is taken at the end, at once.

    After an error, or Ctrl-C, nothing of it is left, and what was there before is as it was.
    """
    import shutil

    make_folder(dirname)
    _settle(dirname)
    target = step_folder(dirname, step)
    new, old = target + _NEW, target + _OLD
    os.mkdir(new)
    try:
        yield new
        sync_folder(new)
        if os.path.exists(target):
            os.rename(target, old)
        os.rename(new, target)
        sync_folder(os.fspath(dirname))
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        _settle(dirname)
        raise
    shutil.rmtree(old, ignore_errors=True)


def keep(dirname: Path, last: int | None, num_best: int) -> None:
    """Removes all checkpoints but the last ones and the best ones; None keeps all."""
    import shutil

    if last is None:
        return
    kept = {*steps(dirname)[-last:], *_by_metric(dirname)[:num_best]}
    for step in steps(dirname):
        if step not in kept:
            shutil.rmtree(step_folder(dirname, step))


def _by_metric(dirname: Path) -> list[int]:
    """The steps with a metric, the best first."""
    ranked = []
    for step in steps(dirname):
        metric = read_state(step_folder(dirname, step)).get("metric")
        if isinstance(metric, float):
            ranked.append((metric, -step))
    return [-step for _, step in sorted(ranked)]


def _settle(dirname: Path) -> None:
    """Removes what an interrupted save has left; a step that it had moved away is moved back."""
    import shutil

    for name in os.listdir(dirname):
        path = os.path.join(os.fspath(dirname), name)
        step, ending = os.path.splitext(path)
        if not _NAME.fullmatch(os.path.basename(step)):
            continue
        if ending == _NEW or (ending == _OLD and os.path.exists(step)):
            shutil.rmtree(path)
        elif ending == _OLD:
            os.rename(path, step)
