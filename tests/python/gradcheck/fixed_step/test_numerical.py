from typing import Any

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import core
from fluidcore.base.dtypes import numpy_dtype
from fluidcore.gradcheck import get_numerical_gradient
from fluidcore.gradcheck.fixed_step.numerical import element_by_element
from fluidcore.gradcheck.program.network import Network

X = np.array([[1.0, -2.0, 3.0], [0.5, 0.25, -1.0]])
MUL = core.OpDesc("mul", {"X": ["x"], "Y": ["w"]}, {"Out": ["out"]}, {})
SQUARE = core.OpDesc("square", {"X": ["x"]}, {"Out": ["y"]}, {})


def network() -> fluid.Program:
    """loss = mean((x w)^2)."""
    program = fluid.Program()
    with fluid.program_guard(program):
        block = program.global_block()
        for name, shape in (("x", [2, 3]), ("w", [3, 4])):
            block.create_var(name, shape=shape, dtype="float64")
        block.append_op("mul", {"X": "x", "Y": "w"}, {"Out": "h"})
        block.append_op("square", {"X": "h"}, {"Out": "s"})
        block.append_op("mean", {"X": "s"}, {"Out": "loss"})
    return program


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_sum_of_the_output_is_differentiated(dtype: str) -> None:
    w = np.arange(12.0).reshape(3, 4).astype(dtype)
    gradient = get_numerical_gradient(MUL, {"x": X.astype(dtype), "w": w}, "out", "x")
    assert gradient.dtype == np.float64
    assert gradient.shape == (2, 3)
    expected = np.broadcast_to(w.sum(axis=1), (2, 3))
    np.testing.assert_allclose(gradient, expected, rtol=1e-4 if dtype == "float32" else 1e-10)


def test_weights_of_the_output_may_be_given() -> None:
    weights = np.array([[1.0, 0.0, -1.0], [2.0, 0.5, 0.0]])
    gradient = get_numerical_gradient(SQUARE, {"x": X}, "y", "x", cotangent=weights)
    np.testing.assert_allclose(gradient, 2 * X * weights, rtol=1e-10)


def test_the_step_is_a_central_one_of_the_size_asked_for() -> None:
    cube = core.OpDesc("elementwise_pow", {"X": ["x"], "Y": ["three"]}, {"Out": ["y"]}, {})
    values = {"x": np.array([2.0]), "three": np.array([3.0])}
    for delta in (0.5, 0.005):  # ((x + d)^3 - (x - d)^3) / 2d = 3 x^2 + d^2
        gradient = get_numerical_gradient(cube, values, "y", "x", delta)
        np.testing.assert_allclose(gradient, [12 + delta**2], rtol=1e-9)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_without_a_step_the_gradient_is_that_of_the_float64_function(dtype: str) -> None:
    x = np.array([0.3, 1.7, -5.0]).astype(numpy_dtype(dtype))
    tanh = core.OpDesc("tanh", {"X": ["x"]}, {"Out": ["y"]}, {})
    gradient, error, info = get_numerical_gradient(tanh, {"x": x}, "y", "x", return_error=True)
    exact = 1 / np.cosh(x.astype(np.float64)) ** 2
    np.testing.assert_allclose(gradient, exact, rtol=1e-9)
    assert (abs(gradient - exact) <= error).all()
    assert (error < 1e-8).all()
    assert info.evaluations > 3
    assert gradient.shape == error.shape == (3,)


def test_the_element_type_may_be_chosen() -> None:
    x = np.array([0.5, 1.0]).astype(np.float16)
    with pytest.raises(ValueError, match="take a larger delta"):
        get_numerical_gradient(SQUARE, {"x": x}, "y", "x", 1e-4)
    gradient = get_numerical_gradient(SQUARE, {"x": x}, "y", "x", 1e-4, dtype="float64")
    np.testing.assert_allclose(gradient, [1.0, 2.0], rtol=1e-9)
    alone = get_numerical_gradient(SQUARE, {"x": np.float32([1.0])}, "y", "x", dtype="float32")
    np.testing.assert_allclose(alone, [2.0], rtol=1e-5)


