"""Random numbers and dropout: statistics, repeatability, gradient."""

import statistics
from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import SHAPES, normal
from op_runner import one_op, run_op

from fluidcore import core

GAUSSIAN = ["gaussian_random", "truncated_gaussian_random"]
RANDOM = ["uniform_random", *GAUSSIAN]
KEEP_ALL, DROP_ALL = {"dropout_prob": 0.0}, {"dropout_prob": 1.0}

CASES = [
    *[
        OpCase(
            "dropout", {"X": normal(*shape)}, lambda X, **_: {"Out": X, "Mask": X * 0 + 1}, KEEP_ALL
        )
        for shape in SHAPES
    ],
    OpCase("dropout", {"X": normal(3, 5)}, lambda X, **_: {"Out": 0 * X, "Mask": 0 * X}, DROP_ALL),
    OpCase(
        "dropout",
        {"X": normal(3, 5)},
        lambda X, dropout_prob, **_: {
            "Out": X * (1 - dropout_prob),
            "Mask": X * 0 + (1 - dropout_prob),
        },
        {"dropout_prob": 0.3, "is_test": True},
    ),
]
SEEDED = OpCase(
    "dropout",
    {"X": normal(7, 17)},
    lambda X, **_: {},
    {"dropout_prob": 0.3, "fix_seed": True, "seed": 5},
    grad=["X"],
)
STATISTICS = [
    OpCase(
        "uniform_random", {}, lambda **_: {}, {"shape": [257], "min": -3.0, "max": 1.0, "seed": 3}
    ),
    *[
        OpCase(name, {}, lambda **_: {}, {"shape": [257], "mean": 2.0, "std": 0.5, "seed": 3})
        for name in GAUSSIAN
    ],
]
CASES += [SEEDED, *STATISTICS]
CASES += [
    OpCase(
        f"{name}_batch_size_like",
        {"Input": given},
        lambda Input, dtype="float32", **_: {"Out": np.full((2, Input.shape[1]), 2.0, dtype)},
        {"shape": [2, -1], "input_dim_idx": 1, "output_dim_idx": 1, "seed": 3, **attrs},
    )
    for name, same in (
        ("uniform_random", {"min": 2.0, "max": 2.0}),
        ("gaussian_random", {"mean": 2.0, "std": 0.0}),
    )
    for given, attrs in (
        (normal(3, 5), same),
        (np.zeros((3, 0), np.int32), same | {"dtype": "float64"}),
        (normal(1, 300), same | {"dtype": "float16"}),
    )
]
CASES += [
    OpCase(
        name, {}, lambda shape, dtype, **_: {"Out": np.full(shape, 2.0, dtype)}, {**attrs, **more}
    )
    for name, attrs in (
        ("uniform_random", {"min": 2.0, "max": 2.0}),
        *((name, {"mean": 2.0, "std": 0.0}) for name in GAUSSIAN),
    )
    for more in (
        {"shape": [], "dtype": "float64"},
        {"shape": [0, 3], "dtype": "float32"},
        {"shape": [2, 3], "dtype": "float16"},
    )
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


def draw(
    op_type: str, shape: list[int], *, threads: int = 1, program_seed: int = 0, **attrs: Any
) -> Any:
    return run_op(op_type, {}, {"shape": shape, **attrs}, threads=threads, seed=program_seed)["Out"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_uniform_numbers_are_uniform(dtype: str) -> None:
    x = draw("uniform_random", [200, 500], min=-3.0, max=1.0, seed=7, dtype=dtype)
    assert x.min() >= -3
    assert x.max() < 1
    assert abs(x.mean() + 1) < 0.02
    counts, _ = np.histogram(x, bins=20, range=(-3, 1))
    expected = x.size / 20
    assert ((counts - expected) ** 2 / expected).sum() < 50  # 99.99 % of chi-squared with 19


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gaussian_numbers_are_gaussian(dtype: str) -> None:
    x = (draw("gaussian_random", [100_000], mean=2.0, std=0.5, seed=7, dtype=dtype) - 2) / 0.5
    assert abs(x.mean()) < 0.02
    assert abs(x.std() - 1) < 0.02
    assert abs((x**3).mean()) < 0.05
    assert abs((x**4).mean() - 3) < 0.15
    assert abs(x).max() < 6.5
    neighbours = np.corrcoef(x[:-1], x[1:])[0, 1]
    assert abs(neighbours) < 0.02


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_truncated_numbers_are_gaussian_within_two_deviations(dtype: str) -> None:
    x = draw("truncated_gaussian_random", [100_000], mean=2.0, std=0.5, seed=7, dtype=dtype)
    x = (x.astype(np.float64) - 2) / 0.5
    assert 1.99 < abs(x).max() <= 2
    normal = statistics.NormalDist()
    within = normal.cdf(2) - normal.cdf(-2)
    variance = 1 - 4 * normal.pdf(2) / within
    assert abs(x.mean()) < 0.015
    assert abs(x.var() - variance) < 0.015
    edges = np.linspace(-2, 2, 21)
    counts, _ = np.histogram(x, bins=edges)
    expected = x.size * np.diff([normal.cdf(edge) for edge in edges]) / within
    assert ((counts - expected) ** 2 / expected).sum() < 50  # 99.99 % of chi-squared with 19


@pytest.mark.parametrize("op_type", RANDOM)
def test_a_startup_program_draws_other_numbers_than_a_main_program_of_the_same_seed(
    op_type: str,
) -> None:
    drawn = []
    for persistable in (True, False):
        one = one_op(op_type, {}, {"shape": [50]})
        one.program.set_random_seed(5)
        one.block.var("out_out").set_persistable(persistable)
        drawn += one.run(["out_out"])
    assert (drawn[0] != drawn[1]).all()


@pytest.mark.parametrize("op_type", RANDOM)
def test_a_seed_gives_the_same_numbers_for_any_number_of_threads(op_type: str) -> None:
    one = draw(op_type, [100_003], seed=5)
    np.testing.assert_array_equal(draw(op_type, [100_003], seed=5, threads=2), one)
    assert (draw(op_type, [100_003], seed=6) != one).any()


@pytest.mark.parametrize("op_type", RANDOM)
def test_the_first_numbers_do_not_depend_on_how_many_are_drawn(op_type: str) -> None:
    many = draw(op_type, [1000], seed=5)
    np.testing.assert_array_equal(draw(op_type, [33], seed=5), many[:33])


@pytest.mark.parametrize("op_type", ["uniform_random", "gaussian_random"])
def test_a_batch_size_that_is_taken_from_another_tensor_changes_no_number(op_type: str) -> None:
    wanted = draw(op_type, [300, 7], seed=5, dtype="float64")
    attrs = {"shape": [-1, 7], "seed": 5, "dtype": "float64"}
    for dtype in ("float32", "int64"):
        for threads in (1, 2):
            inputs = {"Input": np.zeros((300, 2), dtype)}
            got = run_op(f"{op_type}_batch_size_like", inputs, attrs, threads=threads)["Out"]
            np.testing.assert_array_equal(got, wanted)


def test_the_seed_of_the_program_makes_a_run_repeatable() -> None:
    first = draw("uniform_random", [50], program_seed=11)
    np.testing.assert_array_equal(draw("uniform_random", [50], program_seed=11), first)
    assert (draw("uniform_random", [50], program_seed=12) != first).any()


def test_two_operators_of_one_program_draw_different_numbers() -> None:
    one = one_op("uniform_random", {}, {"shape": [50]})
    one.block.add_op("uniform_random", {}, {"Out": ["other"]}, {"shape": [50]})
    one.program.set_random_seed(1)
    first, second = one.run(["out_out", "other"])
    assert (first != second).all()


def test_every_run_draws_new_numbers_unless_the_operator_has_a_seed() -> None:
    for seed, same in ((0, False), (4, True)):
        one = one_op("gaussian_random", {}, {"shape": [50], "seed": seed})
        one.program.set_random_seed(1)
        executor = core.Executor(core.CPUPlace())
        runs = [
            np.array(executor.run(one.program, {}, ["out_out"], one.scope)[0]) for _ in range(2)
        ]
        assert (runs[0] == runs[1]).all() == same


@pytest.mark.parametrize("probability", [0.1, 0.5, 0.9])
def test_dropout_drops_with_its_probability_and_does_not_scale(probability: float) -> None:
    x = np.full(100_000, 3.0, dtype=np.float32)
    results = run_op("dropout", {"X": x}, {"dropout_prob": probability}, seed=3)
    mask = results["Mask"]
    assert set(np.unique(mask)) == {0.0, 1.0}
    np.testing.assert_array_equal(results["Out"], x * mask)
    assert abs(mask.mean() - (1 - probability)) < 0.01


def test_dropout_is_the_same_for_any_number_of_threads() -> None:
    x = np.ones(100_003, dtype=np.float32)
    attrs = {"fix_seed": True, "seed": 0}
    one, two = (run_op("dropout", {"X": x}, attrs, threads=threads) for threads in (1, 2))
    np.testing.assert_array_equal(one["Mask"], two["Mask"])


def test_impossible_distributions_are_errors() -> None:
    message = "uniform_random: min must be at most max, got min 1.0, max -1.0"
    with pytest.raises(ValueError, match=message):
        draw("uniform_random", [2], min=1.0, max=-1.0)
    for name in GAUSSIAN:
        with pytest.raises(ValueError, match=rf"{name}: std must be at least 0, got -1\.0"):
            draw(name, [2], std=-1.0)
    with pytest.raises(ValueError, match=r"dropout: dropout_prob must be in \[0, 1\], got 1\.5"):
        run_op("dropout", {"X": normal(2)}, {"dropout_prob": 1.5})
    with pytest.raises(ValueError, match="uniform_random: dtype must be floating, got int64"):
        draw("uniform_random", [2], dtype="int64")
