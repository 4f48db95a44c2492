"""Operators that update parameters, against NumPy."""

from typing import Any

import numpy as np
import pytest
from op_case import OpCase, all_dtypes, check_outputs
from op_data import Doubles, normal, positive
from op_runner import one_op, run_op

from fluidcore import core


def sgd(Param: Doubles, Grad: Doubles, LearningRate: Doubles) -> dict[str, Doubles]:
    return {"ParamOut": Param - LearningRate.reshape(()) * Grad}


def momentum(
    Param: Doubles,
    Grad: Doubles,
    Velocity: Doubles,
    LearningRate: Doubles,
    mu: float,
    use_nesterov: bool = False,
) -> dict[str, Doubles]:
    velocity = mu * Velocity + Grad
    step = Grad + mu * velocity if use_nesterov else velocity
    return {"ParamOut": Param - LearningRate.reshape(()) * step, "VelocityOut": velocity}


def adam(
    Param: Doubles,
    Grad: Doubles,
    LearningRate: Doubles,
    Moment1: Doubles,
    Moment2: Doubles,
    Beta1Pow: Doubles,
    Beta2Pow: Doubles,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    epsilon_mode: str = "before",
) -> dict[str, Doubles]:
    first = beta1 * Moment1 + (1 - beta1) * Grad
    second = beta2 * Moment2 + (1 - beta2) * Grad**2
    bias1, bias2 = (1 - power.reshape(()) for power in (Beta1Pow, Beta2Pow))
    if epsilon_mode == "before":
        divisor = (np.sqrt(second) + epsilon) / np.sqrt(bias2)
    else:
        divisor = np.sqrt(second / bias2) + epsilon
    step = LearningRate.reshape(()) * (first / bias1) / divisor
    return {"ParamOut": Param - step, "Moment1Out": first, "Moment2Out": second}


def adamw(
    Param: Doubles,
    LearningRate: Doubles,
    coeff: float = 0.01,
    epsilon_mode: str = "after",
    **given: Any,
) -> dict[str, Doubles]:
    kept = Param - LearningRate.reshape(()) * coeff * Param
    return adam(Param=kept, LearningRate=LearningRate, epsilon_mode=epsilon_mode, **given)


def adamax(
    Param: Doubles,
    Grad: Doubles,
    LearningRate: Doubles,
    Moment: Doubles,
    InfNorm: Doubles,
    Beta1Pow: Doubles,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
) -> dict[str, Doubles]:
    moment = beta1 * Moment + (1 - beta1) * Grad
    norm = np.maximum(np.abs(Grad), beta2 * InfNorm + epsilon)
    rate = (LearningRate / (1 - Beta1Pow)).reshape(())
    return {"ParamOut": Param - rate * moment / norm, "MomentOut": moment, "InfNormOut": norm}


def nadam(
    Param: Doubles,
    Grad: Doubles,
    LearningRate: Doubles,
    Moment1: Doubles,
    Moment2: Doubles,
    DecayPow: Doubles,
    MuProduct: Doubles,
    Beta2Pow: Doubles,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    momentum_decay: float = 0.004,
) -> dict[str, Doubles]:
    first = beta1 * Moment1 + (1 - beta1) * Grad
    second = beta2 * Moment2 + (1 - beta2) * Grad**2
    power, product = float(DecayPow.item()), float(MuProduct.item())
    mu, following = (beta1 * (1 - p / 2) for p in (power, power * 0.96**momentum_decay))
    ahead = (1 - mu) / (1 - product) * Grad + following / (1 - product * following) * first
    step = ahead / (np.sqrt(second / (1 - Beta2Pow.item())) + epsilon)
    param = Param - LearningRate.item() * step
    return {"ParamOut": param, "Moment1Out": first, "Moment2Out": second}


def lamb(
    Param: Doubles,
    Grad: Doubles,
    LearningRate: Doubles,
    Moment1: Doubles,
    Moment2: Doubles,
    Beta1Pow: Doubles,
    Beta2Pow: Doubles,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-6,
    coeff: float = 0.01,
) -> dict[str, Doubles]:
    first = beta1 * Moment1 + (1 - beta1) * Grad
    second = beta2 * Moment2 + (1 - beta2) * Grad**2
    root = np.sqrt(second / (1 - Beta2Pow.item())) + epsilon
    direction = first / (1 - Beta1Pow.item()) / root + coeff * Param
    norms = [float(np.sqrt(np.sum(x * x))) for x in (Param, direction)]
    ratio = norms[0] / norms[1] if all(norms) else 1.0
    step = LearningRate.item() * ratio * direction
    return {"ParamOut": Param - step, "Moment1Out": first, "Moment2Out": second}


