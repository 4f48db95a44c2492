"""Rewrites a forward program so that some of its operators run in 16 bits."""

from __future__ import annotations

from collections.abc import Iterable

from fluidcore import core
from fluidcore.amp.lists import Lists
from fluidcore.base.definitions import remembered
from fluidcore.base.dtypes import HALF, dtype_number
from fluidcore.program import Block, Operator, Program, Variable, default_main_program
from fluidcore.program.mark import ContentsMark
from fluidcore.program.op_slots import inner_blocks, list_effects


def cast_program(
    program: Program | None = None, dtype: str = "bfloat16", lists: Lists | None = None
) -> None:
    """Makes the operators of the lists run in 16 bits, in all blocks of a forward program.

    Every variable stays, float32 as it was declared. One that is read or made in 16 bits gets a
    twin, and `cast` goes from the one to the other; what nobody reads in float32 is not cast when
    the program runs. So parameters, the state of optimizers and what is fetched are float32, and
    the gradient of a parameter is, too.

    What a loop reads and does not change is cast once, before the loop. A second call changes
    nothing: the casts that are there are used again.

    Args:
        program: Without gradients as yet; None for the default main program.
        dtype: "bfloat16", or "float16".
        lists: Which operators; None for those of `Lists()`.

    Raises:
        TypeError: An argument is of another type.
        core.InvalidArgument: The dtype has not 16 bits; the program has gradients. The program is
            then as it was.
    """
    program = default_main_program() if program is None else program
    lists = Lists() if lists is None else lists
    if not isinstance(program, Program):
        raise TypeError(f"amp: program must be a Program, got {type(program).__name__}")
    if not isinstance(lists, Lists):
        raise TypeError(f"amp: lists must be amp.Lists, got {type(lists).__name__}")
    if dtype not in HALF:
        raise core.InvalidArgument(f"amp: dtype must be one of {sorted(HALF)}, got {dtype!r}")
    _check_forward(program)
    mark = ContentsMark(program, every_slot=True)
    try:
        _BlockCaster(program.global_block(), dtype, lists).run()
    except BaseException:
        mark.rollback()
        raise


def _check_forward(program: Program) -> None:
    for block in program.blocks:
        for op in block.ops:
            if op.type.endswith("_grad"):
                raise core.InvalidArgument(
                    f"amp: the program must be a forward program, got {op.type} in block "
                    f"{block.idx}; cast it before append_backward and minimize"
                )


@remembered
def _can_run(op_type: str, dtype: str) -> bool:
    definition = core.op_def(op_type)
    slots = (*definition.inputs, *definition.outputs)
    if definition.runs_block or any(slot.array or slot.only_rows for slot in slots):
        return False
    return any(kernel_dtype == dtype for _, kernel_dtype in definition.kernels)


@remembered
def _wide_slots(op_type: str) -> frozenset[str]:
    """The slots that stay float32 where the operator runs in 16 bits."""
    definition = core.op_def(op_type)
    slots = (*definition.inputs, *definition.outputs)
    return frozenset(slot.name for slot in slots if slot.may_be_float32)


