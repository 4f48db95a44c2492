"""Layers of several operators as functions of tensors."""

from typing import Any

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import eager, layers
from fluidcore.eager import Tensor, composed

X = np.random.default_rng(0).standard_normal((2, 3, 4))
Y = np.random.default_rng(1).standard_normal((2, 4, 3))
IMAGES = np.random.default_rng(2).standard_normal((1, 2, 6, 6))
GIVEN: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "adaptive_pool2d": ([IMAGES, 3], {}),
    "adaptive_pool3d": ([IMAGES[None], [1, 2, 3]], {}),
    "arange": ([0, 7, 2], {}),
    "bce_with_logits": ([X, np.abs(np.tanh(X))], {"pos_weight": np.ones(4)}),
    "bmm": ([X, Y], {}),
    "cosine_similarity": ([X, X[::-1].copy()], {"axis": -1}),
    "einsum": (["bij,bjk->ik", X, Y], {}),
    "l2_normalize": ([X, 1], {}),
    "sort": ([X], {"descending": True}),
    "square_error_cost": ([X, 2 * X], {}),
    "triplet_margin_loss": ([X, X + 1, X - 1], {"swap": True}),
}


def test_every_one_is_tried() -> None:
    assert set(GIVEN) == composed.NAMES <= set(dir(eager))


@pytest.mark.parametrize("name", GIVEN)
def test_the_results_are_those_of_the_layer(name: str) -> None:
    args, named = GIVEN[name]
    feed: dict[str, Any] = {}

    def declared(value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        key = f"x_{len(feed)}"
        feed[key] = value
        return layers.data(key, list(value.shape), dtype="float64", append_batch_size=False)

    result = getattr(layers, name)(
        *map(declared, args), **{key: declared(value) for key, value in named.items()}
    )
    (wanted,) = fluid.Executor().run(feed=feed, fetch_list=[result])
    found = getattr(eager, name)(
        *(Tensor(a) if isinstance(a, np.ndarray) else a for a in args), **named
    )
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found.numpy(), wanted)


def test_gradients_go_through_all_operators() -> None:
    x, y = Tensor(X, requires_grad=True), Tensor(Y)
    eager.einsum("bij,bjk->", x, y).backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), np.broadcast_to(Y.sum(2)[:, None], X.shape))


def test_the_users_programs_stay_as_they_are() -> None:
    before = str(fluid.default_main_program())
    eager.bmm(Tensor(X), Tensor(Y))
    assert str(fluid.default_main_program()) == before


def test_what_a_layer_does_not_accept_is_its_own_error() -> None:
    with pytest.raises(fluid.InvalidArgument, match=r"^einsum: "):
        eager.einsum("ij,jk", Tensor(X), Tensor(Y))
    with pytest.raises(TypeError, match="adaptive_pool2d"):
        eager.adaptive_pool2d(Tensor(IMAGES))
