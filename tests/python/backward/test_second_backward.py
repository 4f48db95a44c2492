"""Tests of several append_backward on one program: several losses, two players."""

import numpy as np
from differences import whole

import fluidcore as fluid
from fluidcore import layers


def data(name, shape, **settings):
    return layers.data(name, list(shape), append_batch_size=False, **settings)


def parameter(name, shape, dtype="float64"):
    block = fluid.default_main_program().global_block()
    return block.create_parameter(list(shape), dtype, name)


def sgd(loss, *parameters):
    _, pairs = fluid.optimizer.SGD(0.1).minimize(loss, parameter_list=list(parameters))
    return [grad for _, grad in pairs]


def value_of(name):
    return np.array(fluid.global_scope().find_var(name).get_tensor())


def start(**values):
    """Runs the startup program, then sets parameters."""
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program())
    for name, value in values.items():
        fluid.global_scope().var(name).get_tensor().set(np.asarray(value, np.float64))
    return executor


def slope(f, at):
    """The gradient of a function of a vector, by differences."""
    steps = np.eye(len(at)) * 1e-6
    return np.array([(f(at + step) - f(at - step)) / 2e-6 for step in steps])


def test_several_losses_have_gradients_of_their_own():
    w = parameter("w", (2,))
    h = layers.square(w)
    losses = [layers.reduce_sum(h), layers.reduce_sum(layers.square(h))]
    grads = [fluid.append_backward(loss)[0][1] for loss in (*losses, losses[0] + losses[1])]
    assert [grad.name for grad in grads] == ["w@GRAD", "w@GRAD_0", "w@GRAD_1"]
    first, second, both = start(w=[1, 3]).run(fetch_list=grads)
    np.testing.assert_allclose(first, [2, 6])
    np.testing.assert_allclose(second, [4, 108])
    np.testing.assert_allclose(both, [6, 114])


def test_two_players_take_turns_and_backward_sees_what_the_forward_operators_saw():
    a, b = parameter("a", (2,)), parameter("b", (2,))
    x = data("x", (2,), dtype="float64")
    fake = layers.tanh(x * a)
    score = layers.reduce_sum(fake * b * b)
    sgd(score * score, b)  # writes b, which the next backward reads as it was before
    (by_a,) = sgd(layers.scale(score, scale=-1.0), a)
    xs, player, critic = np.array([0.2, 0.9]), np.array([0.3, -0.4]), np.array([0.5, 0.7])
    executor = start(a=player, b=critic)
    for _ in range(3):
        (got,) = executor.run(feed={"x": xs}, fetch_list=[by_a])
        fakes = np.tanh(xs * player)
        wanted = -(1 - fakes**2) * xs * critic**2
        np.testing.assert_allclose(got, wanted, rtol=1e-12)
        critic = critic - 0.1 * 2 * np.sum(fakes * critic**2) * fakes * 2 * critic
        player = player - 0.1 * wanted
        np.testing.assert_allclose(value_of("a"), player, rtol=1e-12)
        np.testing.assert_allclose(value_of("b"), critic, rtol=1e-12)


def test_a_loss_that_is_built_after_an_update_sees_the_updated_parameter():
    a, b = parameter("a", (2,)), parameter("b", (2,))
    x = data("x", (2,), dtype="float64")
    sgd(layers.reduce_sum(layers.square(x * a * b)), b)
    (by_a,) = sgd(layers.reduce_sum(layers.square(x * a * b)), a)
    xs, first, second = np.array([0.2, 0.9]), np.array([0.3, -0.4]), np.array([0.5, 0.7])
    executor = start(a=first, b=second)
    for _ in range(2):
        (got,) = executor.run(feed={"x": xs}, fetch_list=[by_a])
        second = second - 0.1 * 2 * (xs * first) ** 2 * second
        np.testing.assert_allclose(got, 2 * (xs * second) ** 2 * first, rtol=1e-12)
        first = first - 0.1 * got
        np.testing.assert_allclose(value_of("a"), first, rtol=1e-12)


def test_two_players_in_a_loop():
    a, b = parameter("a", (2,)), parameter("b", (2,))
    x = data("x", (2,), dtype="float64")
    _, h = layers.while_loop(
        lambda i, h: layers.less_than(i, whole(3)),
        lambda i, h: (i + 1, layers.tanh(h * a) * b + h),
        [0, x],
    )
    score = layers.reduce_sum(h)
    sgd(score * score, b)
    (by_a,) = sgd(score, a)
    xs, first, second = np.array([0.2, 0.9]), np.array([0.3, -0.4]), np.array([0.5, 0.7])

    def scored(p, q):
        h = xs
        for _ in range(3):
            h = np.tanh(h * p) * q + h
        return h.sum()

    executor = start(a=first, b=second)
    for _ in range(3):
        (got,) = executor.run(feed={"x": xs}, fetch_list=[by_a])
        wanted = slope(lambda p, q=second: scored(p, q), first)
        np.testing.assert_allclose(got, wanted, rtol=1e-6)
        second = second - 0.1 * slope(lambda q, p=first: scored(p, q) ** 2, second)
        first = first - 0.1 * wanted
        np.testing.assert_allclose(value_of("b"), second, rtol=1e-6)
