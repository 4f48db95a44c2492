"""What gradients do not pass: one rule, wherever a variable is written."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers


def write(total, w):
    layers.assign(total + w * w, output=total)


def at_top_level(total, w):
    write(total, w)


def in_a_loop(total, w):
    i, n = layers.zeros([1], "int64"), layers.ones([1], "int64")
    more = layers.less_than(i, n)
    with layers.While(more).block():
        write(total, w)
        layers.increment(i)
        layers.less_than(i, n, cond=more)


def in_a_branch(total, w):
    condition = layers.less_than(layers.zeros([1], "int64"), layers.ones([1], "int64"))
    with layers.ConditionalBlock([condition], is_scalar_condition=True).block():
        write(total, w)


def in_a_branch_in_a_branch(total, w):
    condition = layers.less_than(layers.zeros([1], "int64"), layers.ones([1], "int64"))
    with layers.ConditionalBlock([condition], is_scalar_condition=True).block():
        in_a_branch(total, w)


everywhere = pytest.mark.parametrize(
    "place", [at_top_level, in_a_loop, in_a_branch, in_a_branch_in_a_branch]
)


def gradient_of_w(total, place):
    w = fluid.default_main_program().global_block().create_parameter([1], "float32", "w")
    place(total, w)
    ((_, gradient),) = fluid.append_backward(total)
    if gradient is None:
        return None
    fluid.global_scope().var("w").get_tensor().set(np.full(1, 3, np.float32))
    feed = {total.name: np.ones(1, np.float32)} if total.name == "x" else {}
    return fluid.Executor().run(feed=feed, fetch_list=[gradient])[0].item()


@everywhere
def test_gradients_pass_what_takes_the_place_of_a_constant(place):
    assert gradient_of_w(layers.zeros([1], "float32"), place) == 6


@everywhere
def test_gradients_do_not_pass_a_variable_that_the_user_stopped(place):
    total = layers.zeros([1], "float32")
    total.stop_gradient = True
    assert gradient_of_w(total, place) is None
    assert total.stop_gradient


@everywhere
def test_gradients_do_not_pass_data_that_stops_them(place):
    total = layers.data("x", [1], append_batch_size=False)
    assert gradient_of_w(total, place) is None


@everywhere
def test_gradients_pass_data_that_does_not_stop_them(place):
    total = layers.data("x", [1], append_batch_size=False, stop_gradient=False)
    assert gradient_of_w(total, place) == 6


@everywhere
def test_no_operator_sets_or_clears_the_flag(place):
    flags = [True, False]
    totals = [layers.zeros([1], "float32") for _ in flags]
    for total, flag in zip(totals, flags, strict=True):
        total.stop_gradient = flag
        place(total, layers.ones([1], "float32"))
    assert [total.stop_gradient for total in totals] == flags