def lion(
    Param: Doubles,
    Grad: Doubles,
    LearningRate: Doubles,
    Moment: Doubles,
    beta1: float = 0.9,
    beta2: float = 0.99,
    coeff: float = 0.0,
) -> dict[str, Doubles]:
    sign = np.sign(beta1 * Moment + (1 - beta1) * Grad)
    param = Param - LearningRate.item() * (sign + coeff * Param)
    return {"ParamOut": param, "MomentOut": beta2 * Moment + (1 - beta2) * Grad}


def adagrad(
    Param: Doubles, Grad: Doubles, LearningRate: Doubles, Moment: Doubles, epsilon: float = 1e-6
) -> dict[str, Doubles]:
    moment = Moment + Grad**2
    step = LearningRate.reshape(()) * Grad / (np.sqrt(moment) + epsilon)
    return {"ParamOut": Param - step, "MomentOut": moment}


def decayed_adagrad(
    Param: Doubles,
    Grad: Doubles,
    LearningRate: Doubles,
    Moment: Doubles,
    decay: float = 0.95,
    epsilon: float = 1e-6,
) -> dict[str, Doubles]:
    moment = decay * Moment + (1 - decay) * Grad**2
    step = LearningRate.reshape(()) * Grad / (np.sqrt(moment) + epsilon)
    return {"ParamOut": Param - step, "MomentOut": moment}


def adadelta(
    Param: Doubles,
    Grad: Doubles,
    AvgSquaredGrad: Doubles,
    AvgSquaredUpdate: Doubles,
    rho: float = 0.95,
    epsilon: float = 1e-6,
) -> dict[str, Doubles]:
    squared_grad = rho * AvgSquaredGrad + (1 - rho) * Grad**2
    update = -np.sqrt((AvgSquaredUpdate + epsilon) / (squared_grad + epsilon)) * Grad
    return {
        "ParamOut": Param + update,
        "AvgSquaredGradOut": squared_grad,
        "AvgSquaredUpdateOut": rho * AvgSquaredUpdate + (1 - rho) * update**2,
    }


def rmsprop(
    Param: Doubles,
    Grad: Doubles,
    LearningRate: Doubles,
    MeanSquare: Doubles,
    Moment: Doubles,
    epsilon: float = 1e-10,
    decay: float = 0.9,
    momentum: float = 0.0,
) -> dict[str, Doubles]:
    square = decay * MeanSquare + (1 - decay) * Grad**2
    moment = momentum * Moment + LearningRate.reshape(()) * Grad / np.sqrt(square + epsilon)
    return {"ParamOut": Param - moment, "MeanSquareOut": square, "MomentOut": moment}


def ftrl(
    Param: Doubles,
    Grad: Doubles,
    LearningRate: Doubles,
    SquaredAccumulator: Doubles,
    LinearAccumulator: Doubles,
    l1: float = 0.0,
    l2: float = 0.0,
    lr_power: float = -0.5,
) -> dict[str, Doubles]:
    rate = LearningRate.reshape(())
    squared = SquaredAccumulator + Grad**2
    change = squared**-lr_power - SquaredAccumulator**-lr_power
    linear = LinearAccumulator + Grad - change / rate * Param
    value = (l1 * np.sign(linear) - linear) / (squared**-lr_power / rate + 2 * l2)
    return {
        "ParamOut": np.where(np.abs(linear) > l1, value, 0.0),
        "SquaredAccumOut": squared,
        "LinearAccumOut": linear,
    }


def shrunk(prox: Doubles, rate: float, l1: float, l2: float) -> Doubles:
    return np.sign(prox) * np.maximum(np.abs(prox) - rate * l1, 0.0) / (1 + rate * l2)


def proximal_gd(
    Param: Doubles, Grad: Doubles, LearningRate: Doubles, l1: float = 0.0, l2: float = 0.0
) -> dict[str, Doubles]:
    rate = float(LearningRate.item())
    return {"ParamOut": shrunk(Param - rate * Grad, rate, l1, l2)}


def proximal_adagrad(
    Param: Doubles,
    Grad: Doubles,
    LearningRate: Doubles,
    Moment: Doubles,
    l1: float = 0.0,
    l2: float = 0.0,
) -> dict[str, Doubles]:
    rate = float(LearningRate.item())
    moment = Moment + Grad**2
    return {
        "ParamOut": shrunk(Param - rate * Grad / np.sqrt(moment), rate, l1, l2),
        "MomentOut": moment,
    }


