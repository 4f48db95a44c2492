"""Every row of the operator table on a GPU: outputs and gradients, in every dtype.

Needs a build with CUDA and a GPU; the emulated device counts as one.
"""

import re
from pathlib import Path

import numpy as np
import pytest
from every_case import every_case
from gradient_checks import direct_gradients, gradient_program, random_cotangents, wanted_inputs
from op_case import TOLERANCE, OpCase, assert_close

from fluidcore import core

RUNS = 3  # the first prepares, the second records what the third replays
CASES = [(case, dtype) for case in every_case() for dtype in case.dtypes_to_test()]
WITH_GRADIENT = [
    (case, dtype)
    for case, dtype in CASES
    if case.differentiable()
    and dtype in TOLERANCE
    and len(case.arrays()) == len({id(array) for array in case.arrays()})
]


def ids(cases: list[tuple[OpCase, str]]) -> list[str]:
    return [f"{case}-{dtype}" for case, dtype in cases]


@pytest.mark.parametrize(("case", "dtype"), CASES, ids=ids(CASES))
def test_outputs_are_those_of_numpy(case: OpCase, dtype: str) -> None:
    one, expected = case.build(dtype)
    names = [name for slot in expected for name in one.op.output(slot)]
    first, *others = one.run_on_gpu(names, RUNS)
    lists = [value if isinstance(value, list) else [value] for value in expected.values()]
    wanted = [array for arrays in lists for array in arrays]
    for name, want, got in zip(names, wanted, first, strict=True):
        assert got.shape == want.shape, name
        assert_close(got, want, TOLERANCE.get(dtype, 3e-6), f"{case}: {name}")
    if case.in_place:
        return
    for results in others:
        for name, got, again in zip(names, first, results, strict=True):
            np.testing.assert_array_equal(got, again, err_msg=f"{case}: {name} in another run")


@pytest.mark.parametrize(("case", "dtype"), WITH_GRADIENT, ids=ids(WITH_GRADIENT))
def test_gradients_are_those_of_the_cpu(case: OpCase, dtype: str) -> None:
    one, _ = case.build(dtype)
    inputs = wanted_inputs(case, one)
    cotangents = random_cotangents(case, one)
    on_cpu = direct_gradients(one, inputs, cotangents)
    backward, wanted = gradient_program(one, inputs, cotangents)
    first, *others = backward.run_on_gpu(list(wanted), RUNS)
    for name, got in zip(wanted.values(), first, strict=True):
        assert_close(got, on_cpu[name], 10 * TOLERANCE[dtype], f"{case}: d{name}")
    for results in others:
        for name, got, again in zip(wanted.values(), first, results, strict=True):
            np.testing.assert_array_equal(got, again, err_msg=f"{case}: d{name} in another run")


def test_the_operators_without_a_kernel_are_those_that_the_documentation_names() -> None:
    page = Path(__file__).parents[3].joinpath("docs/devices.md").read_text()
    without, _, _ = page.partition("## Operators without a kernel")[2].partition("\n## ")
    named = {
        name
        for item in without.split("\n* ")[1:]
        for name in re.findall("`([a-z_]+)`", item.partition("\n\n")[0])
    }
    types = core.op_types()
    assert named == {each for each in types if not core.op_support_gpu(each)}
    assert f"{len(types) - len(named)} of {len(types)} operators have a kernel" in without
