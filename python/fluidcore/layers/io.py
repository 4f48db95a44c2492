"""Where data comes in."""

from __future__ import annotations

from collections.abc import Sequence

from fluidcore import core
from fluidcore.base.checks import check_extents, check_name
from fluidcore.base.dtypes import DTypeLike, dtype_name
from fluidcore.program import Variable, default_main_program


def data(
    name: str,
    shape: Sequence[int | None],
    dtype: DTypeLike | bool = "float32",
    append_batch_size: bool | DTypeLike = True,
    stop_gradient: bool = True,
    lod_level: int = 0,
) -> Variable:
    """A variable that is given by `feed`.

    Args:
        name: The name to feed.
        shape: Extents; -1 or None where known only at run time.
        dtype: Element type. Fluid's order is taken, too: `data(name, shape, False, "int64")`.
        append_batch_size: Puts -1 in front of `shape`, unless that holds an unknown extent itself.
        stop_gradient: False if the gradient of the data is wanted.
        lod_level: Depth of nested sequences, 0 for a plain tensor.

    Returns:
        [-1, *shape], or `shape`.
    """
    if isinstance(dtype, bool):
        given = append_batch_size
        append_batch_size, dtype = dtype, "float32" if isinstance(given, bool) else given
    extents = check_extents(f"data '{name}'", shape)
    if append_batch_size and -1 not in extents:
        extents = [-1, *extents]
    block = default_main_program().global_block()
    found = block.find_var(check_name("data: name", name))
    if found is not None and not found.desc.is_data():
        raise core.InvalidArgument(
            f"data: '{name}' must be a new name, got that of {found!r}, which is not data"
        )
    variable = block.create_var(
        name,
        shape=extents,
        dtype=dtype_name(dtype),
        lod_level=lod_level,
        stop_gradient=stop_gradient,
    )
    variable.desc.set_is_data(True)
    return variable
