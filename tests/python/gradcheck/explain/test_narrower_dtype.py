"""A gradient that is right but for the rounding of a smaller dtype."""

import numpy as np
import pytest
from mismatches import explaining, mismatch, texts

from fluidcore.base.dtypes import numpy_dtype
from fluidcore.gradcheck.explain.narrower_dtype import rounded

G = np.random.default_rng(11).uniform(0.5, 1.0, 12)
SIGNS = np.where(np.arange(12) % 2, 1.0, -1.0)
UNIT = {"bfloat16": 2.0**-8, "float16": 2.0**-11, "float32": 2.0**-24}


def narrow(dtype: str, values=G) -> np.ndarray:
    return values.astype(numpy_dtype(dtype)).astype(np.float64)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_elements_that_were_rounded_are_numbers_of_a_smaller_dtype(dtype: str) -> None:
    assert explaining(rounded, mismatch(narrow(dtype), G))[0] == f"A is rounded to {dtype}"


def test_an_intermediate_value_may_have_been_rounded_and_with_it_the_gradient() -> None:
    off = narrow("bfloat16", G + 15 * 2.0**-8 * 0.5)
    assert "A is rounded to bfloat16" in explaining(rounded, mismatch(off, G))
    far = narrow("bfloat16", G + 40 * 2.0**-8)
    assert explaining(rounded, mismatch(far, G)) == []


def test_small_elements_may_be_off_like_a_quarter_of_the_largest() -> None:
    g = np.array([1.0, 1e-3])
    for part, found in ((0.24, True), (0.27, False)):
        a = narrow("bfloat16", g + np.array([0.0, part * 16 * 2.0**-8]))
        told = explaining(rounded, mismatch(a, g))
        assert ("A is rounded to bfloat16" in told) is found


@pytest.mark.parametrize(
    ("dtype", "smaller"),
    [
        ("float64", ["bfloat16", "float16", "float32"]),
        ("float32", ["bfloat16", "float16"]),
        ("float16", ["bfloat16"]),
        ("bfloat16", []),
    ],
)
def test_only_smaller_dtypes_are_thought_of(dtype: str, smaller: list[str]) -> None:
    found = mismatch(2 * G + 0.1, G, dtype=dtype, has_shadow=False)
    assert texts(rounded, found) == [f"A is rounded to {name}" for name in smaller]


def test_where_the_formula_is_judged_in_float64_a_cast_to_the_own_dtype_is_told() -> None:
    found = mismatch(narrow("float32"), G, limit=1e-12, dtype="float32")
    assert explaining(rounded, found)[0] == "A is rounded to float32"


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_a_cast_inside_leaves_errors_of_its_rounding(dtype: str) -> None:
    text = f"A differs from G by about the rounding of {dtype}: something is cast to it"
    for units, found in ((15.0, True), (17.0, False)):
        a = G * (1 + units * UNIT[dtype] * SIGNS)
        mistake = mismatch(a, G, limit=1e-12)
        assert (text in texts(rounded, mistake)) is found
    guess = list(rounded(mismatch(G * (1 + 9 * UNIT[dtype] * SIGNS), G, limit=1e-12)))[-1]
    assert (guess.text, guess.most) == (text, 0.7)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_errors_far_below_a_rounding_unit_are_none_of_its_rounding(dtype: str) -> None:
    for units, found in ((1 / 15, True), (1 / 17, False)):
        told = texts(rounded, mismatch(G * (1 + units * UNIT[dtype] * SIGNS), G, limit=1e-15))
        assert any("about the rounding" in text for text in told) is found


def test_what_is_the_same_part_of_every_element_is_no_rounding() -> None:
    for spread, found in ((0.0, False), (0.2, False), (0.3, True)):
        a = G * (1 + UNIT["float16"] * (1 + spread * SIGNS))
        told = texts(rounded, mismatch(a, G, limit=1e-12))
        assert any("about the rounding" in text for text in told) is found
    one = mismatch(G[:1] * (1 + UNIT["float16"]), G[:1], limit=1e-12)
    assert not any("about the rounding" in text for text in texts(rounded, one))


def test_what_the_limit_allows_is_no_rounding() -> None:
    text = "A differs from G by about the rounding of float16: something is cast to it"
    a = G * (1 + 17 * UNIT["float16"] * SIGNS)
    assert text not in texts(rounded, mismatch(a, G, limit=1e-12))
    assert text in texts(rounded, mismatch(a, G, limit=2 * UNIT["float16"]))


@pytest.mark.parametrize("bad", [0 * G, np.where(G > 0.7, np.nan, G), np.where(G > 0.7, np.inf, G)])
def test_nothing_and_what_is_not_finite_was_not_rounded(bad) -> None:
    assert texts(rounded, mismatch(bad, G)) == []


def test_an_overflow_is_that_of_the_smaller_dtype() -> None:
    assert texts(rounded, mismatch(1e6 * G, 1e6 * G + 1e5)) != []