@pytest.mark.parametrize(
    ("method", "error"),
    [("central", 1e-2), ("forward", 1.0), ("5point", 1e-5), ("richardson", 1e-7)],
)
def test_methods_differ_in_their_order(method: Any, error: float) -> None:
    exp = core.OpDesc("exp", {"X": ["x"]}, {"Out": ["y"]}, {})
    x = np.array([1.0, 2.0])
    gradient, bound, _ = get_numerical_gradient(
        exp, {"x": x}, "y", "x", 0.05, method=method, return_error=True
    )
    apart = abs(gradient - np.exp(x))
    assert (apart < error).all()
    assert (apart > 1e-6 * error).all()
    assert (apart <= bound).all()
    assert (bound <= apart + 1e-8).all()


def test_a_method_has_the_step_of_the_seed_unless_told_otherwise() -> None:
    values = {"x": X}
    central = get_numerical_gradient(SQUARE, values, "y", "x", method="central")
    np.testing.assert_array_equal(central, get_numerical_gradient(SQUARE, values, "y", "x", 0.005))
    with pytest.raises(ValueError, match=r"method must be one of auto, .*, got 'complex'"):
        get_numerical_gradient(SQUARE, values, "y", "x", method="complex")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"place must be CPUPlace\(\)"):
        get_numerical_gradient(SQUARE, values, "y", "x", place=core.CUDAPlace(0))  # type: ignore[arg-type]


def named(slots: dict[str, Any], prefix: str) -> dict[str, list[str]]:
    return {slot: [f"{prefix}{slot}"] for slot in slots}


RNG = np.random.default_rng(3)
SHAPE = (3, 5)
PLUS = RNG.uniform(0.5, 2.0, SHAPE)
ANY = RNG.standard_normal(SHAPE)
BIT_FOR_BIT: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    *((name, {"X": PLUS}, {}) for name in ("log", "sqrt")),
    *(
        (name, {"X": ANY}, {})
        for name in (
            *("relu", "gelu", "tanh", "sigmoid", "exp", "square", "abs", "erf", "softmax"),
            *("sin", "cos", "mean", "reduce_sum", "reduce_max", "reduce_mean", "scale"),
        )
    ),
    *(
        (f"elementwise_{name}", {"X": PLUS, "Y": RNG.uniform(0.5, 2.0, SHAPE)}, {})
        for name in ("add", "sub", "mul", "div", "max", "min", "pow")
    ),
    ("elementwise_add", {"X": ANY, "Y": RNG.standard_normal(5)}, {}),
    ("matmul", {"X": ANY, "Y": RNG.standard_normal((5, 4))}, {}),
    ("mul", {"X": ANY, "Y": RNG.standard_normal((5, 4))}, {}),
    ("reshape", {"X": ANY}, {"shape": [5, 3]}),
    ("transpose", {"X": ANY}, {"axis": [1, 0]}),
    ("clip", {"X": ANY}, {"min": -0.5, "max": 0.75}),
    ("dropout", {"X": ANY}, {}),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("op_type", "inputs", "attrs"), BIT_FOR_BIT)
def test_the_engine_gives_the_bits_of_the_loop_in_python(
    op_type: str, inputs: dict[str, Any], attrs: dict[str, Any], dtype: str
) -> None:
    op = core.OpDesc(op_type, named(inputs, ""), {"Out": ["out"]}, attrs)
    if op_type == "dropout":
        op.set_output("Mask", ["mask"])
    values = {slot: value.astype(dtype) for slot, value in inputs.items()}
    for delta in (0.005, 0.0123):
        for weighted in (False, True):
            network = Network(op, values, ["out"])
            shape = network.run(["out"])[0].shape
            weights = np.random.default_rng(5).standard_normal(shape) if weighted else None
            expected = element_by_element(network, "out", "X", delta, weights=weights)
            gradient = get_numerical_gradient(op, values, "out", "X", delta, cotangent=weights)
            np.testing.assert_array_equal(gradient, expected)


def test_the_engine_gives_the_bits_of_the_loop_for_a_network_in_16_bits() -> None:
    x = np.linspace(-2, 2, 9).astype(np.float16)
    op = core.OpDesc("tanh", {"X": ["x"]}, {"Out": ["y"]}, {})
    expected = element_by_element(Network(op, {"x": x}, ["y"]), "y", "x", 0.05)
    np.testing.assert_array_equal(get_numerical_gradient(op, {"x": x}, "y", "x", 0.05), expected)
    loss = Network(network(), {"x": X, "w": np.ones((3, 4))}, ["loss"])
    expected = element_by_element(loss, "loss", "w", 0.005)
    values = {"x": X, "w": np.ones((3, 4))}
    gradient = get_numerical_gradient(network(), values, "loss", "w", 0.005)
    np.testing.assert_array_equal(gradient, expected)


