"""Programs to draw."""

import fluidcore as fluid
from fluidcore import layers


def perceptron(width: int = 4) -> fluid.Program:
    """Forward, backward, and updates by Adam; its loss is the mean of squares."""
    x = layers.data("x", [3])
    hidden = layers.fc(x, width, act="tanh", param_attr="w", bias_attr="b")
    fluid.optimizer.Adam(learning_rate=0.1).minimize(layers.mean(layers.square(hidden)))
    return fluid.default_main_program()


def loop() -> fluid.Program:
    """A while loop with its gradient."""
    base = layers.data("base", [1], stop_gradient=False)
    n = layers.data("n", [1], dtype="int64", append_batch_size=False)
    power, _ = layers.while_loop(lambda p, i: i < n, lambda p, i: (p * base, i + 1), [base, 1])
    fluid.gradients(power, base)
    return fluid.default_main_program()


def tower(height: int, width: int = 4) -> fluid.Program:
    """Eleven operators for each storey, with backward and updates."""
    h = layers.data("x", [width])
    for _ in range(height):
        both = layers.fc(h, width) * layers.fc(h, width)
        h = layers.layer_norm(h + layers.fc(layers.relu(both), width, act="tanh"))
    fluid.optimizer.Adam().minimize(layers.mean(h))
    return fluid.default_main_program()


HOSTILE = "</script><script>alert(1)</script>\"'&\\n<img src=x onerror=alert(2)>]]>"


def hostile() -> fluid.Program:
    """Names and attributes of a stranger."""
    x = layers.data(HOSTILE, [3])
    layers.fc(x, 2, param_attr=f"{HOSTILE}.w", bias_attr=False, name=HOSTILE)
    block = fluid.default_main_program().global_block()
    op = block.append_op("tanh", {"X": x}, {"Out": f"{HOSTILE}.out"})
    op.desc.set_call_site(f"{HOSTILE}.py:1")
    return fluid.default_main_program()
