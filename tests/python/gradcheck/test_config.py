"""Settings: what they are if not given, and what they may be."""

from dataclasses import asdict

import numpy as np
import pytest

from fluidcore import core
from fluidcore.gradcheck import GradCheckConfig, GradientChecker, check


def test_the_defaults_are_those_of_the_documentation() -> None:
    usual = {
        "epsilon": None,
        "relative_tolerance": None,
        "absolute_tolerance": None,
        "use_central_difference": True,
        "verbose": False,
        "mode": "auto",
        "resolution": None,
        "tolerance": None,
        "n_full": 2000,
        "probes": 4,
        "cotangents": 2,
        "subset": None,
        "seed": 0,
        "shadow": "auto",
        "audits": True,
        "levels": False,
        "second_order": False,
        "replicates": 2,
        "workers": 0,
        "budget_s": None,
        "localise": True,
        "explain": True,
        "allow_open": None,
        "on_kink": "subgradient",
    }
    found = asdict(GradCheckConfig())
    assert {name: found[name] for name in usual} == usual


def test_plain_settings_are_a_step_and_two_tolerances() -> None:
    plain = GradCheckConfig.plain()
    assert (plain.epsilon, plain.relative_tolerance, plain.absolute_tolerance) == (1e-4, 1e-3, 1e-5)
    assert plain.is_plain
    assert not GradCheckConfig().is_plain
    for name in ("epsilon", "relative_tolerance", "absolute_tolerance"):
        assert GradCheckConfig(**{name: 0.5}).is_plain
    assert GradCheckConfig(absolute_tolerance=0.0).is_plain


def test_a_device_is_the_cpu_or_a_gpu_with_or_without_a_number() -> None:
    for value in ("cpu", "cuda", "cuda:1"):
        assert GradCheckConfig(device=value).device == value
    for value in ("gpu", "cuda:", "cuda:-1", "cpu:0", ""):
        message = "GradCheckConfig: device must be 'cpu', 'cuda' or 'cuda:' and a number, got "
        with pytest.raises(ValueError, match=f"{message}'{value}'"):
            GradCheckConfig(device=value)
    with pytest.raises(TypeError, match="GradCheckConfig: device must be a str, got 0"):
        GradCheckConfig(device=0)


def test_functions_of_arrays_have_no_device() -> None:
    with pytest.raises(
        core.InvalidArgument, match=r"square: device must be 'cpu', got 'cuda'; only operators"
    ):
        check(np.square, np.ones(2), vjp=lambda x, v: 2 * x * v, device="cuda")


@pytest.mark.skipif(core.get_cuda_device_count() > 0, reason="there is a device")
def test_a_device_that_is_not_there_is_an_error_that_says_so() -> None:
    checker = GradientChecker(GradCheckConfig(device="cuda"))
    with pytest.raises(core.InvalidArgument, match="cuda: the device must be"):
        checker.check_op("tanh", {"X": np.ones(2)})


@pytest.mark.parametrize("name", ["epsilon", "resolution", "tolerance", "budget_s"])
def test_steps_and_times_are_positive(name: str) -> None:
    assert getattr(GradCheckConfig(**{name: 1e-300}), name) == 1e-300
    for value in (0, -1.0, float("inf"), float("nan")):
        message = f"GradCheckConfig: {name} must be positive, got {float(value)}"
        with pytest.raises(ValueError, match=message):
            GradCheckConfig(**{name: value})
    with pytest.raises(TypeError, match=f"GradCheckConfig: {name} must be a number, got str"):
        GradCheckConfig(**{name: "1"})


@pytest.mark.parametrize("name", ["relative_tolerance", "absolute_tolerance"])
def test_tolerances_may_be_0_but_not_less(name: str) -> None:
    assert getattr(GradCheckConfig(**{name: 0}), name) == 0
    for value in (-1e-9, float("inf"), float("nan")):
        with pytest.raises(ValueError, match=f"GradCheckConfig: {name} must be 0 or more, got"):
            GradCheckConfig(**{name: value})


def test_the_part_that_may_stay_open_is_from_0_to_1() -> None:
    for value in (0, 0.5, 1, 1.0):
        assert GradCheckConfig(allow_open=value).allow_open == value
    for value in (-0.001, 1.001, float("nan")):
        message = f"GradCheckConfig: allow_open must be between 0 and 1, got {value}"
        with pytest.raises(ValueError, match=message):
            GradCheckConfig(allow_open=value)


@pytest.mark.parametrize(
    "name",
    [
        "use_central_difference",
        "verbose",
        "levels",
        "audits",
        "second_order",
        "localise",
        "explain",
    ],
)
def test_flags_are_true_or_false(name: str) -> None:
    for value in (True, False):
        assert getattr(GradCheckConfig(**{name: value}), name) is value
    for value in (1, None, "yes"):
        with pytest.raises(TypeError, match=f"GradCheckConfig: {name} must be True or False, got"):
            GradCheckConfig(**{name: value})


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("n_full", 0),
        ("probes", 1),
        ("cotangents", 1),
        ("subset", 1),
        ("seed", 0),
        ("replicates", 1),
        ("workers", 0),
    ],
)
def test_numbers_have_a_least_one(name: str, least: int) -> None:
    assert getattr(GradCheckConfig(**{name: least}), name) == least
    assert getattr(GradCheckConfig(**{name: np.int64(least + 1)}), name) == least + 1
    message = f"GradCheckConfig: {name} must be at least {least}, got {least - 1}"
    with pytest.raises(ValueError, match=message):
        GradCheckConfig(**{name: least - 1})
    for value in (2.0, True, "3"):
        with pytest.raises(TypeError, match=f"GradCheckConfig: {name} must be an int, got"):
            GradCheckConfig(**{name: value})


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("mode", ["auto", "full", "coloured", "directional"]),
        ("shadow", ["auto", "off"]),
        ("on_kink", ["subgradient", "fail", "skip"]),
    ],
)
def test_words_are_one_of_a_few(name: str, choices: list[str]) -> None:
    for value in choices:
        assert getattr(GradCheckConfig(**{name: value}), name) == value
    with pytest.raises(ValueError, match=f"GradCheckConfig: {name} must be one of .*, got 'some'"):
        GradCheckConfig(**{name: "some"})