def test_an_operator_a_block_a_program_and_their_descriptions_are_the_same() -> None:
    program = network()
    values = {"x": X, "w": np.ones((3, 4))}
    block = program.global_block()
    expected = get_numerical_gradient(program, values, "loss", "w")
    for source in (program.desc, block, block.desc):
        gradient = get_numerical_gradient(source, values, "loss", "w")
        np.testing.assert_array_equal(gradient, expected)
    np.testing.assert_allclose(expected, X.T @ (X @ np.ones((3, 4))) / 4, rtol=1e-9)

    one = get_numerical_gradient(block.ops[0], values, "h", "x")
    np.testing.assert_array_equal(one, get_numerical_gradient(block.ops[0].desc, values, "h", "x"))


def test_the_gradient_with_respect_to_an_intermediate_result() -> None:
    h = np.array([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]])
    gradient = get_numerical_gradient(network(), {"h": h}, "loss", "h")
    np.testing.assert_allclose(gradient, h / 4, rtol=1e-9)


def test_other_values_come_from_the_local_scope_which_stays_as_it_was() -> None:
    scope = core.Scope()
    w = np.ones((3, 4))
    scope.var("w").get_tensor().set(w)
    gradient = get_numerical_gradient(network(), {"x": X}, "loss", "w", local_scope=scope)
    np.testing.assert_allclose(gradient, X.T @ (X @ w) / 4, rtol=1e-9)
    assert scope.local_var_names() == ["w"]
    np.testing.assert_array_equal(np.asarray(scope.find_var("w").get_tensor()), w)


def test_nothing_that_was_given_changes() -> None:
    program = network()
    text = str(program)
    x, w = X.copy(), np.ones((3, 4))
    get_numerical_gradient(program, {"x": x, "w": w}, "loss", "x")
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(w, np.ones((3, 4)))
    assert str(program) == text


def test_operators_that_change_the_scope_are_not_run() -> None:
    program = network()
    block = program.global_block()
    block.var("w").persistable = True
    block.append_op("scale", {"X": "w"}, {"Out": "w"}, {"scale": 0.5})
    scope = core.Scope()
    scope.var("w").get_tensor().set(np.ones((3, 4)))
    gradient = get_numerical_gradient(program, {"x": X}, "loss", "w", local_scope=scope)
    np.testing.assert_allclose(gradient, X.T @ (X @ np.ones((3, 4))) / 4, rtol=1e-9)
    np.testing.assert_array_equal(np.asarray(scope.find_var("w").get_tensor()), np.ones((3, 4)))


def test_running_statistics_that_are_written_in_place_do_not_drift() -> None:
    slots = {"X": ["x"], "Scale": ["s"], "Bias": ["b"], "Mean": ["m"], "Variance": ["v"]}
    outputs = {
        "Y": ["y"],
        "MeanOut": ["m"],
        "VarianceOut": ["v"],
        "SavedMean": ["sm"],
        "SavedVariance": ["sv"],
    }
    op = core.OpDesc("batch_norm", slots, outputs, {"is_test": False})
    ones = np.ones(3)
    values = {"x": X, "s": ones, "b": ones.copy(), "m": ones.copy(), "v": ones.copy()}
    gradient = get_numerical_gradient(op, values, "y", "b")
    np.testing.assert_allclose(gradient, [2.0, 2.0, 2.0], rtol=1e-9)
    np.testing.assert_array_equal(values["m"], ones)


def test_random_operators_draw_the_same_numbers_in_every_run() -> None:
    op = core.OpDesc("dropout", {"X": ["x"]}, {"Out": ["y"], "Mask": ["mask"]}, {})
    gradient = get_numerical_gradient(op, {"x": np.ones(100)}, "y", "x")
    gradient = gradient.round(9)
    assert set(gradient) == {0.0, 1.0}


