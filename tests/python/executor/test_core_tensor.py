"""Tests of core.Tensor: extents, memory of its own, and levels of sequences, as Fluid set them."""

import copy
import pickle

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import core, layers


def test_memory_comes_when_a_tensor_with_extents_is_allocated_or_set():
    tensor = core.Scope().var("x").get_tensor()
    tensor.set_dims([4, 3])
    assert (tensor.shape(), tensor.get_dims()) == ([4, 3], [4, 3])
    assert not tensor.is_initialized()
    tensor.alloc_int(core.CPUPlace())
    assert (tensor.dtype(), np.array(tensor).tolist()) == ("int32", [[0] * 3] * 4)
    tensor.alloc_float()
    assert (tensor.dtype(), np.array(tensor).tolist()) == ("float32", [[0] * 3] * 4)
    tensor.set_dims([2])
    tensor.set(np.ones((2, 2)), core.CPUPlace())
    assert tensor.shape() == [2, 2]


def test_the_first_elements_stay_where_there_are_enough():
    tensor = core.Tensor()
    tensor.set(np.arange(6, dtype=np.float32))
    before = tensor.numpy()
    tensor.set_dims((2, 2))
    assert np.array(tensor).tolist() == [[0, 1], [2, 3]]
    before[0] = 9
    assert tensor.get_double_element(0) == 9
    tensor.set_double_element(3, 0.5)
    assert before[3] == 0.5
    tensor.set_dims([0])
    assert np.array(tensor).tolist() == []
    tensor.set_dims([7])
    assert not tensor.is_initialized()


def test_extents_must_be_known():
    with pytest.raises(core.InvalidArgument) as refused:
        core.Tensor().set_dims([2, -1])
    assert str(refused.value) == "set_dims: all extents must be known, got [2, -1]"
    with pytest.raises(core.InvalidArgument, match="tensor: must be initialized before it is read"):
        np.array(core.Tensor())


def test_a_variable_of_a_scope_has_the_extents_that_its_tensor_was_given():
    scope = core.Scope()
    scope.var("x").get_tensor().set_dims([2, 3])
    assert scope.find_var("x").get_tensor().shape() == [2, 3]


def test_a_tensor_keeps_levels_through_set_copies_and_pickles():
    levels = [[0, 2, 5], [0, 2, 4, 5]]
    tensor = fluid.LoDTensor()
    assert tensor.lod() == []
    tensor.set_lod(levels)
    tensor.set(np.zeros((5, 2)))
    assert tensor.lod() == levels
    assert copy.copy(tensor).lod() == pickle.loads(pickle.dumps(tensor)).lod() == levels
    assert fluid.LoDTensor([[0, 2, 4]]).lod() == [[0, 2, 4]]
    tensor.set_lod([])
    assert tensor.lod() == []


@pytest.mark.parametrize("lod", [[[]], [[1, 2]], [[0, 3, 2]], [[0, 1], [0, -1]]])
def test_levels_start_with_0_and_do_not_fall(lod):
    tensor = core.Tensor()
    with pytest.raises(core.InvalidArgument) as refused:
        tensor.set_lod(lod)
    assert str(refused.value) == f"set_lod: each level must start with 0 and not fall, got {lod}"
    assert tensor.lod() == []


def test_a_run_does_not_look_at_levels():
    x = layers.data("x", [2], lod_level=1)
    tensor = fluid.LoDTensor([[0, 1, 3]])
    tensor.set(np.ones((3, 2), np.float32))
    (value,) = fluid.Executor().run(feed={"x": tensor}, fetch_list=[x * 2], return_numpy=False)
    assert np.array(value).tolist() == [[2, 2]] * 3
    assert value.lod() == []
