"""A training that one process or several ranks run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

import fluidcore as fluid
from fluidcore import layers

RNG = np.random.default_rng(0)
X = RNG.normal(size=(22, 3))
Y = RNG.normal(size=(22, 1))
IDS = RNG.integers(0, 7, size=(22, 1))

Result = tuple[list[float], dict[str, np.ndarray]]  # losses, parameters


def train(
    communicator: fluid.core.Communicator | None,
    optimizer: Callable[[], fluid.optimizer.Optimizer],
    *,
    steps: int = 6,
    batch_size: int = 8,
    weighted: bool = True,
    sparse: bool = False,
    dropout: float = 0.0,
    batch_norm: bool = False,
    distributed: Mapping[str, Any] = MappingProxyType({}),
    wrap: Callable[[Any], Any] = lambda optimizer: optimizer,
    before: Callable[[], None] = lambda: None,
    place: fluid.CPUPlace | fluid.CUDAPlace | None = None,
) -> Result:
    """The losses of the whole batches, and the parameters at the end."""
    x, y = layers.data("x", [3], dtype="float64"), layers.data("y", [1], dtype="float64")
    ids = layers.data("ids", [1], dtype="int64")
    samples = layers.data("samples", [2], dtype="int64", append_batch_size=False)
    size = [7, 4]
    words = layers.embedding(ids, size, is_sparse=sparse, dtype="float64", param_attr="table")
    h = layers.fc(x, 4, act="tanh", param_attr="w1", bias_attr="b1") + words
    h = layers.dropout(h, dropout) if dropout else h
    h = layers.batch_norm(h, moving_mean_name="m", moving_variance_name="v") if batch_norm else h
    error = layers.square_error_cost(layers.fc(h, 1, param_attr="w2", bias_attr="b2"), y)
    loss = layers.mean(error)
    fluid.default_startup_program().random_seed = fluid.default_main_program().random_seed = 3
    before()
    counts = samples if weighted and communicator is not None else None
    shown = loss
    made = optimizer()
    if communicator is not None:
        shown = fluid.parallel.average(loss, communicator, counts)
        made = fluid.parallel.DistributedOptimizer(
            made, communicator, samples=counts, **distributed
        )
    wrap(made).minimize(loss)
    exe = fluid.Executor(place, communicator=communicator)
    exe.run(fluid.default_startup_program())
    loader = fluid.DataLoader(
        (X, Y, IDS),
        batch_size,
        shuffle=True,
        drop_last=not weighted,
        feed_list=[x, y, ids],
        communicator=communicator,
        samples=counts,
    )
    losses: list[float] = []
    while len(losses) < steps:
        for batch in loader:
            losses.append(exe.run(feed=batch, fetch_list=[shown])[0].item())
    scope = fluid.global_scope()
    names = ("w1", "b1", "w2", "b2", "table", *(("m", "v") if batch_norm else ()))
    return losses, {name: scope.find_var(name).get_tensor().numpy() for name in names}


def alone(optimizer: Callable[[], fluid.optimizer.Optimizer], **options: Any) -> Result:
    """What one process without a communicator gets."""
    with (
        fluid.program_guard(fluid.Program(), fluid.Program()),
        fluid.unique_name.guard(),
        fluid.scope_guard(fluid.Scope()),
    ):
        return train(None, optimizer, **options)


def on_ranks(
    size: int, optimizer: Callable[[], fluid.optimizer.Optimizer], **options: Any
) -> list[Result]:
    """What each of several ranks gets."""
    return fluid.parallel.run_in_threads(
        size, lambda communicator: train(communicator, optimizer, **options)
    )


def assert_alike(got: Result, expected: Result, rtol: float = 1e-12) -> None:
    """Whether losses and parameters agree."""
    np.testing.assert_allclose(got[0], expected[0], rtol=rtol)
    for name, value in expected[1].items():
        np.testing.assert_allclose(got[1][name], value, rtol=rtol, atol=rtol, err_msg=name)
