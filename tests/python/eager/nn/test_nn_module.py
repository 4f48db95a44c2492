"""What a module is: parameters, parts, state."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import eager
from fluidcore.eager import Tensor, nn


class Net(eager.Module):
    def __init__(self) -> None:
        self.factor = eager.full([1], 2.0, requires_grad=True)
        self.shift = eager.ones([2])
        self.parts = nn.ModuleList([nn.Linear(3, 2), nn.BatchNorm(2)])
        self.last = None
        self.register_buffer("calls", Tensor(0))
        self.register_buffer("scratch", Tensor(1.0), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        self.calls.set_value(self.calls.item() + 1)
        for part in self.parts:
            x = part(x)
        return x * self.factor + self.shift


NAMES = ["factor", "parts.0.weight", "parts.0.bias", "parts.1.weight", "parts.1.bias"]
BUFFERS = ["parts.1.running_mean", "parts.1.running_var", "parts.1.num_batches_tracked"]


def test_leaves_that_require_a_gradient_are_parameters_when_they_are_assigned() -> None:
    net = Net()
    assert [name for name, _ in net.named_parameters()] == NAMES
    assert next(name for name, _ in net.named_parameters("net")) == "net.factor"
    assert [name for name, _ in net.named_buffers()] == ["calls", "scratch", *BUFFERS]
    assert next(iter(net.parameters())) is net.factor
    assert next(iter(net.buffers())) is net.calls
    assert [name for name, _ in net.named_modules()] == ["", "parts", "parts.0", "parts.1"]
    assert next(iter(net.modules())) is net
    assert list(net.children()) == [net.parts]
    net.factor.requires_grad = False
    assert [name for name, _ in net.named_parameters()] == NAMES  # frozen, and still one


def test_what_is_shared_is_there_once_and_saved_under_every_name() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    net.append(net[0])
    assert [name for name, _ in net.named_parameters()] == ["0.weight", "0.bias"]
    assert list(net.state_dict()) == ["0.weight", "0.bias", "2.weight", "2.bias"]
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    second.weight = first.weight
    names = [name for name, _ in nn.ModuleList([first, second]).named_parameters()]
    assert names == ["0.weight", "0.bias", "1.bias"]


def test_a_module_is_called_as_a_function_and_learns() -> None:
    net, x = Net(), eager.randn([4, 3])
    net(x).square().sum().backward()
    assert all(parameter.grad is not None for parameter in net.parameters())
    net.zero_grad()
    assert all(parameter.grad is None for parameter in net.parameters())
    assert net.calls.item() == 1
    net.requires_grad_(False)
    assert not net(x).requires_grad
    with pytest.raises(NotImplementedError, match=r"^Module: a Module must have a method forward$"):
        eager.Module()(x)


def test_train_and_eval_reach_all_parts() -> None:
    net = Net()
    assert net.training
    assert net.eval() is net
    assert not any(module.training for module in net.modules())
    assert net.train() is net
    assert all(module.training for module in net.modules())


def test_a_state_dict_is_a_copy_that_can_be_loaded() -> None:
    net, other = Net(), Net()
    state = net.state_dict()
    assert list(state) == ["factor", "calls", *NAMES[1:], *BUFFERS]
    assert not any(tensor.requires_grad for tensor in state.values())
    before = state["factor"].tolist()
    net.factor.set_value([7.0])
    assert state["factor"].tolist() == before
    assert other.load_state_dict(net.state_dict()) == ([], [])
    assert other.factor.tolist() == [7.0]
    x = eager.randn([4, 3])
    np.testing.assert_array_equal(net.eval()(x).numpy(), other.eval()(x).numpy())


def test_arrays_are_loaded_and_converted_to_the_dtype_of_the_parameter() -> None:
    linear = nn.Linear(1, 1)
    linear.load_state_dict({"weight": np.array([[0.5]]), "bias": [1]})
    assert (linear.weight.tolist(), linear.weight.dtype) == ([[0.5]], "float32")
    assert linear.weight.requires_grad


def test_a_state_dict_that_does_not_fit_is_an_error_with_all_names_and_shapes() -> None:
    net = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1))
    before = net.state_dict()
    given = {"0.weight": eager.zeros([3, 2]), "0.bias": eager.zeros([2]), "extra": eager.ones([5])}
    with pytest.raises(fluid.InvalidArgument) as caught:
        net.load_state_dict(given)
    assert str(caught.value) == (
        "load_state_dict: the names and shapes must be those of Sequential, got\n"
        "  missing '1.weight' [1, 2]\n"
        "  missing '1.bias' [1]\n"
        "  unexpected 'extra' [5]\n"
        "  '0.weight' of shape [3, 2] where it must be [2, 3]\n"
        "strict=False goes without names"
    )
    with pytest.raises(fluid.InvalidArgument, match=r"got\n  '0\.weight' of shape \[3, 2\] where"):
        net.load_state_dict(given, strict=False)
    for name, value in net.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), before[name].numpy())
    del given["0.weight"]
    found = net.load_state_dict(given, strict=False)
    assert found.missing_keys == ["0.weight", "1.weight", "1.bias"]
    assert found.unexpected_keys == ["extra"]
    assert net[0].bias.tolist() == [0.0, 0.0]
    with pytest.raises(
        TypeError, match=r"state_dict must map names to tensors, got str; eager.load"
    ):
        net.load_state_dict("model.safetensors")


BAD: list[tuple[str, Any, type[Exception], str]] = [
    ("factor", 2.0, TypeError, "Net: 'factor' is a parameter, and must be a Tensor, got float"),
    (
        "calls",
        np.ones(1),
        TypeError,
        "Net: 'calls' is a buffer, and must be a Tensor, got ndarray",
    ),
    (
        "new",
        {"relu": nn.ReLU()},
        TypeError,
        "Net: 'new' must be a ModuleList, got a dict of modules, whose parameters would not be "
        "found; write nn.ModuleList([...])",
    ),
    (
        "parts",
        [nn.ReLU()],
        TypeError,
        "Net: 'parts' must be a ModuleList, got a list of modules, whose parameters would not be "
        "found; write nn.ModuleList([...])",
    ),
]


@pytest.mark.parametrize(("name", "value", "error", "message"), BAD)
def test_what_a_module_cannot_hold_is_an_error(
    name: str, value: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        setattr(Net(), name, value)
    assert str(caught.value) == message


def test_results_of_operators_are_no_parameters() -> None:
    net = Net()
    with pytest.raises(fluid.InvalidArgument, match=r"'factor' is a parameter, .* x\.detach\(\)"):
        net.factor = net.factor * 2
    net.cached = net.factor * 2
    assert [name for name, _ in net.named_parameters()] == NAMES
    net.factor = None
    assert [name for name, _ in net.named_parameters()] == NAMES[1:]
    net.factor = eager.ones([1], requires_grad=True)
    assert "factor" in net.state_dict()
    del net.factor
    assert "factor" not in net.state_dict()


def test_a_module_is_not_part_of_itself() -> None:
    net = Net()
    holder = nn.Sequential(net)
    with pytest.raises(fluid.InvalidArgument, match="'up' must not hold the module that it is a"):
        net.up = holder
    with pytest.raises(fluid.InvalidArgument, match="'me' must not hold"):
        net.me = net


def test_a_buffer_is_a_constant() -> None:
    with pytest.raises(TypeError, match="register_buffer: 'b' must be a Tensor that requires no"):
        Net().register_buffer("b", eager.ones([1], requires_grad=True))
    with pytest.raises(TypeError, match="register_buffer: 'b' must be a Tensor that requires no"):
        Net().register_buffer("b", 1.0)  # type: ignore[arg-type]


def test_modules_are_copied_and_pickled() -> None:
    net = Net().eval()
    x = eager.randn([4, 3])
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert list(twin.state_dict()) == list(net.state_dict())
        assert not twin.training
        np.testing.assert_array_equal(twin(x).numpy(), net(x).numpy())
        twin.factor.set_value([0.0])
    assert net.factor.tolist() == [2.0]


def test_repr_shows_what_a_module_is_made_of() -> None:
    assert repr(nn.Sequential(nn.Linear(3, 2), nn.Sequential(nn.Dropout()), nn.ReLU())) == (
        "Sequential(\n"
        "  (0): Linear(in_features=3, out_features=2, bias=True)\n"
        "  (1): Sequential(\n"
        "    (0): Dropout(p=0.5)\n"
        "  )\n"
        "  (2): ReLU()\n"
        ")"
    )
    assert repr(eager.Module()) == "Module()"
