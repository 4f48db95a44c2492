"""Table-driven checks of one operator against NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from op_runner import Array, OneOp, Value, one_op

from fluidcore import core
from fluidcore.base.dtypes import FLOATING, dtype_name, numpy_dtype

TOLERANCE = {"float64": 1e-12, "float32": 3e-6, "float16": 3e-3, "bfloat16": 2e-2}


@dataclass(frozen=True)
class OpCase:
    """One operator, inputs for it, and what NumPy says the outputs are.

    Floating inputs are converted to each dtype under test. `expected` gets the slots and attributes
    as keywords, always in float64; what it returns in float64 stands for the dtype under test,
    every other dtype for itself. An array that is given twice is one variable.
    """

    type: str
    inputs: Mapping[str, Value]
    expected: Callable[..., Mapping[str, Value]]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    grad: Sequence[str] | None = None  # differentiable slots; None: all floating ones
    in_place: Mapping[str, str] = field(default_factory=dict)  # output slot -> input slot
    dtypes: Sequence[str] | None = None  # None: all that the operator has

    def __str__(self) -> str:
        shown = list(self.inputs.items())[: 3 if len(self.inputs) < 4 else 1]
        slots = [f"{slot}{_shapes(value)}" for slot, value in shown]
        attrs = [f"{name}={_short(value)}" for name, value in self.attrs.items()]
        return " ".join(filter(None, [self.type, *slots, *attrs, self.note]))

    def dtypes_to_test(self) -> list[str]:
        if not any(is_floating(array) for array in self.arrays()):
            return ["as given"]
        if self.dtypes is not None:
            return list(self.dtypes)
        kernels = {dtype for _, dtype in core.op_def(self.type).kernels}
        return [dtype for dtype in TOLERANCE if dtype in kernels]

    def arrays(self) -> list[Array]:
        return [a for value in self.inputs.values() for a in _as_list(value)]

    def differentiable(self) -> list[str]:
        """The input slots that have a gradient."""
        definition = core.op_def(self.type)
        if definition.is_constant or not definition.has_grad:
            return []
        if self.grad is not None:
            return list(self.grad)
        return [s for s, value in self.inputs.items() if any(map(is_floating, _as_list(value)))]

    def inputs_in(self, dtype: str) -> dict[str, Value]:
        """The inputs with floating arrays converted; an array given twice stays one array."""
        made: dict[int, Array] = {}

        def convert(array: Array) -> Array:
            if id(array) not in made:
                floating = is_floating(array) and dtype != "as given"
                made[id(array)] = np.array(array, dtype=numpy_dtype(dtype) if floating else None)
            return made[id(array)]

        return {
            slot: [convert(a) for a in value] if isinstance(value, list) else convert(value)
            for slot, value in self.inputs.items()
        }

    def expected_from(self, inputs: Mapping[str, Value]) -> Mapping[str, Value]:
        def exact(array: Array) -> Array:
            return array.astype(np.float64) if is_floating(array) else array

        values = {
            slot: [exact(a) for a in value] if isinstance(value, list) else exact(value)
            for slot, value in inputs.items()
        }
        return self.expected(**values, **self.attrs)

    def expected_arrays(self) -> list[Array]:
        """What NumPy says of an operator without inputs."""
        return [a for value in self.expected_from({}).values() for a in _as_list(value)]

    def build(self, dtype: str) -> tuple[OneOp, Mapping[str, Value]]:
        """The program in `dtype`, and the expected outputs."""
        inputs = self.inputs_in(dtype)
        expected = self.expected_from(inputs)
        counts = {slot.name: 0 for slot in core.op_def(self.type).outputs}
        counts |= {slot: len(v) if isinstance(v, list) else 0 for slot, v in expected.items()}
        return one_op(self.type, inputs, self.attrs, counts, self.in_place), expected


def all_dtypes(cases: Sequence[OpCase]) -> pytest.MarkDecorator:
    """Parametrizes a test with every case in every dtype that its operator has."""
    pairs = [(case, dtype) for case in cases for dtype in case.dtypes_to_test()]
    return pytest.mark.parametrize(
        ("case", "dtype"), pairs, ids=[f"{case}-{dtype}" for case, dtype in pairs]
    )


def differentiable(cases: Sequence[OpCase]) -> pytest.MarkDecorator:
    """Parametrizes a test with every case that has a gradient."""
    return pytest.mark.parametrize("case", [c for c in cases if c.differentiable()], ids=str)


def check_outputs(case: OpCase, dtype: str) -> None:
    """Compares every output slot with NumPy, in `dtype`, with one thread and with two."""
    one, expected = case.build(dtype)
    before = {name: value.copy() for name, value in one.values.items()}
    names = [name for slot in expected for name in one.op.output(slot)]
    results = one.run(names)
    wanted = [array for value in expected.values() for array in _as_list(value)]
    for name, want, got in zip(names, wanted, results, strict=True):
        own = dtype == "as given" or want.dtype != np.float64
        assert dtype_name(got.dtype) == (dtype_name(want.dtype) if own else dtype), name
        assert got.shape == want.shape, name
        tolerance = TOLERANCE.get(dtype, 3e-6)
        assert_close(got, want, tolerance, f"{case}: {name}")
    for name, got, again in zip(names, results, one.run(names, threads=2), strict=True):
        np.testing.assert_array_equal(got, again, err_msg=f"{case}: {name} with two threads")
    for name, value in before.items():
        tensor = np.asarray(one.scope.find_var(name).get_tensor())
        assert tensor.tobytes() == value.tobytes(), f"{case}: input {name} was changed"


def assert_close(
    got: Array, want: Array, tolerance: float, message: str, absolute: float | None = None
) -> None:
    """Relative to the element, or to the largest one where rounding of sums shows."""
    want = np.asarray(want, dtype=np.float64 if is_floating(np.asarray(want)) else None)
    got = np.asarray(got, dtype=want.dtype)
    finite = np.abs(want[np.isfinite(want)]) if want.dtype.kind == "f" else np.zeros(0)
    largest = float(np.max(finite, initial=0.0))
    atol = tolerance * max(largest, 1e-3) if absolute is None else absolute * max(largest, 1.0)
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=atol, err_msg=message)


def _as_list(value: Value) -> list[Array]:
    return value if isinstance(value, list) else [value]


def is_floating(array: Array) -> bool:
    return dtype_name(array.dtype) in FLOATING


def _shapes(value: Value) -> str:
    shapes = ["[" + ",".join(map(str, array.shape)) + "]" for array in _as_list(value)]
    return "".join(shapes)


def _short(value: Any) -> str:
    return str(value).replace(" ", "")
