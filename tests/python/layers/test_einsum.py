"""Tests of layers.einsum."""

import re

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers
from fluidcore.gradcheck import check_grad


def data(name, shape, dtype="float64"):
    variable = layers.data(name, list(shape), dtype=dtype, append_batch_size=False)
    variable.stop_gradient = False
    return variable


def values(*shapes):
    rng = np.random.default_rng(0)
    return {f"x{i}": rng.standard_normal(shape) for i, shape in enumerate(shapes)}


def run(out, feed):
    return fluid.Executor().run(feed=feed, fetch_list=[out])[0]


EQUATIONS = [
    ("i->i", (3,)),
    ("ij->ji", (2, 3)),
    ("ij", (2, 3)),
    ("ji", (2, 3)),
    ("ij->j", (2, 3)),
    ("ij->", (2, 3)),
    ("i,i", (3,), (3,)),
    ("i,j", (3,), (2,)),
    ("i,ij", (2,), (2, 3)),
    ("ij,j", (2, 3), (3,)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ij,jk->ki", (2, 3), (3, 4)),
    ("ij,ij->ij", (2, 3), (2, 3)),
    ("ij,ij->i", (2, 3), (2, 3)),
    ("ij,ij", (2, 3), (2, 3)),
    ("ij,kj->ik", (2, 3), (4, 3)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)),
    ("bqhd,bkhd->bhqk", (2, 3, 2, 4), (2, 5, 2, 4)),
    ("bhqk,bkhd->bqhd", (2, 2, 3, 5), (2, 5, 2, 4)),
    ("abcd,efcd->eabf", (2, 3, 2, 2), (3, 2, 2, 2)),
    ("abc,cd->abd", (2, 3, 4), (4, 5)),
    ("abc,bd->", (2, 3, 4), (3, 5)),
    ("bi,bj->bij", (2, 3), (2, 4)),
    ("bi,jb->jib", (2, 3), (4, 2)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    ("i,i,i->i", (3,), (3,), (3,)),
    ("bn,anm,bm->ba", (2, 3), (4, 3, 5), (2, 5)),
    ("...ij,...jk->...ik", (2, 3, 4), (2, 4, 5)),
    ("...ij,jk->...ik", (2, 2, 3, 4), (4, 5)),
    ("...ij,...jk", (2, 1, 3, 4), (5, 4, 2)),
    ("...->...", (2, 3)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("iij->ji", (3, 3, 2)),
    ("iji,jk", (3, 2, 3), (2, 4)),
    ("iii->i", (3, 3, 3)),
    ("ijij->", (2, 3, 2, 3)),
    ("...ii->...i", (2, 3, 3)),
    ("ii->i", (0, 0)),
    ("i...->...", (2, 3, 4)),
    ("...,...->...", (), (2, 3)),
    (" i j , j k -> i k ", (2, 3), (3, 4)),
    (",->", (), ()),
    ("ij,jk->ik", (0, 3), (3, 4)),
    ("ij,jk->ik", (2, 0), (0, 4)),
]


@pytest.mark.parametrize(("equation", "shapes"), [(e, s) for e, *s in EQUATIONS], ids=str)
def test_a_sum_of_products_is_that_of_numpy(equation, shapes):
    feed = values(*shapes)
    out = layers.einsum(equation, *(data(name, x.shape) for name, x in feed.items()))
    expected = np.einsum(equation, *feed.values())
    result = run(out, feed)
    assert list(out.shape) == list(expected.shape)
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("bqhd,bkhd->bhqk", [(2, 3, 2, 2), (2, 2, 2, 2)]),
        ("ij,jk,kl->il", [(2, 3), (3, 2), (2, 2)]),
        ("bi,jb->jib", [(2, 3), (2, 2)]),
        ("...ij,...jk->...ik", [(2, 1, 2, 3), (2, 3, 2)]),
    ],
    ids=str,
)
def test_gradients_follow_from_those_of_the_operators(equation, shapes):
    feed = values(*shapes)
    inputs = [data(name, x.shape) for name, x in feed.items()]
    loss = layers.reduce_sum(layers.square(layers.einsum(equation, *inputs)))
    check_grad(fluid.default_main_program(), feed, list(feed), loss.name, max_relative_error=1e-6)
    (gradient,) = fluid.gradients(loss, inputs[0])
    second = layers.reduce_sum(layers.square(gradient))
    check_grad(fluid.default_main_program(), feed, list(feed), second.name, max_relative_error=1e-5)