class _BlockCaster:
    """Rewrites one block and those inside it.

    Args:
        block: The block.
        dtype: Of 16 bits.
        lists: Which operators.
        around: Of the block around it; None for the outermost one.
        writes: The variables around the block that it writes.
    """

    def __init__(
        self,
        block: Block,
        dtype: str,
        lists: Lists,
        around: _BlockCaster | None = None,
        writes: Iterable[str] = (),
    ) -> None:
        self._block = block
        self._dtype = dtype
        self._lists = lists
        self._around = around
        self._writes = frozenset(writes)
        self._position = 0  # of the operator that is looked at
        self._twins: dict[str, Variable] = {}  # of what holds the same value now
        self._results: set[str] = set()  # those of the variables that were made in 16 bits

    def run(self) -> None:
        """Rewrites the block."""
        while self._position < len(self._block.ops):
            op = self._block.ops[self._position]
            for inner in inner_blocks(op.desc):
                self._enter(op, inner)
            made = self._narrow(op) if self._is_narrow(op) else {}
            for name in op.output_arg_names:
                self._forget(name)
            self._remember_cast(op)
            self._position += 1
            for name, twin in made.items():
                self._widen(name, twin)

    def _enter(self, op: Operator, inner: int) -> None:
        program = self._block.program
        _, writes = core.EffectsOfBlocks(program.desc).of(inner)
        _BlockCaster(program.block(inner), self._dtype, self._lists, self, writes).run()
        list_effects(core.EffectsOfBlocks(program.desc), op.desc)

    def _is_narrow(self, op: Operator) -> bool:
        if op.type in self._lists.in_float32 or not _can_run(op.type, self._dtype):
            return False
        names = self._floating(op.desc.inputs(), _wide_slots(op.type))
        if not names or any(self._dtype_of(name) != "float32" for name in names):
            return False
        if op.type in self._lists.in_16_bits:
            return True
        results = [name for name in names if self._is_result(name)]
        return bool(results) and all(self._is_parameter(n) for n in names if n not in results)

    def _narrow(self, op: Operator) -> dict[str, Variable]:
        """Makes the operator read and write twins; gives those that it writes."""
        wide = _wide_slots(op.type)
        for slot, names in op.desc.inputs().items():
            if slot not in wide:
                op.desc.set_input(slot, [self._read(name) for name in names])
        made = {}
        for slot, names in op.desc.outputs().items():
            if slot in wide:
                continue
            for name in self._floating({slot: names}):
                made[name] = self._new_twin(name)
            op.desc.set_output(slot, [made[name].name if name in made else name for name in names])
        op.desc.infer_shape(self._block.desc)
        return made

    def _floating(
        self, slots: dict[str, list[str]], without: frozenset[str] = frozenset()
    ) -> list[str]:
        names = [name for slot, held in slots.items() if slot not in without for name in held]
        known = [name for name in names if name != core.EMPTY_VAR_NAME]
        return [name for name in known if self._dtype_of(name).startswith(("float", "bfloat"))]

    def _dtype_of(self, name: str) -> str:
        return self._block.var_recursive(name).dtype

    def _is_parameter(self, name: str) -> bool:
        return self._block.var_recursive(name).persistable

    def _is_result(self, name: str) -> bool:
        if name in self._results:
            return True
        outer = self._outer(name)
        return outer is not None and outer._is_result(name)

    def _outer(self, name: str) -> _BlockCaster | None:
        """The block around where the variable is as it is here; None where it may change here."""
        is_own = self._block.has_var(name) or name in self._writes
        return None if is_own else self._around

    def _read(self, name: str) -> str:
        """The twin of a float32 variable; any other variable itself."""
        is_float = name != core.EMPTY_VAR_NAME and self._dtype_of(name) == "float32"
        return self._twin(name).name if is_float else name

    def _twin(self, name: str) -> Variable:
        found = self._twins.get(name)
        if found is not None:
            return found
        outer = self._outer(name)
        if outer is not None:
            return outer._twin(name)
        twin = self._twins[name] = self._new_twin(name)
        self._insert_cast(name, twin.name, "float32", self._dtype)
        return twin

    def _new_twin(self, name: str) -> Variable:
        variable = self._block.var_recursive(name)
        twin = self._block.create_var(
            self._block.unique_name(f"{name}.{self._dtype}"),
            shape=variable.shape,
            dtype=self._dtype,
            stop_gradient=variable.stop_gradient,
        )
        twin.error_clip = variable.error_clip
        return twin

    def _widen(self, name: str, twin: Variable) -> None:
        self._insert_cast(twin.name, name, self._dtype, "float32")
        self._twins[name] = twin
        self._results.add(name)

    def _insert_cast(self, x: str, out: str, in_dtype: str, out_dtype: str) -> None:
        attrs = {"in_dtype": dtype_number(in_dtype), "out_dtype": dtype_number(out_dtype)}
        self._block.insert_op(self._position, "cast", {"X": x}, {"Out": out}, attrs)
        self._position += 1

    def _forget(self, name: str) -> None:
        self._twins.pop(name, None)
        self._results.discard(name)

    def _remember_cast(self, op: Operator) -> None:
        """A cast that is there already makes a twin."""
        if op.type != "cast":
            return
        (x,), (out,) = op.input("X"), op.output("Out")
        if self._dtype_of(x) == "float32" and self._dtype_of(out) == self._dtype:
            self._twins[x] = self._block.var_recursive(out)
        if self._dtype_of(x) == self._dtype and self._dtype_of(out) == "float32":
            self._twins[out] = self._block.var_recursive(x)
            self._results.add(out)
