"""Training programs of every kind, for tests that make their gradient operators wrong.

Each appends to the default programs and returns its loss; gradients are appended by `build`.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

import fluidcore as fluid
from fluidcore import core, layers

RNG = np.random.default_rng(11)
FEED: Mapping[str, Any] = {
    "x": RNG.normal(size=(4, 3)).astype(np.float32),
    "xs": RNG.normal(size=(3, 2, 3)).astype(np.float32),
    "image": RNG.normal(size=(2, 1, 6, 6)).astype(np.float32),
    "label": np.array([[0], [2], [1], [0]]),
    "n": np.array([3]),
}


class Built(NamedTuple):
    """A program with gradient operators, and what it runs with."""

    program: fluid.Program
    loss: str
    scope: core.Scope
    feed: dict[str, Any]


def build(model: Callable[[], fluid.Variable], **backward: Any) -> Built:
    """Makes a program, appends its gradients and runs its startup program."""
    main, startup = fluid.Program(), fluid.Program()
    startup.random_seed = 3
    scope = fluid.Scope()
    with (
        fluid.program_guard(main, startup),
        fluid.unique_name.guard(),
        fluid.scope_guard(scope),
    ):
        loss = model()
        fluid.append_backward(loss, **backward)
        fluid.Executor().run(startup)
    feed = {name: value for name, value in FEED.items() if main.global_block().has_var(name)}
    return Built(main, loss.name, scope, feed)


def _x() -> fluid.Variable:
    return layers.data("x", [4, 3], append_batch_size=False)


def _weight(shape: list[int], name: str) -> fluid.Variable:
    return layers.create_parameter(shape, "float32", name)


def _square_sum(y: fluid.Variable) -> fluid.Variable:
    return layers.reduce_sum(layers.square(y))


def chain() -> fluid.Variable:
    """A network whose layers follow each other."""
    hidden = layers.fc(_x(), 5, act="tanh")
    logits = layers.fc(hidden, 3)
    label = layers.data("label", [4, 1], dtype="int64", append_batch_size=False)
    return layers.mean(layers.softmax_with_cross_entropy(logits, label))


def fan_out() -> fluid.Variable:
    """A variable that three operators read."""
    hidden = layers.fc(_x(), 4, act="sigmoid")
    return _square_sum(hidden * layers.tanh(hidden) + layers.exp(hidden))


def no_grad() -> fluid.Variable:
    """A branch that gradients do not pass."""
    w = _weight([3], "w")
    hidden = layers.tanh(_x() * w)
    stopped = layers.square(hidden)
    stopped.stop_gradient = True
    return _square_sum(hidden * stopped + hidden)


def split_results() -> fluid.Variable:
    """An operator with several results, one of which nothing reads."""
    w = _weight([3, 6], "w")
    first, _, third = layers.split(layers.matmul(_x(), w), 3, dim=1)
    return _square_sum(first * layers.sigmoid(third))


def error_clip() -> fluid.Variable:
    """A clip that clips."""
    w = _weight([3], "w")
    hidden = layers.tanh(_x() * w)
    hidden.error_clip = fluid.ErrorClipByValue(max=0.05)
    return _square_sum(layers.exp(hidden) * hidden)


def loop() -> fluid.Variable:
    """A while loop that carries a variable and reads another."""
    x, w = _x(), _weight([3], "w")
    n = layers.data("n", [1], dtype="int64", append_batch_size=False)
    start = layers.zeros([1], "int64")

    def body(i: fluid.Variable, h: fluid.Variable) -> Any:
        return i + 1, layers.tanh(h * w) + h * 0.5

    return _square_sum(layers.while_loop(lambda i, h: layers.less_than(i, n), body, [start, x])[1])


def branches() -> fluid.Variable:
    """Conditional blocks, one of which runs."""
    x, w = _x(), _weight([3], "w")
    taken = layers.reduce_sum(layers.square(x)) > 0.0
    y = layers.cond(taken, lambda: layers.tanh(x * w), lambda: x + w)
    return _square_sum(y + w)


def loop_of_branches() -> fluid.Variable:
    """The first step is another one than those that follow."""
    x, w = _x(), _weight([3], "w")
    n = layers.data("n", [1], dtype="int64", append_batch_size=False)
    zero, one = layers.zeros([1], "int64"), layers.ones([1], "int64")

    def body(i: fluid.Variable, h: fluid.Variable) -> Any:
        first = layers.less_than(i, one)
        return i + 1, layers.cond(first, lambda: layers.tanh(h * w), lambda: h + w)

    return _square_sum(layers.while_loop(lambda i, h: layers.less_than(i, n), body, [zero, x])[1])


def recurrence() -> fluid.Variable:
    """A StaticRNN over three steps."""
    xs = layers.data("xs", [3, 2, 3], append_batch_size=False)
    w, u = _weight([3, 4], "w"), _weight([4, 4], "u")
    start = layers.fill_constant([2, 4], "float32", 0.25)
    rnn = layers.StaticRNN()
    with rnn.step():
        row = rnn.step_input(xs)
        before = rnn.memory(init=start)
        after = layers.tanh(layers.matmul(row, w) + layers.matmul(before, u))
        rnn.update_memory(before, after)
        rnn.step_output(after)
    return _square_sum(rnn())


def overwritten() -> fluid.Variable:
    """A variable whose first value is overwritten."""
    w = _weight([3], "w")
    h = layers.square(_x() * w)
    layers.assign(layers.tanh(h), output=h)
    return _square_sum(h)


def convolution() -> fluid.Variable:
    """Windows with ties, a normalization that makes a gradient zero, and random zeros."""
    x = layers.data("image", [2, 1, 6, 6], append_batch_size=False)
    x = layers.batch_norm(layers.conv2d(x, 2, 3, padding=1), act="relu")
    x = layers.dropout(layers.pool2d(x, pool_size=2, pool_stride=2), 0.3)
    label = layers.data("label", [4, 1], dtype="int64", append_batch_size=False)
    logits = layers.fc(layers.reshape(x, [4, 9]), 3)
    return layers.mean(layers.softmax_with_cross_entropy(logits, label))


def loop_in_branch_in_loop() -> fluid.Variable:
    """Blocks three deep."""
    x, w = _x(), _weight([3], "w")
    two = layers.fill_constant([1], "int64", 2)

    def repeated(h: fluid.Variable) -> Any:
        start = layers.zeros([1], "int64")
        last = layers.while_loop(
            lambda i, h: i < two, lambda i, h: (i + 1, layers.tanh(h * w)), [start, h]
        )
        return last[1] + h

    def body(i: fluid.Variable, h: fluid.Variable) -> Any:
        positive = layers.reduce_sum(layers.square(h)) > 0.0
        return i + 1, layers.cond(positive, lambda: repeated(h), lambda: h * 2.0)

    return _square_sum(layers.while_loop(lambda i, h: i < two, body, [0, x])[1])


def array() -> fluid.Variable:
    """A tensor array that a loop writes and reads."""
    x, w = _x(), _weight([3], "w")
    three, i = layers.fill_constant([1], "int64", 3), layers.zeros([1], "int64")
    steps = layers.array_write(x * w, i)
    more = i < three
    with layers.While(more).block():
        h = layers.array_read(steps, i)
        layers.increment(i)
        layers.array_write(layers.tanh(h) + h * 0.5, i, array=steps)
        layers.less_than(i, three, cond=more)
    return _square_sum(layers.array_read(steps, i))


def clipped_recurrence() -> fluid.Variable:
    """A clip that clips in every step."""
    xs = layers.data("xs", [3, 2, 3], append_batch_size=False)
    w, start = _weight([3], "w"), layers.fill_constant([2, 3], "float32", 0.5)
    rnn = layers.StaticRNN()
    with rnn.step():
        row = rnn.step_input(xs)
        before = rnn.memory(init=start)
        after = before * w + row
        after.error_clip = fluid.ErrorClipByValue(max=0.25)
        rnn.update_memory(before, after)
        rnn.step_output(after)
    return _square_sum(rnn())


def dropout_in_a_loop() -> fluid.Variable:
    """Every step drops other elements."""
    w, n = _weight([3], "w"), layers.data("n", [1], dtype="int64", append_batch_size=False)

    def body(i: fluid.Variable, h: fluid.Variable) -> Any:
        return i + 1, layers.dropout(layers.tanh(h * w), 0.4) + h

    start = layers.zeros([1], "int64")
    return _square_sum(layers.while_loop(lambda i, h: i < n, body, [start, _x()])[1])


MODELS = [
    chain,
    fan_out,
    no_grad,
    split_results,
    error_clip,
    loop,
    branches,
    loop_of_branches,
    recurrence,
    overwritten,
    convolution,
    loop_in_branch_in_loop,
    array,
    clipped_recurrence,
    dropout_in_a_loop,
]
CALLBACKS: dict[str, Any] = {"callbacks": [fluid.error_clip_callback]}


def built(model: Callable[[], fluid.Variable]) -> Built:
    """A model with the error clips of its variables."""
    return build(model, **CALLBACKS)