def test_a_tensor_without_elements_has_an_empty_gradient() -> None:
    gradient = get_numerical_gradient(SQUARE, {"x": np.zeros((0, 3))}, "y", "x")
    assert gradient.shape == (0, 3)


def test_an_unknown_output_is_an_error_that_names_the_nearest() -> None:
    message = "mul: no operator calculates the output 'oust'; did you mean 'out'?"
    with pytest.raises(LookupError, match=message.replace("?", r"\?")):
        get_numerical_gradient(MUL, {"x": X, "w": X.T}, "oust", "x")


def test_an_unknown_input_is_an_error_that_names_what_there_is() -> None:
    with pytest.raises(LookupError, match="mul: no operator reads the input 'q'; there are: w, x"):
        get_numerical_gradient(MUL, {"x": X, "w": X.T}, "out", "q")
    with pytest.raises(LookupError, match="square: no operator reads the input 'z'"):
        get_numerical_gradient(SQUARE, {"x": X, "z": X}, "y", "x")


def test_a_value_that_is_missing_is_an_error() -> None:
    message = "mul: every variable that is read must have a value, got none for 'w'"
    with pytest.raises(ValueError, match=message):
        get_numerical_gradient(MUL, {"x": X}, "out", "x")


def test_an_integer_input_is_an_error() -> None:
    lookup = core.OpDesc("lookup_table", {"W": ["w"], "Ids": ["ids"]}, {"Out": ["out"]}, {})
    values = {"w": X, "ids": np.array([[0], [1]])}
    message = "lookup_table: the input 'ids' must be floating to be differentiated, got int64"
    with pytest.raises(ValueError, match=message):
        get_numerical_gradient(lookup, values, "out", "ids")
    less = core.OpDesc("less_than", {"X": ["x"], "Y": ["y"]}, {"Out": ["out"]}, {})
    message = "less_than: the output 'out' must be floating to be differentiated, got bool"
    with pytest.raises(ValueError, match=message):
        get_numerical_gradient(less, {"x": X, "y": X}, "out", "x")


def test_a_value_of_another_dtype_than_declared_is_an_error() -> None:
    message = r"program: 'x' must be float64, got float32; write x.astype\('float64'\)"
    with pytest.raises(ValueError, match=message):
        get_numerical_gradient(
            network(), {"x": X.astype(np.float32), "w": np.ones((3, 4))}, "loss", "x"
        )


@pytest.mark.parametrize("delta", [0.0, -0.1, float("nan"), float("inf")])
def test_a_step_that_is_no_step_is_an_error(delta: float) -> None:
    with pytest.raises(ValueError, match="square: delta must be positive, got"):
        get_numerical_gradient(SQUARE, {"x": X}, "y", "x", delta)


def test_weights_of_another_shape_are_an_error() -> None:
    message = r"square: cotangent must have the shape of 'y', \[2, 3\], got \[3\]"
    with pytest.raises(ValueError, match=message):
        get_numerical_gradient(SQUARE, {"x": X}, "y", "x", cotangent=np.ones(3))


def test_anything_else_than_operators_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"op must be an Operator, a Program, a Block .*, got str"):
        get_numerical_gradient("mul", {}, "out", "x")  # type: ignore[arg-type]


def test_names_numbers_and_element_types_are_looked_at() -> None:
    with pytest.raises(TypeError, match="input_to_check must be a str, got int 3"):
        get_numerical_gradient(SQUARE, {"x": X}, "y", 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="square: dtype must be floating, got int64"):
        get_numerical_gradient(SQUARE, {"x": X}, "y", "x", dtype="int64")
    message = "square: cotangent must be an array of real numbers, got "
    for bad in (X + 1j, np.full(X.shape, "1")):
        with pytest.raises(ValueError, match=message + bad.dtype.name):
            get_numerical_gradient(SQUARE, {"x": X}, "y", "x", cotangent=bad)


@pytest.mark.parametrize("dtype", ["bool", "int32", "uint8", "float16", "bfloat16", "float64"])
def test_cotangents_may_be_of_any_real_numbers(dtype: str) -> None:
    v = np.array([[1, 0, 1], [1, 1, 0]]).astype(numpy_dtype(dtype))
    found = get_numerical_gradient(SQUARE, {"x": X}, "y", "x", cotangent=v)
    np.testing.assert_allclose(found, 2 * X * v.astype(float), rtol=1e-9)
