"""Steps of optimizers, their state, and bad arguments."""

from typing import Any

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import eager, layers
from fluidcore.eager import Tensor, nn, optim

KINDS = [eager.SGD, eager.Momentum, eager.Adam, eager.AdamW]


def leaf(values: Any, grad: Any = None) -> Tensor:
    """A parameter that has a gradient."""
    x = Tensor(values, requires_grad=True)
    if grad is not None:
        (x * Tensor(grad)).sum().backward()
    return x


def test_sgd_goes_down_the_gradient() -> None:
    x = leaf([1.0, 2.0], [10.0, -10.0])
    optimizer = eager.SGD([x], lr=0.5)
    optimizer.step()
    assert x.tolist() == [-4.0, 7.0]
    optimizer.lr = 0.25
    optimizer.step()
    assert x.tolist() == [-6.5, 9.5]
    optimizer.zero_grad()
    assert x.grad is None
    y = leaf([1.0], [0.0])
    eager.SGD([y], lr=0.5, weight_decay=0.5).step()
    assert y.tolist() == [0.75]


def test_momentum_keeps_a_share_of_its_velocity() -> None:
    x = leaf([0.0], [1.0])
    optimizer = eager.Momentum([x], lr=1.0, momentum=0.5)
    optimizer.step()
    optimizer.step()
    assert x.tolist() == [-2.5]
    ahead = leaf([0.0], [1.0])
    eager.Momentum([ahead], lr=1.0, momentum=0.5, nesterov=True).step()
    assert ahead.tolist() == [-1.5]


@pytest.mark.parametrize(("kind", "decay"), [(eager.Adam, 0.0), (eager.AdamW, 0.1)])
def test_adam_corrects_the_bias_before_eps_is_added(kind: Any, decay: float) -> None:
    x = leaf([1.0, -2.0], [3.0, 1e-3])
    value, g = x.numpy().astype(np.float64), np.array([3.0, 1e-3])
    optimizer = kind([x], lr=0.1, betas=(0.5, 0.75), eps=1e-2, weight_decay=decay)
    m, v = np.zeros(2), np.zeros(2)
    for step in range(1, 4):
        optimizer.step()
        value *= 1 - 0.1 * decay
        m, v = 0.5 * m + 0.5 * g, 0.75 * v + 0.25 * g**2
        value -= 0.1 * (m / (1 - 0.5**step)) / (np.sqrt(v / (1 - 0.75**step)) + 1e-2)
        np.testing.assert_allclose(x.numpy(), value, rtol=1e-5)


def test_it_goes_the_way_of_the_optimizer_of_programs() -> None:
    x, w = layers.data("x", [3]), np.ones((3, 1), np.float32)
    array = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    attr = fluid.ParamAttr("w", initializer=fluid.initializer.NumpyArray(w))
    loss = layers.mean(layers.square(layers.fc(x, 1, param_attr=attr, bias_attr=False)))
    fluid.optimizer.Adam(0.1, epsilon_mode="after").minimize(loss)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    own = leaf(w)
    optimizer = eager.Adam([own], lr=0.1)
    for _ in range(5):
        exe.run(feed={"x": array})
        optimizer.zero_grad()
        (Tensor(array) @ own).square().mean().backward()
        optimizer.step()
    wanted = np.asarray(fluid.global_scope().find_var("w").get_tensor())
    np.testing.assert_allclose(own.numpy(), wanted, rtol=1e-5)
    assert abs(wanted - w).min() > 0.1


def test_parameters_without_a_gradient_stay() -> None:
    x, y = leaf([1.0], [1.0]), leaf([5.0])
    optimizer = eager.Adam([x, y], lr=0.1)
    optimizer.step()
    assert y.tolist() == [5.0]
    assert optimizer.state_dict()["0.step"].item() == 1
    assert optimizer.state_dict()["1.step"].item() == 0