FORMULAS = {
    "sgd": sgd,
    "momentum": momentum,
    "adam": adam,
    "adamw": adamw,
    "adamax": adamax,
    "nadam": nadam,
    "lamb": lamb,
    "lion": lion,
    "adagrad": adagrad,
    "decayed_adagrad": decayed_adagrad,
    "adadelta": adadelta,
    "rmsprop": rmsprop,
    "ftrl": ftrl,
    "proximal_gd": proximal_gd,
    "proximal_adagrad": proximal_adagrad,
}
BETAS = {"beta1": 0.8, "beta2": 0.9, "epsilon": 0.01}
ATTRS: dict[str, list[dict[str, Any]]] = {
    "sgd": [{}],
    "momentum": [{"mu": 0.9}, {"mu": 0.5, "use_nesterov": True}],
    "adam": [{}, BETAS, {**BETAS, "epsilon_mode": "after"}],
    "adamw": [{}, {**BETAS, "epsilon_mode": "before", "coeff": 0.5}],
    "adamax": [{}, BETAS],
    "nadam": [{}, {**BETAS, "momentum_decay": 0.5}],
    "lamb": [{}, {**BETAS, "coeff": 0.5}],
    "lion": [{}, {"beta1": 0.8, "beta2": 0.9, "coeff": 0.5}],
    "adagrad": [{}, {"epsilon": 0.01}],
    "decayed_adagrad": [{}, {"decay": 0.8, "epsilon": 0.01}],
    "adadelta": [{}, {"rho": 0.8, "epsilon": 0.01}],
    "rmsprop": [{}, {"decay": 0.8, "epsilon": 0.01, "momentum": 0.5}],
    "ftrl": [{}, {"l1": 0.3, "l2": 0.2}, {"l1": 0.3, "lr_power": -0.75}],
    "proximal_gd": [{}, {"l1": 0.5, "l2": 0.25}],
    "proximal_adagrad": [{}, {"l1": 0.5, "l2": 0.25}],
}
POWERS = {"Beta1Pow": 0.9**3, "Beta2Pow": 0.999**3, "DecayPow": 0.96**0.012, "MuProduct": 0.1}
SCALARS = {"LearningRate": 0.1, **POWERS}
HAS_A_SIGN = {"Param", "Grad", "Velocity", "Moment1", "LinearAccumulator"}


def inputs(op_type: str, shape: tuple[int, ...]) -> dict[str, Any]:
    slots = [slot.name for slot in core.op_def(op_type).inputs]
    return {
        slot: np.array([SCALARS[slot]])
        if slot in SCALARS
        else (normal if slot in HAS_A_SIGN else positive)(*shape, seed=seed)
        for seed, slot in enumerate(slots)
    }


def in_place(op_type: str) -> dict[str, str]:
    """Output slot -> the input slot that it updates."""
    definition = core.op_def(op_type)
    updated = [slot.name for slot in definition.inputs if slot.name not in {*SCALARS, "Grad"}]
    outputs = [slot.name for slot in definition.outputs]
    return dict(zip(outputs, updated, strict=True))


