"""Random numbers of a check: the same again, and never those of another purpose."""

import random

import numpy as np
import pytest

from fluidcore.gradcheck.target.random_numbers import few_bits, random_states_kept, stream


def test_every_seed_name_and_purpose_has_numbers_of_its_own() -> None:
    keys = [(s, n, p) for s in (0, 1, 2**63) for n in ("x", "y") for p in ("dither", "subset")]
    drawn = {tuple(stream(*key).standard_normal(3)) for key in keys}
    assert len(drawn) == len(keys)


def test_the_same_key_draws_the_same() -> None:
    a, b = (stream(7, "x", "dither").standard_normal(3) for _ in range(2))
    assert a.tolist() == b.tolist()


def test_few_bits_make_sums_exact() -> None:
    values = few_bits(stream(0, "x", "y").standard_normal(100))
    step = 2.0**-20
    assert ((1.5 + step * values) - 1.5 == step * values).all()
    assert np.abs(few_bits(np.array([np.pi])) - np.pi)[0] < 2.0**-9


def test_ten_significant_bits_are_kept() -> None:
    kept = np.array([1 + 2.0**-9, -(1 + 2.0**-9) / 64, 0.0])
    assert few_bits(kept).tolist() == kept.tolist()
    assert few_bits(np.array([1 + 2.0**-10, 1 + 3 * 2.0**-10])).tolist() == [1.0, 1 + 2.0**-8]


def test_64_bits_of_a_seed_count() -> None:
    def drawn(seed: int) -> list[float]:
        return stream(seed, "x", "dither").standard_normal(3).tolist()

    assert drawn(2**64 + 5) == drawn(5) != drawn(2**63 + 5)


def test_the_random_states_of_numpy_and_python_are_kept() -> None:
    np.random.seed(3)
    random.seed(3)
    expected = np.random.rand(), random.random()
    np.random.seed(3)
    random.seed(3)

    @random_states_kept()
    def draw_and_fail() -> None:
        np.random.rand()
        random.random()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        draw_and_fail()
    assert (np.random.rand(), random.random()) == expected


def test_within_itself_only_the_outermost_end_counts() -> None:
    np.random.seed(3)
    random.seed(3)
    expected = np.random.rand(), random.random()
    np.random.seed(3)
    random.seed(3)
    with random_states_kept():
        with random_states_kept():
            drawn = np.random.rand(), random.random()
        assert (np.random.rand(), random.random()) != drawn == expected
    assert (np.random.rand(), random.random()) == expected
