from typing import Any

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import core, layers
from fluidcore.gradcheck.program.cast_program import cast_attributes, cast_program


def attributes(op_type: str, before: str | None, **attrs: Any) -> dict[str, Any]:
    return cast_attributes(core.OpDesc(op_type, {}, {}, attrs), before, "float64")


def test_every_floating_variable_of_every_block_becomes_the_dtype() -> None:
    x = layers.data("x", [2], append_batch_size=False)
    n = layers.fill_constant([1], "int64", 2)
    layers.while_loop(lambda i, h: i < n, lambda i, h: (i + 1, layers.tanh(h)), [0, x])
    desc = fluid.default_main_program().desc.clone()
    cast_program(desc, "float64")
    blocks = [desc.block(index) for index in range(desc.num_blocks())]
    dtypes = {var.dtype() for block in blocks for var in block.all_vars()}
    assert len(blocks) == 2
    assert dtypes == {"float64", "int64", "bool"}


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_a_constant_keeps_the_value_that_it_had(dtype: str) -> None:
    c = layers.fill_constant([1], dtype, 0.1)
    y = layers.assign(c)
    desc = fluid.default_main_program().desc.clone()
    (before,) = fluid.Executor().run(fetch_list=[y])
    cast_program(desc, "float64")
    (after,) = fluid.Executor().run(fluid.Program.from_desc(desc), fetch_list=[y.name])
    assert after.dtype == np.float64
    assert after.item() == float(before.item()) != 0.1


def test_a_factor_is_what_kernels_of_16_bits_calculate_with() -> None:
    factor = float(np.float32(0.1))
    assert attributes("scale", "float16", scale=0.1) == {"scale": factor}
    assert attributes("scale", "float32", scale=0.1) == {"scale": factor}
    assert attributes("scale", "float32", scale=0.5) == {}
    assert attributes("scale", "float64", scale=0.1) == {}


def test_attributes_that_name_an_element_type_follow() -> None:
    numbers = {"in_dtype": core.dtype_number("int64"), "out_dtype": core.dtype_number("float32")}
    assert attributes("cast", "float32", **numbers) == {"out_dtype": core.dtype_number("float64")}


def test_integers_stay_as_they_are() -> None:
    whole = {"shape": [1], "value": 3.0, "dtype": core.dtype_number("int64")}
    assert attributes("fill_constant", None, **whole) == {}
