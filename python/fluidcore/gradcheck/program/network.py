"""Operators made ready to be run again and again with other values."""

from __future__ import annotations

import copy
import difflib
import functools
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from fluidcore import core
from fluidcore.base.checks import check_name
from fluidcore.base.dtypes import FLOATING, name_of, numpy_dtype
from fluidcore.gradcheck.program.cast_program import cast_program
from fluidcore.gradcheck.program.source import Ops, Source
from fluidcore.gradcheck.target.target import Array
from fluidcore.program.op_slots import inner_blocks
from fluidcore.program.pruning import prune
from fluidcore.program.variable import ARRAY

_UNUSED = "@UNUSED"


class Network:
    """The operators that `outputs` need, as a program of their own, and what they read.

    A run changes neither the original nor any variable: the values are copies in a scope of this
    network, and nothing is persistable. Random operators draw the same numbers in every run, and in
    every dtype.

    Args:
        source: The operators. Those that run a block must be in the outermost block of a Program.
        values: Variable name -> value. A variable that the operators calculate may be given too;
            then its calculation is left out.
        outputs: The variables to calculate.
        scope: Where the values of other variables are, such as parameters.
        dtype: Makes everything that is floating this element type, by `cast_program`; None keeps
            each.
        copies: Whether the operators of a program are copied as they are, in place of being added
            one by one with checks; they are in any case if they run blocks.

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
        copies: bool = False,
    ) -> None:
        found = Ops.of(source)
        copies = copies or found.has_blocks()
        if not isinstance(values, Mapping):
            raise TypeError(f"the values must map names to arrays, got {type(values).__name__}")
        for name in (*outputs, *values):
            check_name("the name of an output or input", name)
        if not (scope is None or isinstance(scope, core.Scope)):
            raise TypeError(f"the scope must be a Scope, got {type(scope).__name__}")
        self.who = found.who
        self.scope = core.Scope()
        self.place: core.CPUPlace | core.CUDAPlace = core.CPUPlace()
        self._executor = core.Executor(self.place)
        self._moved: _Moved | None = None
        self._dtype = dtype
        _check_names(found, outputs, values)
        given = found.overwritten(values)
        self.program = core.ProgramDesc()
        ops = self._copy(found, outputs, given) if copies else found.needed(outputs, given)
        for name, is_needed in _read_first(ops, given).items():
            value = self._value(found, name, values, scope, is_needed)
            if value is not None:
                self._declare(found, name, value)
        if not copies:
            for op in ops:
                _add(self.program.block(0), op, given)
        fix_seeds(self.program)
        if dtype is not None:
            cast_program(self.program, dtype)

    def _copy(self, found: Ops, outputs: Sequence[str], given: set[str]) -> list[core.OpDesc]:
        """Copies what is needed of a program; returns the operators of its outermost block."""
        self.program = found.program_of_blocks()
        prune(self.program, list(outputs), given)
        _keep_given(self.program.block(0), given, self.who)
        forget_nothing(self.program)
        return self.program.block(0).ops()

    def copy(self, dtype: str | None = None, *, program: core.ProgramDesc | None = None) -> Self:
        """The same operators, with copies of the values, to which more can be added.

        Args:
            dtype: As of Network.
            program: One with more operators, which is copied, too; None: the same.
        """
        twin = copy.copy(self)
        twin.program = (program or self.program).clone()
        twin.scope = core.Scope()
        twin._moved = None
        for name in self.inputs():
            value = np.asarray(self.tensor(name))
            if dtype is not None and name_of(value.dtype) in FLOATING:
                value = value.astype(numpy_dtype(dtype), copy=False)
            twin.scope.var(name).get_tensor().set(value)
        if dtype is not None:
            cast_program(twin.program, dtype)
        return twin

    def on(self, place: core.CPUPlace | core.CUDAPlace) -> Self:
        """The same network, whose operators run elsewhere, as far as they have kernels there."""
        twin = copy.copy(self)
        twin.place = place
        twin._executor = core.Executor(place, True)
        twin._moved = None
        return twin

    def tensor(self, name: str) -> core.Tensor:
        """The value of a variable that the operators read; changing it changes the next run."""
        variable = self.scope.find_var(name)
        if variable is None:
            raise _unknown(self.who, "no operator reads the input", name, self.inputs())
        return variable.get_tensor()

    def inputs(self) -> list[str]:
        """The variables that have a value."""
        return list(self.scope.local_var_names())

    def values(self) -> dict[str, Array]:
        """The values of all inputs: new arrays."""
        return {name: np.array(self.tensor(name)) for name in self.inputs()}

    def add_input(self, name: str, value: Array) -> None:
        """Declares a variable and gives it a value."""
        tensor = self.give(name, value)
        variable = self.program.block(0).var(name)
        variable.set_shape(tensor.shape())
        variable.set_dtype(tensor.dtype())

    def give(self, name: str, value: Array) -> core.Tensor:
        """Gives a value to a variable that the program declares."""
        self._moved = None
        tensor = self.scope.var(name).get_tensor()
        tensor.set(value)
        return tensor

    def run(self, outputs: Sequence[str]) -> list[Array]:
        """The values of `outputs`: new arrays."""
        if isinstance(self.place, core.CUDAPlace):
            return self.run_at({}, outputs)
        results = self._executor.run(self.program, {}, list(outputs), self.scope)
        return [np.asarray(tensor) for tensor in results]

    def run_at(self, values: Mapping[str, Array], outputs: Sequence[str]) -> list[Array]:
        """The values of `outputs` at other values of some inputs, which stay as they are."""
        if self._moved is None:
            self._moved = _Moved(self)
        self._moved.set(values)
        results = self._executor.run(self.program, {}, list(outputs), self._moved.scope)
        return [np.asarray(tensor) for tensor in results]

    def function(self, inputs: Sequence[str], outputs: Sequence[str]) -> core.Function:
        """The outputs as a function of some inputs, for the native engine."""
        return core.ProgramFunction(self.program, self.values(), list(inputs), list(outputs))

    def _value(
        self,
        found: Ops,
        name: str,
        values: Mapping[str, Any],
        scope: core.Scope | None,
        is_needed: bool,
    ) -> Array | None:
        declared = found.declared(name)
        if declared is not None and declared.type() == ARRAY:
            return None  # starts empty
        variable = scope.find_var(name) if scope is not None and name not in values else None
        if variable is not None and variable.get_tensor().is_initialized():
            value = np.asarray(variable.get_tensor())
        elif name in values:
            value = np.asarray(values[name])
        elif is_needed:
            raise core.InvalidArgument(
                f"{self.who}: every variable that is read must have a value, got none for "
                f"'{name}'; add it to the input values"
            )
        else:
            return None
        is_cast = self._dtype is not None and name_of(value.dtype) in FLOATING
        dtype = name_of(value.dtype) if declared is None or is_cast else declared.dtype()
        if name in values and name_of(value.dtype) != dtype:
            raise core.InvalidArgument(
                f"{self.who}: '{name}' must be {dtype}, got {name_of(value.dtype)}; "
                f"write {name}.astype('{dtype}')"
            )
        return value

    def _declare(self, found: Ops, name: str, value: Array) -> None:
        """Gives a variable a value; it is of its old dtype until everything is cast."""
        declared = found.declared(name)
        before = name_of(value.dtype) if declared is None else declared.dtype()
        if self._dtype is not None and name_of(value.dtype) in FLOATING:
            value = value.astype(numpy_dtype(self._dtype), copy=False)
        self.add_input(name, value)
        if self._dtype is not None:
            self.program.block(0).var(name).set_dtype(before)


class _Moved:
    """A scope like that of a network, for other values of the inputs: the Plan stays bound to it.

    Attributes:
        scope: What a run reads.
    """

    def __init__(self, network: Network) -> None:
        self.scope = core.Scope()
        self._tensors = {
            name: (network.tensor(name), self.scope.var(name).get_tensor())
            for name in network.inputs()
        }
        self._place = network.place
        self._dtypes = {name: numpy_dtype(own.dtype()) for name, (own, _) in self._tensors.items()}

    def set(self, values: Mapping[str, Array]) -> None:
        """Gives every input its value, or that of the network."""
        for name, (own, moved) in self._tensors.items():
            value = values.get(name)
            if value is None:
                moved.set(np.asarray(own), self._place)
            else:
                known = self._dtypes[name]
                moved.set(value if value.dtype == known else value.astype(known), self._place)


def fix_seeds(desc: core.ProgramDesc) -> None:
    """Lets every random operator draw the same numbers in every run, whatever is pruned."""
    for index in range(desc.num_blocks()):
        for op in desc.block(index).ops():
            for name, value in _fixed_seed(op).items():
                op.set_attr(name, value)


def _check_names(found: Ops, outputs: Iterable[str], values: Iterable[str]) -> None:
    written = {name for op in found.ops for name in op.output_arg_names()}
    known = found.names()
    for name in outputs:
        if name not in written:
            raise _unknown(found.who, "no operator calculates the output", name, written)
    for name in values:
        if name not in known:
            raise _unknown(found.who, "no operator reads the input", name, known)


def _read_first(ops: Iterable[core.OpDesc], given: set[str]) -> dict[str, bool]:
    """The variables that are read before they are written, and whether they must have a value.

    What a block reads it may not read in this run, because it is not run.
    """
    names: dict[str, bool] = {}
    written: set[str] = set()
    for op in ops:
        optional = _may_be_unset(op.type())
        for slot, args in op.inputs().items():
            for name in args:
                if name not in written and name != core.EMPTY_VAR_NAME:
                    names[name] = names.get(name, False) or slot not in optional
        written.update(set(op.output_arg_names()) - given)
    return names


@functools.cache
def _may_be_unset(op_type: str) -> frozenset[str]:
    definition = core.op_def(op_type)
    return frozenset(s.name for s in definition.inputs if s.may_be_unset or s.of_block)


def _add(block: core.BlockDesc, op: core.OpDesc, given: set[str]) -> None:
    outputs = {
        slot: [name + _UNUSED if name in given else name for name in names]
        for slot, names in op.outputs().items()
    }
    block.add_op(op.type(), op.inputs(), outputs, op.attrs(), op.call_site())


def _keep_given(block: core.BlockDesc, given: set[str], who: str) -> None:
    """Lets operators write what is given, and what they calculate too, to other variables."""
    for op in block.ops():
        for name in given.intersection(op.output_arg_names()):
            if any(True for _ in inner_blocks(op)):
                raise core.InvalidArgument(
                    f"{who}: a variable may be given in place of being calculated if its operator "
                    f"runs no block, got '{name}' of '{op.type()}', which other variables need"
                )
            like = block.find_var_recursive(name)
            op.rename_output(name, name + _UNUSED)
            unused = block.var(name + _UNUSED)
            if like is not None:
                unused.set_dtype(like.dtype())
                unused.set_shape(like.shape())


def forget_nothing(desc: core.ProgramDesc) -> None:
    """Makes no variable persistable: what outlives a step of a block lives in the outermost one."""
    outermost = desc.block(0)
    for index in range(desc.num_blocks()):
        block = desc.block(index)
        for var in block.all_vars():
            if not var.persistable():
                continue
            var.set_persistable(False)
            if index > 0:
                name = var.name()
                outer = outermost.var(name)
                outer.set_dtype(var.dtype())
                outer.set_shape(var.shape())
                block.remove_vars([name])


def _fixed_seed(op: core.OpDesc) -> dict[str, Any]:
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