def test_what_was_calculated_before_a_step_keeps_its_values() -> None:
    x = leaf([2.0], [1.0])
    y = x * x
    eager.SGD([x], lr=1.0).step()
    x.zero_grad()
    y.backward()
    assert (x.tolist(), x.grad.tolist()) == ([1.0], [4.0])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_floating_dtype_is_learnt(kind: Any, dtype: str) -> None:
    x = Tensor([1.0, 2.0], dtype=dtype, requires_grad=True)
    optimizer = kind([x], lr=0.1)
    x.sum().backward()
    optimizer.step()
    assert x.dtype == dtype
    assert (x.numpy().astype(np.float64) < [1.0, 2.0]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_another_optimizer_goes_on_with_the_state(kind: Any, tmp_path: Any) -> None:
    eager.seed(0)
    model, data = nn.Linear(3, 1), eager.randn([8, 3])

    def train(model: nn.Linear, optimizer: Any, steps: int) -> None:
        for _ in range(steps):
            optimizer.zero_grad()
            model(data).square().mean().backward()
            optimizer.step()

    optimizer = kind(model.parameters(), lr=0.1)
    train(model, optimizer, 3)
    other = nn.Linear(3, 1)
    other.load_state_dict(model.state_dict())
    resumed = kind(other.parameters(), lr=0.5)
    resumed.load_state_dict(optimizer.state_dict())
    train(model, optimizer, 3)
    train(other, resumed, 3)
    assert model.weight.tolist() == other.weight.tolist()
    assert resumed.lr == 0.1


def test_a_state_that_does_not_fit_is_an_error() -> None:
    one, two = leaf([1.0]), leaf([1.0, 2.0])
    with pytest.raises(fluid.InvalidArgument) as caught:
        eager.Momentum([one]).load_state_dict(eager.Momentum([two, one]).state_dict())
    assert str(caught.value) == (
        "load_state_dict: the names and shapes must be those of Momentum of 1 parameters, got\n"
        "  unexpected '1.step' []\n"
        "  unexpected '1.velocity' [1]\n"
        "  '0.velocity' of shape [2] where it must be [1]"
    )
    with pytest.raises(fluid.InvalidArgument, match=r"got\n  missing '0\.moment1' \[1\]\n"):
        eager.Adam([one]).load_state_dict(eager.SGD([one]).state_dict())
    with pytest.raises(TypeError, match="state_dict must map names to tensors, got list"):
        eager.SGD([one]).load_state_dict([])  # type: ignore[arg-type]


def test_a_step_without_gradients_is_an_error() -> None:
    optimizer = eager.SGD(nn.Linear(2, 2).parameters())
    with pytest.raises(fluid.InvalidArgument) as caught:
        optimizer.step()
    assert str(caught.value) == (
        "SGD: a step needs gradients, got none for any of 2 parameters; call loss.backward() first"
    )
    assert repr(optimizer) == "SGD(2 parameters, lr=0.001)"
    assert isinstance(optimizer, optim.Optimizer)


BAD: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    (eager.ones([1]), {}, TypeError, "SGD: parameters must be a list of Tensors, got a Tensor"),
    ([], {}, ValueError, "SGD: there must be a parameter to learn, got an empty list"),
    (nn.ReLU(), {}, TypeError, "as module.parameters() gives them, got ReLU"),
    (["w"], {}, TypeError, "as module.parameters() gives them, got str"),
    ([leaf([1.0]) * 2], {}, ValueError, "SGD: parameters must be leaves, got Tensor([2.]"),
    ([leaf([1.0])] * 2, {}, ValueError, "SGD: each parameter must be there once, got one twice"),
    ([leaf([1.0])], {"lr": -1}, ValueError, "SGD: lr must be at least 0, got -1"),
    ([leaf([1.0])], {"lr": "1"}, TypeError, "SGD: lr must be a number, got str '1'"),
    ([leaf([1.0])], {"weight_decay": -1}, ValueError, "weight_decay must be at least 0, got -1"),
]


@pytest.mark.parametrize(("parameters", "given", "error", "message"), BAD)
def test_bad_arguments_are_errors(
    parameters: Any, given: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        eager.SGD(parameters, **given)
    assert message in str(caught.value)


def test_bad_betas_are_errors() -> None:
    with pytest.raises(ValueError, match=r"^Adam: betas must be in \[0, 1\), got 1$"):
        eager.Adam([leaf([1.0])], betas=(0.9, 1))
    with pytest.raises(TypeError, match=r"^AdamW: betas must be two numbers, got 0\.9$"):
        eager.AdamW([leaf([1.0])], betas=0.9)  # type: ignore[arg-type]
