"""Operators made ready to be run again and again with other values."""

from __future__ import annotations

import difflib
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fluidcore import core
from fluidcore.checks import check_name
from fluidcore.dtypes import FLOATING, numpy_dtype
from fluidcore.gradcheck.source import Ops, Source

Array: TypeAlias = NDArray[Any]
Doubles: TypeAlias = NDArray[np.float64]

_DTYPE_ATTRS = ("dtype", "in_dtype", "out_dtype")
_FLOATING_NUMBERS = frozenset(core.dtype_number(name) for name in FLOATING)


class Network:
    """The operators that `outputs` need, rebuilt as a program of their own, and what they read.

    A run changes neither the original nor any variable: the values are copies in a scope of this
    network, and nothing is persistable. Random operators draw the same numbers in every run.

    Args:
        source: The operators.
        values: Variable name -> value. A variable that the operators calculate may be given too;
            then its calculation is left out.
        outputs: The variables to calculate.
        scope: Where the values of other variables are, such as parameters.
        dtype: Makes everything that is floating this element type; None keeps each.

    Raises:
        core.NotFound: An output or a name in `values` is unknown.
        core.InvalidArgument: A variable that is read has no value, or not the declared dtype.
    """

    def __init__(
        self,
        source: Source,
        values: Mapping[str, Any],
        outputs: Sequence[str],
        *,
        scope: core.Scope | None = None,
        dtype: str | None = None,
    ) -> None:
        found = Ops.of(source)
        if not isinstance(values, Mapping):
            raise TypeError(f"the values must map names to arrays, got {type(values).__name__}")
        for name in (*outputs, *values):
            check_name("the name of an output or input", name)
        if not (scope is None or isinstance(scope, core.Scope)):
            raise TypeError(f"the scope must be a Scope, got {type(scope).__name__}")
        self.who = found.who
        self.program = core.ProgramDesc()
        self.scope = core.Scope()
        self._executor = core.Executor(core.CPUPlace())
        self._dtype = dtype
        _check_names(found, outputs, values)
        given = found.overwritten(values)
        ops = found.needed(outputs, given)
        for name in _read_first(ops, given):
            self._set_value(found, name, values, scope)
        for op in ops:
            self._add(op, given)

    def tensor(self, name: str) -> core.Tensor:
        """The value of a variable that the operators read; changing it changes the next run."""
        variable = self.scope.find_var(name)
        if variable is None:
            raise _unknown(self.who, "no operator reads the input", name, self.inputs())
        return variable.get_tensor()

    def inputs(self) -> list[str]:
        """The variables that have a value."""
        return list(self.scope.local_var_names())

    def add_input(self, name: str, value: Array) -> None:
        """Declares a variable and gives it a value."""
        self.scope.var(name).get_tensor().set(value)
        self._declare(name)

    def run(self, outputs: Sequence[str]) -> list[Array]:
        """The values of `outputs`: new arrays."""
        results = self._executor.run(self.program, {}, list(outputs), self.scope)
        return [np.asarray(tensor) for tensor in results]

    def _set_value(
        self, found: Ops, name: str, values: Mapping[str, Any], scope: core.Scope | None
    ) -> None:
        variable = scope.find_var(name) if scope is not None and name not in values else None
        if variable is not None and variable.get_tensor().is_initialized():
            value = np.asarray(variable.get_tensor())
        elif name in values:
            value = np.asarray(values[name])
        else:
            raise core.InvalidArgument(
                f"{self.who}: every variable that is read must have a value, got none for "
                f"'{name}'; add it to the input values"
            )
        declared = found.declared(name)
        if self._dtype is not None and value.dtype.name in FLOATING:
            value = value.astype(numpy_dtype(self._dtype))
        elif declared is not None and name in values and value.dtype.name != declared.dtype():
            raise core.InvalidArgument(
                f"{self.who}: '{name}' must be {declared.dtype()}, got {value.dtype.name}; "
                f"write {name}.astype('{declared.dtype()}')"
            )
        self.add_input(name, value)

    def _declare(self, name: str) -> None:
        tensor = self.scope.var(name).get_tensor()
        variable = self.program.block(0).var(name)
        variable.set_shape(tensor.shape())
        variable.set_dtype(tensor.dtype())

    def _add(self, op: core.OpDesc, given: set[str]) -> None:
        outputs = {
            slot: [f"{name}@UNUSED" if name in given else name for name in names]
            for slot, names in op.outputs().items()
        }
        attrs = {name: self._attr(op, name) for name in op.attr_names()}
        self.program.block(0).add_op(
            op.type(), op.inputs(), outputs, attrs | _fixed_seed(op), op.call_site()
        )

    def _attr(self, op: core.OpDesc, name: str) -> Any:
        value = op.attr(name)
        if self._dtype is not None and name in _DTYPE_ATTRS and value in _FLOATING_NUMBERS:
            return core.dtype_number(self._dtype)
        return value


def _check_names(found: Ops, outputs: Iterable[str], values: Iterable[str]) -> None:
    written = {name for op in found.ops for name in op.output_arg_names()}
    known = found.names()
    for name in outputs:
        if name not in written:
            raise _unknown(found.who, "no operator calculates the output", name, written)
    for name in values:
        if name not in known:
            raise _unknown(found.who, "no operator reads the input", name, known)


def _read_first(ops: Iterable[core.OpDesc], given: set[str]) -> list[str]:
    """The variables that are read before they are written, in order."""
    names: dict[str, None] = {}
    written: set[str] = set()
    for op in ops:
        names.update(dict.fromkeys(n for n in op.input_arg_names() if n not in written))
        written.update(set(op.output_arg_names()) - given)
    return list(names)


def _fixed_seed(op: core.OpDesc) -> dict[str, Any]:
    """Attributes that make a random operator draw the same numbers in every run."""
    known = {attr.name for attr in core.op_def(op.type()).attrs}
    if "seed" not in known:
        return {}
    fixed = op.has_attr("seed") and op.attr("seed") != 0
    own = op.attr("seed") if fixed else zlib.crc32(",".join(op.output_arg_names()).encode()) | 1
    return {"seed": own, "fix_seed": True} if "fix_seed" in known else {"seed": own}


def _unknown(who: str, what: str, name: str, known: Iterable[str]) -> core.NotFound:
    names = sorted(set(known) - {core.EMPTY_VAR_NAME})
    near = difflib.get_close_matches(name, names, 1)
    cure = f"did you mean '{near[0]}'?" if near else f"there are: {', '.join(names)}"
    return core.NotFound(f"{who}: {what} '{name}'; {cure}")
