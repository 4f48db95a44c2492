"""Random whole numbers, choices and orders: what is possible, statistics, repeatability."""

from typing import Any

import numpy as np
import pytest
from op_case import OpCase, all_dtypes, check_outputs
from op_data import normal
from op_runner import Array, one_op, run_op

from fluidcore import core


def sure(*shape: int) -> Array:
    """Probabilities of 0 and 1."""
    return (np.arange(np.prod(shape, dtype=int)) % 3 == 0).astype(np.float64).reshape(shape)


def same(shape: list[int], low: int, dtype: str = "int64", **_: Any) -> dict[str, Array]:
    return {"Out": np.full(shape, low, dtype)}


def same_like(Input: Array, low: int, dtype: str = "int64", **_: Any) -> dict[str, Array]:
    return {"Out": np.full((2, Input.shape[1]), low, dtype)}


def only_classes(X: Array, num_samples: int, **_: Any) -> dict[str, Array]:
    """Of rows with one weight above 0."""
    return {"Out": np.repeat(X.argmax(axis=-1)[..., None], num_samples, axis=-1)}


CASES = [
    *[
        OpCase("randint", {}, same, {"shape": shape, "low": low, "high": low + 1, **more})
        for low, shape, more in (
            (7, [2, 3], {}),
            (-3, [], {"dtype": "int32"}),
            (2**40, [0, 3], {"seed": 3}),
        )
    ],
    *[
        OpCase(
            "randint_batch_size_like",
            {"Input": given},
            same_like,
            {
                "shape": [2, -1],
                "low": 7,
                "high": 8,
                "input_dim_idx": 1,
                "output_dim_idx": 1,
                "seed": 3,
                **more,
            },
        )
        for given, more in ((normal(3, 5), {}), (np.zeros((3, 0), np.int32), {"dtype": "int32"}))
    ],
    *[
        OpCase("bernoulli", {"X": sure(*shape)}, lambda X, **_: {"Out": X}, attrs)
        for shape in ((), (0, 4), (3, 5), (257,))
        for attrs in ({}, {"seed": 3})
    ],
    *[
        OpCase("multinomial", {"X": 2 * np.eye(4)[rows]}, only_classes, attrs)
        for rows in ([2, 0, 3], [[1, 1], [3, 0]], 2, np.zeros(0, int))
        for attrs in ({"num_samples": 1}, {"num_samples": 5, "replacement": True, "seed": 3})
    ],
    *[
        OpCase("randperm", {}, lambda n, dtype, **_: {"Out": np.arange(n, dtype=dtype)}, attrs)
        for attrs in (
            {"n": 0, "dtype": "int64"},
            {"n": 1, "dtype": "int32", "seed": 3},
        )
    ],
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


def draw(op_type: str, x: Array | None = None, *, threads: int = 1, **attrs: Any) -> Array:
    inputs = {} if x is None else {"X": x}
    return run_op(op_type, inputs, {"seed": 7, **attrs}, threads=threads)["Out"]


def chi_squared(counts: Array, shares: Array) -> float:
    expected = counts.sum() * shares / shares.sum()
    return float(((counts - expected) ** 2 / expected).sum())


def test_whole_numbers_are_equally_likely() -> None:
    x = draw("randint", shape=[200, 500], low=-5, high=15)
    counts = np.bincount(x.ravel() + 5, minlength=20)
    assert (x.min(), x.max()) == (-5, 14)
    assert chi_squared(counts, np.ones(20)) < 50  # 99.99 % of chi-squared with 19


def test_whole_numbers_may_be_of_the_whole_range() -> None:
    low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    x = draw("randint", shape=[1000], low=int(low), high=int(high)).astype(np.float64)
    assert abs(x.mean()) < 0.1 * 2**63
    assert abs(x.std() / 2**63 - 3**-0.5) < 0.03


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bernoulli_draws_1_with_its_probability(dtype: str) -> None:
    x = np.repeat(np.array([0.0, 0.1, 0.5, 0.9, 1.0], dtype), 100_000)
    shares = draw("bernoulli", x).reshape(5, -1).mean(axis=1, dtype=np.float64)
    np.testing.assert_allclose(shares, [0, 0.1, 0.5, 0.9, 1], atol=0.006)
    assert (shares[0], shares[4]) == (0, 1)


def test_multinomial_draws_classes_in_proportion_to_their_weights() -> None:
    weights = np.array([[1.0, 0.0, 2.0, 5.0], [0.25, 0.25, 0.5, 0.0]])
    drawn = draw("multinomial", weights, num_samples=100_000, replacement=True)
    for row, of_row in zip(weights, drawn, strict=True):
        counts = np.bincount(of_row, minlength=4)
        assert (counts[row == 0] == 0).all()
        assert chi_squared(counts[row > 0], row[row > 0]) < 20  # 99.98 % of chi-squared with 3


def test_multinomial_without_replacement_draws_one_after_the_other() -> None:
    weights = np.array([1.0, 2.0, 0.0, 5.0])
    drawn = draw("multinomial", np.tile(weights, (50_000, 1)), num_samples=2)
    counts = np.zeros((4, 4))
    np.add.at(counts, (drawn[:, 0], drawn[:, 1]), 1)
    left = 8.0 - weights
    shares = weights[:, None] / 8 * weights / left[:, None]
    np.fill_diagonal(shares, 0)
    assert (counts[shares == 0] == 0).all()
    assert chi_squared(counts[shares > 0], shares[shares > 0]) < 30  # 99.99 % with 5


def test_every_order_is_equally_likely() -> None:
    orders = [tuple(draw("randperm", n=3, seed=seed + 1)) for seed in range(3000)]
    counts = np.array([orders.count(order) for order in sorted(set(orders))])
    assert len(counts) == 6
    assert chi_squared(counts, np.ones(6)) < 27  # 99.99 % of chi-squared with 5


def test_an_order_names_each_number_once() -> None:
    x = draw("randperm", n=1000, dtype="int32")
    assert x.dtype == np.int32
    assert (x != np.arange(1000)).any()
    np.testing.assert_array_equal(np.sort(x), np.arange(1000))


MANY: dict[str, tuple[Array | None, dict[str, Any]]] = {
    "randint": (None, {"shape": [100_003], "low": 0, "high": 1000}),
    "bernoulli": (np.full(100_003, 0.5), {}),
    "multinomial": (np.ones((3001, 20)), {"num_samples": 7}),
    "randperm": (None, {"n": 100_003}),
}


@pytest.mark.parametrize("op_type", MANY)
def test_a_seed_gives_the_same_numbers_for_any_number_of_threads(op_type: str) -> None:
    x, attrs = MANY[op_type]
    one = draw(op_type, x, **attrs)
    np.testing.assert_array_equal(draw(op_type, x, threads=2, **attrs), one)
    assert (draw(op_type, x, **{**attrs, "seed": 6}) != one).any()


def test_a_batch_size_that_is_taken_from_another_tensor_changes_no_number() -> None:
    attrs = {"low": 0, "high": 1000, "seed": 7}
    wanted = run_op("randint", {}, {"shape": [300, 7], **attrs})["Out"]
    inputs = {"Input": np.zeros((300, 2), np.float32)}
    got = run_op("randint_batch_size_like", inputs, {"shape": [-1, 7], **attrs})["Out"]
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("op_type", MANY)
def test_every_run_draws_new_numbers_unless_the_operator_has_a_seed(op_type: str) -> None:
    x, attrs = MANY[op_type]
    for seed, repeats in ((0, False), (4, True)):
        one = one_op(op_type, {} if x is None else {"X": x}, {**attrs, "seed": seed})
        one.program.set_random_seed(1)
        executor = core.Executor(core.CPUPlace())
        runs = [
            np.array(executor.run(one.program, {}, ["out_out"], one.scope)[0]) for _ in range(2)
        ]
        assert (runs[0] == runs[1]).all() == repeats


@pytest.mark.parametrize(
    ("op_type", "x", "attrs", "message"),
    [
        (
            "randint",
            None,
            {"shape": [2], "low": 3, "high": 3},
            "low must be below high, got low 3, high 3",
        ),
        (
            "randint",
            None,
            {"shape": [2], "low": 0, "high": 2**31 + 1, "dtype": "int32"},
            "int32 numbers must be in the range of int32, got low 0, high 2147483649",
        ),
        (
            "randint",
            None,
            {"shape": [2], "low": 0, "high": 3, "dtype": "float32"},
            "dtype must be int32 or int64, got float32",
        ),
        ("randperm", None, {"n": -1}, r"n must be in \[0, 1099511627776\], got -1"),
        (
            "bernoulli",
            np.array([0.5, 1.5]),
            {},
            r"X must hold probabilities in \[0, 1\], got 1.5 at position 1",
        ),
        (
            "bernoulli",
            np.array([np.nan]),
            {},
            r"X must hold probabilities in \[0, 1\], got nan at position 0",
        ),
        ("multinomial", np.ones(3), {"num_samples": 0}, "num_samples must be at least 1, got 0"),
        (
            "multinomial",
            np.ones(()),
            {"num_samples": 1},
            r"X must have rank 1 or more, got \[\]",
        ),
        (
            "multinomial",
            np.ones(3),
            {"num_samples": 4},
            "num_samples must be at most the number of classes without replacement, got 4 for X "
            r"\[3\]",
        ),
        (
            "multinomial",
            np.array([[1.0, 1.0], [1.0, -1.0]]),
            {"num_samples": 1},
            "X must hold finite weights of at least 0, got -1.0 in row 1",
        ),
        (
            "multinomial",
            np.array([[1.0, 0.0]]),
            {"num_samples": 2},
            "each row of X must have at least 2 weights above 0 to draw from, got 1 in row 0",
        ),
    ],
)
def test_an_impossible_choice_is_an_error(
    op_type: str, x: Array | None, attrs: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{op_type}: {message}"):
        draw(op_type, x, **attrs)
