"""sgd, momentum and adam against NumPy."""

from typing import Any

import numpy as np
import pytest
from op_case import OpCase, all_dtypes, check_outputs
from op_data import Doubles, normal, positive
from op_runner import one_op, run_op

from fluidcore import core

RATE = np.array([0.1])


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
) -> dict[str, Doubles]:
    rate = LearningRate * np.sqrt(1 - Beta2Pow) / (1 - Beta1Pow)
    first = beta1 * Moment1 + (1 - beta1) * Grad
    second = beta2 * Moment2 + (1 - beta2) * Grad**2
    step = rate.reshape(()) * first / (np.sqrt(second) + epsilon)
    return {"ParamOut": Param - step, "Moment1Out": first, "Moment2Out": second}


def inputs(op_type: str, shape: tuple[int, ...]) -> dict[str, Any]:
    given = {
        "Param": normal(*shape),
        "Grad": normal(*shape, seed=1),
        "LearningRate": RATE,
    }
    if op_type == "momentum":
        given["Velocity"] = normal(*shape, seed=2)
    if op_type == "adam":
        given["Moment1"] = normal(*shape, seed=2)
        given["Moment2"] = positive(*shape, seed=3)
        given["Beta1Pow"] = np.array([0.9**3])
        given["Beta2Pow"] = np.array([0.999**3])
    return given


IN_PLACE = {
    "sgd": {"ParamOut": "Param"},
    "momentum": {"ParamOut": "Param", "VelocityOut": "Velocity"},
    "adam": {"ParamOut": "Param", "Moment1Out": "Moment1", "Moment2Out": "Moment2"},
}
FORMULAS = {"sgd": sgd, "momentum": momentum, "adam": adam}
ATTRS: dict[str, list[dict[str, Any]]] = {
    "sgd": [{}],
    "momentum": [{"mu": 0.9}, {"mu": 0.5, "use_nesterov": True}],
    "adam": [{}, {"beta1": 0.8, "beta2": 0.9, "epsilon": 0.01}],
}
CASES = [
    OpCase(name, inputs(name, shape), FORMULAS[name], attrs)
    for name in FORMULAS
    for shape in [(), (1,), (0, 4), (3, 5), (257,)]
    for attrs in ATTRS[name]
]
CASES += [
    OpCase(name, inputs(name, (3, 5)), FORMULAS[name], ATTRS[name][-1], "in place", (), pairs)
    for name, pairs in IN_PLACE.items()
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@pytest.mark.parametrize("name", FORMULAS)
def test_steps_add_up_in_the_variables_of_the_scope(name: str) -> None:
    one = one_op(name, inputs(name, (3, 5)), ATTRS[name][-1], in_place=IN_PLACE[name])
    for variable in one.values:
        one.block.var(variable).set_persistable(True)
    executor = core.Executor(core.CPUPlace())
    state = inputs(name, (3, 5))
    for _ in range(5):
        executor.run(one.program, {}, [], one.scope)
        for slot, value in FORMULAS[name](**state, **ATTRS[name][-1]).items():
            state[IN_PLACE[name][slot]] = value
    for slot in IN_PLACE[name].values():
        actual = np.asarray(one.scope.find_var(slot.lower()).get_tensor())
        np.testing.assert_allclose(actual, state[slot], rtol=1e-12)


@pytest.mark.parametrize("name", FORMULAS)
def test_a_gradient_of_another_shape_is_an_error(name: str) -> None:
    given = inputs(name, (3, 5)) | {"Grad": normal(5, 3)}
    with pytest.raises(ValueError, match=rf"{name}: Grad must have shape \[3, 5\], got \[5, 3\]"):
        run_op(name, given, ATTRS[name][0])
    given = inputs(name, (3, 5)) | {"LearningRate": normal(2)}
    message = rf"{name}: LearningRate must have one element, got shape \[2\]"
    with pytest.raises(ValueError, match=message):
        run_op(name, given, ATTRS[name][0])
