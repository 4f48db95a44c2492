"""Variable and Parameter: views of the variables of a block."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from fluidcore import core
from fluidcore.base.checks import check_extents, check_name, is_whole
from fluidcore.base.dtypes import DTypeLike, dtype_name
from fluidcore.program.arithmetic import Arithmetic
from fluidcore.program.error_clip import BaseErrorClipAttr, ErrorClipByValue
from fluidcore.program.fluid_members import VariableMembers
from fluidcore.program.no_value import NoValue

if TYPE_CHECKING:
    from fluidcore.program.block import Block
    from fluidcore.program.gradient_hooks import BaseGradientClipAttr, WeightDecayRegularizer


ARRAY = "lod_tensor_array"  # VarDesc.type() of a tensor array
SELECTED_ROWS = "selected_rows"


class Variable(VariableMembers, NoValue, Arithmetic):
    """One variable of a block: its name, shape and element type, before anything runs.

    Args:
        block: The block the variable belongs to.
        name: Unique in the block; None makes one up. A name that exists already gives a view of
            that variable, whose shape and dtype must then agree with those given.
        shape: Extents, -1 where known only at run time.
        dtype: Element type; None leaves it to the operator that writes the variable.
        lod_level: Depth of nested sequences, 0 for a plain tensor.
        persistable: Whether the variable lives in the Scope between runs.
        stop_gradient: Whether append_backward treats the variable as a constant.
        error_clip: Clips the gradient of this variable during backward.
        type: `core.VarDesc.VarType.LOD_TENSOR`, LOD_TENSOR_ARRAY or SELECTED_ROWS; None leaves it
            to the operator that writes the variable.
    """

    block: Block
    desc: core.VarDesc
    _error_clip: BaseErrorClipAttr | None = None  # None also where only the description has it

    def __init__(
        self,
        block: Block,
        name: str | None = None,
        shape: Iterable[int] | None = None,
        dtype: DTypeLike | None = None,
        lod_level: int | None = None,
        persistable: bool | None = None,
        stop_gradient: bool | None = None,
        error_clip: BaseErrorClipAttr | None = None,
        type: str | None = None,
    ) -> None:
        if name is None:
            name = block.unique_name("tmp")
        if not check_name("the name of a variable", name) or name == core.EMPTY_VAR_NAME:
            raise core.InvalidArgument(f"a variable must have a name of its own, got {name!r}")
        extents = None if shape is None else check_extents(f"Variable '{name}'", shape)
        element = None if dtype is None else dtype_name(dtype)
        found = block.desc.find_var(name)
        if found is not None:
            _check_same(found, extents, element)
        if lod_level is not None and not (is_whole(lod_level) and lod_level >= 0):
            raise core.InvalidArgument(
                f"Variable '{name}': lod_level must be a whole number of at least 0, "
                f"got {lod_level!r}"
            )
        self.block = block
        self.desc = block.desc.var(name) if found is None else found
        if extents is not None:
            self.desc.set_shape(extents)
        if element is not None:
            self.desc.set_dtype(element)
        if lod_level is not None:
            self.desc.set_lod_level(lod_level)
        if persistable is not None:
            self.desc.set_persistable(bool(persistable))
        if stop_gradient is not None:
            self.desc.set_stop_gradient(bool(stop_gradient))
        if error_clip is not None:
            self.error_clip = error_clip
        if type is not None:
            self.set_kind(type)
        block.adopt(self, created=found is None, declared=extents is not None)

    @classmethod
    def view(cls, block: Block, desc: core.VarDesc) -> Variable:
        """The Variable, or Parameter, of a description that exists."""
        variable = object.__new__(Parameter if desc.is_parameter() else cls)
        variable.block = block
        variable.desc = desc
        return variable

    @property
    def name(self) -> str:
        """Unique in its block."""
        return self.desc.name()

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents, -1 where known only at run time."""
        return tuple(self.desc.shape())

    @property
    def dtype(self) -> str:
        """Name of the element type: "float32"."""
        return self.desc.dtype()

    @property
    def is_array(self) -> bool:
        """Whether it is a tensor array; shape and dtype are then those of its tensors."""
        return self.desc.type() == ARRAY

    @property
    def lod_level(self) -> int:
        """Depth of nested sequences, 0 for a plain tensor."""
        return self.desc.lod_level()

    @property
    def persistable(self) -> bool:
        """Whether the variable lives in the Scope between runs."""
        return self.desc.persistable()

    @persistable.setter
    def persistable(self, value: bool) -> None:
        self.desc.set_persistable(value)

    @property
    def stop_gradient(self) -> bool:
        """Whether append_backward treats the variable as a constant."""
        return self.desc.stop_gradient()

    @stop_gradient.setter
    def stop_gradient(self, value: bool) -> None:
        self.desc.set_stop_gradient(value)

    @property
    def error_clip(self) -> BaseErrorClipAttr | None:
        """What clips the gradient of this variable during backward; None: nothing does.

        An ErrorClipByValue is saved with the program, a class of one's own is not.
        """
        if self._error_clip is None:
            bounds = self.desc.error_clip()
            if bounds is not None:
                self._error_clip = ErrorClipByValue(min=bounds[0], max=bounds[1])
        return self._error_clip

    @error_clip.setter
    def error_clip(self, value: BaseErrorClipAttr | None) -> None:
        bounds = None
        if isinstance(value, ErrorClipByValue) and type(value) is ErrorClipByValue:
            bounds = (value.min, value.max)
        self.desc.set_error_clip(bounds)
        self._error_clip = value

    def set_error_clip(self, error_clip: BaseErrorClipAttr | None) -> None:
        """`error_clip = ...`, as a method."""
        self.error_clip = error_clip

    def settings(self) -> dict[str, Any]:
        """What the object has beside its description, such as the object that clips errors."""
        return {
            name: dict(value) if isinstance(value, dict) else value
            for name, value in vars(self).items()
            if name not in ("block", "desc")
        }

    def __reduce__(self) -> tuple[Any, ...]:
        if self.block.desc.find_var(self.name) is not self.desc:
            raise core.InvalidArgument(
                f"Variable '{self.name}': must be in its block to be pickled or copied, "
                "got one that was removed"
            )
        return type(self.block).var, (self.block, self.name)

    def __repr__(self) -> str:
        kind = type(self).__name__
        said = [f"'{self.name}'", f"{self.dtype} {list(self.shape)}", *_marks(self)]
        return f"{kind}({', '.join(said)})"


