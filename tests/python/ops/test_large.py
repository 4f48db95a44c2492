"""Shapes of real networks in float32, forward and backward, against the same in float64.

Float32 has kernels of its own, and large shapes have others than small ones.
"""

from typing import Any

import numpy as np
import pytest
from gradient_checks import direct_gradients, random_cotangents, wanted_inputs
from op_case import OpCase, assert_close
from op_data import distinct, integers, normal, positive
from op_runner import Value


def case(
    op_type: str, inputs: dict[str, Value], attrs: dict[str, Any] | None = None, **more: Any
) -> OpCase:
    return OpCase(op_type, inputs, lambda **_: {}, attrs or {}, **more)


def image(op_type: str, x: list[int], w: list[int], **attrs: Any) -> OpCase:
    fan_in = float(np.sqrt(np.prod(w[1:])))
    return case(op_type, {"Input": normal(*x), "Filter": normal(*w) / fan_in}, attrs)


def product(op_type: str, x: list[int], y: list[int], **attrs: Any) -> OpCase:
    return case(op_type, {"X": normal(*x), "Y": normal(*y, seed=1)}, attrs)


NORM = {
    "X": 3 * normal(16, 32, 14, 14) + 5,
    "Scale": positive(32),
    "Bias": normal(32),
    "Mean": normal(32),
    "Variance": positive(32),
}
CASES = [
    image("conv2d", [8, 3, 32, 32], [16, 3, 3, 3], paddings=[1, 1]),
    image("conv2d", [4, 32, 14, 14], [64, 32, 3, 3], paddings=[1, 1], strides=[2, 2]),
    image("conv2d", [2, 64, 14, 14], [96, 64, 1, 1]),
    image("conv2d", [2, 48, 15, 13], [48, 1, 5, 5], paddings=[2, 2], groups=48),
    image("conv2d", [2, 32, 17, 17], [32, 16, 3, 3], groups=2, dilations=[2, 2]),
    image("depthwise_conv2d", [2, 48, 15, 13], [48, 1, 3, 3], paddings=[1, 1], groups=48),
    image("conv2d_transpose", [4, 64, 7, 7], [64, 32, 4, 4], paddings=[1, 1], strides=[2, 2]),
    image("conv2d_transpose", [2, 32, 9, 9], [32, 8, 3, 3], groups=2, dilations=[2, 2]),
    image("conv1d", [8, 32, 200], [48, 32, 5], paddings=[2]),
    image("conv3d", [2, 16, 8, 14, 14], [32, 16, 3, 3, 3], paddings=[1, 1, 1]),
    image("conv3d", [2, 3, 8, 16, 16], [16, 3, 3, 3, 3], strides=[1, 2, 2]),
    image("conv3d_transpose", [2, 16, 4, 7, 7], [16, 8, 2, 4, 4], strides=[2, 2, 2]),
    product("mul", [64, 784], [784, 200]),
    product("mul", [1, 1000], [1000, 10]),
    product("matmul", [8, 65, 64], [8, 64, 33]),
    product("matmul", [8, 64, 65], [8, 33, 64], transpose_X=True, transpose_Y=True),
    product("matmul", [300, 257], [257]),
    product("elementwise_add", [64, 32, 14, 14], [32], axis=1),
    product("elementwise_mul", [128, 1000], [1000]),
    product("elementwise_mul", [64, 1, 100], [50, 1]),
    case("pool2d", {"X": distinct(4, 16, 28, 28)}, {"pooling_type": "max", "ksize": [3, 3]}),
    case(
        "pool2d",
        {"X": normal(4, 16, 28, 28)},
        {"pooling_type": "avg", "ksize": [3, 3], "strides": [2, 2], "paddings": [1, 1]},
    ),
    case("pool2d", {"X": normal(4, 64, 7, 7)}, {"pooling_type": "avg", "ksize": [7, 7]}),
    case(
        "pool3d",
        {"X": distinct(2, 8, 6, 14, 14)},
        {"pooling_type": "max", "ksize": [2, 3, 3], "strides": [2, 2, 2]},
    ),
    case(
        "pool3d",
        {"X": normal(2, 8, 6, 14, 14)},
        {"pooling_type": "avg", "ksize": [3, 3, 3], "paddings": [1, 1, 1]},
    ),
    case("batch_norm", NORM, grad=["X", "Scale", "Bias"]),
    case("softmax", {"X": 5 * normal(256, 1000)}),
    case(
        "softmax_with_cross_entropy",
        {"Logits": 5 * normal(256, 1000), "Label": integers(0, 1000, 256, 1)},
    ),
    case("lookup_table", {"W": normal(1000, 64), "Ids": integers(0, 1000, 3000, 1)}),
    case("reduce_sum", {"X": normal(300, 400)}, {"dim": 1}),
    case("reduce_max", {"X": normal(300, 400)}, {"dim": 0}),
    case("reduce_min", {"X": normal(300, 400)}, {"dim": 1}),
    case("reduce_prod", {"X": 1 + 0.01 * normal(300, 400)}, {"dim": 0}),
    case("expand", {"X": normal(300, 3)}, {"expand_times": [2, 70]}),
    case("broadcast_to", {"X": normal(64, 1, 30)}, {"shape": [64, 50, 30]}),
    case("pad", {"X": normal(8, 16, 28, 28)}, {"paddings": [0, 0, 0, 0, 2, 2, 2, 2]}),
    case(
        "pad",
        {"X": normal(8, 16, 28, 28)},
        {"paddings": [0, 0, 0, 0, 40, 9, 2, 70], "mode": "reflect"},
    ),
    case(
        "strided_slice",
        {"X": normal(300, 401)},
        {"axes": [0, 1], "starts": [-1, 1], "ends": [-301, 400], "strides": [-1, 2]},
    ),
    case("roll", {"X": normal(300, 401)}, {"shifts": [7, -100], "axis": [0, 1]}),
    case("mean", {"X": normal(100_003)}),
    case("transpose", {"X": normal(32, 64, 65)}, {"axis": [0, 2, 1]}),
    case("gelu", {"X": 3 * normal(100_003)}),
    case("tanh", {"X": 3 * normal(100_003)}),
    case("exp", {"X": 10 * normal(100_003)}),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_float32_is_as_exact_as_it_can_be(case: OpCase) -> None:
    single, _ = case.build("float32")
    exact, _ = case.build("float64")
    for name, value in single.values.items():
        exact.add_value(name, value.astype(exact.values[name].dtype))
    outputs = single.op.output_arg_names()
    inputs = wanted_inputs(case, single)
    cotangents = random_cotangents(case, single)
    expected = dict(zip(outputs, exact.run(outputs), strict=True))
    wider = {name: value.astype(np.float64) for name, value in cotangents.items()}
    expected_gradients = direct_gradients(exact, inputs, wider)
    for threads in (1, 2):
        for name, got in zip(outputs, single.run(outputs, threads=threads), strict=True):
            assert_close(got, expected[name], 1e-5, f"{name}, {threads} threads")
        gradients = direct_gradients(single, inputs, cotangents, threads=threads)
        for name, got in gradients.items():
            assert_close(got, expected_gradients[name], 1e-5, f"d{name}, {threads} threads")
