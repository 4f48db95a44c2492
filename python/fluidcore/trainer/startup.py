"""What must be there before a program can run: the values of its parameters."""

from __future__ import annotations

from fluidcore import core
from fluidcore.executor import Executor, Scope
from fluidcore.program import Program


def initialize_missing(
    program: Program, startup: Program, executor: Executor, scope: Scope
) -> list[str]:
    """Runs of the startup program what gives values to variables that have none.

    What has a value keeps it: parameters that were loaded, or trained before.

    Returns:
        The variables that got a value.

    Raises:
        core.InvalidArgument: The startup program does not initialize one that lives between runs.
    """
    names = [variable.name for variable in program.list_vars() if variable.persistable]
    missing = [name for name in names if not _has_value(scope, name)]
    if not missing:
        return []
    block = startup.global_block()
    unknown = [name for name in missing if not block.has_var(name)]
    if unknown:
        raise core.InvalidArgument(
            f"Trainer: the startup program must initialize all variables that live between runs, "
            f"got one without {unknown}; give startup_program="
        )
    others = [name for name in names if name not in missing and block.has_var(name)]
    executor.run(startup.prune(missing) if others else startup, scope=scope)
    return missing


def _has_value(scope: Scope, name: str) -> bool:
    variable = scope.find_var(name)
    return variable is not None and bool(variable.get_tensor().is_initialized())


def updates(program: Program) -> list[str]:
    """The operators that change trainable parameters, as "sgd of 'fc_0.w_0'"."""
    trainable = {each.name for each in program.all_parameters() if each.trainable}
    return [
        f"{op.type} of '{name}'"
        for block in program.blocks
        for op in block.ops
        for name in op.output_arg_names
        if name in trainable
    ]
