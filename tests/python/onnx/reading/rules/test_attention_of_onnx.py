import numpy as np
import pytest
from small_models import one_node, run_node

import fluidcore as fluid
from fluidcore import onnx as fluid_onnx

F32 = np.float32


def array(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(F32)


def operators(*arrays, **settings):
    program = fluid_onnx.load(one_node("Attention", *arrays, opset=23, **settings)).program
    return [op.type for op in program.global_block().ops]


def attention(query, key, value, mask=0.0):
    scores = query @ key.transpose(0, 1, 3, 2) / np.sqrt(query.shape[3]) + mask
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ value


def test_plain_attention_is_one_operator():
    arrays = array(2, 3, 4, 8), array(2, 3, 5, 8, seed=1), array(2, 3, 5, 6, seed=2)
    assert operators(*arrays) == ["scaled_dot_product_attention"]
    found = run_node("Attention", *arrays, opset=23)
    np.testing.assert_allclose(found, attention(*arrays), rtol=1e-5, atol=1e-6)


def test_heads_of_keys_are_shared_by_groups_of_queries():
    query, key, value = array(1, 4, 3, 8), array(1, 2, 3, 8, seed=1), array(1, 2, 3, 8, seed=2)
    found = run_node("Attention", query, key, value, opset=23, is_causal=1)
    mask = np.where(np.tri(3) > 0, 0, -np.inf)
    expected = attention(query, key.repeat(2, 1), value.repeat(2, 1), mask)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_heads_may_be_side_by_side():
    query, key, value = array(2, 3, 16), array(2, 3, 16, seed=1), array(2, 3, 16, seed=2)
    heads = {"q_num_heads": 2, "kv_num_heads": 2}
    found = run_node("Attention", query, key, value, opset=23, **heads)
    parts = [x.reshape(2, 3, 2, 8).transpose(0, 2, 1, 3) for x in (query, key, value)]
    expected = attention(*parts).transpose(0, 2, 1, 3).reshape(2, 3, 16)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    heads = {"q_num_heads": 3, "kv_num_heads": 3}
    with pytest.raises(fluid_onnx.Unsupported, match="must have extents for 3 heads"):
        run_node("Attention", query, key, value, opset=23, **heads)


def test_a_query_that_sees_no_key_gives_zeros_and_finite_gradients():
    arrays = array(1, 1, 2, 4), array(1, 1, 2, 4, seed=1), array(1, 1, 2, 4, seed=2)
    mask = np.array([[True, True], [False, False]])
    model = fluid_onnx.load(one_node("Attention", *arrays, mask, opset=23))
    block = model.program.global_block()
    with fluid.program_guard(model.program, fluid.Program()):
        gradients = fluid.gradients(model.fetches, [block.var(f"x{i}") for i in range(3)])
    feed = {f"x{i}": each for i, each in enumerate((*arrays, mask))}
    out, *found = fluid.Executor().run(model.program, feed, [*model.fetches, *gradients])
    np.testing.assert_array_equal(out[0, 0, 1], np.zeros(4))
    assert all(np.isfinite(each).all() for each in found)


def test_what_the_operator_does_not_do_is_by_the_definition_of_attention():
    arrays = array(1, 1, 2, 4), array(1, 1, 2, 4, seed=1), array(1, 1, 2, 4, seed=2)
    assert "softmax" in operators(*arrays, softcap=2.0)
