"""Example programs: layers, loops, branches, recurrences."""

from __future__ import annotations

from fluidcore import core
from fluidcore.base.dtypes import DTypeLike, dtype_name
from fluidcore.gradcheck.cases.control_flow import CONTROL_FLOW
from fluidcore.gradcheck.cases.model import ProgramExample, example
from fluidcore.gradcheck.cases.networks import NETWORKS

_BUILDERS = NETWORKS | CONTROL_FLOW


def program_names() -> list[str]:
    """The names of the example programs."""
    return list(_BUILDERS)


def program_example(name: str, seed: int = 0, dtype: DTypeLike = "float32") -> ProgramExample:
    """The example program of this name; core.NotFound if there is none.

    Args:
        name: One of `program_names()`.
        seed: Of the values.
        dtype: "float32" or "float64".
    """
    builder = _BUILDERS.get(name)
    if builder is None:
        raise core.NotFound(f"no example program '{name}'; there are: {', '.join(_BUILDERS)}")
    return example(name, builder, seed, dtype_name(dtype))


def program_examples(seed: int = 0, dtype: DTypeLike = "float32") -> list[ProgramExample]:
    """All example programs, with values that depend on the seed."""
    return [program_example(name, seed, dtype) for name in _BUILDERS]
