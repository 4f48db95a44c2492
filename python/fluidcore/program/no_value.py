"""What Python and NumPy ask of values, and a Variable has only when its program runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from fluidcore import core

# The methods that NumPy's functions of two arguments stand for, and those of the other operand.
_OPERATORS = {
    "add": ("__add__", "__radd__"),
    "subtract": ("__sub__", "__rsub__"),
    "multiply": ("__mul__", "__rmul__"),
    "divide": ("__truediv__", "__rtruediv__"),
    "floor_divide": ("__floordiv__", "__rfloordiv__"),
    "remainder": ("__mod__", "__rmod__"),
    "matmul": ("__matmul__", "__rmatmul__"),
    "power": ("__pow__", "__rpow__"),
    "equal": ("__eq__", "__eq__"),
    "not_equal": ("__ne__", "__ne__"),
    "bitwise_and": ("__and__", "__rand__"),
    "bitwise_or": ("__or__", "__ror__"),
    "bitwise_xor": ("__xor__", "__rxor__"),
    "less": ("__lt__", "__gt__"),
    "less_equal": ("__le__", "__ge__"),
    "greater": ("__gt__", "__lt__"),
    "greater_equal": ("__ge__", "__le__"),
}
_BY_HAND = "write it with the operators of layers, or fetch it with Executor.run"
_LAYERS = {"absolute": "abs", "maximum": "elementwise_max", "minimum": "elementwise_min"}


class NoValue:
    """float(x), list(x), len(x), np.exp(x) and so on are errors that say what to write instead."""

    if TYPE_CHECKING:

        @property
        def name(self) -> str:
            """Of the Variable."""

    def _refuse(self, cure: str) -> NoReturn:
        raise TypeError(
            f"the value of Variable '{self.name}' is known only when the program runs; {cure}"
        )

    def __bool__(self) -> bool:
        self._refuse(
            "branch with layers.cond, loop with layers.while_loop, fetch it with Executor.run, or "
            "compare with None"
        )

    def __index__(self) -> int:  # float() and int() ask for this, too
        self._refuse("fetch it with Executor.run")

    def __format__(self, spec: str) -> str:
        if spec:
            self._refuse("fetch it with Executor.run, and format what comes back")
        return str(self)

    def __len__(self) -> int:
        self._refuse("its declared extents are in x.shape, -1 where they are not known")

    def __iter__(self) -> NoReturn:
        self._refuse("cut it with layers.unstack, or fetch it with Executor.run")

    def __contains__(self, item: Any) -> bool:
        self._refuse("fetch it with Executor.run and look into the array")

    def __setitem__(self, index: Any, value: Any) -> None:
        self._refuse("write all of it with layers.assign(value, output=x)")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        self._refuse("fetch it with Executor.run, which returns arrays")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **settings: Any) -> Any:
        """np.float32(2) * x, in which NumPy is asked first, is 2 * x; np.exp(x) is an error."""
        name = ufunc.__name__
        if method == "__call__" and len(inputs) == 2 and not settings:
            x, y = inputs
            own, reflected = _OPERATORS.get(name, ("", ""))
            first = isinstance(x, NoValue)
            operator = getattr(x, own, None) if first else getattr(y, reflected, None)
            if operator is not None:
                return operator(y if first else x)
        layer = _LAYERS.get(name, name)
        has_layer = method == "__call__" and layer in core.op_types()
        return self._refuse(f"write layers.{layer}" if has_layer else _BY_HAND)

    def __array_function__(self, function: Any, types: Any, args: Any, settings: Any) -> NoReturn:
        self._refuse(_BY_HAND)
