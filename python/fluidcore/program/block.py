"""Block: a list of operators and the variables they define."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from fluidcore import core
from fluidcore.base.call_site import call_site, explain
from fluidcore.base.checks import check_name
from fluidcore.base.definitions import remembered
from fluidcore.program.arguments import Argument, names_by_slot
from fluidcore.program.attributes import plain_attributes
from fluidcore.program.block_variables import BlockVariables
from fluidcore.program.fluid_members import BlockMembers
from fluidcore.program.mark import Mark
from fluidcore.program.operator import Operator
from fluidcore.program.outer_writes import OuterWrites
from fluidcore.program.variable import Variable
from fluidcore.program.writing_out import is_its_decomposition, steps_of

if TYPE_CHECKING:
    from fluidcore.program.program import Program


@remembered
def _intermediate_outputs(op_type: str) -> tuple[str, ...]:
    return tuple(slot.name for slot in core.op_def(op_type).outputs if slot.intermediate)


@remembered
def _results(op_type: str) -> tuple[str, ...]:
    """The output slots that an operator must have, one variable in each."""
    if op_type not in core.op_types():
        return ()
    return tuple(
        slot.name
        for slot in core.op_def(op_type).outputs
        if not (slot.intermediate or slot.optional or slot.list)
    )


class Block(BlockVariables, BlockMembers):
    """A view of one block of a program.

    Operators and variables that are added through `desc` are seen here too.
    """

    def __init__(self, program: Program, idx: int) -> None:
        super().__init__(program, idx)
        self._ops: tuple[Operator, ...] = ()
        self._op_views: dict[int, Operator] = {}
        self._ops_revision = -1

    # Going back after an error

    def mark(self) -> Mark:
        """How far this block has got; `rollback` goes back there."""
        return Mark(self, self.desc.op_size(), len(self._created))

    # Operators

    @property
    def ops(self) -> tuple[Operator, ...]:
        """The operators in execution order."""
        revision = self.program.desc.revision()
        if revision != self._ops_revision:
            views = [
                self._op_views.get(id(desc)) or Operator(self, desc) for desc in self.desc.ops()
            ]
            self._ops = tuple(views)
            self._op_views = {id(view.desc): view for view in views}
            self._ops_revision = revision
        return self._ops

    def append_op(
        self,
        type: str,
        inputs: Mapping[str, Argument] | None = None,
        outputs: Mapping[str, Argument] | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> Operator:
        """Adds an operator at the end.

        Slots, attributes, shapes and element types are checked now, and the output variables get
        their shape and element type; those that do not exist are created in this block. After an
        error nothing has changed. Of an operator that is its decomposition, the operators that it
        stands for are added.

        Args:
            type: Type of the operator, for example "mul".
            inputs: Slot -> Variable, name, or a list of these.
            outputs: The same for the results; intermediate results may be left out.
            attrs: Attributes; those left out get their defaults.

        Raises:
            core.InvalidArgument: Something does not fit; the message says what, a note says where.
            core.NotFound: No such operator, slot, attribute or variable.

        Returns:
            The operator; the last one of several.
        """
        return self._add_op(type, inputs, outputs, attrs, -1)

    def prepend_op(
        self,
        type: str,
        inputs: Mapping[str, Argument] | None = None,
        outputs: Mapping[str, Argument] | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> Operator:
        """Adds an operator at the beginning; otherwise as append_op."""
        return self._add_op(type, inputs, outputs, attrs, 0)

    def insert_op(
        self,
        index: int,
        type: str,
        inputs: Mapping[str, Argument] | None = None,
        outputs: Mapping[str, Argument] | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> Operator:
        """Adds an operator before position `index`; otherwise as append_op."""
        return self._add_op(type, inputs, outputs, attrs, index)

    def append_single(
        self,
        type: str,
        inputs: Mapping[str, Argument],
        attrs: Mapping[str, Any] | None = None,
        *,
        out: str = "Out",
        key: str,
    ) -> Variable:
        """Adds an operator and returns its result, a new variable whose name starts with `key`.

        Its other results are not calculated.
        """
        name = self.unique_name(key)
        unwanted = dict.fromkeys(_results(type), core.EMPTY_VAR_NAME)
        self._add_op(type, inputs, unwanted | {out: name}, attrs, -1)
        return self.var(name)

    def _add_op(
        self,
        op_type: str,
        inputs: Mapping[str, Argument] | None,
        outputs: Mapping[str, Argument] | None,
        attrs: Mapping[str, Any] | None,
        index: int,
        site: str | None = None,
    ) -> Operator:
        site = call_site() if site is None else site
        desc = self.desc
        check_name("the type of an operator", op_type)
        try:
            given_inputs = names_by_slot(self.program, op_type, inputs)
            given_outputs = names_by_slot(self.program, op_type, outputs)
            for slot in _intermediate_outputs(op_type):
                if slot not in given_outputs:
                    given_outputs[slot] = [self.unique_name(f"{op_type}.{slot.lower()}")]
            given_attrs = plain_attributes(op_type, attrs) if attrs else {}
            new = [
                name
                for args in given_outputs.values()
                for name in args
                if not desc.has_var_recursive(name) and name != core.EMPTY_VAR_NAME
            ]
            outer = OuterWrites(self, given_outputs) if desc.parent() >= 0 else None
            with self._shapeless(given_outputs) if self.undeclared else nullcontext():
                op = desc.add_op(op_type, given_inputs, given_outputs, given_attrs, site, index)
            if outer is not None:
                outer.keep_declared(op, new)
        except core.Error as error:
            explain(error, site)
            raise
        self._created += new
        if is_its_decomposition(op_type):
            return self.write_out(index if index >= 0 else desc.op_size() - 1)
        view = self._op_views[id(op)] = Operator(self, op)
        return view

    def write_out(self, position: int) -> Operator:
        """Puts the operators that an operator stands for in its place; returns the last one.

        Raises:
            core.InvalidArgument: It stands for itself alone.
        """
        op = self.desc.op(position)
        site, steps = op.call_site(), steps_of(op, self.desc)
        self.desc.remove_op(position, position + 1)
        added = []
        for index, step in enumerate(steps, position):
            added.append(
                self._add_op(step.type, step.inputs, step.outputs, step.attrs, index, site)
            )
            if step.is_constant:
                for name in added[-1].output_arg_names:
                    self.var_recursive(name).stop_gradient = True
        return added[-1]

    def write_out_all(self, is_meant: Callable[[str], bool]) -> None:
        """Writes out every operator whose type is meant."""
        for position in reversed(range(self.desc.op_size())):
            if is_meant(self.desc.op(position).type()):
                self.write_out(position)

    @contextmanager
    def _shapeless(self, outputs: Mapping[str, Iterable[str]]) -> Iterator[None]:
        """Lets an operator give its shape to persistable variables that were made without one."""
        names = {name for args in outputs.values() for name in args} & self.undeclared
        found = [self.desc.var(name) for name in names]
        held = [desc for desc in found if desc.persistable() and not desc.shape()]
        for desc in held:
            desc.set_persistable(False)
        try:
            yield
        finally:
            for desc in held:
                desc.set_persistable(True)

    def __repr__(self) -> str:
        return f"Block({self.idx}, {self.desc.op_size()} operators)"