def test_a_product_of_matrices_is_one_operator():
    layers.einsum("bij,bjk->bik", data("x", [2, 3, 4]), data("y", [2, 4, 5]))
    assert [op.type for op in fluid.default_main_program().global_block().ops] == ["matmul"]


def test_a_batch_whose_size_is_unknown_stays_unknown():
    x, y = data("x0", [-1, 3, 2, 4]), data("x1", [-1, 5, 2, 4])
    out = layers.einsum("bqhd,bkhd->bhqk", x, y)
    assert list(out.shape) == [-1, 2, 3, 5]
    feed = values((6, 3, 2, 4), (6, 5, 2, 4))
    np.testing.assert_allclose(
        run(out, feed), np.einsum("bqhd,bkhd->bhqk", *feed.values()), rtol=1e-12
    )


def test_one_unknown_extent_may_be_merged_with_others():
    out = layers.einsum("abc,cd->abd", data("x0", [-1, 3, 4]), data("x1", [4, 5]))
    feed = values((2, 3, 4), (4, 5))
    np.testing.assert_allclose(run(out, feed), np.einsum("abc,cd->abd", *feed.values()), rtol=1e-12)


@pytest.mark.parametrize(
    ("equation", "shapes", "message"),
    [
        ("ij,jk", [(2, 3)], "there must be labels for each operand, got 'ij,jk' for 1"),
        (
            "ij->i",
            [(2, 3, 4)],
            "there must be a label for each dimension, got 'ij' for 'x0' of shape [2, 3, 4]",
        ),
        (
            "ijk->i",
            [(2, 3)],
            "there must be a label for each dimension, got 'ijk' for 'x0' of shape [2, 3]",
        ),
        (
            "i->ii",
            [(3,)],
            "labels must differ within the result, got 'ii' in 'i->ii'",
        ),
        (
            "ii->i",
            [(-1, -1)],
            "the extent of a label that is there twice must be known, got -1 for 'i' of 'ii'",
        ),
        ("ii->i", [(3, 4)], "extents of label 'i' must be the same, got 3 and 4"),
        (
            "ij->ik",
            [(3, 3)],
            "labels of the result must be those of an operand, got 'k' in 'ij->ik'",
        ),
        ("i1->i", [(3, 3)], "labels must be letters and one '...', got 'i1' in 'i1->i'"),
        (
            "...i->i",
            [(3, 3)],
            "the result must have the '...' of the operands, got '...i->i'",
        ),
        ("ij,jk", [(2, 3), (4, 5)], "extents of label 'j' must be the same, got 3 and 4"),
        (
            "...,...",
            [(2, 3), (2, 4)],
            "extents of dimensions of '...' must be the same, got 3 and 4",
        ),
        (
            "abc,c->ab",
            [(-1, -1, 4), (4,)],
            "at most one extent may be unknown where dimensions are merged, got [-1, -1]",
        ),
    ],
)
def test_an_equation_that_does_not_fit_is_an_error(equation, shapes, message):
    operands = [data(f"x{i}", shape) for i, shape in enumerate(shapes)]
    with pytest.raises(ValueError, match=f"^einsum: {re.escape(message)}"):
        layers.einsum(equation, *operands)
    assert fluid.default_main_program().global_block().ops == ()


def test_what_is_no_equation_or_variable_is_an_error():
    with pytest.raises(TypeError, match="einsum: the equation must be a str, got 3"):
        layers.einsum(3)
    with pytest.raises(TypeError, match="einsum: every operand must be a Variable, got int 3"):
        layers.einsum("i", 3)
