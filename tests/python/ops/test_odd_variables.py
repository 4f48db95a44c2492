"""Operators that are given variables which they cannot use say so, and read nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from every_case import every_case
from gradient_checks import random_cotangents
from op_case import OpCase

from fluidcore import core


def one_case_for_each_operator() -> dict[str, OpCase]:
    """Without variables in two places."""
    cases = {}
    for case in every_case():
        arrays = case.arrays()
        if arrays and not case.in_place and len({id(array) for array in arrays}) == len(arrays):
            cases[case.type] = case
    return cases


CASES = one_case_for_each_operator()
WITH_GRADIENTS = [case for case in CASES.values() if case.differentiable()]


@pytest.mark.parametrize("case", WITH_GRADIENTS, ids=str)
def test_a_gradient_of_another_shape_is_an_error(case: OpCase) -> None:
    one, _ = case.build("float64")
    given = set()
    for name, cotangent in random_cotangents(case, one).items():
        given.add(core.grad_var_name(name))
        one.add_value(core.grad_var_name(name), np.stack([cotangent] * 2))
    grads, _ = core.get_grad_op_desc(one.op, set(), [])
    refused = False
    left_out: set[str] = set()  # what is written by operators that take any shape
    for grad in grads:
        parts = (grad.type(), grad.inputs(), grad.outputs(), grad.attrs())
        if left_out.intersection(grad.input_arg_names()):
            left_out.update(grad.output_arg_names())
        elif not given.intersection(grad.input_arg_names()):
            if not refused:  # a value that the gradient reads
                one.block.add_op(*parts)
        elif grad.type().endswith("_grad"):
            with pytest.raises(ValueError, match=f"{grad.type()}: .* must have shape"):
                one.block.add_op(*parts)
            refused = True
        else:
            left_out.update(grad.output_arg_names())


@pytest.mark.parametrize("case", CASES.values(), ids=str)
def test_an_output_that_nobody_wants_is_left_out_or_an_error(case: OpCase) -> None:
    one, _ = case.build(case.dtypes_to_test()[0])
    for slot in one.op.outputs():
        unwanted = [core.EMPTY_VAR_NAME] * len(one.op.output(slot))
        outputs = {**one.op.outputs(), slot: unwanted}
        program = core.ProgramDesc()
        for name, value in one.values.items():
            variable = program.block(0).var(name)
            variable.set_shape(list(value.shape))
            variable.set_dtype(one.block.var(name).dtype())
        program.block(0).add_op(one.op.type(), one.op.inputs(), outputs, one.op.attrs())
        others = [n for s, names in outputs.items() if s != slot for n in names]
        if not others:
            continue  # then the operator is not run
        executor = core.Executor(core.CPUPlace())
        message = ""
        try:
            executor.run(program, {}, others, one.scope)
        except ValueError as error:
            message = str(error)
        assert message in ("", f"{one.op.type()}: {slot} must be a variable, got @EMPTY@")


@pytest.mark.parametrize("op_type", [case.type for case in WITH_GRADIENTS])
def test_the_gradient_of_an_operator_without_variables_is_an_error(op_type: str) -> None:
    with pytest.raises(ValueError, match=f"{op_type}: .* must be given"):
        core.get_grad_op_desc(core.OpDesc(op_type), set(), [])


def test_an_operator_without_a_kernel_for_the_dtype_is_refused_when_it_is_added() -> None:
    block = core.ProgramDesc().block(0)
    block.var("x").set_dtype("bool")
    with pytest.raises(ValueError, match="relu: no kernel for bool on cpu; it has: float"):
        block.add_op("relu", {"X": ["x"]}, {"Out": ["y"]}, {})
    assert block.op_size() == 0
    assert not block.has_var("y")


def test_the_type_of_an_attribute_is_named_with_its_article() -> None:
    block = core.ProgramDesc().block(0)
    block.var("x")
    with pytest.raises(ValueError, match=r"'k' must be an int, got the float 1\.5"):
        block.add_op("top_k", {"X": ["x"]}, {"Out": ["y"], "Indices": ["i"]}, {"k": 1.5})
    with pytest.raises(ValueError, match="'scale' must be a float, got the str '2'"):
        block.add_op("scale", {"X": ["x"]}, {"Out": ["y"]}, {"scale": "2"})