CASES = [
    OpCase(name, inputs(name, shape), FORMULAS[name], attrs)
    for name in FORMULAS
    for shape in [(), (1,), (0, 4), (3, 5), (257,)]
    for attrs in ATTRS[name]
]
CASES += [
    OpCase(
        name, inputs(name, (3, 5)), FORMULAS[name], ATTRS[name][-1], "in place", (), in_place(name)
    )
    for name in FORMULAS
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@pytest.mark.parametrize("name", FORMULAS)
def test_steps_add_up_in_the_variables_of_the_scope(name: str) -> None:
    one = one_op(name, inputs(name, (3, 5)), ATTRS[name][-1], in_place=in_place(name))
    for variable in one.values:
        one.block.var(variable).set_persistable(True)
    executor = core.Executor(core.CPUPlace())
    state = inputs(name, (3, 5))
    for _ in range(5):
        executor.run(one.program, {}, [], one.scope)
        for slot, value in FORMULAS[name](**state, **ATTRS[name][-1]).items():
            state[in_place(name)[slot]] = value
    for slot in in_place(name).values():
        actual = np.asarray(one.scope.find_var(slot.lower()).get_tensor())
        np.testing.assert_allclose(actual, state[slot], rtol=1e-12)


@pytest.mark.parametrize("name", FORMULAS)
def test_a_gradient_of_another_shape_is_an_error(name: str) -> None:
    given = inputs(name, (3, 5)) | {"Grad": normal(5, 3)}
    with pytest.raises(ValueError, match=rf"{name}: Grad must have shape \[3, 5\], got \[5, 3\]"):
        run_op(name, given, ATTRS[name][0])


@pytest.mark.parametrize("slot", SCALARS)
def test_a_rate_or_power_of_several_elements_is_an_error(slot: str) -> None:
    names = [n for n in FORMULAS if slot in inputs(n, ())]
    assert names
    for name in names:
        message = rf"{name}: {slot} must have one element, got shape \[2\]"
        with pytest.raises(ValueError, match=message):
            run_op(name, inputs(name, (3, 5)) | {slot: normal(2)}, ATTRS[name][0])


@pytest.mark.parametrize(
    ("name", "attr", "value", "message"),
    [
        ("adam", "epsilon", -1e-8, "epsilon must be at least 0, got -1e-08"),
        ("adamw", "coeff", -0.5, "coeff must be at least 0, got -0.5"),
        ("adamax", "beta2", 1.0, r"beta2 must be in \[0, 1\), got 1"),
        ("nadam", "momentum_decay", -1.0, "momentum_decay must be at least 0, got -1"),
        ("lamb", "coeff", -0.5, "coeff must be at least 0, got -0.5"),
        ("lion", "beta2", 1.0, r"beta2 must be in \[0, 1\), got 1"),
        ("adagrad", "epsilon", float("nan"), "epsilon must be at least 0, got nan"),
        ("decayed_adagrad", "decay", -0.5, r"decay must be in \[0, 1\), got -0.5"),
        ("adadelta", "rho", 2.0, r"rho must be in \[0, 1\), got 2"),
        ("rmsprop", "epsilon", -1.0, "epsilon must be at least 0, got -1"),
        ("ftrl", "l1", -1.0, "l1 must be at least 0, got -1"),
        ("proximal_gd", "l2", -1.0, "l2 must be at least 0, got -1"),
        ("proximal_adagrad", "l1", -1.0, "l1 must be at least 0, got -1"),
        ("adam", "epsilon_mode", "x", "epsilon_mode must be 'before' or 'after', got 'x'"),
    ],
)
def test_an_attribute_out_of_range_is_an_error(
    name: str, attr: str, value: float, message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{name}: {message}"):
        run_op(name, inputs(name, (3, 5)), ATTRS[name][0] | {attr: value})


def test_without_gradients_so_far_proximal_adagrad_only_shrinks() -> None:
    given = inputs("proximal_adagrad", (3,)) | {"Grad": np.zeros(3), "Moment": np.zeros(3)}
    out = run_op("proximal_adagrad", given, {"l1": 0.5})["ParamOut"]
    np.testing.assert_allclose(out, shrunk(given["Param"], 0.1, 0.5, 0.0), rtol=1e-15)


@pytest.mark.parametrize("slot", ["Param", "Grad"])
def test_lamb_takes_the_plain_step_where_a_norm_is_0(slot: str) -> None:
    given = inputs("lamb", (3, 5))
    given |= {"Moment1": 0 * given["Moment1"], slot: 0 * given[slot]}
    attrs = {"coeff": 0.0}
    step = given["Param"] - run_op("lamb", given, attrs)["ParamOut"]
    expected = given["Param"] - lamb(**given, **attrs)["ParamOut"]
    np.testing.assert_allclose(step, expected, rtol=1e-12)
    assert np.any(step) == (slot == "Param")


def test_lamb_takes_the_norms_of_all_elements_whatever_the_number_of_threads() -> None:
    given = {name: x.astype(np.float32) for name, x in inputs("lamb", (300, 301)).items()}
    one, two = (run_op("lamb", given, threads=n)["ParamOut"] for n in (1, 2))
    np.testing.assert_array_equal(one, two)
    exact = {name: x.astype(np.float64) for name, x in given.items()}
    np.testing.assert_allclose(one, lamb(**exact)["ParamOut"], rtol=1e-5, atol=1e-6)


def test_lion_does_not_move_where_there_is_no_sign() -> None:
    given = inputs("lion", (3,)) | {"Grad": np.zeros(3), "Moment": np.zeros(3)}
    np.testing.assert_array_equal(run_op("lion", given)["ParamOut"], given["Param"])
