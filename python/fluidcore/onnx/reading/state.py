"""State: the program that a model becomes, and the values of its parameters."""

from __future__ import annotations

from fluidcore import core
from fluidcore.base.dtypes import NAMES
from fluidcore.onnx.reading.errors import Unsupported
from fluidcore.onnx.reading.values import Array, Constant
from fluidcore.program import Parameter, Program, Variable


class State:
    """What reading a model makes.

    Args:
        file: Name of the file, for messages.

    Attributes:
        program: The program.
        arrays: Name -> value, of what lives between runs.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self.program = Program()
        self.arrays: dict[str, Array] = {}
        self._named: set[str] = set()
        self._in_blocks: set[str] = set()
        self._num_seen = 1  # blocks that `_in_blocks` is of, with the outermost one
        self._made: dict[Constant, Variable] = {}

    def data(self, name: str, shape: list[int], dtype: str) -> Variable:
        """A variable that is fed."""
        block = self.program.global_block()
        variable = block.create_var(name, shape=shape, dtype=dtype, stop_gradient=True)
        variable.desc.set_is_data(True)
        self._named.add(name)
        return variable

    def variable(self, constant: Constant) -> Variable:
        """A constant as a variable that lives between runs: a parameter if it can be trained."""
        found = self._made.get(constant)
        if found is not None:
            return found
        dtype = constant.array.dtype.name
        if dtype not in NAMES:
            raise Unsupported(
                f"{self.file}: '{constant.name}' must be of one of the element types "
                f"{', '.join(NAMES)}, got {dtype}"
            )
        block = self.program.global_block()
        name = constant.name
        if not self._is_free(name):
            name = block.unique_name("constant")
        if constant.is_parameter:
            made: Variable = Parameter(block, constant.array.shape, dtype, name)
        else:
            made = block.create_var(
                name,
                shape=constant.array.shape,
                dtype=dtype,
                persistable=True,
                stop_gradient=True,
            )
        self.arrays[made.name] = constant.array
        self._named.add(made.name)
        self._made[constant] = made
        return made

    def named(self, variable: Variable, name: str) -> Variable:
        """A result under the name it has in the model, where that is free."""
        if variable.name in self._named or not self._is_free(name):
            return variable
        if variable.name in self._names_in_blocks():  # a loop writes it: it keeps its name
            return variable
        renamed = self.program.global_block().rename_var(variable.name, name)
        self._named.add(name)
        return renamed

    def _names_in_blocks(self) -> set[str]:
        """The names in the operators of the blocks inside the outermost one."""
        for block in self.program.blocks[self._num_seen :]:
            for op in block.desc.ops():
                self._in_blocks.update(op.input_arg_names(), op.output_arg_names())
        self._num_seen = self.program.num_blocks
        return self._in_blocks

    def _is_free(self, name: str) -> bool:
        block = self.program.global_block()
        is_special = core.GRAD_VAR_SUFFIX in name or name == core.EMPTY_VAR_NAME
        return bool(name) and not is_special and not block.has_var(name)
