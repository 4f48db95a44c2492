"""Models with loops, branches and recurrences, for tests of whole programs.

Each appends to the default programs and returns its result, a Variable.
"""

import numpy as np

from fluidcore import layers

FEED = {
    "x": np.random.default_rng(5).random((4, 3), dtype="float32"),
    "n": np.array([3]),
}


def _inputs():
    x = layers.data("x", [4, 3], append_batch_size=False)
    n = layers.data("n", [1], dtype="int64", append_batch_size=False)
    return x, n, layers.create_parameter([3], "float32", "w")


def loop():
    """H becomes tanh(h * w), n times."""
    x, n, w = _inputs()
    zero = layers.zeros([1], "int64")

    def body(i, h):
        return i + 1, layers.tanh(h * w)

    return layers.while_loop(lambda i, h: layers.less_than(i, n), body, [zero, x])[1]


def loop_with_branches():
    """The first step is another one than those that follow."""
    x, n, w = _inputs()
    zero, one = layers.zeros([1], "int64"), layers.ones([1], "int64")

    def body(i, h):
        first = layers.less_than(i, one)
        return i + 1, layers.cond(first, lambda: layers.tanh(h * w), lambda: h + w)

    return layers.while_loop(lambda i, h: layers.less_than(i, n), body, [zero, x])[1]


def loop_in_loop():
    """Each step of the outer loop runs the inner one n times."""
    x, n, w = _inputs()

    def repeat(body, h):
        def step(i, h):
            return i + 1, body(h)

        start = layers.zeros([1], "int64")
        return layers.while_loop(lambda i, h: layers.less_than(i, n), step, [start, h])[1]

    return repeat(lambda h: layers.sigmoid(repeat(lambda h: layers.tanh(h * w), h) + x), x)


def recurrence():
    """The rows of x are the steps."""
    x, n, w = _inputs()
    start = layers.fill_constant([3], "float32", 0.25)
    rnn = layers.StaticRNN()
    with rnn.step():
        row = rnn.step_input(x)
        before = rnn.memory(init=start)
        after = layers.tanh(row * w + before)
        rnn.update_memory(before, after)
        rnn.step_output(after)
    return rnn() * layers.cast(n, "float32")


MODELS = [loop, loop_with_branches, loop_in_loop, recurrence]
