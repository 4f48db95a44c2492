import numpy as np
import pytest
from trained_network import build, held, run

import fluidcore as fluid
from fluidcore import layers
from fluidcore.optimizer import SGD, ExponentialMovingAverage, WeightAverage

KINDS = [ExponentialMovingAverage, WeightAverage]


def trained(kind):
    build(SGD(0.2))
    average = kind()
    average.update()
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    run(exe, 4, 0, 3)
    return average, exe


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_inside_brings_back_the_parameters(kind):
    average, exe = trained(kind)
    before = held()

    def evaluate():
        assert np.any(held()["w1"] != before["w1"])
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"), average.apply(exe):
        evaluate()
    np.testing.assert_array_equal(held()["w1"], before["w1"])


@pytest.mark.parametrize("kind", KINDS)
def test_the_averages_may_stay_until_restore(kind):
    average, exe = trained(kind)
    before = held()
    with average.apply(exe, need_restore=False):
        inside = held()
    np.testing.assert_array_equal(held()["w1"], inside["w1"])
    with pytest.raises(fluid.InvalidArgument, match="apply must come after restore, got averages"):
        average.apply(exe).__enter__()
    average.restore(exe)
    np.testing.assert_array_equal(held()["w1"], before["w1"])
    with pytest.raises(fluid.InvalidArgument, match=r": restore must come after apply, got none$"):
        average.restore(exe)


@pytest.mark.parametrize("kind", KINDS)
def test_the_scope_that_was_changed_is_restored(kind):
    average, exe = trained(kind)
    before = held()
    context = average.apply(exe)
    context.__enter__()
    with fluid.scope_guard(fluid.Scope()):
        context.__exit__(None, None, None)
    np.testing.assert_array_equal(held()["w1"], before["w1"])


@pytest.mark.parametrize("kind", KINDS)
def test_all_trainable_parameters_are_averaged_and_no_others(kind):
    layers.create_parameter([2], "float32", attr=fluid.ParamAttr("frozen", trainable=False))
    layers.create_parameter([2], "bfloat16", "narrow")
    layers.create_parameter([2], "float64", "wide")
    average = kind()
    average.update()
    found = {
        name.partition("_")[0]: var.dtype
        for name, var in fluid.default_main_program().global_block().vars.items()
        if name.endswith("_average_0")
    }
    assert found == {"narrow": "float32", "wide": "float64"}
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    exe.run()
    before = held(["narrow", "frozen"])
    with average.apply(exe):
        for name, value in held(["narrow", "frozen"]).items():
            assert value.dtype == before[name].dtype
            np.testing.assert_array_equal(value, before[name])


@pytest.mark.parametrize("kind", KINDS)
def test_what_comes_too_early_or_twice_is_an_error(kind):
    average = kind()
    with pytest.raises(fluid.InvalidArgument, match="must have a trainable parameter, got none"):
        average.update()
    layers.create_parameter([2], "float32", "w")
    message = rf"^{kind.type}: update must be called before the averages are used, got no call$"
    with pytest.raises(fluid.InvalidArgument, match=message):
        average.apply().__enter__()
    average.update()
    text = str(fluid.default_main_program())
    message = rf"^{kind.type}: update must be called once, got a second call; make another "
    with pytest.raises(fluid.InvalidArgument, match=message + kind.__name__):
        average.update()
    assert str(fluid.default_main_program()) == text
    message = rf"^{kind.type}: variable 'updates_0' must have a value in the global scope, got none"
    with pytest.raises(fluid.NotFound, match=message):
        average.apply().__enter__()
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    before = held(["w"])["w"]
    message = rf"^{kind.type}: a run must have updated the averages, got none; run the program that"
    with pytest.raises(fluid.InvalidArgument, match=message):
        average.apply(exe).__enter__()
    np.testing.assert_array_equal(held(["w"])["w"], before)


@pytest.mark.parametrize("kind", KINDS)
def test_a_name_is_a_text(kind):
    with pytest.raises(TypeError, match=f"^{kind.type}: name must be a str, got int 3$"):
        kind(name=3)
