"""Gradient operators against numerical differentiation, case by case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from op_case import TOLERANCE, OpCase, assert_close, is_floating
from op_runner import Array, OneOp

from fluidcore import core
from fluidcore.backward import append_backward
from fluidcore.base.dtypes import FLOATING, dtype_name, numpy_dtype
from fluidcore.gradcheck import check_grad, get_numerical_gradient
from fluidcore.program import Program
from fluidcore.program.variable import SELECTED_ROWS

STEP = 2.0**-17  # near the cube root of float64's rounding error


def check_gradient(case: OpCase) -> None:
    """Compares the gradient operators with central differences.

    In float64 directly and through append_backward, in float32 with the tolerance of check_grad,
    and in 16-bit dtypes against float64. Gradients that have gradients are checked to second order.
    """
    exact = _gradients(case, "float64")
    for name, numerical in exact.numerical.items():
        for how, operator in (("direct", exact.direct), ("append_backward", exact.appended)):
            if operator:
                assert_close(operator[name], numerical, 1e-6, f"{case}: d{name}, {how}", 1e-9)
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
    inputs = wanted_inputs(case, one)
    cotangents = random_cotangents(case, one)
    numerical = {
        name: sum(
            (
                get_numerical_gradient(one.op, one.values, output, name, STEP, cotangent=cotangent)
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


def wanted_inputs(case: OpCase, one: OneOp) -> list[str]:
    names = [name for slot in case.differentiable() for name in one.op.input(slot)]
    return list(dict.fromkeys(names))


def random_cotangents(case: OpCase, one: OneOp) -> dict[str, Array]:
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
            constant = not floating or slots[slot].no_gradient or slots[slot].intermediate
            assert takes_part or constant, f"{case}: the gradient of {slot} is ignored"
            if takes_part and floating:
                shape = one.block.var(name).shape()
                if -1 in shape:  # it depends on the data
                    shape = list(one.run([name])[0].shape)
                value = rng.standard_normal(shape)
                value += np.copysign(0.3, value)  # an element of nearly 0 would hide an error
                cotangents[name] = value.astype(numpy_dtype(one.block.var(name).dtype()))
    return cotangents


def direct_gradients(
    one: OneOp,
    inputs: Sequence[str],
    cotangents: Mapping[str, Array],
    no_grad: Sequence[str] = (),
    *,
    threads: int = 1,
) -> dict[str, Array]:
    """What the operators of core.get_grad_op_desc calculate: all gradients, or without some."""
    backward, wanted = gradient_program(one, inputs, cotangents, no_grad)
    return dict(zip(wanted.values(), backward.run(list(wanted), threads=threads), strict=True))


def gradient_program(
    one: OneOp,
    inputs: Sequence[str],
    cotangents: Mapping[str, Array],
    no_grad: Sequence[str] = (),
) -> tuple[OneOp, dict[str, str]]:
    """The operators of core.get_grad_op_desc behind their forward operator, and what they write:
    gradient -> variable."""
    grads, grad_to_var = core.get_grad_op_desc(one.op, set(no_grad), [])
    backward = OneOp(one.program.clone(), one.op, one.scope, dict(one.values))
    for output, cotangent in cotangents.items():
        backward.add_value(core.grad_var_name(output), cotangent)
    _append_gradients(backward, grads)
    wanted = {core.grad_var_name(name): name for name in inputs}
    for grad_name, name in wanted.items():
        assert grad_to_var[grad_name] == name
    written = {name for grad in grads for name in grad.output_arg_names()}
    written -= {name for grad in grads for name in grad.input_arg_names() if name not in wanted}
    assert written == set(wanted), f"{one.op.type()}: gradients of {written}, wanted {set(wanted)}"
    return backward, wanted


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


def _append_gradients(one: OneOp, grads: Sequence[core.OpDesc]) -> None:
    """Appends gradient operators; where several write one gradient, their sum after the last."""
    written = [name for grad in grads for name in grad.output_arg_names()]
    parts: dict[str, list[str]] = {name: [] for name in written if written.count(name) > 1}
    for grad in grads:
        outputs = grad.outputs()
        complete = []
        for names in outputs.values():
            for i, name in enumerate(names):
                if name in parts:
                    names[i] = f"{name}@{len(parts[name])}"
                    parts[name].append(names[i])
                    if len(parts[name]) == written.count(name):
                        complete.append(name)
        one.block.add_op(grad.type(), grad.inputs(), outputs, grad.attrs())
        for name in complete:
            one.block.add_op("sum", {"X": parts[name]}, {"Out": [name]}, {})


def _append_objective(one: OneOp, weights: Mapping[str, Array]) -> None:
    """Appends "loss", the weighted sum of the elements of some variables."""
    terms = []
    for name, weight in weights.items():
        factor, product, term = f"{name}@FACTOR", f"{name}@PRODUCT", f"{name}@TERM"
        if one.block.var(name).type() == SELECTED_ROWS:
            rows, name = name, f"{name}@DENSE"
            one.block.add_op("selected_rows_to_dense", {"X": [rows]}, {"Out": [name]}, {})
        one.add_value(factor, weight)
        one.block.add_op("elementwise_mul", {"X": [name], "Y": [factor]}, {"Out": [product]}, {})
        one.block.add_op("reduce_sum", {"X": [product]}, {"Out": [term]}, {"reduce_all": True})
        terms.append(term)
    one.block.add_op("sum", {"X": terms}, {"Out": ["loss"]}, {})


def _check_float32(case: OpCase) -> None:
    one, _ = case.build("float32")
    for output in random_cotangents(case, one):
        for name in wanted_inputs(case, one):
            _check_or_zero(one.op, one.values, output, name, 0.005)


def _check_or_zero(
    function: Any, values: Mapping[str, Array], output: str, name: str, tolerance: float
) -> None:
    """The gradient by one input; where there is none, the numerical one must be 0."""
    try:
        check_grad(function, values, [name], output, max_relative_error=tolerance)
    except core.InvalidArgument:  # no path
        numerical = get_numerical_gradient(function, values, output, name, STEP)
        np.testing.assert_allclose(numerical, 0, atol=tolerance / 1e3, err_msg=f"d{output}/d{name}")


def _check_second_order(case: OpCase) -> None:
    """Each gradient as a function of the inputs and of the incoming gradient."""
    one, _ = case.build("float64")
    grads, _ = core.get_grad_op_desc(one.op, set(), [])
    inputs = wanted_inputs(case, one)
    shared = len(set(one.op.input_arg_names())) < len(one.op.input_arg_names())
    if shared or not all(core.op_def(grad.type()).has_grad for grad in grads):
        return
    cotangents = random_cotangents(case, one)
    for output, cotangent in cotangents.items():
        one.add_value(core.grad_var_name(output), cotangent)
    _append_gradients(one, grads)
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
        if name in read:
            _check_or_zero(one.program, one.values, "loss", name, 1e-6)


def _check_16_bit(case: OpCase, dtype: str) -> None:
    """The 16-bit gradient against that of the same numbers in float64."""
    one, _ = case.build(dtype)
    inputs = wanted_inputs(case, one)
    if len(set(one.op.input_arg_names())) < len(one.op.input_arg_names()):
        return
    cotangents = random_cotangents(case, one)
    exact = OneOp(core.ProgramDesc(), one.op, core.Scope())
    for name, value in one.values.items():
        exact.add_value(name, value.astype(np.float64) if is_floating(value) else value)
    exact.op = exact.block.add_op(one.op.type(), one.op.inputs(), one.op.outputs(), one.op.attrs())
    wanted = direct_gradients(
        exact, inputs, {name: c.astype(np.float64) for name, c in cotangents.items()}
    )
    for name, got in direct_gradients(one, inputs, cotangents).items():
        assert dtype_name(got.dtype) == dtype
        assert_close(got, wanted[name], 3 * TOLERANCE[dtype], f"{case}: d{name} in {dtype}")
