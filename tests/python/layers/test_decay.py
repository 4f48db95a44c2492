"""Tests of fluidcore.layers.decay: 50 runs beside the formulas in float64."""

import numpy as np
import pytest
from schedules import RUNS, rates

import fluidcore as fluid
from fluidcore import layers

step = np.arange(RUNS, dtype=np.float64)


def cycled(power):
    end_of_decay = 7 * np.maximum(np.ceil(step / 7), 1)
    return (0.5 - 0.01) * (1 - step / end_of_decay) ** power + 0.01


CASES = {
    "exponential": (lambda f: f.exponential_decay(0.5, 7, 0.8), 0.5 * 0.8 ** (step / 7)),
    "exponential, stairs": (
        lambda f: f.exponential_decay(0.5, 7, 0.8, staircase=True),
        0.5 * 0.8 ** (step // 7),
    ),
    "natural": (lambda f: f.natural_exp_decay(0.5, 7, 0.3), 0.5 * np.exp(-0.3 * step / 7)),
    "natural, stairs": (
        lambda f: f.natural_exp_decay(0.5, 7, 0.3, True),
        0.5 * np.exp(-0.3 * (step // 7)),
    ),
    "inverse": (lambda f: f.inverse_time_decay(0.5, 7, 0.3), 0.5 / (1 + 0.3 * step / 7)),
    "inverse, stairs": (
        lambda f: f.inverse_time_decay(0.5, 7, 0.3, True),
        0.5 / (1 + 0.3 * (step // 7)),
    ),
    "polynomial": (
        lambda f: f.polynomial_decay(0.5, 20),
        (0.5 - 1e-4) * (1 - np.minimum(step, 20) / 20) + 1e-4,
    ),
    "polynomial, power": (
        lambda f: f.polynomial_decay(0.5, 20, 0.01, 2.5),
        (0.5 - 0.01) * (1 - np.minimum(step, 20) / 20) ** 2.5 + 0.01,
    ),
    "polynomial, cycle": (lambda f: f.polynomial_decay(0.5, 7, 0.01, 2.0, True), cycled(2.0)),
    "piecewise": (
        lambda f: f.piecewise_decay([3, 10, 41], [0.5, 0.2, 0.1, 0.3]),
        np.select([step < 3, step < 10, step < 41], [0.5, 0.2, 0.1], 0.3),
    ),
    "piecewise, one value": (lambda f: f.piecewise_decay([], [0.5]), np.full(RUNS, 0.5)),
}


@pytest.mark.parametrize("name", CASES)
def test_fifty_runs_are_those_of_the_formula(name):
    make, expected = CASES[name]
    got = rates(lambda: make(fluid.learning_rate_decay))
    np.testing.assert_allclose(got, expected.astype(np.float32), rtol=2e-7)


def test_a_polynomial_reaches_its_end_exactly_and_stays_there():
    got = rates(lambda: layers.polynomial_decay(0.5, 3, 0.125), 6)
    assert got[3:].tolist() == [0.125] * 3


@pytest.mark.parametrize(
    "name", ["exponential", "natural_exp", "inverse_time", "polynomial", "piecewise"]
)
def test_a_schedule_is_a_layer_and_in_the_module_of_fluid(name):
    name += "_decay"
    assert getattr(layers, name) is getattr(fluid.learning_rate_decay, name)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda f: f.exponential_decay(0.1, 0, 0.9),
            "exponential_decay: decay_steps must be positive, got 0",
        ),
        (
            lambda f: f.exponential_decay(0.1, 5, -0.9),
            "exponential_decay: decay_rate must be at least 0, got -0.9",
        ),
        (
            lambda f: f.natural_exp_decay(0.1, -3, 0.9),
            "natural_exp_decay: decay_steps must be positive, got -3",
        ),
        (
            lambda f: f.inverse_time_decay(0.1, 0.0, 0.9),
            "inverse_time_decay: decay_steps must be positive, got 0.0",
        ),
        (
            lambda f: f.inverse_time_decay(0.1, 5, -1),
            "inverse_time_decay: decay_rate must be at least 0, got -1",
        ),
        (
            lambda f: f.polynomial_decay(0.1, 0),
            "polynomial_decay: decay_steps must be positive, got 0",
        ),
        (
            lambda f: f.polynomial_decay(0.1, 5, power=-1),
            "polynomial_decay: power must be at least 0, got -1",
        ),
        (
            lambda f: f.polynomial_decay(float("nan"), 5),
            "polynomial_decay: learning_rate must be finite, got nan",
        ),
        (
            lambda f: f.piecewise_decay([3, 3], [1, 2, 3]),
            r"piecewise_decay: boundaries must increase, got \[3, 3\]",
        ),
        (
            lambda f: f.piecewise_decay([3, 4], [1, 2]),
            "piecewise_decay: there must be one value more than boundaries, got 2 values, "
            "2 boundaries",
        ),
    ],
)
def test_a_number_out_of_range_is_an_error_that_leaves_nothing(make, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        make(layers)
    for program in (fluid.default_main_program(), fluid.default_startup_program()):
        assert (program.global_block().vars, program.global_block().ops) == ({}, ())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda f: f.exponential_decay("0.1", 5, 0.9),
            "exponential_decay: learning_rate must be a number, got str '0.1'",
        ),
        (lambda f: f.piecewise_decay(3, [1]), "piecewise_decay: boundaries must be a list, got 3"),
        (
            lambda f: f.piecewise_decay([3], [1, None]),
            r"piecewise_decay: values\[1\] must be a number, got NoneType None",
        ),
    ],
)
def test_what_is_no_number_is_an_error(make, message):
    with pytest.raises(TypeError, match=f"^{message}$"):
        make(layers)


@pytest.mark.parametrize(
    "make",
    [
        lambda f, **step: f.exponential_decay(0.5, 7, 0.8, **step),
        lambda f, **step: f.natural_exp_decay(0.5, 7, 0.3, True, **step),
        lambda f, **step: f.inverse_time_decay(0.5, 7, 0.3, **step),
        lambda f, **step: f.polynomial_decay(0.5, 7, 0.01, 2.0, True, **step),
        lambda f, **step: f.piecewise_decay([3, 10, 41], [0.5, 0.2, 0.1, 0.3], **step),
    ],
)
def test_a_step_of_ones_own_counts_in_the_place_of_the_counter(make):
    expected = rates(lambda: make(layers), 12)
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.scope_guard(fluid.Scope()):
        step = layers.create_global_var([1], 0.0, "float32", persistable=True)
        rate = make(layers, global_step=step)
        layers.increment(step, 1.0)
        got = rates(lambda: rate, 12)
        names = [v.name for v in fluid.default_main_program().list_vars()]
    np.testing.assert_array_equal(got, expected)
    assert not any(name.startswith("@STEP_COUNTER@") for name in names)


def test_a_step_that_is_no_variable_is_an_error():
    with pytest.raises(TypeError, match="exponential_decay: global_step must be a Variable, got"):
        layers.exponential_decay(0.5, 7, 0.8, global_step=3)
