"""What torch.onnx exports is loaded, gives what torch gives, and has the gradients of torch."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import fluidcore as fluid
from fluidcore import layers
from fluidcore import onnx as fluid_onnx

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
from torch_networks import NETWORKS, Network  # noqa: E402

Array = npt.NDArray[Any]
MODES = torch.onnx.TrainingMode
CLOSE = 1e-4  # of the largest element


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


# In some, all parameters are under their names; in others constants are folded, and batch
# normalizations are part of the convolutions before them.
TRAINED = {"dynamo": False, "training": MODES.TRAINING, "do_constant_folding": False}
NAMED = {
    "script": {"dynamo": False, "training": MODES.PRESERVE, "do_constant_folding": False},
    "dynamo": {"dynamo": True, "optimize": False},
}
FOLDED = {"script": {"dynamo": False}, "dynamo": {"dynamo": True}}

every_network = pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)


def every(exporters: Mapping[str, Any]) -> Callable[..., Any]:
    return pytest.mark.parametrize("settings", exporters.values(), ids=exporters)


def export(
    network: Network, module: Any, folder: Path, settings: Mapping[str, Any]
) -> fluid_onnx.Model:
    """The model that torch writes, loaded; the extents that can be are open."""
    path = str(folder / "model.onnx")
    if settings["dynamo"]:
        settings = {**settings, "verbose": False, "dynamic_shapes": (network.open_axes,)}
    else:
        names = {axis: dim.__name__ for axis, dim in network.open_axes.items()}
        settings = {**settings, "dynamic_axes": {"x": names}}
    logging.disable()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, network.example[:1], path, input_names=["x"], **settings)
    logging.disable(logging.NOTSET)
    return fluid_onnx.load(path)


def by_torch(module: Any, x: Any) -> tuple[Array, dict[str, Array]]:
    """The output, and the gradients of its mean square by name; that of the input is of "x"."""
    leaf = x.clone().requires_grad_(x.is_floating_point())
    out = module(leaf)
    out.square().mean().backward()
    found = {name: each.grad.numpy() for name, each in module.named_parameters()}
    if leaf.grad is not None:
        found["x"] = leaf.grad.numpy()
    return out.detach().numpy(), found


def by_fluidcore(model: fluid_onnx.Model, x: Any) -> tuple[Array, dict[str, Array]]:
    """The same of the program."""
    (out,), block = model.fetches, model.program.global_block()
    with fluid.program_guard(model.program, fluid.Program()):
        block.var("x").stop_gradient = x.dtype == torch.int64
        pairs = fluid.append_backward(layers.mean(layers.square(out)))
    fetches = {parameter.name: gradient for parameter, gradient in pairs}
    if not block.var("x").stop_gradient:
        fetches["x"] = block.var("x@GRAD")
    first, *gradients = fluid.Executor().run(
        model.program, {"x": x.numpy()}, [out, *fetches.values()]
    )
    return first, dict(zip(fetches, gradients, strict=True))


def value_of(model: fluid_onnx.Model, name: str) -> Array:
    return np.array(model.scope.find_var(name).get_tensor())


def as_in_torch(
    found: Mapping[str, Array], model: fluid_onnx.Model, module: Any
) -> dict[str, Array]:
    """The gradients by the parameters that have values of torch's, under the names of these.

    A model may have a parameter several times, some of them transposed: their gradients add up.
    """
    gradients = {"x": found["x"]} if "x" in found else {}
    for parameter in model.program.all_parameters():
        value = value_of(model, parameter.name)
        for name, each in module.named_parameters():
            wanted, gradient = each.detach().numpy(), found.get(parameter.name)
            if not np.array_equal(value, wanted):
                gradient = gradient.T if np.array_equal(value.T, wanted) else None
            if gradient is not None:
                gradients[name] = gradients.get(name, 0) + gradient
    return gradients


def assert_close(got: Array, wanted: Array, what: str, rounding: float = 0.0) -> None:
    assert got.shape == wanted.shape, what
    assert np.abs(got - wanted).max() <= CLOSE * np.abs(wanted).max() + rounding, what


def assert_all_close(got: Mapping[str, Array], wanted: Mapping[str, Array]) -> None:
    """Of gradients; one that is 0 by mathematics is so up to the rounding of the largest one."""
    rounding = np.finfo(np.float32).eps * max(np.abs(each).max() for each in wanted.values())
    for name, gradient in wanted.items():
        assert_close(got[name], gradient, name, rounding)


def gradients_beside_torch(
    network: Network, settings: Mapping[str, Any], folder: Path
) -> tuple[Mapping[str, Array], Mapping[str, Array]]:
    """The gradients under PyTorch's names, and PyTorch's; the outputs agree."""
    module = network.module().eval()
    model = export(network, module, folder, settings)
    x = network.example[1]
    wanted, gradients = by_torch(module, x)
    got, found = by_fluidcore(model, x)
    assert_close(got, wanted, "output")
    return as_in_torch(found, model, module), gradients


@every(NAMED)
@every_network
def test_outputs_and_all_gradients_are_those_of_torch(
    network: Network, settings: Mapping[str, Any], tmp_path: Path
) -> None:
    found, wanted = gradients_beside_torch(network, settings, tmp_path)
    assert found.keys() == wanted.keys()
    assert_all_close(found, wanted)


@every(FOLDED)
@every_network
def test_of_folded_weights_outputs_and_gradients_are_those_of_torch(
    network: Network, settings: Mapping[str, Any], tmp_path: Path
) -> None:
    found, wanted = gradients_beside_torch(network, settings, tmp_path)
    assert len(found) > 1  # what was not folded
    assert_all_close(found, {name: wanted[name] for name in found})


@pytest.mark.parametrize("name", ["resnet", "mobilenet"])
@pytest.mark.parametrize("settings", [TRAINED, NAMED["dynamo"]], ids=["script", "dynamo"])
def test_batch_normalizations_train_as_in_torch(
    name: str, settings: Mapping[str, Any], tmp_path: Path
) -> None:
    network = NETWORKS[name]
    module = network.module()
    model = export(network, module.train(settings is TRAINED), tmp_path, settings)
    for op in model.program.global_block().ops:
        if op.type == "batch_norm":
            assert op.attr("is_test") == (settings is not TRAINED)
            op.set_attr("is_test", False)
    module = network.module().train()
    means = [each for each, _ in module.named_buffers() if each.endswith("running_mean")]
    for each in means:  # what tracing made of them
        module.get_buffer(each).copy_(torch.from_numpy(value_of(model, each)))
    wanted, gradients = by_torch(module, network.example[1])
    got, found = by_fluidcore(model, network.example[1])
    assert_close(got, wanted, "output")
    assert found.keys() == gradients.keys()
    assert_all_close(found, gradients)
    for each in means:  # variances are of n elements; torch's running ones are of n - 1
        assert_close(value_of(model, each), module.get_buffer(each).numpy(), each)
