"""LayerHelper as layers of one's own used it in Fluid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fluidcore import core, unique_name
from fluidcore.base.dtypes import DTypeLike
from fluidcore.initializer import Constant, Initializer, Xavier
from fluidcore.layers import helper
from fluidcore.param_attr import ParamAttr, ParamAttrLike
from fluidcore.program import (
    Operator,
    Parameter,
    Program,
    Variable,
    default_main_program,
    default_startup_program,
)


class LayerHelper:
    """Names, parameters and operators of one layer.

        def double(input, act=None, name=None):
            helper = LayerHelper("double", **locals())
            out = helper.create_tmp_variable(dtype=helper.input_dtype())
            helper.append_op(
                type="scale", inputs={"X": input}, outputs={"Out": out}, attrs={"scale": 2.0}
            )
            return helper.append_activation(out)

    Args:
        layer_type: Starts the names, unless there is a `name`.
        **kwargs: The arguments of the layer; input, param_attr, bias_attr, act and name are
            looked at.
    """

    def __init__(self, layer_type: str, **kwargs: Any) -> None:
        self.kwargs = kwargs
        self.layer_type = layer_type
        if kwargs.get("name") is None:
            kwargs["name"] = unique_name.generate(layer_type)

    @property
    def name(self) -> str:
        """Starts the names of what the layer makes."""
        name: str = self.kwargs["name"]
        return name

    @property
    def main_program(self) -> Program:
        """The program that operators are appended to."""
        return default_main_program()

    @property
    def startup_program(self) -> Program:
        """The program that initializes parameters."""
        return default_startup_program()

    def append_op(self, *args: Any, **kwargs: Any) -> Operator:
        """Appends an operator to the current block, as `Block.append_op`."""
        return self.main_program.current_block().append_op(*args, **kwargs)

    # What the layer was given

    def multiple_input(self, input_param_name: str = "input") -> list[Variable]:
        """An argument of the layer that is a Variable or a list of them, as a list."""
        given = self.kwargs.get(input_param_name)
        return helper.check_variables(self.layer_type, input_param_name, given)

    def input(self, input_param_name: str = "input") -> Variable:
        """An argument of the layer that is one Variable."""
        inputs = self.multiple_input(input_param_name)
        if len(inputs) != 1:
            raise core.InvalidArgument(
                f"{self.layer_type}: {input_param_name} must be one Variable, got {len(inputs)}"
            )
        return inputs[0]

    def input_dtype(self, input_param_name: str = "input") -> str:
        """The element type that the inputs have in common."""
        dtypes = {variable.dtype for variable in self.multiple_input(input_param_name)}
        if len(dtypes) != 1:
            raise core.InvalidArgument(
                f"{self.layer_type}: {input_param_name} must be of one dtype, got {sorted(dtypes)}"
            )
        return dtypes.pop()

    @property
    def param_attr(self) -> ParamAttr | None:
        """What was said of the weight; None for no weight."""
        return ParamAttr.of(self.kwargs.get("param_attr"))

    @property
    def bias_attr(self) -> ParamAttr | None:
        """What was said of the bias; None for no bias."""
        return ParamAttr.of(self.kwargs.get("bias_attr"))

    def multiple_param_attr(self, length: int) -> list[ParamAttr | None]:
        """What was said of the weights of several inputs; one is said of all."""
        given = self.kwargs.get("param_attr")
        attrs = list(given) if isinstance(given, (list, tuple)) else [given] * length
        if len(attrs) != length:
            raise core.InvalidArgument(
                f"{self.layer_type}: there must be a param_attr for each of {length} inputs, got "
                f"{len(attrs)}"
            )
        return [ParamAttr.of(attr) for attr in attrs]

    def iter_inputs_and_params(
        self, input_param_name: str = "input"
    ) -> Iterator[tuple[Variable, ParamAttr | None]]:
        """Each input with what was said of its weight."""
        inputs = self.multiple_input(input_param_name)
        return zip(inputs, self.multiple_param_attr(len(inputs)), strict=True)

    def is_instance(self, param_name: str, cls: type) -> None:
        """Raises TypeError unless an argument of the layer is of a class."""
        given = self.kwargs.get(param_name)
        if not isinstance(given, cls):
            raise TypeError(
                f"{self.layer_type}: {param_name} must be {cls.__name__}, got {given!r}"
            )

    # What the layer makes

    def create_parameter(
        self,
        attr: ParamAttrLike,
        shape: Sequence[int],
        dtype: DTypeLike,
        is_bias: bool = False,
        default_initializer: Initializer | None = None,
    ) -> Parameter | None:
        """A parameter: "b" of zeros if it is a bias, else "w" by Xavier; None for `attr` False."""
        initializer = default_initializer or (Constant(0.0) if is_bias else Xavier())
        suffix = "b" if is_bias else "w"
        own = helper.LayerHelper(self.layer_type, self.name)
        return own.create_parameter(attr, shape, dtype, suffix, initializer)

    def get_parameter(self, name: str) -> Parameter:
        """A parameter that exists.

        Raises:
            core.NotFound: There is no variable of this name.
            core.InvalidArgument: It is no parameter.
        """
        found = self.main_program.global_block().var(name)
        if not isinstance(found, Parameter):
            raise core.InvalidArgument(
                f"{self.layer_type}: '{name}' must be a parameter, got {found!r}"
            )
        return found

    def create_tmp_variable(self, dtype: DTypeLike, stop_gradient: bool = False) -> Variable:
        """A variable of the current block; its shape comes from the operator that writes it."""
        block = self.main_program.current_block()
        return block.create_var(
            block.unique_name(f"{self.name}.tmp"), dtype=dtype, stop_gradient=stop_gradient
        )

    def create_variable(self, *args: Any, **kwargs: Any) -> Variable:
        """A variable of the current block, as `Block.create_var`."""
        return self.main_program.current_block().create_var(*args, **kwargs)

    def create_global_variable(
        self, persistable: bool = False, *args: Any, **kwargs: Any
    ) -> Variable:
        """A variable of the outermost block, as `Block.create_var`."""
        block = self.main_program.global_block()
        return block.create_var(*args, persistable=persistable, **kwargs)

    def set_variable_initializer(self, var: Variable, initializer: Initializer) -> None:
        """Lets the startup program fill a persistable variable."""
        helper.initialize(self.startup_program, var, initializer)

    def append_bias_op(
        self, input_var: Variable, dim_start: int = 1, dim_end: int | None = None
    ) -> Variable:
        """Adds a new bias of the extents dim_start to dim_end; the input itself for no bias."""
        shape = list(input_var.shape[dim_start:dim_end])
        bias = self.create_parameter(self.bias_attr or False, shape, input_var.dtype, is_bias=True)
        if bias is None:
            return input_var
        block = self.main_program.current_block()
        inputs = {"X": input_var, "Y": bias}
        return block.append_single(
            "elementwise_add", inputs, {"axis": dim_start}, key=f"{self.name}.tmp"
        )

    def append_activation(self, input_var: Variable) -> Variable:
        """The activation that `act` names, or {"type": name, attribute: value}; none for None."""
        act = self.kwargs.get("act")
        if act is None:
            return input_var
        attrs = {"type": act} if isinstance(act, str) else dict(act)
        act_type = attrs.pop("type")
        block = self.main_program.current_block()
        return block.append_single(act_type, {"X": input_var}, attrs, key=f"{self.name}.tmp")
