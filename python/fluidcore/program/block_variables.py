"""The variables of a block: found, made, renamed, copied, and forgotten after an error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

from fluidcore import core, unique_name
from fluidcore.base.checks import check_name, did_you_mean
from fluidcore.program.variable import Parameter, Variable

if TYPE_CHECKING:
    from fluidcore.program.block import Block
    from fluidcore.program.program import Program


class BlockVariables:
    """Of a Block: where it is in its program, and its variables."""

    def __init__(self, program: Program, idx: int) -> None:
        self.program = program
        self.desc = program.desc.block(idx)
        self._vars: dict[str, Variable] = {}
        self._created: list[str] = []
        self.undeclared: set[str] = set()  # variables made without a shape

    @property
    def _block(self) -> Block:
        return cast("Block", self)

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
        block = self._block
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
            view = self._vars[name] = Variable.view(self._block, desc)
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
        return Variable(self._block, name, **settings)

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
            initializer(parameter, self._block)
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

    def forget_since(self, num_created: int) -> None:
        """Removes the variables created since."""
        for name in self._created[num_created:]:
            self._vars.pop(name, None)
        created = dict.fromkeys(self._created[num_created:])
        self.undeclared.difference_update(created)
        self.program.given_names.difference_update(created)
        self.desc.remove_vars([name for name in created if self.desc.has_var(name)])
        del self._created[num_created:]
