"""Saving and loading the state of a training run."""

from __future__ import annotations

import math
import os
from numbers import Real
from typing import Any, NamedTuple, Protocol

from fluidcore import core
from fluidcore.base.checks import is_whole
from fluidcore.checkpoint.folder import (
    STATE_FILE,
    Path,
    keep,
    read_state,
    step_folder,
    steps,
    written,
)
from fluidcore.checkpoint.parts import cut, joined
from fluidcore.checkpoint.ranks import written_by_one
from fluidcore.executor import Executor, RandomState, Scope, global_scope, scope_guard
from fluidcore.io import PARAMS_FILE, PROGRAM_FILE
from fluidcore.io.array_file import read_arrays, write_arrays, write_file
from fluidcore.io.persistables import checked, given_program, persistables, set_values, values
from fluidcore.program import Program
from fluidcore.program.collective import without_collectives
from fluidcore.program.difference import differences


class Reader(Protocol):
    """A source of batches that knows its position, such as a DataLoader."""

    def state_dict(self) -> dict[str, Any]:
        """The position, of what JSON can hold."""

    def load_state_dict(self, state: dict[str, Any], /) -> None:
        """Goes to a position."""


class Checkpoint(NamedTuple):
    """What was loaded: the step, and the metric that it was saved with."""

    step: int
    metric: float | None


def save(
    dirname: Path,
    step: int,
    executor: Executor,
    program: Program | None = None,
    scope: Scope | None = None,
    *,
    reader: Reader | None = None,
    metric: float | None = None,
    keep_last: int | None = None,
    keep_best: int = 0,
) -> str:
    """Writes all that the next run of a program depends on, into `dirname`/step_00000012.

    That is what lives between runs (parameters, the state of optimizers and schedules, statistics
    of batch norms), the state of random numbers, and the position of a reader: after `load`, in
    another process too, training goes on bit for bit as if it had not been interrupted.

    Where the executor has a communicator, all ranks call this, rank 0 writes, and the others wait
    until that is done. All ranks load what was written; as many as before, or more, or fewer, or
    one that runs the program as it was before it was made data parallel.

    Args:
        dirname: Folder of all checkpoints; made if there is none.
        step: At least 0. A checkpoint of the same step is replaced.
        executor: The one that runs the program.
        program: None for the default main program.
        scope: None for the global scope.
        reader: Where batches come from, with `state_dict` and `load_state_dict`.
        metric: The lower the better, such as the loss of a validation.
        keep_last: How many of the last checkpoints stay; None: all.
        keep_best: How many of those with the lowest metrics stay beside them.

    Returns:
        The folder of the checkpoint.

    Raises:
        core.NotFound: A variable that lives between runs has no value.
        core.InvalidArgument: An argument is not as above.
        core.RankFailed: On the other ranks, where rank 0 cannot write it.
        OSError: It cannot be written, for example because the disk is full; nothing is left of it,
            and the checkpoints that were there are as before.
    """
    import json

    program = given_program(program)
    if not is_whole(step) or step < 0:
        raise core.InvalidArgument(f"checkpoint.save: step must be 0 or more, got {step!r}")
    if metric is not None and (not isinstance(metric, Real) or math.isnan(metric)):
        raise core.InvalidArgument(f"checkpoint.save: metric must be a number, got {metric!r}")
    if keep_last is not None and not (is_whole(keep_last) and keep_last >= 1):
        raise core.InvalidArgument(
            f"checkpoint.save: keep_last must be at least 1 or None, got {keep_last!r}"
        )
    if not is_whole(keep_best) or keep_best < 0:
        raise core.InvalidArgument(
            f"checkpoint.save: keep_best must be at least 0, got {keep_best!r}"
        )
    random = executor.random_state(program)
    state = {
        "format": "fluidcore checkpoint",
        "version": 1,
        "step": step,
        "metric": None if metric is None else float(metric),
        "random": {"seed": random.seed, "runs": random.runs},
        "reader": None if reader is None else reader.state_dict(),
    }
    try:
        text = json.dumps(state, indent=1)
    except (TypeError, ValueError) as error:
        raise core.InvalidArgument(
            f"checkpoint.save: state_dict() of the reader must be of what JSON can hold: {error}"
        ) from None
    with scope_guard(scope or global_scope()):
        arrays = joined(values(persistables(program)), program, executor)
    with written_by_one(executor.communicator) as is_writer:
        if is_writer:
            with written(dirname, step) as folder:
                text_of_program = program.serialize_to_string().encode()
                write_file(os.path.join(folder, PROGRAM_FILE), text_of_program)
                write_arrays(os.path.join(folder, PARAMS_FILE), arrays, {})
                write_file(os.path.join(folder, STATE_FILE), text.encode())
            keep(dirname, keep_last, keep_best)
    return step_folder(dirname, step)


def load(
    dirname: Path,
    executor: Executor,
    program: Program | None = None,
    scope: Scope | None = None,
    *,
    step: int | None = None,
    reader: Reader | None = None,
) -> Checkpoint:
    """Puts back what `save` wrote; after an error nothing has changed.

    Args:
        dirname: Folder of all checkpoints.
        executor: The one that will run the program.
        program: The same program as the saved one, made again; None for the default main program.
        scope: Gets the values; None for the global scope.
        step: None for the last one; `best(dirname)` for the best.
        reader: Goes to the position that was saved.

    Raises:
        core.NotFound: There is no such checkpoint, or a file of it is missing.
        core.InvalidArgument: It is damaged, or of another program: the error names what differs.
    """
    program = given_program(program)
    found = steps(dirname)
    if not found or (step is not None and step not in found):
        wanted = "a checkpoint" if step is None else f"a checkpoint of step {step}"
        raise core.NotFound(
            f"checkpoint.load: there must be {wanted} in {os.fspath(dirname)}, "
            f"got {f'those of steps {found}' if found else 'none'}"
        )
    folder = step_folder(dirname, found[-1] if step is None else step)
    state = read_state(folder)
    _require_same_program(program, os.path.join(folder, PROGRAM_FILE))
    path = os.path.join(folder, PARAMS_FILE)
    arrays = checked(cut(read_arrays(path)[0], program, executor), persistables(program), path)
    try:
        random = RandomState(state["random"]["seed"], state["random"]["runs"])
        metric, number, position = state["metric"], state["step"], state["reader"]
    except (KeyError, TypeError):
        raise core.InvalidArgument(
            f"checkpoint.load: {folder}/{STATE_FILE} must be one that save() wrote, got {state!r}"
        ) from None
    if reader is not None and position is None:
        raise core.InvalidArgument(
            f"checkpoint.load: {folder} must hold the position of a reader, got none; give "
            "save(reader=...)"
        )
    before = executor.random_state(program)
    executor.set_random_state(random, program)
    if reader is not None:
        try:
            reader.load_state_dict(position)
        except BaseException:
            executor.set_random_state(before, program)
            raise
    with scope_guard(scope or global_scope()):
        set_values(arrays)
    return Checkpoint(number, metric)


def _require_same_program(program: Program, path: str) -> None:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        raise core.NotFound(f"checkpoint.load: no file {path}") from None
    saved = Program.parse_from_string(text).serialize_to_string()
    own = program.serialize_to_string()
    different = differences(without_collectives(own), without_collectives(saved))
    if different:
        raise core.InvalidArgument(
            f"checkpoint.load: the program must be the saved one, {path}, which has "
            f"{'; '.join(different)}"
        )
