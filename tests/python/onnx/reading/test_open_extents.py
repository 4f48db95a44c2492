"""Extents that are known only at run time: what is calculated of them, and made with them."""

import numpy as np
import pytest
from onnx import TensorProto, helper
from small_models import model_of, one_node, run, tensor, value

import fluidcore as fluid
from fluidcore import layers
from fluidcore import onnx as fluid_onnx

F32 = np.float32
INT64 = TensorProto.INT64


def array(*shape):
    return np.random.default_rng(5).normal(size=shape).astype(F32)


def turned(*symbols):
    """x [a, b] as [b, a], without a transposition."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "order"], ["turned"]),
        helper.make_node("Reshape", ["x", "turned"], ["y"]),
    ]
    order = [tensor("order", [1, 0], np.int64)]
    return model_of(nodes, [value("x", symbols)], [value("y", ["c", "d"])], order)


def types(model):
    return [op.type for op in model.program.global_block().ops]


def test_a_shape_of_several_open_extents_is_made_when_the_program_runs():
    model, x = fluid_onnx.load(turned("a", "b")), array(2, 3)
    block = model.program.global_block()
    block.var("x").stop_gradient = False
    with fluid.program_guard(model.program, fluid.Program()):
        loss = layers.reduce_sum(layers.square(model.fetches[0]))
        (gradient,) = fluid.gradients([loss], [block.var("x")])
    y, dx = fluid.Executor().run(model.program, {"x": x}, [*model.fetches, gradient])
    np.testing.assert_array_equal(y, x.reshape(3, 2))
    np.testing.assert_allclose(dx, 2 * x)


def test_a_question_mark_is_no_name_of_an_extent():
    x = array(2, 3)
    np.testing.assert_array_equal(run(turned("?", "?"), {"x": x})[0], x.reshape(3, 2))
    model = fluid_onnx.load(turned("a", "a"))
    assert types(model) == ["assign"]


def test_an_extent_of_minus_one_is_open():
    node = helper.make_node("Relu", ["x"], ["y"])
    model = fluid_onnx.load(model_of([node], [value("x", [-1, 3])], [value("y", [-1, 3])]))
    assert model.fetches[0].shape == (-1, 3)


@pytest.mark.parametrize("operator", ["Cast", "CastLike"])
def test_extents_are_followed_through_integers_of_32_bits(operator):
    def cast(given, result, dtype):
        if operator == "Cast":
            return helper.make_node(
                "Cast", [given], [result], to=helper.np_dtype_to_tensor_dtype(dtype)
            )
        return helper.make_node("CastLike", [given, dtype.name], [result])

    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        cast("shape", "narrow", np.dtype("int32")),
        helper.make_node("Slice", ["narrow", "zero", "one"], ["first"]),
        helper.make_node("Concat", ["first", "rest"], ["all"], axis=0),
        cast("all", "wanted", np.dtype("int64")),
        helper.make_node("Reshape", ["x", "wanted"], ["y"]),
    ]
    known = [
        tensor("zero", [0], np.int64),
        tensor("one", [1], np.int64),
        tensor("rest", [3, 2], np.int32),
        tensor("int32", [0], np.int32),
        tensor("int64", [0], np.int64),
    ]
    model = model_of(nodes, [value("x", ["n", 6])], [value("y", ["n", 3, 2])], known)
    loaded = fluid_onnx.load(model)
    assert types(loaded) == ["reshape"]
    assert fluid_onnx.load(model, dims={"n": 4}).fetches[0].shape == (4, 3, 2)


def test_extents_that_are_all_known_have_the_element_type_that_they_were_cast_to():
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Cast", ["shape"], ["narrow"], to=TensorProto.INT32),
        helper.make_node("Slice", ["narrow", "one", "two"], ["width"]),
    ]
    known = [tensor("one", [1], np.int64), tensor("two", [2], np.int64)]
    width = value("width", [1], TensorProto.INT32)
    (found,) = run(model_of(nodes, [value("x", ["n", 6])], [width], known), {"x": array(2, 6)})
    assert found.dtype == np.int32
    assert found.tolist() == [6]


def positions(start):
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Squeeze", ["shape"], ["limit"]),
        helper.make_node("Range", ["start", "limit", "step"], ["y"], name="range"),
    ]
    known = [tensor("start", start, np.int64), tensor("step", 1, np.int64)]
    return model_of(nodes, [value("x", ["n"])], [value("y", ["n"], INT64)], known)


def test_numbers_below_an_open_extent_are_counted_when_the_program_runs():
    (numbers,) = run(positions(0), {"x": array(4)})
    assert numbers.dtype == np.int64
    assert numbers.tolist() == [0, 1, 2, 3]
    with pytest.raises(fluid_onnx.Unsupported) as error:
        fluid_onnx.load(positions(2))
    assert str(error.value) == (
        "small: node 'range' (Range, opset 17): numbers below an open extent must be 0, 1, 2, ..., "
        "got a start of 2 and a step of 1; give dims or shapes to load"
    )


def test_indices_and_what_they_choose_from_may_have_several_open_extents():
    x, index = array(3, 2, 4), np.array([[0, 1, 1], [1, 0, 0]])
    model = one_node("Gather", x, index, axis=1)
    feed = {"x0": x, "x1": index}
    (y,) = run(model, feed, shapes={"x0": [-1, 2, -1], "x1": [-1, -1]})
    np.testing.assert_array_equal(y, x[:, index])


def test_a_matrix_of_open_extents_on_both_sides_is_flattened():
    (y,) = run(
        one_node("Flatten", array(2, 3, 4), axis=1), {"x0": array(2, 3, 4)}, shapes={"x0": [-1] * 3}
    )
    assert y.shape == (2, 12)


@pytest.mark.parametrize("rows", [[3, 4], [4]])
def test_rows_whose_extent_the_scale_says_are_normalized_by_one_operator(rows):
    x, scale, bias = array(2, 3, 4) + 100, array(*rows), array(*rows)
    model = one_node("LayerNormalization", x, scale, bias, known=[1, 2], axis=-len(rows))
    loaded = fluid_onnx.load(model, shapes={"x0": [-1, -1, -1]})
    assert "layer_norm" in types(loaded)
    (y,) = fluid.Executor().run(loaded.program, {"x0": x}, loaded.fetches)
    (fixed,) = run(model, {"x0": x})
    np.testing.assert_array_equal(y, fixed)


def test_rows_of_an_open_extent_may_have_one_scale():
    x = array(3, 4)
    model = one_node("LayerNormalization", x, np.full(1, 2.0, F32), known=[1])
    (open_one,) = run(model, {"x0": x}, shapes={"x0": [-1, -1]})
    wanted = 2 * (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(open_one, wanted, rtol=1e-4, atol=1e-5)


# Resize

CENTRED = ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel"]
WHOLE = [
    *(("nearest", each, "round_prefer_floor", 2) for each in CENTRED),
    ("nearest", "half_pixel", "round_prefer_ceil", 3),
    ("nearest", "asymmetric", "floor", 3),
    *(("linear", each, "floor", 2) for each in (*CENTRED, "align_corners")),
    *(("cubic", each, "floor", 2) for each in (*CENTRED, "align_corners")),
]


def enlarged(x, mode, points, nearest, scale, opset=17):
    scales = np.array([1, 1, 1, scale], F32) if x.ndim == 4 else np.array([1, 1, scale], F32)
    attrs = {"coordinate_transformation_mode": points, "nearest_mode": nearest}
    if mode == "cubic":
        attrs["cubic_coeff_a"] = -0.75
    roi = np.zeros(0, F32)
    return one_node("Resize", x, roi, scales, known=[1, 2], mode=mode, opset=opset, **attrs)


@pytest.mark.parametrize(("mode", "points", "nearest", "scale"), WHOLE)
def test_images_of_open_extents_are_resized_by_whole_numbers(mode, points, nearest, scale):
    x = array(2, 3, 4, 5)
    model = enlarged(x, mode, points, nearest, scale)
    loaded = fluid_onnx.load(model, shapes={"x0": [-1, 3, -1, -1]})
    assert types(loaded) == ["interpolate"]
    (y,) = fluid.Executor().run(loaded.program, {"x0": x}, loaded.fetches)
    (fixed,) = run(model, {"x0": x})
    np.testing.assert_allclose(y, fixed, rtol=1e-5, atol=1e-6)


def test_before_opset_11_nearest_elements_of_open_extents_are_repeated():
    x = array(1, 2, 3)
    model = one_node("Resize", x, np.array([1, 1, 2], F32), known=[1], opset=10, mode="nearest")
    (y,) = run(model, {"x0": x}, shapes={"x0": [-1, 2, -1]})
    np.testing.assert_array_equal(y, np.repeat(x, 2, 2))


@pytest.mark.parametrize(
    ("mode", "points", "nearest", "scale", "message"),
    [
        ("nearest", "asymmetric", "floor", 1.5, r"change by whole numbers, got \[-1, 2, -1\] by"),
        ("nearest", "asymmetric", "ceil", 2, "must be known for such points, got"),
        ("nearest", "align_corners", "floor", 2, r"got \[-1, 2, -1\] for align_corners"),
        ("linear", "asymmetric", "floor", 2, r"for asymmetric; give dims or shapes to load"),
    ],
)
def test_points_that_depend_on_an_open_extent_are_refused(mode, points, nearest, scale, message):
    model = enlarged(array(1, 2, 3), mode, points, nearest, scale)
    with pytest.raises(fluid_onnx.Unsupported, match=message):
        fluid_onnx.load(model, shapes={"x0": [-1, 2, -1]})


def test_an_open_extent_is_not_resized_to_another_one():
    nodes = [
        helper.make_node("Slice", ["x", "zero", "far", "last", "two"], ["half"]),
        helper.make_node("Shape", ["x"], ["sizes"]),
        helper.make_node("Resize", ["half", "", "", "sizes"], ["y"], mode="linear", name="resize"),
    ]
    known = [
        tensor("zero", [0], np.int64),
        tensor("far", [2**60], np.int64),
        tensor("last", [2], np.int64),
        tensor("two", [2], np.int64),
    ]
    model = model_of(nodes, [value("x", ["n", 1, "w"])], [value("y", ["n", 1, "w"])], known)
    with pytest.raises(
        fluid_onnx.Unsupported, match="extents that change must be known, got w for"
    ):
        fluid_onnx.load(model)
    (y,) = run(model, {"x": array(2, 1, 4)}, dims={"w": 4})
    assert y.shape == (2, 1, 4)
