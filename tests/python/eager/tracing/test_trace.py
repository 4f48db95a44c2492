"""Functions of tensors as programs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import eager
from fluidcore.eager import Tensor, nn


def mlp() -> eager.Module:
    return nn.Sequential(
        nn.Linear(8, 64),
        nn.ReLU(),
        nn.LayerNorm(64),
        nn.Dropout(),
        nn.Linear(64, 32),
        nn.GELU(),
        nn.Linear(32, 10),
    )


class Convolutional(eager.Module):
    """Its products have no sums that are long enough to be added in pieces."""

    def __init__(self) -> None:
        self.inner = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm(32), nn.ReLU())
        self.deep = nn.Sequential(nn.Conv2d(32, 32, 3, bias=False), nn.BatchNorm(32), nn.Tanh())
        self.out = nn.Sequential(nn.Flatten(), nn.Linear(32 * 4, 10))
        self(eager.randn([4, 3, 6, 6]))  # the running statistics move

    def forward(self, x: Tensor) -> Tensor:
        x = self.deep(self.inner(x))
        return self.out(x.pool2d(ksize=[2, 2], strides=[2, 2], pooling_type="max"))


def lstm() -> eager.Module:
    return nn.LSTM(3, 5, num_layers=2, batch_first=True, bidirectional=True)


MODELS = [(mlp, [4, 8]), (Convolutional, [4, 3, 6, 6]), (lstm, [4, 7, 3])]


def leaves(value: Any) -> list[np.ndarray]:
    if isinstance(value, Tensor):
        return [value.numpy()]
    return [array for item in value for array in leaves(item)]


def same_bits(found: list[np.ndarray], wanted: Any) -> None:
    for one, two in zip(found, leaves(wanted), strict=True):
        assert (one.dtype, one.shape) == (two.dtype, two.shape)
        assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize(("make", "shape"), MODELS)
def test_the_program_gives_the_same_bits(make: Any, shape: list[int]) -> None:
    eager.seed(0)
    model = make().eval()
    traced = eager.trace(model, eager.randn(shape))
    for _ in range(2):
        x = eager.randn(shape)
        same_bits(traced.run(x), model(x))


@pytest.mark.parametrize(("make", "shape"), MODELS)
def test_a_batch_may_be_of_any_extent(make: Any, shape: list[int]) -> None:
    eager.seed(0)
    model = make().eval()
    traced = eager.trace(model, eager.randn(shape), dynamic_batch=True)
    assert traced.program.global_block().var(traced.feeds[0]).shape == (-1, *shape[1:])
    for batch in (1, 6):
        x = eager.randn([batch, *shape[1:]])
        same_bits(traced.run(x), model(x))


@pytest.mark.parametrize(("make", "shape"), MODELS)
def test_the_program_is_saved_and_run_without_the_module(
    make: Any, shape: list[int], tmp_path: Path
) -> None:
    model, x = make().eval(), eager.randn(shape)
    wanted = model(x)
    eager.trace(model, x).save(tmp_path)
    exe = fluid.Executor()
    program, feeds, fetches = fluid.io.load_inference_model(tmp_path, exe)
    assert feeds == ["x"]
    same_bits(exe.run(program, {"x": x.numpy()}, fetches), wanted)


def test_parameters_have_the_names_of_the_state_dict() -> None:
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm(2), nn.Linear(2, 2, bias=False)).eval()
    model[2].requires_grad_(False)
    traced = eager.trace(model, eager.randn([2, 3]))
    found = {v.name: v for v in traced.program.list_vars() if v.persistable}
    state = model.state_dict()
    del state["1.num_batches_tracked"]
    assert list(found) == list(state)
    learnt = {p.name: p.trainable for p in traced.program.all_parameters()}
    names = ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert learnt == dict.fromkeys(names, True) | {"2.weight": False}
    for name, value in state.items():
        tensor = traced.scope.find_var(name).get_tensor()
        np.testing.assert_array_equal(np.asarray(tensor), value.numpy())
    assert repr(traced) == "TracedProgram(x -> output, 4 operators)"


def test_a_method_of_a_module_is_traced_with_its_names() -> None:
    class Classifier(nn.Sequential):
        def probabilities(self, images: Tensor) -> Tensor:
            return self(images).softmax()

    model, x = Classifier(nn.Linear(3, 2)), eager.randn([2, 3])
    traced = eager.trace(model.probabilities, x)
    assert traced.feeds == ["images"]
    assert [p.name for p in traced.program.all_parameters()] == ["0.weight", "0.bias"]
    same_bits(traced.run(x), model.probabilities(x))


def test_feeds_have_the_names_of_the_arguments() -> None:
    def function(first: Tensor, *others: Tensor) -> dict[str, Any]:
        return {"sum": first + others[0], "parts": [first * others[1], others[0]]}

    x = [eager.randn([2]) for _ in range(3)]
    traced = eager.trace(function, *x)
    assert traced.feeds == ["first", "others_0", "others_1"]
    assert traced.fetches == ["output_0", "output_1", "output_2"]
    same_bits(traced.run(*x), [x[0] + x[1], x[0] * x[2], x[1]])
    other = eager.trace(lambda output: output * 2, x[0])
    assert (other.feeds, other.fetches) == (["output"], ["output_1"])


def test_what_a_function_reads_becomes_parameters_and_constants() -> None:
    w = eager.randn([3, 2], requires_grad=True)
    shift = np.ones(2, np.float32)
    traced = eager.trace(lambda x: x @ w + shift, eager.randn([4, 3]))
    (parameter,) = traced.program.all_parameters()
    assert parameter.name.startswith("parameter_")
    kept = [v for v in traced.program.list_vars() if v.persistable]
    assert [v.name.split("_")[0] for v in kept] == ["parameter", "constant"]
    x = eager.randn([4, 3])
    same_bits(traced.run(x), x @ w + shift)
    w.set_value(np.zeros((3, 2)))  # the program has its own values
    assert np.abs(traced.run(x)[0]).max() > 1


def test_whole_numbers_are_traced_too() -> None:
    table = nn.Embedding(5, 3, padding_idx=0)

    def function(ids: Tensor) -> tuple[Tensor, Tensor]:
        scores = table(ids + 1)
        return scores.argmax(-1) * 2, ids[:, 1:]

    ids = Tensor([[0, 1, 2], [3, 0, 0]])
    traced = eager.trace(function, ids, dynamic_batch=True)
    more = Tensor([[1, 1, 1]])
    same_bits(traced.run(more), function(more))


def test_every_result_can_be_fetched() -> None:
    w = eager.ones([2], requires_grad=True)
    x = eager.randn([2])

    def function(x: Tensor) -> tuple[Tensor, ...]:
        y = x.relu()
        return y, y, x, w, y.detach()

    same_bits(eager.trace(function, x).run(x), function(x))


def test_operators_that_no_result_needs_are_left_out() -> None:
    def function(x: Tensor) -> Tensor:
        x.exp().sum()
        return x.top_k(k=2)[1]

    traced = eager.trace(function, eager.randn([4]))
    assert [op.type for op in traced.program.global_block().ops] == ["top_k"]


def test_the_program_can_be_trained() -> None:
    model, x = nn.Sequential(nn.Linear(3, 2), nn.Tanh()), eager.randn([4, 3])
    traced = eager.trace(lambda x: model(x).square().mean(), x)
    model(x).square().mean().backward()
    startup = fluid.Program()
    with fluid.program_guard(traced.program, startup):
        loss = traced.program.global_block().var(traced.fetches[0])
        _, grads = fluid.optimizer.SGD(0.1).minimize(loss)
    exe = fluid.Executor()
    exe.run(startup, scope=traced.scope)
    by_parameter = [gradient for _, gradient in grads]
    found = exe.run(traced.program, {"x": x.numpy()}, by_parameter, traced.scope)
    for array, parameter in zip(found, model.parameters(), strict=True):
        np.testing.assert_allclose(array, parameter.grad.numpy(), rtol=1e-5)


def test_dropout_draws_in_every_run_and_is_left_out_of_a_saved_model(tmp_path: Path) -> None:
    drop, x = nn.Dropout(), eager.ones([100])
    traced = eager.trace(drop, x)
    one, two = traced.run(x)[0], traced.run(x)[0]
    assert set(np.unique(one)) == {0.0, 2.0}
    assert one.tolist() != two.tolist()
    traced.save(tmp_path)
    program, _, fetches = fluid.io.load_inference_model(tmp_path, fluid.Executor())
    (saved,) = fluid.Executor().run(program, {"x": x.numpy()}, fetches)
    assert saved.tolist() == [1.0] * 100


def test_a_module_is_not_changed() -> None:
    norm = nn.BatchNorm(2)
    before = {name: value.tolist() for name, value in norm.state_dict().items()}
    x = eager.randn([4, 2])
    traced = eager.trace(norm, x, dynamic_batch=True)
    assert {name: value.tolist() for name, value in norm.state_dict().items()} == before
    assert norm.training
    same_bits(traced.run(x), norm(x))


def test_the_precision_of_a_function_is_that_of_the_program() -> None:
    def function(x: Tensor) -> Tensor:
        with eager.precision("float64"):
            return x * 0.1

    x = eager.randn([2])
    assert function(x).dtype == "float64"
    same_bits(eager.trace(function, x).run(x), function(x))
