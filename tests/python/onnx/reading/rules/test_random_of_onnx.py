import numpy as np
import pytest
from onnx import TensorProto, helper
from small_models import model_of, one_node, run, run_node, value

import fluidcore as fluid
from fluidcore import onnx as fluid_onnx

F32 = np.float32


def drawn(op_type, x=None, **attrs):
    inputs = [] if x is None else ["x"]
    node = helper.make_node(op_type, inputs, ["y"], **attrs)
    kind = attrs.get("dtype", 1)
    given = [] if x is None else [value("x", x.shape)]
    return run(model_of([node], given, [value("y", [1], kind)]), {} if x is None else {"x": x})[0]


@pytest.mark.parametrize("like", [False, True])
def test_numbers_have_the_distribution_that_is_asked_for(like):
    shape = {} if like else {"shape": [50, 100]}
    x = np.zeros((50, 100), F32) if like else None
    ending = "Like" if like else ""
    found = drawn(f"RandomNormal{ending}", x, mean=3.0, scale=0.5, seed=1.0, **shape)
    assert abs(found.mean() - 3) < 0.05
    assert abs(found.std() - 0.5) < 0.05
    found = drawn(f"RandomUniform{ending}", x, low=-2.0, high=6.0, seed=1.0, dtype=11, **shape)
    assert found.dtype == np.float64
    assert -2 <= found.min() < -1.9
    assert 5.9 < found.max() < 6


def test_a_seed_gives_the_same_numbers_and_none_gives_others():
    same = [drawn("RandomNormal", shape=[4], seed=2.5) for _ in range(2)]
    np.testing.assert_array_equal(*same)
    assert (drawn("RandomNormal", shape=[4]) != drawn("RandomNormal", shape=[4])).all()


def test_numbers_are_drawn_for_a_batch_of_any_size_in_each_run():
    model = one_node("RandomNormalLike", np.zeros((2, 3), F32))
    loaded = fluid_onnx.load(model, shapes={"x0": [-1, 3]})
    exe, x = fluid.Executor(), np.zeros((5, 3), F32)
    (a,), (b,) = (exe.run(loaded.program, {"x0": x}, loaded.fetches) for _ in range(2))
    assert a.shape == (5, 3)
    assert (a != b).all()


def test_probabilities_give_ones_and_classes():
    ones = run_node("Bernoulli", np.array([0.0, 1.0], F32))
    np.testing.assert_array_equal(ones, [0.0, 1.0])
    logits = np.array([[0.0, 50.0, 0.0]], F32)
    found = run_node("Multinomial", logits, kind=TensorProto.INT32, sample_size=4)
    np.testing.assert_array_equal(found, [[1, 1, 1, 1]])


def test_dropout_in_training_mode_drops_and_scales_up_and_a_clone_for_test_does_not():
    x = np.ones((50, 40), F32)
    model = fluid_onnx.load(
        one_node(
            "Dropout",
            x,
            np.array(0.25, F32),
            np.array(True),
            known=[1, 2],
            outputs=2,
            kind=[1, TensorProto.BOOL],
            opset=13,
        )
    )
    exe = fluid.Executor()
    out, mask = exe.run(model.program, {"x0": x}, model.fetches)
    assert abs((out == 0).mean() - 0.25) < 0.05
    np.testing.assert_allclose(out, np.where(mask, 1 / 0.75, 0.0), rtol=1e-6)
    test = model.program.clone(for_test=True)
    (out,) = exe.run(test, {"x0": x}, model.fetches[:1])
    np.testing.assert_allclose(out, x, rtol=1e-6)
