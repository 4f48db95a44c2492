"""Attention strides over what is transposed for it, with the same bits, and nobody sees it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from plans import step_names

import fluidcore as fluid
from fluidcore import layers
from fluidcore.program import Variable

BATCH, STEPS, HEADS, DEPTH = 3, 70, 4, 16
FEATURES = HEADS * DEPTH
Model = Callable[[], list[Variable]]


def states(name: str, features: int = FEATURES) -> Variable:
    return layers.data(name, [STEPS, features])


def heads(x: Variable) -> Variable:
    return layers.transpose(layers.reshape(x, [-1, STEPS, HEADS, DEPTH]), [0, 2, 1, 3])


def merged(mixed: Variable) -> Variable:
    return layers.reshape(layers.transpose(mixed, [0, 2, 1, 3]), [-1, STEPS, FEATURES])


def jointly() -> list[Variable]:
    """Queries, keys and values are parts of one product."""
    qkv = layers.reshape(states("x", 3 * FEATURES), [-1, STEPS, 3, HEADS, DEPTH])
    parts = layers.split(layers.transpose(qkv, [2, 0, 3, 1, 4]), 3, dim=0)
    q, k, v = (layers.reshape(part, [-1, HEADS, STEPS, DEPTH]) for part in parts)
    return [merged(layers.scaled_dot_product_attention(q, k, v)) * 2.0]


def apart() -> list[Variable]:
    q, k, v = (heads(states(name) * 2.0) for name in "qkv")
    return [merged(layers.scaled_dot_product_attention(q, k, v, causal=True))]


def with_itself() -> list[Variable]:
    x = heads(states("x"))
    return [merged(layers.scaled_dot_product_attention(x, x, x))]


def of_longer_values() -> list[Variable]:
    q, k = heads(states("q")), heads(states("k"))
    v = layers.transpose(layers.reshape(states("v", 96), [-1, STEPS, HEADS, 24]), [0, 2, 1, 3])
    mixed = layers.transpose(layers.scaled_dot_product_attention(q, k, v), [2, 0, 1, 3])
    return [layers.reshape(mixed, [STEPS, -1, 96])]


def masked() -> list[Variable]:
    """The mask, too, is transposed for the attention alone."""
    q, k, v = (heads(states(name)) for name in "qkv")
    mask = layers.transpose(layers.data("m", [STEPS, HEADS, STEPS]), [0, 2, 3, 1])
    return [merged(layers.scaled_dot_product_attention(q, k, v, mask))]


def masked_alike() -> list[Variable]:
    q, k, v = (heads(states(name)) for name in "qkv")
    mask = layers.transpose(layers.data("m", [STEPS, STEPS], append_batch_size=False), [1, 0])
    return [merged(layers.scaled_dot_product_attention(q, k, v, mask))]


def by_columns() -> list[Variable]:
    """The elements of a row do not follow each other: queries are transposed first."""
    q = layers.transpose(layers.data("q", [HEADS, DEPTH, STEPS]), [0, 1, 3, 2])
    k, v = (heads(states(name)) for name in "kv")
    return [merged(layers.scaled_dot_product_attention(q, k, v))]


def fetched_inside() -> list[Variable]:
    q, k, v = (heads(states(name)) for name in "qkv")
    mixed = layers.scaled_dot_product_attention(q, k, v)
    return [merged(mixed), mixed, k]


def overwritten() -> list[Variable]:
    """What was transposed changes before the attention, and its result is put there."""
    block = fluid.default_main_program().global_block()
    x = layers.reshape(states("x") * 1.0, [-1, STEPS, HEADS, DEPTH])
    q = layers.transpose(x, [0, 2, 1, 3])
    block.append_op("relu", {"X": [x]}, {"Out": [x]}, {})
    k = layers.transpose(x, [0, 2, 1, 3])
    block.append_op("tanh", {"X": [k]}, {"Out": [k]}, {})
    mixed = layers.scaled_dot_product_attention(q, k, k)
    block.append_op("transpose", {"X": [mixed]}, {"Out": [x]}, {"axis": [0, 2, 1, 3]})
    return [layers.scale(x, 2.0)]


def stacked() -> list[Variable]:
    """The result of one attention is transposed for the next one."""
    x = heads(states("x"))
    mixed = layers.transpose(layers.scaled_dot_product_attention(x, x, x), [0, 2, 1, 3])
    mixed = layers.reshape(mixed, [-1, HEADS, STEPS, DEPTH])
    return [merged(layers.scaled_dot_product_attention(mixed, mixed, mixed))]


def trained() -> list[Variable]:
    q, k, v = (heads(states(name)) for name in "qkv")
    for x in fluid.default_main_program().list_vars():
        x.stop_gradient = False
    mixed = merged(layers.scaled_dot_product_attention(q, k, v))
    inputs = [fluid.default_main_program().global_block().var(name) for name in "qkv"]
    return [mixed, *fluid.gradients([layers.reduce_sum(layers.tanh(mixed))], inputs)]


def feeds() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        variable.name: rng.standard_normal(
            [BATCH if extent == -1 else extent for extent in variable.shape]
        ).astype(np.float32)
        for variable in fluid.default_main_program().list_vars()
        if variable.name in set("kmqvx")
    }


def run(results: list[Variable]) -> list[np.ndarray]:
    values = fluid.Executor().run(feed=feeds(), fetch_list=list(results))
    return [np.array(value) for value in values]


def names(results: list[Variable]) -> list[str]:
    plan = fluid.Executor().plan(fluid.default_main_program(), feeds(), list(results))
    return step_names(plan)


MODELS = [
    jointly,
    apart,
    with_itself,
    of_longer_values,
    masked,
    masked_alike,
    by_columns,
    fetched_inside,
    overwritten,
    stacked,
    trained,
]


@pytest.mark.parametrize("model", MODELS)
def test_results_are_those_without(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    results = model()
    monkeypatch.setenv("FLUIDCORE_PASSES", "-transposes")
    expected = run(results)
    for other in ("", "-views", "-fuse_rows", "-views,-fuse_rows"):
        monkeypatch.setenv("FLUIDCORE_PASSES", other)
        for value, same in zip(run(results), expected, strict=True):
            np.testing.assert_array_equal(value, same)


ATTENTION = "scaled_dot_product_attention"


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (jointly, [f"{ATTENTION} + transpose + transpose"]),
        (by_columns, ["transpose", f"{ATTENTION} + transpose + transpose + transpose"]),
        (fetched_inside, ["transpose", f"{ATTENTION} + transpose + transpose", "transpose"]),
        (stacked, [f"{ATTENTION} + transpose + transpose", f"{ATTENTION} + transpose"]),
    ],
)
def test_the_plan_says_what_is_done_together(model: Model, expected: list[str]) -> None:
    assert [name for name in names(model()) if "transpose" in name] == expected


def test_a_loop_transposes_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    x = layers.data("x", [STEPS, FEATURES])
    count = layers.fill_constant([1], "int64", 0)
    limit = layers.fill_constant([1], "int64", 3)
    going = layers.less_than(count, limit)
    state = layers.scale(x, 1.0)
    with layers.While(going).block():
        once = heads(state)
        mixed = layers.scaled_dot_product_attention(once, once, once)
        layers.assign(layers.tanh(merged(mixed) + x), state)
        layers.increment(count)
        layers.less_than(count, limit, cond=going)
    values = {}
    for passes in ("", "-transposes"):
        monkeypatch.setenv("FLUIDCORE_PASSES", passes)
        values[passes] = run([state])[0]
    np.testing.assert_array_equal(values[""], values["-transposes"])
