"""Addition, multiplication and their kin, with broadcasting, against NumPy."""

import numpy as np
import pytest
from binary_cases import broadcast_cases, expected, integer_cases
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import normal, positive
from op_runner import run_op

from fluidcore.base.dtypes import numpy_dtype

FORMULAS = {
    "elementwise_add": (np.add, normal),
    "elementwise_sub": (np.subtract, normal),
    "elementwise_mul": (np.multiply, normal),
    "elementwise_div": (np.divide, positive),
    "elementwise_pow": (np.power, positive),
}

TWICE = positive(3, 5, seed=9)
CASES = [
    case
    for name, (formula, data) in FORMULAS.items()
    for case in (
        *broadcast_cases(name, formula, data, data),
        OpCase(name, {"X": TWICE, "Y": TWICE}, expected(formula), note="one variable twice"),
    )
]
WHOLE = {"elementwise_floordiv": np.floor_divide, "elementwise_mod": np.mod}
for name, formula in WHOLE.items():
    CASES += broadcast_cases(name, formula, normal, positive)
    CASES += integer_cases(name, formula)
for name in ("elementwise_add", "elementwise_sub", "elementwise_mul"):
    CASES += integer_cases(name, FORMULAS[name][0])
CASES.append(
    OpCase(
        "elementwise_div",
        {"X": np.array([7, -7, 1]), "Y": np.array([2, 2, 0])},
        lambda X, Y: {"Out": np.array([3, -3, 0])},
        note="integers toward zero",
    )
)


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_whole_numbers_are_divided_as_in_python(dtype: str) -> None:
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    numbers = np.array([low, low + 1, -7, -6, -1, 0, 1, 6, 7, high - 1, high], dtype=dtype)
    x, y = (part.ravel() for part in np.meshgrid(numbers, numbers))
    pairs = [(int(a), int(b)) for a, b in zip(x, y, strict=True)]
    wanted = [a // b if b else 0 for a, b in pairs]
    wanted = [low if quotient > high else quotient for quotient in wanted]  # wraps around
    np.testing.assert_array_equal(run_op("elementwise_floordiv", {"X": x, "Y": y})["Out"], wanted)
    left = [a % b if b else 0 for a, b in pairs]
    np.testing.assert_array_equal(run_op("elementwise_mod", {"X": x, "Y": y})["Out"], left)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", WHOLE)
def test_floating_quotients_are_rounded_down_as_in_numpy(name: str, dtype: str) -> None:
    numbers = np.array(
        [0.1, 0.3, 1.0, -1.0, 2.5, -7.0, 0.0, -0.0, 3e7, -1e30, np.inf, -np.inf, np.nan],
        dtype=dtype,
    )
    x, y = (part.ravel() for part in np.meshgrid(numbers, numbers))
    with np.errstate(all="ignore"):
        wanted = WHOLE[name](x, y)
    np.testing.assert_array_equal(run_op(name, {"X": x, "Y": y})["Out"], wanted)


def test_shapes_that_do_not_broadcast_are_an_error() -> None:
    message = (
        r"elementwise_add: X and Y must have equal extents or 1 in every dimension, "
        r"got X \[2, 3\], Y \[2\]"
    )
    with pytest.raises(ValueError, match=message):
        run_op("elementwise_add", {"X": normal(2, 3), "Y": normal(2)})


def test_an_axis_that_does_not_fit_is_an_error() -> None:
    message = (
        r"elementwise_mul: Y must fit into X from dimension axis on, "
        r"got X \[2, 3\], Y \[3, 4\], axis 1"
    )
    with pytest.raises(ValueError, match=message):
        run_op("elementwise_mul", {"X": normal(2, 3), "Y": normal(3, 4)}, {"axis": 1})
    with pytest.raises(ValueError, match="elementwise_mul: axis must be at least -1, got -2"):
        run_op("elementwise_mul", {"X": normal(2, 3), "Y": normal(3)}, {"axis": -2})


@pytest.mark.parametrize(
    ("x", "y", "cure"),
    [
        ("float32", "float64", "write cast(x, 'float64')"),
        ("float64", "float32", "write cast(y, 'float64')"),
        ("float16", "float32", "write cast(x, 'float32')"),
        ("float16", "bfloat16", "write cast(y, 'float16')"),
        ("int32", "int64", "write cast(x, 'int64')"),
        ("int64", "float32", "write cast(x, 'float32')"),
        ("float64", "int32", "write cast(y, 'float64')"),
    ],
)
def test_of_mixed_dtypes_the_operand_that_holds_less_is_to_be_cast(
    x: str, y: str, cure: str
) -> None:
    ones = np.ones(2)
    values = {"X": ones.astype(numpy_dtype(x)), "Y": ones.astype(numpy_dtype(y))}
    with pytest.raises(ValueError, match="elementwise_add: X and Y must have the same") as raised:
        run_op("elementwise_add", values)
    assert str(raised.value).endswith(f"; {cure}")


def test_of_a_list_of_mixed_dtypes_the_message_says_which() -> None:
    message = (
        r"concat: X\[0\] and X\[2\] must have the same dtype, got X\[0\] float32 \[2\], "
        r"X\[2\] float64 \[3\]; write cast\(x\[0\], 'float64'\)"
    )
    half = normal(2).astype(np.float32)
    with pytest.raises(ValueError, match=message):
        run_op("concat", {"X": [half, half, normal(3)]})


def test_a_missing_slot_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"elementwise_add: input Y must be given .*, got nothing"):
        run_op("elementwise_add", {"X": normal(2)})


def test_an_unknown_slot_is_an_error_that_names_what_there_is() -> None:
    with pytest.raises(LookupError, match=r"elementwise_add: no input slot 'Z'; it has: X, Y"):
        run_op("elementwise_add", {"X": normal(2), "Y": normal(2), "Z": normal(2)})


def test_an_unknown_attribute_is_an_error_that_names_the_nearest() -> None:
    message = r"elementwise_add: no attribute 'axs'; did you mean 'axis'\?"
    with pytest.raises(LookupError, match=message):
        run_op("elementwise_add", {"X": normal(2), "Y": normal(2)}, {"axs": 0})


def test_an_attribute_of_the_wrong_type_is_an_error() -> None:
    message = r"elementwise_add: attribute 'axis' must be an? int, got the str '?\"?0"
    with pytest.raises(ValueError, match=message):
        run_op("elementwise_add", {"X": normal(2), "Y": normal(2)}, {"axis": "0"})


def test_a_dtype_without_kernel_is_an_error_that_lists_those_there_are() -> None:
    x = np.ones(2, dtype=np.bool_)
    with pytest.raises(ValueError, match=r"elementwise_pow: no kernel for bool on cpu; it has: "):
        run_op("elementwise_pow", {"X": x, "Y": x})
