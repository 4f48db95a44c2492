"""Table-driven checks of one operator against NumPy and against numerical differentiation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from op_runner import Array, OneOp, Value, one_op

from fluidcore import core
from fluidcore.backward import append_backward
from fluidcore.dtypes import FLOATING, dtype_name, numpy_dtype
from fluidcore.gradcheck import check_grad, get_numerical_gradient
from fluidcore.program import Program

TOLERANCE = {"float64": 1e-12, "float32": 3e-6, "float16": 3e-3, "bfloat16": 2e-2}
STEP = 2.0**-17  # near the cube root of float64's rounding error


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
    constants: Sequence[str] = ()  # floating output slots that no gradient comes from
    dtypes: Sequence[str] | None = None  # None: all that the operator has

    def __str__(self) -> str:
        shown = list(self.inputs.items())[: 3 if len(self.inputs) < 4 else 1]
        slots = [f"{slot}{_shapes(value)}" for slot, value in shown]
        attrs = [f"{name}={_short(value)}" for name, value in self.attrs.items()]
        return " ".join(filter(None, [self.type, *slots, *attrs, self.note]))

    def dtypes_to_test(self) -> list[str]:
        if not any(_is_floating(array) for array in self.arrays()):
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
        return [s for s, value in self.inputs.items() if any(map(_is_floating, _as_list(value)))]

    def inputs_in(self, dtype: str) -> dict[str, Value]:
        """The inputs with floating arrays converted; an array given twice stays one array."""
        made: dict[int, Array] = {}

        def convert(array: Array) -> Array:
            if id(array) not in made:
                floating = _is_floating(array) and dtype != "as given"
                made[id(array)] = np.array(array, dtype=numpy_dtype(dtype) if floating else None)
            return made[id(array)]

        return {
            slot: [convert(a) for a in value] if isinstance(value, list) else convert(value)
            for slot, value in self.inputs.items()
        }

    def expected_from(self, inputs: Mapping[str, Value]) -> Mapping[str, Value]:
        def exact(array: Array) -> Array:
            return array.astype(np.float64) if _is_floating(array) else array

        values = {
            slot: [exact(a) for a in value] if isinstance(value, list) else exact(value)
            for slot, value in inputs.items()
        }
        return self.expected(**values, **self.attrs)

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
        _assert_close(got, want, tolerance, f"{case}: {name}")
    for name, got, again in zip(names, results, one.run(names, threads=2), strict=True):
        np.testing.assert_array_equal(got, again, err_msg=f"{case}: {name} with two threads")
    for name, value in before.items():
        tensor = np.asarray(one.scope.find_var(name).get_tensor())
        np.testing.assert_array_equal(tensor, value, err_msg=f"{case}: input {name} was changed")


def check_gradient(case: OpCase) -> None:
    """Compares the gradient operators with central differences.

    In float64 directly and through append_backward, in float32 with the tolerance of check_grad,
    and in 16-bit dtypes against float64. Gradients that have gradients are checked to second order.
    """
    exact = _gradients(case, "float64")
    for name, numerical in exact.numerical.items():
        for how, operator in (("direct", exact.direct), ("append_backward", exact.appended)):
            if operator:
                _assert_close(operator[name], numerical, 1e-6, f"{case}: d{name}, {how}", 1e-7)
    if "float32" in case.dtypes_to_test():
        _check_float32(case)
    for dtype in {"float16", "bfloat16"}.intersection(case.dtypes_to_test()):
        _check_16_bit(case, dtype)
    _check_second_order(case)


@dataclass
class Gradients:
    """Input variable -> gradient, found in three ways."""

    numerical: dict[str, Array]
    direct: dict[str, Array]  # empty if a variable is given twice
    appended: dict[str, Array]


def _gradients(case: OpCase, dtype: str) -> Gradients:
    one, _ = case.build(dtype)
    inputs = _wanted_inputs(case, one)
    cotangents = _cotangents(case, one)
    numerical = {
        name: sum(
            (
                get_numerical_gradient(
                    one.op, one.values, output, name, STEP, output_weights=cotangent
                )
                for output, cotangent in cotangents.items()
            ),
            start=np.zeros(one.values[name].shape),
        )
        for name in inputs
    }
    shared = len(set(one.op.input_arg_names())) < len(one.op.input_arg_names())
    direct = {} if shared else direct_gradients(one, inputs, cotangents)
    for name in direct if len(direct) > 1 else ():
        others = [other for other in inputs if other != name]
        alone = direct_gradients(one, [name], cotangents, no_grad=others)[name]
        np.testing.assert_array_equal(alone, direct[name], err_msg=f"{case}: only d{name}")
    return Gradients(numerical, direct, _appended_gradients(one, inputs, cotangents))


def _wanted_inputs(case: OpCase, one: OneOp) -> list[str]:
    names = [name for slot in case.differentiable() for name in one.op.input(slot)]
    return list(dict.fromkeys(names))


def _cotangents(case: OpCase, one: OneOp) -> dict[str, Array]:
    """A random cotangent for every output that gradients come from."""
    grads, _ = core.get_grad_op_desc(one.op, set(), [])
    read = {name for grad in grads for name in grad.input_arg_names()}
    slots = {s.name: s for s in core.op_def(one.op.type()).outputs}
    rng = np.random.default_rng(7)
    cotangents = {}
    for slot, names in one.op.outputs().items():
        for name in names:
            floating = one.block.var(name).dtype() in FLOATING
            takes_part = core.grad_var_name(name) in read
            constant = not floating or slot in case.constants or slots[slot].intermediate
            assert takes_part or constant, f"{case}: the gradient of {slot} is ignored"
            if takes_part and floating:
                value = rng.standard_normal(one.block.var(name).shape())
                cotangents[name] = value.astype(numpy_dtype(one.block.var(name).dtype()))
    return cotangents


def direct_gradients(
    one: OneOp, inputs: Sequence[str], cotangents: Mapping[str, Array], no_grad: Sequence[str] = ()
) -> dict[str, Array]:
    """What the operators of core.get_grad_op_desc calculate: all gradients, or without some."""
    grads, grad_to_var = core.get_grad_op_desc(one.op, set(no_grad), [])
    backward = OneOp(one.program.clone(), one.op, one.scope, dict(one.values))
    for output, cotangent in cotangents.items():
        backward.add_value(core.grad_var_name(output), cotangent)
    for grad in grads:
        backward.block.add_op(grad.type(), grad.inputs(), grad.outputs(), grad.attrs())
    wanted = {core.grad_var_name(name): name for name in inputs}
    for grad_name, name in wanted.items():
        assert grad_to_var[grad_name] == name
    written = {name for grad in grads for name in grad.output_arg_names()}
    assert written == set(wanted), f"{one.op.type()}: gradients of {written}, wanted {set(wanted)}"
    return dict(zip(wanted.values(), backward.run(list(wanted)), strict=True))


def _appended_gradients(
    one: OneOp, inputs: Sequence[str], cotangents: Mapping[str, Array]
) -> dict[str, Array]:
    """The gradients of sum(out * cotangent) over all outputs, by append_backward."""
    program = Program.from_desc(one.program.clone())
    block = program.global_block()
    for name in one.values:
        desc = block.desc.var(name)
        desc.set_is_parameter(name in inputs)
        desc.set_trainable(name in inputs)
        desc.set_persistable(name in inputs)
        desc.set_stop_gradient(name not in inputs)
    whole = OneOp(program.desc, one.op, one.scope)
    _append_objective(whole, cotangents)
    pairs = append_backward(block.var("loss"), parameter_list=list(inputs))
    names = [grad.name for _, grad in pairs if grad is not None]
    assert len(names) == len(inputs), f"{one.op.type()}: append_backward found {names}"
    return dict(zip(inputs, whole.run(names), strict=True))


def _append_objective(one: OneOp, weights: Mapping[str, Array]) -> None:
    """Appends "loss", the weighted sum of the elements of some variables."""
    terms = []
    for name, weight in weights.items():
        factor, product, term = f"{name}@FACTOR", f"{name}@PRODUCT", f"{name}@TERM"
        one.add_value(factor, weight)
        one.block.add_op("elementwise_mul", {"X": [name], "Y": [factor]}, {"Out": [product]}, {})
        one.block.add_op("reduce_sum", {"X": [product]}, {"Out": [term]}, {"reduce_all": True})
        terms.append(term)
    one.block.add_op("sum", {"X": terms}, {"Out": ["loss"]}, {})


def _check_float32(case: OpCase) -> None:
    one, _ = case.build("float32")
    for output in _cotangents(case, one):
        check_grad(one.op, one.values, _wanted_inputs(case, one), output)


def _check_second_order(case: OpCase) -> None:
    """Each gradient as a function of the inputs and of the incoming gradient."""
    one, _ = case.build("float64")
    grads, _ = core.get_grad_op_desc(one.op, set(), [])
    inputs = _wanted_inputs(case, one)
    shared = len(set(one.op.input_arg_names())) < len(one.op.input_arg_names())
    if shared or not all(core.op_def(grad.type()).has_grad for grad in grads):
        return
    cotangents = _cotangents(case, one)
    for output, cotangent in cotangents.items():
        one.add_value(core.grad_var_name(output), cotangent)
    for grad in grads:
        one.block.add_op(grad.type(), grad.inputs(), grad.outputs(), grad.attrs())
    rng = np.random.default_rng(8)
    weights = {
        core.grad_var_name(name): rng.standard_normal(one.values[name].shape) for name in inputs
    }
    read = {
        name
        for grad in grads
        for slot in core.op_def(grad.type()).inputs
        if not slot.shape_only
        for name in grad.input(slot.name)
    }
    _append_objective(one, weights)
    for name in (*inputs, *map(core.grad_var_name, cotangents)):
        if name not in read:
            continue
        try:
            check_grad(one.program, one.values, [name], "loss", max_relative_error=1e-6)
        except core.InvalidArgument:  # no path: then there must be nothing to differentiate
            numerical = get_numerical_gradient(one.program, one.values, "loss", name, STEP)
            np.testing.assert_allclose(numerical, 0, atol=1e-6, err_msg=f"{case}: d{name}")


def _check_16_bit(case: OpCase, dtype: str) -> None:
    """The 16-bit gradient against that of the same numbers in float64."""
    one, _ = case.build(dtype)
    inputs = _wanted_inputs(case, one)
    if len(set(one.op.input_arg_names())) < len(one.op.input_arg_names()):
        return
    cotangents = _cotangents(case, one)
    exact = OneOp(core.ProgramDesc(), one.op, core.Scope())
    for name, value in one.values.items():
        exact.add_value(name, value.astype(np.float64) if _is_floating(value) else value)
    exact.op = exact.block.add_op(one.op.type(), one.op.inputs(), one.op.outputs(), one.op.attrs())
    wanted = direct_gradients(
        exact, inputs, {name: c.astype(np.float64) for name, c in cotangents.items()}
    )
    for name, got in direct_gradients(one, inputs, cotangents).items():
        assert dtype_name(got.dtype) == dtype
        _assert_close(got, wanted[name], 3 * TOLERANCE[dtype], f"{case}: d{name} in {dtype}")


def _assert_close(
    got: Array, want: Array, tolerance: float, message: str, absolute: float | None = None
) -> None:
    """Relative to the element, or to the largest one where rounding of sums shows."""
    want = np.asarray(want, dtype=np.float64 if _is_floating(np.asarray(want)) else None)
    got = np.asarray(got, dtype=want.dtype)
    finite = np.abs(want[np.isfinite(want)]) if want.dtype.kind == "f" else np.zeros(0)
    largest = float(np.max(finite, initial=0.0))
    atol = tolerance * max(largest, 1e-3) if absolute is None else absolute * max(largest, 0.1)
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=atol, err_msg=message)


def _as_list(value: Value) -> list[Array]:
    return value if isinstance(value, list) else [value]


def _is_floating(array: Array) -> bool:
    return dtype_name(array.dtype) in FLOATING


def _shapes(value: Value) -> str:
    shapes = ["[" + ",".join(map(str, array.shape)) + "]" for array in _as_list(value)]
    return "".join(shapes)


def _short(value: Any) -> str:
    return str(value).replace(" ", "")
