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


def by_script(**settings: Any) -> dict[str, Any]:
    """The exporter that follows TorchScript."""
    return {"dynamo": False, "dynamic_axes": {"x": {0: "batch"}}, **settings}


def by_dynamo(**settings: Any) -> dict[str, Any]:
    """The exporter that follows torch.export."""
    batch = {0: torch.export.Dim("batch")}
    return {"dynamo": True, "verbose": False, "dynamic_shapes": (batch,), **settings}


# In some, all parameters are under their names; in others constants are folded, and batch
# normalizations are part of the convolutions before them.
NAMED = {
    "script": by_script(training=MODES.PRESERVE, do_constant_folding=False),
    "dynamo": by_dynamo(optimize=False),
}
FOLDED = {"script": by_script(), "dynamo": by_dynamo()}

every_network = pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)


def every(exporters: Mapping[str, Any]) -> Callable[..., Any]:
    return pytest.mark.parametrize("settings", exporters.values(), ids=exporters)


def export(module: Any, x: Any, folder: Path, settings: Mapping[str, Any]) -> fluid_onnx.Model:
    path = str(folder / "model.onnx")
    logging.disable()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, (x,), path, input_names=["x"], **settings)
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


def as_in_torch(
    found: Mapping[str, Array], model: fluid_onnx.Model, module: Any
) -> dict[str, Array]:
    """The gradients by the parameters that have values of torch's, under the names of these.

    A model may have a parameter several times, some of them transposed: their gradients add up.
    """
    gradients = {"x": found["x"]} if "x" in found else {}
    for parameter in model.program.all_parameters():
        value = np.array(model.scope.find_var(parameter.name).get_tensor())
        for name, each in module.named_parameters():
            wanted, gradient = each.detach().numpy(), found.get(parameter.name)
            if not np.array_equal(value, wanted):
                gradient = gradient.T if np.array_equal(value.T, wanted) else None
            if gradient is not None:
                gradients[name] = gradients.get(name, 0) + gradient
    return gradients


def assert_close(got: Array, wanted: Array, what: str) -> None:
    assert got.shape == wanted.shape, what
    assert np.abs(got - wanted).max() <= CLOSE * np.abs(wanted).max(), what


@every(NAMED)
@every_network
def test_outputs_and_all_gradients_are_those_of_torch(
    network: Network, settings: Mapping[str, Any], tmp_path: Path
) -> None:
    module = network.module().eval()
    model = export(module, network.example(2), tmp_path, settings)
    x = network.example(3)  # of an open batch
    wanted, gradients = by_torch(module, x)
    got, found = by_fluidcore(model, x)
    assert_close(got, wanted, "output")
    same = as_in_torch(found, model, module)
    assert same.keys() == gradients.keys()
    for name, gradient in gradients.items():
        assert_close(same[name], gradient, name)


@every(FOLDED)
@every_network
def test_of_folded_weights_outputs_and_gradients_are_those_of_torch(
    network: Network, settings: Mapping[str, Any], tmp_path: Path
) -> None:
    module = network.module().eval()
    model = export(module, network.example(2), tmp_path, settings)
    x = network.example(3)
    wanted, gradients = by_torch(module, x)
    got, found = by_fluidcore(model, x)
    assert_close(got, wanted, "output")
    same = as_in_torch(found, model, module)  # what was not folded
    assert len(same) > 1
    for name, gradient in same.items():
        assert_close(gradient, gradients[name], name)
