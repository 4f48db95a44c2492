"""Trainings saved and loaded, for Python and for the Trainer of the C++ library."""

from __future__ import annotations

from collections.abc import Sequence

from fluidcore import core
from fluidcore.executor import Executor, RandomState
from fluidcore.io.file_names import PARAMS_FILE, Path
from fluidcore.io.persistables import given_program
from fluidcore.io.saved_program import read_program, write_program
from fluidcore.program import Program, Variable
from fluidcore.program.arguments import variable_names


def save_training_model(
    dirname: Path,
    feeded_var_names: Sequence[Variable | str],
    target_vars: Sequence[Variable | str],
    executor: Executor,
    main_program: Program | None = None,
) -> None:
    """Writes a program that trains, and all that its next run depends on but what is fed.

    A C++ program goes on from there, `fluidcore::Trainer`, as `load_training_model` does, to the
    same bits. For checkpoints of a training in Python, with a reader's position, there is
    fluidcore.checkpoint.

    Args:
        dirname: Folder; made if there is none.
        feeded_var_names: Variables, or their names, that will be fed.
        target_vars: Variables, or their names, that will be fetched.
        executor: What runs the program: its random numbers go on.
        main_program: None for the default main program.

    Raises:
        core.NotFound: A variable does not exist, or one that lives between runs has no value in the
            global scope.
        OSError: A file cannot be written; what was there can still be loaded.
    """
    program = given_program(main_program)
    feeds = variable_names("save_training_model: feeded_var_names", feeded_var_names, program)
    fetches = variable_names("save_training_model: target_vars", target_vars, program)
    for name in (*feeds, *fetches):
        program.global_block().var(name)
    random = executor.random_state(program)
    metadata = {
        "format": "fluidcore training",
        "random_seed": str(random.seed),
        "random_runs": str(random.runs),
    }
    write_program(dirname, PARAMS_FILE, program, feeds, fetches, metadata)


def load_training_model(
    dirname: Path, executor: Executor
) -> tuple[Program, list[str], list[Variable]]:
    """Reads what save_training_model, or a C++ Trainer, wrote; values go into the global scope.

    Args:
        dirname: Folder.
        executor: What will run the program: its random numbers go on.

    Returns:
        The program, the names to feed, and the variables to fetch.

    Raises:
        core.NotFound: A file is missing, or operators of the program are not defined here.
        core.InvalidArgument: A file is damaged, the two do not belong together, or it is no
            training.
    """
    who = "load_training_model"
    program, feeds, targets, metadata = read_program(who, dirname, PARAMS_FILE)
    try:
        random = RandomState(int(metadata["random_seed"]), int(metadata["random_runs"]))
    except (KeyError, ValueError):
        raise core.InvalidArgument(
            f"{who}: {dirname} must hold a training of save_training_model, got another model"
        ) from None
    executor.set_random_state(random, program)
    return program, feeds, targets
