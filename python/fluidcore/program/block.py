"""Block: a list of operators and the variables they define."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from fluidcore import core, unique_name
from fluidcore.base.call_site import call_site, explain
from fluidcore.base.checks import check_name, did_you_mean
from fluidcore.base.definitions import remembered
from fluidcore.program.arguments import Argument, names_by_slot
from fluidcore.program.attributes import plain_attributes
from fluidcore.program.fluid_members import BlockMembers
from fluidcore.program.mark import Mark
from fluidcore.program.operator import Operator
from fluidcore.program.outer_writes import OuterWrites
from fluidcore.program.variable import Parameter, Variable

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


class Block(BlockMembers):
    """A view of one block of a program.

    Operators and variables that are added through `desc` are seen here too.
    """

    def __init__(self, program: Program, idx: int) -> None:
        self.program = program
        self.desc = program.desc.block(idx)
        self._vars: dict[str, Variable] = {}
        self._created: list[str] = []
        self.undeclared: set[str] = set()  # variables made without a shape
        self._ops: tuple[Operator, ...] = ()
        self._op_views: dict[int, Operator] = {}
        self._ops_revision = -1

    @property
    def idx(self) -> int:
        """Index in the program; 0 is the outermost block."""
        return self.desc.id()

    @property
    def parent_idx(self) -> int:
        """Index of the enclosing block; -1 for none."""
        return self.desc.parent()

    @property
    def forward_block_idx(self) -> int:
        """Index of the block whose gradient this block calculates; -1 for none."""
        return self.desc.forward_block_idx()

    def outward(self) -> Iterator[Block]:
        """This block and those around it, the outermost one last."""
        block = self
        while block.parent_idx >= 0:
            yield block
            block = self.program.block(block.parent_idx)
        yield block

    # Variables

    @property
    def vars(self) -> dict[str, Variable]:
        """The variables of this block by name, in order of creation."""
        return {desc.name(): self._view(desc) for desc in self.desc.all_vars()}

    def _view(self, desc: core.VarDesc) -> Variable:
        name = desc.name()
        view = self._vars.get(name)
        if view is None or view.desc is not desc:
            view = self._vars[name] = Variable.view(self, desc)
        return view

    def find_var(self, name: str) -> Variable | None:
        """The variable of this block, or None."""
        desc = self.desc.find_var(name)
        return None if desc is None else self._view(desc)

    def find_var_recursive(self, name: str) -> Variable | None:
        """The variable of this block or the nearest enclosing one that has it, or None.

        A gradient block sees the variables of its forward block too, after its own.
        """
        for block in self.outward():
            found = block.find_var(name)
            if found is None and block.forward_block_idx >= 0:
                found = self.program.block(block.forward_block_idx).find_var(name)
            if found is not None:
                return found
        return None

    def var(self, name: str) -> Variable:
        """The variable of this block; core.NotFound if there is none of this name."""
        found = self.find_var(check_name("the name of a variable", name))
        if found is None:
            raise self._unknown(name)
        return found

    def var_recursive(self, name: str) -> Variable:
        """The variable of this block or an enclosing one; core.NotFound if there is none."""
        found = self.find_var_recursive(check_name("the name of a variable", name))
        if found is None:
            raise self._unknown(name)
        return found

    def _unknown(self, name: str) -> core.NotFound:
        known = [desc.name() for desc in self.desc.all_vars()]
        return core.NotFound(f"block {self.idx}: no variable '{name}'{did_you_mean(name, known)}")

    def has_var(self, name: str) -> bool:
        """Whether this block has the variable."""
        return self.desc.has_var(name)

    def has_var_recursive(self, name: str) -> bool:
        """Whether this block or an enclosing one has the variable."""
        return self.desc.has_var_recursive(name)

    def create_var(self, name: str | None = None, **settings: Any) -> Variable:
        """Adds a variable; the settings are those of Variable."""
        return Variable(self, name, **settings)

    def create_parameter(
        self,
        shape: Iterable[int],
        dtype: Any,
        name: str | None = None,
        *,
        initializer: Callable[[Variable, Block], object] | None = None,
        lod_level: int = 0,
        persistable: bool = True,
        **settings: Any,
    ) -> Parameter:
        """Adds a parameter to the outermost block.

        Args:
            shape: As of Parameter, and so are dtype, name and the other settings.
            dtype: Element type.
            name: Unique in the program.
            initializer: Appends the operator that fills the parameter to this block.
            lod_level: Must be 0: parameters have no nested sequences.
            persistable: Must be True: parameters live between runs.
            **settings: Those of Parameter.

        Raises:
            core.InvalidArgument: An argument is not as above.
        """
        if lod_level != 0 or not persistable:
            raise core.InvalidArgument(
                f"create_parameter: '{name}' must have lod_level 0 and be persistable, got "
                f"lod_level {lod_level!r}, persistable {persistable!r}"
            )
        parameter = Parameter(self.program.global_block(), shape, dtype, name, **settings)
        if initializer is not None:
            initializer(parameter, self)
        return parameter

    def all_parameters(self) -> list[Parameter]:
        """The parameters of this block, in order of creation."""
        views = [self._view(desc) for desc in self.desc.all_vars() if desc.is_parameter()]
        return [view for view in views if isinstance(view, Parameter)]

    def rename_var(self, old_name: str, new_name: str) -> Variable:
        """Renames a variable here and in every operator of this block."""
        if not check_name("new_name", new_name) or new_name == core.EMPTY_VAR_NAME:
            raise core.InvalidArgument(f"a variable must have a name of its own, got {new_name!r}")
        self.desc.rename_var(old_name, new_name)
        view = self._vars.pop(old_name, None)
        if view is not None:
            self._vars[new_name] = view
        self._created.append(new_name)
        return self.var(new_name)

    def unique_name(self, key: str) -> str:
        """A name that starts with `key` and is new in this block and all others of the program."""
        given = self.program.given_names
        name = unique_name.generate(key)
        while name in given or self.desc.has_var_recursive(name):
            name = unique_name.generate(key)
        given.add(name)
        return name

    def adopt(self, variable: Variable, created: bool, declared: bool) -> None:
        """Called by Variable when it is made: from now on it is the view of its name."""
        self._vars[variable.name] = variable
        if created:
            self._created.append(variable.name)
        if created and not declared:
            self.undeclared.add(variable.name)

    # Copies of the program

    def state(self) -> dict[str, Any]:
        """What there is beside the description: how variables were made, and their settings."""
        views = {name: view for name, view in self._vars.items() if self.desc.has_var(name)}
        settings = {name: view.settings() for name, view in views.items()}
        return {
            "created": list(self._created),
            "undeclared": set(self.undeclared),
            "settings": {name: held for name, held in settings.items() if held},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Takes over the `state` of the block that this one is a copy of."""
        self._created = state["created"]
        self.undeclared = state["undeclared"]
        for name, settings in state["settings"].items():
            vars(self.var(name)).update(settings)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self.program).block, (self.program, self.idx)

    # Going back after an error

    def mark(self) -> Mark:
        """How far this block has got; `rollback` goes back there."""
        return Mark(self, self.desc.op_size(), len(self._created))

    def forget_since(self, num_created: int) -> None:
        """Removes the variables created since."""
        for name in self._created[num_created:]:
            self._vars.pop(name, None)
        created = dict.fromkeys(self._created[num_created:])
        self.undeclared.difference_update(created)
        self.program.given_names.difference_update(created)
        self.desc.remove_vars([name for name in created if self.desc.has_var(name)])
        del self._created[num_created:]

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
        error nothing has changed.

        Args:
            type: Type of the operator, for example "mul".
            inputs: Slot -> Variable, name, or a list of these.
            outputs: The same for the results; intermediate results may be left out.
            attrs: Attributes; those left out get their defaults.

        Raises:
            core.InvalidArgument: Something does not fit; the message says what, a note says where.
            core.NotFound: No such operator, slot, attribute or variable.
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
    ) -> Operator:
        site = call_site()
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
        view = self._op_views[id(op)] = Operator(self, op)
        return view

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