def _marks(variable: Variable) -> list[str]:
    """What is unusual about a variable, in words."""
    desc = variable.desc
    is_parameter = desc.is_parameter()
    marks = {
        "array": desc.type() == ARRAY,
        "selected rows": desc.type() == SELECTED_ROWS,
        "data": desc.is_data(),
        "persistable": desc.persistable() and not is_parameter,
        "not trainable": is_parameter and not desc.trainable(),
        "stop_gradient": desc.stop_gradient() and not desc.is_data(),
    }
    return [mark for mark, is_so in marks.items() if is_so]


def _check_same(found: core.VarDesc, shape: list[int] | None, dtype: str | None) -> None:
    if (shape is None or shape == found.shape()) and (dtype is None or dtype == found.dtype()):
        return
    raise core.InvalidArgument(
        f"Variable '{found.name()}': exists already as {found.dtype()} {found.shape()}, "
        f"got {dtype or found.dtype()} {found.shape() if shape is None else shape}; "
        "choose another name"
    )


class Parameter(Variable):
    """A persistable Variable that is learnt.

    Args:
        block: The outermost block of a program.
        shape: Extents, all known.
        dtype: Element type.
        name: Unique in the program.
        trainable: Whether append_backward wants its gradient when not told otherwise.
        optimize_attr: {"learning_rate": factor} multiplies the optimizer's learning rate.
        regularizer: Weight decay of this parameter; wins over the optimizer's.
        gradient_clip_attr: Clips its gradient after backward.
        stop_gradient: Whether append_backward treats it as a constant.
        error_clip: Clips its gradient during backward.
    """

    optimize_attr: dict[str, Any]
    regularizer: WeightDecayRegularizer | None = None
    gradient_clip_attr: BaseGradientClipAttr | None = None

    def __init__(
        self,
        block: Block,
        shape: Iterable[int],
        dtype: DTypeLike,
        name: str | None = None,
        *,
        trainable: bool = True,
        optimize_attr: dict[str, Any] | None = None,
        regularizer: WeightDecayRegularizer | None = None,
        gradient_clip_attr: BaseGradientClipAttr | None = None,
        stop_gradient: bool = False,
        error_clip: BaseErrorClipAttr | None = None,
    ) -> None:
        extents = check_extents(f"Parameter '{name}'", shape)
        if -1 in extents:
            raise core.InvalidArgument(
                f"Parameter '{name}': all extents must be known, got {extents}"
            )
        super().__init__(
            block,
            name,
            extents,
            dtype_name(dtype),
            persistable=True,
            stop_gradient=stop_gradient,
            error_clip=error_clip,
        )
        self.desc.set_is_parameter(True)
        self.desc.set_trainable(trainable)
        self.optimize_attr = optimize_attr or {"learning_rate": 1.0}
        self.regularizer = regularizer
        self.gradient_clip_attr = gradient_clip_attr

    def __getattr__(self, name: str) -> Any:
        if name == "optimize_attr":  # of a view made from a loaded program
            self.optimize_attr = {"learning_rate": 1.0}
            return self.optimize_attr
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @property
    def trainable(self) -> bool:
        """Whether append_backward wants its gradient when not told otherwise."""
        return self.desc.trainable()

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self.desc.set_trainable(value)


def grad_var_name(name: str) -> str:
    """The name of a variable's gradient: "x" gives "x@GRAD"."""
    return core.grad_var_name(name)
