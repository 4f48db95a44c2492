"""What cannot be traced, and what is said of it."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import eager
from fluidcore.eager import Tensor, nn

X = eager.randn([2, 3])
KNOWN = eager.ones([1], requires_grad=True)
VALUES: list[tuple[str, Callable[[Tensor], Any]]] = [
    ("if", lambda x: x if x.sum() > 0 else -x),
    ("item()", lambda x: x * x.sum().item()),
    ("item()", lambda x: x * float(x.sum())),
    ("numpy()", lambda x: x + np.asarray(x)),
    ("numpy()", lambda x: x + x.numpy()),
    ("tolist()", lambda x: x + x.tolist()[0][0]),
    ("to_vec()", lambda x: x * x.to_vec()[0]),
    ("a copy", lambda x: x + copy.deepcopy(x)),
    ("dlpack", lambda x: x + eager.from_dlpack(x)),
    ("Tensor(x), set_value(x)", lambda x: x + Tensor(x)),
    ("Tensor(x), set_value(x)", lambda x: KNOWN.set_value(x.sum())),
]


@pytest.mark.parametrize(("what", "function"), VALUES)
def test_the_value_of_a_tensor_cannot_be_taken(
    what: str, function: Callable[[Tensor], Any]
) -> None:
    with pytest.raises(fluid.InvalidArgument) as caught:
        eager.trace(function, X)
    assert str(caught.value).startswith(
        f"trace: {what} must not take the value of a tensor that depends on the examples, got one "
        "of shape ["
    )
    assert str(caught.value).endswith("write operators, where(condition, x, y) for a branch")


def test_a_mask_that_depends_on_the_examples_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"^x\[mask\] would have an extent that depends on the dat"):
        eager.trace(lambda x: x[x > 0], X)
    mask = Tensor([True, False])
    assert eager.trace(lambda x: x[mask], X).run(X)[0].shape == (1, 3)


def test_values_that_do_not_depend_on_the_examples_are_free() -> None:
    def function(x: Tensor) -> Tensor:
        return x * 2 if (KNOWN * 3).item() > 1 and len(x) == 2 else x

    assert eager.trace(function, X).run(X)[0].tolist() == (X * 2).tolist()
    assert function(X).item if bool(Tensor([1.0])) else None  # and outside of a trace all are


def test_random_tensors_are_an_error() -> None:
    with pytest.raises(fluid.InvalidArgument) as caught:
        eager.trace(lambda x: x + eager.randn([3]), X)
    assert str(caught.value) == (
        "trace: randn would give a program the same numbers in every run; write an operator, "
        "eager.gaussian_random_batch_size_like(x, shape) or uniform_random_batch_size_like"
    )

    def noisy(x: Tensor) -> Tensor:
        return x + eager.gaussian_random_batch_size_like(x, [-1, 3])

    traced = eager.trace(noisy, X, dynamic_batch=True)
    assert traced.run(X)[0].tolist() != traced.run(X)[0].tolist()


BAD: list[tuple[Any, tuple[Any, ...], str]] = [
    (3, (X,), "trace: the first argument must be a Module or a function, got int"),
    (nn.ReLU(), (), "trace: there must be an example for each argument, got none"),
    (
        nn.ReLU(),
        (1.0,),
        "trace: example 0 must be a Tensor or an array, got float; hand what is constant to a "
        "function of the others",
    ),
    (
        lambda x: [x, 1],
        (X,),
        "trace: the function must return Tensors, in tuples, lists or dicts, got int",
    ),
    (lambda x: [], (X,), "trace: the function must return a Tensor, got none"),
]


@pytest.mark.parametrize(("function", "examples", "message"), BAD)
def test_bad_arguments_are_errors(function: Any, examples: tuple[Any, ...], message: str) -> None:
    with pytest.raises(TypeError) as caught:
        eager.trace(function, *examples)
    assert str(caught.value) == message


def test_operators_that_depend_on_the_batch_are_errors() -> None:
    with pytest.raises(fluid.InvalidArgument) as caught:
        eager.trace(lambda x: x.reshape(len(x), 3, 1), X, dynamic_batch=True)
    assert str(caught.value) == (
        "trace: with dynamic_batch no operator and no constant may depend on the extent of the "
        "batch, got reshape(shape=[2, 3, 1]) for 2 and reshape(shape=[4, 3, 1]) for 4; write -1 "
        "for it, as in x.reshape(-1, 3), or trace without dynamic_batch"
    )
    with pytest.raises(
        fluid.InvalidArgument, match=r"got 'constant_\d' of shape \[2, 1\] for 2 and .* \[4, 1\]"
    ):
        eager.trace(lambda x: x + eager.ones([len(x), 1]), X, dynamic_batch=True)
    with pytest.raises(
        fluid.InvalidArgument,
        match=r"got assign\(X=x\) -> Out=output for 2 and relu\(X=x\) -> .* 4;",
    ):
        eager.trace(lambda x: x if len(x) == 2 else x.relu(), X, dynamic_batch=True)
    with pytest.raises(fluid.InvalidArgument, match=r"got 'constant_\d' of shape \[1\] for 2 and"):
        eager.trace(lambda x: x * len(x), X, dynamic_batch=True)
    with pytest.raises(fluid.InvalidArgument, match=r"one first extent.*got \[\[2, 3\], \[\]\]"):
        eager.trace(lambda x, y: x + y, X, Tensor(1.0), dynamic_batch=True)


def test_a_run_needs_all_inputs() -> None:
    traced = eager.trace(lambda x, y: x + y, X, X)
    with pytest.raises(TypeError) as caught:
        traced.run(X)
    assert str(caught.value) == "run: there must be an input for each of ['x', 'y'], got 1"
    with pytest.raises(fluid.InvalidArgument, match="x"):
        traced.run(eager.ones([7, 7]), X)
