"""What every layer needs: names, parameters, and going back after an error."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar, cast

from fluidcore import core, unique_name
from fluidcore.base.checks import check_name, is_whole
from fluidcore.base.dtypes import FLOATING, DTypeLike, dtype_name
from fluidcore.initializer import Constant, Initializer, Xavier
from fluidcore.layers.weight_norm import LengthsOf, append_lengths, extents_of_lengths
from fluidcore.param_attr import ParamAttr, ParamAttrLike, WeightNormParamAttr
from fluidcore.program import (
    Parameter,
    Variable,
    default_main_program,
    default_startup_program,
)
from fluidcore.program.arguments import Argument

_P = ParamSpec("_P")
_R = TypeVar("_R")


@contextmanager
def restored_on_error() -> Iterator[None]:
    """Makes an error in the `with` block leave nothing behind: no block, operator or variable."""
    marks = [program.mark() for program in (default_main_program(), default_startup_program())]
    try:
        yield
    except BaseException:
        for mark in marks:
            mark.rollback()
        raise


def atomic(layer: Callable[_P, _R]) -> Callable[_P, _R]:
    """Makes a layer leave nothing behind when it raises: no operator, variable or parameter."""

    @functools.wraps(layer)
    def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with restored_on_error():
            return layer(*args, **kwargs)

    return wrapper


def check_variable(layer: str, argument: str, value: object) -> None:
    """Raises TypeError unless `value` is a Variable."""
    if not isinstance(value, Variable):
        raise TypeError(
            f"{layer}: {argument} must be a Variable, got {type(value).__name__} {value!r}"
        )


def check_variables(layer: str, argument: str, value: object) -> list[Variable]:
    """One Variable, or several, as a list; TypeError if there is anything else."""
    if not isinstance(value, (list, tuple)):
        check_variable(layer, argument, value)
        return [cast("Variable", value)]
    for item in value:
        check_variable(layer, f"every item of {argument}", item)
    return list(value)


def only_variable(layer: str, argument: str, value: object) -> Variable:
    """One Variable, or the only one of a list, such as an IfElse gives.

    Raises:
        TypeError: It is neither.
    """
    if isinstance(value, (list, tuple)) and len(value) == 1:
        value = value[0]
    check_variable(layer, argument, value)
    return cast("Variable", value)


def check_size(layer: str, argument: str, value: object) -> None:
    """Raises core.InvalidArgument unless `value` is a whole number of at least 1."""
    if not is_whole(value) or value < 1:
        raise core.InvalidArgument(
            f"{layer}: {argument} must be a whole number of at least 1, got {value!r}"
        )


class LayerHelper:
    """The operators and parameters of one layer, named after it: fc_0.tmp_0, fc_0.w_0.

    Args:
        layer_type: "fc".
        name: Name of the layer; None makes one up.
    """

    def __init__(self, layer_type: str, name: str | None = None) -> None:
        if name is not None:
            check_name(f"{layer_type}: name", name)
        self.layer_type = layer_type
        self.name = name or unique_name.generate(layer_type)
        self.main_program = default_main_program()
        self.startup_program = default_startup_program()
        self.block = self.main_program.current_block()

    def temporary(self) -> str:
        """A new name for a result of this layer."""
        return self.block.unique_name(f"{self.name}.tmp")

    def append(
        self,
        op_type: str,
        inputs: Mapping[str, Argument],
        attrs: Mapping[str, Any] | None = None,
        out: str = "Out",
    ) -> Variable:
        """Appends an operator; its result is a new variable in slot `out`."""
        return self.block.append_single(op_type, inputs, attrs, out=out, key=f"{self.name}.tmp")

    def append_into(
        self,
        out: Variable | None,
        op_type: str,
        inputs: Mapping[str, Argument],
        attrs: Mapping[str, Any] | None = None,
    ) -> Variable:
        """Appends an operator that writes `out`, or a new variable if that is None."""
        if out is None:
            return self.append(op_type, inputs, attrs)
        check_variable(self.layer_type, "the output", out)
        self.block.append_op(op_type, inputs, {"Out": out}, attrs)
        return out

    def variable(self, shape: Iterable[int], dtype: DTypeLike) -> Variable:
        """A new variable of this layer that blocks inside the current one may write."""
        return self.block.create_var(self.temporary(), shape=shape, dtype=dtype)

    def activation(self, x: Variable, act: str | None) -> Variable:
        """The activation of x; x itself for None."""
        if act is None:
            return x
        return self.append(check_name(f"{self.layer_type}: act", act), {"X": x})

    def bias(self, x: Variable, attr: ParamAttrLike, size: int, axis: int) -> Variable:
        """X plus a new parameter [size] along `axis`; x itself if `attr` is False."""
        parameter = self.create_parameter(attr, [size], x.dtype, "b", Constant(0.0))
        if parameter is None:
            return x
        return self.append("elementwise_add", {"X": x, "Y": parameter}, {"axis": axis})

    def weight(
        self,
        attr: ParamAttrLike,
        shape: Iterable[int],
        dtype: DTypeLike,
        default_initializer: Initializer | None = None,
    ) -> Variable:
        """A new weight; a layer cannot do without it.

        What a WeightNormParamAttr says is no parameter, but calculated from two.
        """
        if dtype_name(dtype) not in FLOATING:
            raise core.InvalidArgument(
                f"{self.layer_type}: the weight and the input it is multiplied with must be "
                f"floating, got {dtype}; write layers.cast(x, 'float32')"
            )
        initializer = default_initializer or Xavier()
        if isinstance(attr, WeightNormParamAttr):
            return self._normalized(attr, list(shape), dtype, initializer)
        parameter = self.create_parameter(attr, shape, dtype, "w", initializer)
        if parameter is None:
            raise core.InvalidArgument(
                f"{self.layer_type}: param_attr must not be False; the layer needs its weight"
            )
        return parameter

    def create_parameter(
        self,
        attr: ParamAttrLike,
        shape: Iterable[int],
        dtype: DTypeLike,
        suffix: str,
        default_initializer: Initializer,
        **settings: Any,
    ) -> Parameter | None:
        """A parameter, and in the startup program the operator that initializes it.

        Args:
            attr: What the user said of it; False for no parameter.
            shape: Extents.
            dtype: Element type.
            suffix: "w" gives fc_0.w_0.
            default_initializer: If the user gave none.
            **settings: Of Parameter.

        Returns:
            The parameter, an existing one if the user gave its name; None if attr is False.
        """
        given = ParamAttr.of(attr)
        if given is None:
            return None
        if isinstance(given, WeightNormParamAttr):
            raise core.InvalidArgument(
                f"{self.layer_type}: a WeightNormParamAttr is for the weight of a layer with one, "
                f"got it for '{suffix}'; give a ParamAttr"
            )
        block = self.main_program.global_block()
        name = given.name or block.unique_name(f"{self.name}.{suffix}")
        existing = block.find_var(name)
        if isinstance(existing, Parameter):
            _check_shared(self.layer_type, existing, list(shape), dtype)
            return existing
        if existing is not None:
            raise core.InvalidArgument(
                f"{self.layer_type}: a parameter must have a name of its own, "
                f"got '{name}', which is {existing!r} already"
            )
        settings = {"trainable": given.trainable} | settings
        parameter = Parameter(
            block,
            shape,
            dtype,
            name,
            optimize_attr={"learning_rate": given.learning_rate},
            regularizer=given.regularizer,
            gradient_clip_attr=given.gradient_clip,
            **settings,
        )
        initialize(self.startup_program, parameter, given.initializer or default_initializer)
        return parameter

    def _normalized(
        self,
        attr: WeightNormParamAttr,
        shape: list[int],
        dtype: DTypeLike,
        initializer: Initializer,
    ) -> Variable:
        """A weight g v / |v| of two parameters."""
        name = attr.name or self.main_program.global_block().unique_name(f"{self.name}.w")
        extents = extents_of_lengths(self.layer_type, shape, attr.dim)
        of_v = attr.part(f"{name}_v", attr.initializer)
        v = self.create_parameter(of_v, shape, dtype, "v", initializer)
        of_g = attr.part(f"{name}_g", LengthsOf(f"{name}_v"))
        g = self.create_parameter(of_g, extents, dtype, "g", initializer)
        assert v is not None
        assert g is not None
        length = append_lengths(self.block, v, extents, self.temporary()).output("Out")
        factor = self.append("elementwise_div", {"X": g, "Y": length})
        return self.append("elementwise_mul", {"X": v, "Y": factor})


def initialize(startup_program: Any, variable: Variable, initializer: Initializer) -> None:
    """Adds `variable` to the startup program, and the operator that fills it."""
    block = startup_program.global_block()
    if not block.has_var(variable.name):
        twin = Variable(block, variable.name, variable.shape, variable.dtype, persistable=True)
        twin.desc.set_is_parameter(variable.desc.is_parameter())
        initializer(twin, block)


def _check_shared(layer: str, found: Parameter, shape: list[int], dtype: DTypeLike) -> None:
    if list(found.shape) != shape or found.dtype != dtype:
        raise core.InvalidArgument(
            f"{layer}: a shared parameter must fit all its layers, got '{found.name}' of "
            f"{found.dtype} {list(found.shape)} where {dtype} {shape} is needed"
        )
