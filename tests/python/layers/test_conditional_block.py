"""Tests of ConditionalBlock and Switch."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers


def run(fetches, **feed):
    return fluid.Executor().run(feed=feed, fetch_list=fetches)


def program_text():
    return str(fluid.default_main_program()) + str(fluid.default_startup_program())


def number(value, dtype="float32"):
    return layers.fill_constant([1], dtype, value)


def refused(kind, match, call):
    before = program_text()
    blocks = fluid.default_main_program().num_blocks
    with pytest.raises(kind, match=match):
        call()
    assert program_text() == before
    assert fluid.default_main_program().num_blocks == blocks
    assert fluid.default_main_program().current_block().idx == 0


# ConditionalBlock


def test_a_conditional_block_runs_if_its_condition_is_true():
    flag = layers.data("flag", [1], dtype="bool", append_batch_size=False)
    out = layers.fill_constant([2], "float32", 1)
    branch = layers.ConditionalBlock([flag], is_scalar_condition=True)
    with branch.block():
        layers.assign(out + 1.0, output=out)
    executor = fluid.Executor()
    for value in (True, False, True):
        (got,) = executor.run(feed={"flag": np.array([value])}, fetch_list=[out])
        np.testing.assert_array_equal(got, [1 + value] * 2)


def test_a_conditional_block_runs_if_its_inputs_have_elements():
    x = layers.data("x", [2])
    out = number(0)
    with layers.ConditionalBlock([x]).block():
        layers.assign(number(5), output=out)
    assert run([out], x=np.ones((1, 2), "float32"))[0][0] == 5
    assert run([out], x=np.ones((0, 2), "float32"))[0][0] == 0


def test_a_variable_written_only_in_a_block_that_was_not_run_cannot_be_read():
    flag = layers.data("flag", [1], dtype="bool", append_batch_size=False)
    out = fluid.default_main_program().global_block().create_var("out", dtype="float32")
    with layers.ConditionalBlock([flag], True).block():
        layers.assign(number(5), output=out)
    result = layers.scale(out, scale=2.0)
    assert run([result], flag=np.array([True]))[0][0] == 10
    with pytest.raises(fluid.InvalidArgument, match="'out' must be written before it is read"):
        run([result], flag=np.array([False]))


def test_a_conditional_block_refuses_what_cannot_be():
    flag, x = layers.less_than(number(0), number(1)), number(1)
    many = layers.less_than(layers.zeros([3], "float32"), layers.ones([3], "float32"))
    for kind, match, call in [
        (TypeError, "inputs must be a Variable", lambda: layers.ConditionalBlock(True)),
        (
            fluid.InvalidArgument,
            "at least one Variable, got 0",
            lambda: layers.ConditionalBlock([]),
        ),
        (
            fluid.InvalidArgument,
            "the condition alone, got 2",
            lambda: layers.ConditionalBlock([flag, flag], True),
        ),
        (
            fluid.InvalidArgument,
            r"the condition must be bool with one element, got float32 \[1\]",
            lambda: layers.ConditionalBlock([x], True),
        ),
        (
            fluid.InvalidArgument,
            r"the condition must be bool with one element, got bool \[3\]",
            lambda: layers.ConditionalBlock([many], True),
        ),
    ]:
        refused(kind, match, call)
    branch = layers.ConditionalBlock([flag], True)
    with branch.block():
        number(1)

    def again():
        with branch.block():
            number(2)

    refused(fluid.InvalidArgument, "entered once, got a second time", again)


def test_an_error_in_a_block_leaves_the_program_as_it_was():
    flag = layers.less_than(number(0), number(1))
    x = layers.data("x", [4])
    branch = layers.ConditionalBlock([flag], True)

    def body():
        with branch.block():
            layers.fc(x, 3)
            with layers.ConditionalBlock([flag], True).block():
                layers.fc(x, 5)
                raise KeyError("mine")

    refused(KeyError, "mine", body)
    with branch.block():  # it was not used up
        layers.fc(x, 3)


def test_an_error_in_a_layer_leaves_the_block_open():
    flag = layers.less_than(number(0), number(1))
    x = layers.data("x", [4])
    with layers.ConditionalBlock([flag], True).block():
        layers.fc(x, 3)
        before = program_text()
        with pytest.raises(fluid.NotFound):
            layers.fc(x, 3, act="no_such_activation")
        with pytest.raises(KeyError), layers.ConditionalBlock([flag], True).block():
            raise KeyError
        assert program_text() == before
        assert fluid.default_main_program().current_block().idx == 1


# Switch


def test_a_switch_runs_the_first_true_case():
    step = layers.data("step", [1], append_batch_size=False)
    rate = number(-1)
    with layers.Switch() as switch:
        with switch.case(layers.less_than(step, number(10))):
            layers.assign(number(0.1), output=rate)
        with switch.case(layers.less_than(step, number(20))):
            layers.assign(number(0.2), output=rate)
        with switch.default():
            layers.assign(number(0.3), output=rate)
    executor = fluid.Executor()
    for value, expected in ((5, 0.1), (15, 0.2), (25, 0.3), (0, 0.1)):
        (got,) = executor.run(feed={"step": np.array([value], "float32")}, fetch_list=[rate])
        np.testing.assert_allclose(got, [expected], rtol=1e-6)


def test_a_case_may_write_its_own_condition():
    flag = layers.data("flag", [1], dtype="bool", append_batch_size=False)
    copy, out = layers.assign(flag), number(0)
    switch = layers.Switch()
    with switch.case(copy):
        layers.logical_not(copy, out=copy)
        layers.assign(number(1), output=out)
    with switch.default():
        layers.assign(out + 10.0, output=out)
    assert run([out], flag=np.array([True]))[0][0] == 1
    assert run([out], flag=np.array([False]))[0][0] == 10


def test_a_switch_without_default_may_do_nothing():
    flag = layers.data("flag", [1], dtype="bool", append_batch_size=False)
    out = number(7)
    with layers.Switch().case(flag):
        layers.assign(number(8), output=out)
    assert run([out], flag=np.array([False]))[0][0] == 7


def test_a_switch_refuses_what_cannot_be():
    flag = layers.less_than(number(0), number(1))
    switch = layers.Switch()

    def default_first():
        with switch.default():
            pass

    def nested_case():
        with switch.case(flag), switch.case(flag):
            pass

    def after_default():
        with switch.case(flag):
            pass

    def elsewhere():
        with layers.ConditionalBlock([flag], True).block(), other.case(flag):
            pass

    refused(fluid.InvalidArgument, "default must come after the cases", default_first)
    refused(fluid.InvalidArgument, "a case must stand beside the other cases", nested_case)
    refused(
        TypeError, "condition of a case must be a Variable", lambda: switch.case(True).__enter__()
    )
    with switch.case(flag):
        number(1)
    with switch.default():
        number(2)
    refused(fluid.InvalidArgument, "the default must be the last, got a case after", after_default)
    other = layers.Switch()
    with other.case(flag):
        number(1)
    refused(fluid.InvalidArgument, "in the block where the Switch was made, block 0", elsewhere)
