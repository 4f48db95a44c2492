"""Random numbers of a check: the same again, and never those of another purpose."""

import numpy as np

from fluidcore.gradcheck.streams import few_bits, stream


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
