"""Tests of fluidcore.optimizer and regularizer."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers
from fluidcore.optimizer import SGD, Adam, Momentum
from fluidcore.regularizer import L1Decay, L2Decay

START = [1.0, -2.0, 3.0]


@pytest.fixture
def block():
    return fluid.default_main_program().global_block()


def parameter(name="w", **settings):
    attr = fluid.ParamAttr(name, **settings)
    return layers.create_parameter([3], "float32", attr=attr)


def train(optimizer, steps=3, dtype="float32", **settings):
    """Values of w after some steps on the loss sum(w * w) / 2, whose gradient is w."""
    w = layers.create_parameter([3], dtype, attr=fluid.ParamAttr("w", **settings))
    loss = layers.scale(layers.reduce_sum(w * w), scale=0.5)
    optimizer.minimize(loss)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    fluid.global_scope().find_var("w").get_tensor().set(np.array(START, dtype))
    for _ in range(steps):
        exe.run()
    return np.array(fluid.global_scope().find_var("w").get_tensor())


def adam_steps(w, steps, rate, beta1, beta2, epsilon, mode, decay=0.0):
    m, v = 0, 0
    for step in range(1, steps + 1):
        m = beta1 * m + (1 - beta1) * w
        v = beta2 * v + (1 - beta2) * w * w
        bias = np.sqrt(1 - beta2**step)
        divisor = (np.sqrt(v) + epsilon) / bias if mode == "before" else np.sqrt(v) / bias + epsilon
        w = w - rate * decay * w - rate * m / (1 - beta1**step) / divisor
    return w


def adamax_steps(w, steps, rate, beta1, beta2, epsilon):
    m, u = 0, 0
    for step in range(1, steps + 1):
        m = beta1 * m + (1 - beta1) * w
        u = np.maximum(np.abs(w), beta2 * u + epsilon)
        w = w - rate / (1 - beta1**step) * m / u
    return w


def nadam_steps(w, steps, rate, beta1, beta2, epsilon, momentum_decay):
    def mu(step):
        return beta1 * (1 - 0.5 * 0.96 ** (step * momentum_decay))

    m, v, product = 0, 0, 1.0
    for step in range(1, steps + 1):
        product *= mu(step)
        m = beta1 * m + (1 - beta1) * w
        v = beta2 * v + (1 - beta2) * w * w
        ahead = m * mu(step + 1) / (1 - product * mu(step + 1))
        ahead = ahead + w * (1 - mu(step)) / (1 - product)
        w = w - rate * ahead / (np.sqrt(v / (1 - beta2**step)) + epsilon)
    return w


def lamb_steps(w, steps, rate, beta1, beta2, epsilon, decay):
    m, v = 0, 0
    for step in range(1, steps + 1):
        m = beta1 * m + (1 - beta1) * w
        v = beta2 * v + (1 - beta2) * w * w
        root = np.sqrt(v / (1 - beta2**step)) + epsilon
        direction = m / (1 - beta1**step) / root + decay * w
        w = w - rate * np.linalg.norm(w) / np.linalg.norm(direction) * direction
    return w


def lion_steps(w, steps, rate, beta1, beta2, decay):
    m = 0
    for _ in range(steps):
        sign = np.sign(beta1 * m + (1 - beta1) * w)
        m = beta2 * m + (1 - beta2) * w
        w = w - rate * (sign + decay * w)
    return w


def adagrad_steps(w, steps, rate, epsilon, kept=1.0, added=1.0):
    m = 0
    for _ in range(steps):
        m = kept * m + added * w * w
        w = w - rate * w / (np.sqrt(m) + epsilon)
    return w


def adadelta_steps(w, steps, epsilon, rho):
    grads, updates = 0, 0
    for _ in range(steps):
        grads = rho * grads + (1 - rho) * w * w
        update = np.sqrt((updates + epsilon) / (grads + epsilon)) * w
        updates = rho * updates + (1 - rho) * update**2
        w = w - update
    return w


def rmsprop_steps(w, steps, rate, rho, epsilon, momentum):
    square, moment = 0, 0
    for _ in range(steps):
        square = rho * square + (1 - rho) * w * w
        moment = momentum * moment + rate * w / np.sqrt(square + epsilon)
        w = w - moment
    return w


def ftrl_steps(w, steps, rate, l1, l2, lr_power):
    n, z = np.zeros(3), np.zeros(3)
    for _ in range(steps):
        more = n + w * w
        z = z + w - (more**-lr_power - n**-lr_power) / rate * w
        n = more
        value = (l1 * np.sign(z) - z) / (n**-lr_power / rate + 2 * l2)
        w = np.where(np.abs(z) > l1, value, 0.0)
    return w


def proximal_steps(w, steps, rate, l1, l2, adaptive=False):
    m = np.zeros(3)
    for _ in range(steps):
        m = m + w * w
        prox = w - rate * w / np.sqrt(m) if adaptive else w - rate * w
        w = np.sign(prox) * np.maximum(np.abs(prox) - rate * l1, 0) / (1 + rate * l2)
    return w


OPTIMIZERS = {
    "Adam": (
        lambda o: o.Adam(0.1, 0.8, 0.9, 0.01),
        lambda w, n: adam_steps(w, n, 0.1, 0.8, 0.9, 0.01, "before"),
    ),
    "Adam, epsilon after": (
        lambda o: o.Adam(0.1, 0.8, 0.9, 0.01, epsilon_mode="after"),
        lambda w, n: adam_steps(w, n, 0.1, 0.8, 0.9, 0.01, "after"),
    ),
    "AdamW": (
        lambda o: o.AdamW(0.1, 0.8, 0.9, 0.01, weight_decay=0.2),
        lambda w, n: adam_steps(w, n, 0.1, 0.8, 0.9, 0.01, "after", decay=0.2),
    ),
    "Adamax": (
        lambda o: o.Adamax(0.1, 0.8, 0.9, 0.01),
        lambda w, n: adamax_steps(w, n, 0.1, 0.8, 0.9, 0.01),
    ),
    "NAdam": (
        lambda o: o.NAdam(0.1, 0.8, 0.9, 0.01, momentum_decay=0.5),
        lambda w, n: nadam_steps(w, n, 0.1, 0.8, 0.9, 0.01, 0.5),
    ),
    "Lamb": (
        lambda o: o.Lamb(0.1, 0.8, 0.9, 0.01, weight_decay=0.2),
        lambda w, n: lamb_steps(w, n, 0.1, 0.8, 0.9, 0.01, 0.2),
    ),
    "Lion": (
        lambda o: o.Lion(0.3, 0.8, 0.9, weight_decay=0.2),
        lambda w, n: lion_steps(w, n, 0.3, 0.8, 0.9, 0.2),
    ),
    "Adagrad": (lambda o: o.Adagrad(0.1, 0.01), lambda w, n: adagrad_steps(w, n, 0.1, 0.01)),
    "DecayedAdagrad": (
        lambda o: o.DecayedAdagrad(0.1, 0.8, 0.01),
        lambda w, n: adagrad_steps(w, n, 0.1, 0.01, 0.8, 0.2),
    ),
    "Adadelta": (
        lambda o: o.Adadelta(0.1, 0.01, 0.8),
        lambda w, n: adadelta_steps(w, n, 0.01, 0.8),
    ),
    "RMSProp": (
        lambda o: o.RMSProp(0.1, 0.8, 0.01, 0.5),
        lambda w, n: rmsprop_steps(w, n, 0.1, 0.8, 0.01, 0.5),
    ),
    "Ftrl": (
        lambda o: o.Ftrl(0.1, 0.3, 0.2, -0.75),
        lambda w, n: ftrl_steps(w, n, 0.1, 0.3, 0.2, -0.75),
    ),
    "ProximalGD": (
        lambda o: o.ProximalGD(0.1, 0.3, 0.2),
        lambda w, n: proximal_steps(w, n, 0.1, 0.3, 0.2),
    ),
    "ProximalAdagrad": (
        lambda o: o.ProximalAdagrad(0.1, 0.3, 0.2),
        lambda w, n: proximal_steps(w, n, 0.1, 0.3, 0.2, adaptive=True),
    ),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_five_steps_are_those_of_numpy(name):
    make, steps = OPTIMIZERS[name]
    trained = train(make(fluid.optimizer), 5, "float64")
    np.testing.assert_allclose(trained, steps(np.array(START), 5), rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda o: o.Adam(beta1=1.0), r"adam: beta1 must be in \[0, 1\), got 1.0"),
        (lambda o: o.Adam(epsilon=-1.0), "adam: epsilon must be at least 0, got -1.0"),
        (
            lambda o: o.Adam(epsilon_mode="late"),
            "adam: epsilon_mode must be 'before' or 'after', got 'late'",
        ),
        (lambda o: o.AdamW(weight_decay=-1), "adamw: weight_decay must be at least 0, got -1"),
        (lambda o: o.Adamax(beta2=-1), r"adamax: beta2 must be in \[0, 1\), got -1"),
        (
            lambda o: o.NAdam(momentum_decay=-1),
            "nadam: momentum_decay must be at least 0, got -1",
        ),
        (lambda o: o.Lamb(weight_decay=-1), "lamb: weight_decay must be at least 0, got -1"),
        (lambda o: o.Lion(beta1=1.5), r"lion: beta1 must be in \[0, 1\), got 1.5"),
        (lambda o: o.Adagrad(0.1, -1.0), "adagrad: epsilon must be at least 0, got -1.0"),
        (
            lambda o: o.DecayedAdagrad(0.1, 1),
            r"decayed_adagrad: decay must be in \[0, 1\), got 1",
        ),
        (lambda o: o.Adadelta(0.1, rho=2), r"adadelta: rho must be in \[0, 1\), got 2"),
        (lambda o: o.RMSProp(0.1, rho=1.5), r"rmsprop: rho must be in \[0, 1\), got 1.5"),
        (lambda o: o.Ftrl(0.1, l1=-2), "ftrl: l1 must be at least 0, got -2"),
        (lambda o: o.ProximalGD(0.1, l2=-2), "proximal_gd: l2 must be at least 0, got -2"),
    ],
)
def test_an_argument_out_of_range_is_an_error(make, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        make(fluid.optimizer)


@pytest.mark.parametrize(
    ("mode", "step"), [("before", 0.001**0.5 / (1 + 0.001**0.5)), ("after", 0.5)]
)
def test_an_epsilon_as_large_as_the_gradient_counts_more_before_the_correction(mode, step):
    w = layers.create_parameter(
        [3], "float64", "w", default_initializer=fluid.initializer.Constant(1)
    )
    loss = layers.scale(layers.reduce_sum(w), scale=1e-8)
    fluid.optimizer.Adam(1.0, epsilon_mode=mode).minimize(loss)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    exe.run()
    value = np.array(fluid.global_scope().find_var("w").get_tensor())
    np.testing.assert_allclose(1 - value, np.full(3, step), rtol=1e-7)


def test_the_operators_of_one_step(block):
    w = parameter()
    loss = layers.reduce_sum(layers.tanh(w))
    ops, pairs = SGD(0.1).minimize(loss)
    assert [op.type for op in block.ops[2:]] == [
        "fill_constant",
        "reduce_sum_grad",
        "tanh_grad",
        "sgd",
    ]
    assert ops == [block.ops[-1]]
    assert str(ops[0]) == "sgd(Grad=w@GRAD, LearningRate=learning_rate_0, Param=w) -> ParamOut=w"
    assert [(p.name, g.name) for p, g in pairs] == [("w", "w@GRAD")]
    startup = fluid.default_startup_program().global_block()
    assert startup.ops[-1].output("Out") == ["learning_rate_0"]


def test_clip_then_decay_then_update(block):
    w = parameter(gradient_clip=fluid.GradientClipByValue(1.0), regularizer=L2Decay(0.1))
    w.error_clip = fluid.ErrorClipByValue(2.0)
    SGD(0.1).minimize(layers.reduce_sum(layers.tanh(w)))
    types = [op.type for op in block.ops[4:]]
    assert types == ["tanh_grad", "clip", "clip", "scale", "elementwise_add", "sgd"]


def test_sgd():
    np.testing.assert_allclose(train(SGD(0.1)), np.array(START) * 0.9**3, rtol=1e-6)


def test_momentum():
    w, v = np.array(START), 0
    for _ in range(3):
        v = 0.9 * v + w
        w = w - 0.1 * v
    np.testing.assert_allclose(train(Momentum(0.1, 0.9)), w, rtol=1e-5)


def test_nesterov_momentum():
    w, v = np.array(START), 0
    for _ in range(3):
        v = 0.9 * v + w
        w = w - 0.1 * (w + 0.9 * v)
    np.testing.assert_allclose(train(Momentum(0.1, 0.9, use_nesterov=True)), w, rtol=1e-5)


def test_adam():
    w, m, v = np.array(START), 0, 0
    for step in range(1, 4):
        m = 0.9 * m + 0.1 * w
        v = 0.999 * v + 0.001 * w * w
        rate = 0.1 * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        w = w - rate * m / (np.sqrt(v) + 1e-8)
    np.testing.assert_allclose(train(Adam(0.1)), w, rtol=1e-5)


def test_weight_decay_of_the_optimizer_and_of_the_parameter():
    np.testing.assert_allclose(
        train(SGD(0.1, regularization=L2Decay(0.5)), steps=1), np.array(START) * 0.85, rtol=1e-6
    )


def test_a_parameters_own_decay_wins():
    value = train(SGD(0.1, regularization=L2Decay(0.5)), steps=1, regularizer=L2Decay(0.0))
    np.testing.assert_allclose(value, np.array(START) * 0.9, rtol=1e-6)


def test_l1_decay_adds_the_sign(block):
    w = parameter()
    pairs = fluid.append_backward(layers.reduce_sum(w))
    ((_, grad),) = fluid.regularizer.append_regularization_ops(pairs, L1Decay(0.5))
    value = np.array([1e-40, 0.0, -2.0], np.float32)
    fluid.global_scope().var("w").get_tensor().set(value)
    np.testing.assert_allclose(fluid.Executor().run(fetch_list=[grad])[0], [1.5, 1.0, 0.5])


@pytest.mark.parametrize("decay", [L1Decay, L2Decay])
def test_decay_must_be_finite(decay):
    with pytest.raises(ValueError, match="must be finite, got nan"):
        decay(float("nan"))


def test_each_parameter_has_its_factor_on_the_learning_rate():
    value = train(SGD(0.1), steps=1, learning_rate=0.5)
    np.testing.assert_allclose(value, np.array(START) * 0.95, rtol=1e-6)


def test_the_learning_rate_may_be_a_variable():
    rate = layers.create_global_var([1], 0.2, "float32", persistable=True)
    np.testing.assert_allclose(train(SGD(rate), steps=1), np.array(START) * 0.8, rtol=1e-6)


def test_adams_powers_are_advanced_once_for_all_parameters(block):
    loss = layers.reduce_sum(parameter("w") * parameter("v"))
    ops, _ = Adam(0.1).minimize(loss)
    assert [op.type for op in ops] == ["adam", "adam", "scale", "scale"]
    assert [op.output("Out") for op in ops[2:]] == [["beta1_pow_0"], ["beta2_pow_0"]]


def test_parameters_without_gradient_are_skipped(block):
    parameter("unused")
    ops, pairs = SGD(0.1).minimize(layers.reduce_sum(parameter("w")))
    assert [op.input("Param") for op in ops] == [["w"]]
    assert pairs[0][1] is None


def test_a_loss_without_parameters_is_an_error(block):
    parameter("w")
    loss = layers.reduce_sum(layers.data("x", [3]))
    text = str(block.program), str(fluid.default_startup_program())
    with pytest.raises(fluid.InvalidArgument, match="must depend on a trainable parameter"):
        SGD(0.1).minimize(loss)
    assert (str(block.program), str(fluid.default_startup_program())) == text


def test_a_failed_minimize_leaves_nothing(block):
    loss = layers.reduce_sum(parameter("w"))
    rate = layers.create_global_var([1], 1, "int64", persistable=True)
    text = str(block.program), str(fluid.default_startup_program())
    with pytest.raises(fluid.Error):
        SGD(rate).minimize(loss)
    assert (str(block.program), str(fluid.default_startup_program())) == text


def test_minimize_finds_the_program_of_the_loss():
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup):
        loss = layers.reduce_sum(parameter("w"))
    Momentum(0.1, 0.9).minimize(loss, startup)
    assert main.global_block().ops[-1].type == "momentum"
    assert startup.global_block().has_var("w_velocity_0")
    assert not fluid.default_main_program().global_block().ops


def test_one_optimizer_serves_several_programs():
    optimizer = SGD(0.1)
    for _ in range(2):
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            ops, _ = optimizer.minimize(layers.reduce_sum(parameter("w")))
            rate = ops[0].input("LearningRate")[0]
            assert fluid.default_startup_program().global_block().has_var(rate)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in fluid.optimizer.__all__
        if name.endswith("Optimizer") and name != "Optimizer"
    ],
)
def test_the_long_names_are_the_same_classes(name):
    short = name.removesuffix("Optimizer")
    assert getattr(fluid.optimizer, name) is getattr(fluid.optimizer, short)


def test_each_minimize_of_one_adam_counts_its_own_steps():
    optimizer = Adam(0.1)
    for name in ("w", "v"):
        w = parameter(name)
        optimizer.minimize(layers.reduce_sum(w * w), parameter_list=[w])
    ops = [op for op in fluid.default_main_program().global_block().ops if op.type == "adam"]
    assert [op.input("Beta1Pow") for op in ops] == [["beta1_pow_0"], ["beta1_pow_1"]]


def test_checkpoints_are_those_of_append_backward(block):
    w = parameter("w")
    middle = layers.tanh(layers.exp(layers.tanh(w)))
    loss = layers.reduce_sum(layers.tanh(layers.exp(middle)))
    twin = block.program.clone()
    with fluid.unique_name.guard(), fluid.program_guard(twin, fluid.Program()):
        SGD(0.1).minimize(twin.global_block().var(loss.name), checkpoints=[middle.name])
        with pytest.raises(TypeError, match="checkpoints"):
            SGD(0.1).minimize(twin.global_block().var(loss.name), checkpoints=middle)
    with fluid.unique_name.guard():
        SGD(0.1).minimize(loss)
    count = [[op.type for op in p.global_block().ops].count("exp") for p in (twin, block.program)]
    assert count == [3, 2]  # what follows the last checkpoint is kept


def test_a_failed_minimize_leaves_no_block_and_no_history(block):
    w = parameter("w")
    i, n = layers.zeros([1], "int64"), layers.fill_constant([1], "int64", 3)
    h = layers.while_loop(
        lambda i, h: layers.less_than(i, n), lambda i, h: (i + 1, layers.tanh(h * w)), [i, w]
    )[1]
    loss = layers.reduce_sum(h)
    rate = layers.create_global_var([1], 1, "int64", persistable=True)
    text = str(block.program), str(fluid.default_startup_program())
    with pytest.raises(fluid.Error):
        SGD(rate).minimize(loss)
    assert (str(block.program), str(fluid.default_startup_program())) == text
    SGD(0.1).minimize(loss)
    assert block.var("w@GRAD").desc is block.desc.find_var("w@GRAD")


@pytest.mark.parametrize("dtype", ["int64", "float32"])
@pytest.mark.parametrize(
    "name",
    [name for name in fluid.optimizer.__all__ if name + "Optimizer" in fluid.optimizer.__all__],
)
def test_every_optimizer_counts_its_updates(name, dtype):
    step = layers.create_global_var([1], 3, dtype, persistable=True, name="step")
    settings = {"momentum": 0.9} if name == "Momentum" else {}
    kind = getattr(fluid.optimizer, name)
    loss = layers.reduce_sum(parameter("w") * parameter("v"))
    ops, _ = kind(learning_rate=0.1, global_step=step, **settings).minimize(loss)
    assert str(ops[-1]).startswith("increment(X=step) -> Out=step")
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    exe.run()
    exe.run()
    assert np.array(fluid.global_scope().find_var("step").get_tensor()).tolist() == [5]


def test_a_global_step_is_a_variable():
    with pytest.raises(TypeError, match=r"^sgd: global_step must be a Variable, got 0$"):
        SGD(0.1, global_step=0)
