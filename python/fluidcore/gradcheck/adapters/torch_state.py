"""What a run of PyTorch code may change, and how it stays as it was."""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from fluidcore import core
from fluidcore.gradcheck.target.target import Array

_SEED = 0


class Module:
    """A copy of a module as a function of its arguments and of its parameters.

    Buffers, such as the running statistics of batch normalization, start anew in every run.
    """

    def __init__(self, module: Any, who: str) -> None:
        self.forward = module.forward
        self.module = module
        is_lazy = sys.modules["torch"].nn.parameter.is_lazy
        for name, parameter in module.named_parameters():
            if is_lazy(parameter):
                raise core.InvalidArgument(
                    f"{who}: all parameters must have values, got {name!r} without a shape; run "
                    "the module once before"
                )
        try:
            self._copies = {"": copy.deepcopy(module)}
        except Exception as error:  # whatever the parts of the module raise
            raise core.InvalidArgument(
                f"{who}: the module must be copyable with copy.deepcopy, got "
                f"{type(error).__name__}: {error}; check a function that calls it"
            ) from error

    def parameters(self) -> dict[str, Any]:
        """The user's parameters under their names."""
        return dict(self.module.named_parameters())

    def run(self, dtype: str, *args: Any) -> Any:
        """Its outputs in `dtype`, "" as it is; the last of `args` are the parameters."""
        torch = sys.modules["torch"]
        if dtype not in self._copies:
            self._copies[dtype] = copy.deepcopy(self.module).to(getattr(torch, dtype))
        module = self._copies[dtype]
        buffers = {name: buffer.clone() for name, buffer in module.named_buffers()}
        call = torch.func.functional_call
        return call(module, {**buffers, **args[-1]}, args[:-1])


class Loan:
    """A tensor that user code gets, made of an array.

    What PyTorch knows to be changed in place, by an operator or by mark_dirty, has another grad_fn
    afterwards, and its gradient is that of the change. All else has changed what was given.
    """

    def __init__(self, array: Array, tensor: Any) -> None:
        self.array = array
        self.tensor = tensor
        self._is_array = tensor.is_cpu  # then both are one memory
        self._made_by: Any = None

    def hand_on(self, tensor: Any) -> None:
        """User code gets another one, made of the tensor."""
        self._is_array = self._is_array and tensor is self.tensor
        self.tensor, self._made_by = tensor, tensor.grad_fn

    def show_changes(self, as_array: Callable[[Any], Array]) -> None:
        """Makes a change that PyTorch does not know of to the array, too."""
        if self._is_array or self.tensor.grad_fn is not self._made_by:
            return
        now = as_array(self.tensor)
        if now.shape != self.array.shape:
            self.array.fill(np.nan)
        elif not core.same_bits(now, self.array):
            self.array[...] = now


def gradients(
    ys: Sequence[Any],
    xs: Sequence[Any],
    vs: Sequence[Any],
    *,
    retain_graph: bool = False,
    create_graph: bool = False,
) -> tuple[Any, ...]:
    """What torch.autograd.grad returns with allow_unused=True.

    That imports a computer algebra system first, to compare shapes: 0.3 s in the first check.
    """
    engine = sys.modules["torch"].autograd.Variable._execution_engine
    keeps_graph = retain_graph or create_graph
    found: tuple[Any, ...] = engine.run_backward(
        tuple(ys), tuple(vs), keeps_graph, create_graph, tuple(xs), True, accumulate_grad=False
    )
    return found


def is_differentiable_once(grads: Sequence[Any]) -> bool:
    """Whether a part of the graph of some gradients is there only to raise an error.

    That is what once_differentiable leaves. torch.autograd.grad does not run it, and finds zeros.
    """
    waiting = [grad.grad_fn for grad in grads if grad.grad_fn is not None]
    seen = set(waiting)
    while waiting:
        node = waiting.pop()
        if node.name() == "torch::autograd::Error":
            return True
        found = {after for after, _ in node.next_functions if after is not None} - seen
        seen |= found
        waiting += found
    return False


def detached(grads: Sequence[Any]) -> str:
    """What is to be said of gradients that cannot be differentiated because they have no graph."""
    if all(grad.requires_grad for grad in grads):
        return ""
    return (
        "backward gives gradients without a graph, by detach, .data, NumPy or no_grad: PyTorch "
        "takes their second gradient for 0"
    )


def modules_of(f: Any) -> list[Any]:
    """Modules that a function uses without getting them as arguments."""
    torch: Any = sys.modules["torch"]
    while isinstance(f, functools.partial):
        f = f.func
    used = [getattr(f, "__self__", None)]
    if inspect.isfunction(f) or inspect.ismethod(f):
        with contextlib.suppress(ValueError):
            found = inspect.getclosurevars(f)
            used += [*found.nonlocals.values(), *found.globals.values()]
    return [value for value in used if isinstance(value, torch.nn.Module)]


@contextlib.contextmanager
def kept_buffers(modules: Sequence[Any]) -> Iterator[None]:
    """Gives the buffers of modules their old values in the end."""
    torch: Any = sys.modules["torch"]
    saved = [(buffer, buffer.clone()) for module in modules for buffer in module.buffers()]
    try:
        yield
    finally:
        with torch.no_grad():
            for buffer, old in saved:
                buffer.copy_(old)


@contextlib.contextmanager
def kept_settings(devices: Sequence[Any]) -> Iterator[None]:
    """The random generators, default dtype and number of threads are as before in the end."""
    torch: Any = sys.modules["torch"]
    own, dtype, threads = torch.get_rng_state(), torch.get_default_dtype(), torch.get_num_threads()
    states = [(device, torch.cuda.get_rng_state(device)) for device in devices]
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_default_dtype(dtype)
        torch.set_rng_state(own)
        for device, state in states:
            torch.cuda.set_rng_state(state, device)


def seed(devices: Sequence[Any]) -> None:
    """The same random numbers follow every time."""
    torch: Any = sys.modules["torch"]
    torch.default_generator.set_state(_first_state())
    for device in devices:
        with torch.cuda.device(device):
            torch.cuda.manual_seed(_SEED)


@functools.cache
def _first_state() -> Any:
    """Of a seeded generator: to copy it takes a tenth of the time of manual_seed()."""
    torch: Any = sys.modules["torch"]
    return torch.Generator("cpu").manual_seed(_SEED).get_state()


class Cast(NamedTuple):
    """An operator that makes numbers of a smaller dtype."""

    operator: str
    dtype: str


def _name(dtype: Any) -> str:
    """Of a dtype, or of that of the parts of complex numbers."""
    name = str(dtype.to_real() if dtype.is_complex else dtype)
    return name.removeprefix("torch.")


@functools.cache
def _watch_class() -> type:
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    torch: Any = sys.modules["torch"]

    def dtypes(tree: Any) -> set[Any]:
        leaves = [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]
        return {leaf.dtype for leaf in leaves if leaf.is_floating_point() or leaf.is_complex()}

    at_least = {
        "float64": {torch.float64, torch.complex128},
        "float32": {torch.float64, torch.complex128, torch.float32, torch.complex64},
    }

    class Watch(TorchDispatchMode):  # type: ignore[misc]
        def __init__(self, dtype: str, found: list[Cast]) -> None:
            super().__init__()
            self.wide = at_least[dtype]
            self.found = found

        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return False  # else PyTorch imports its compiler, for a second

        def __torch_dispatch__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            result = function(*args, **(kwargs or {}))
            less = dtypes(result) - self.wide if dtypes((args, kwargs)) & self.wide else ()
            self.found += [Cast(str(function), _name(dtype)) for dtype in less]
            return result

    return Watch


@contextlib.contextmanager
def narrowing_casts(dtype: str) -> Iterator[list[Cast]]:
    """Collects the operators that make less than `dtype` from numbers of it."""
    found: list[Cast] = []
    with _watch_class()(dtype, found):
        yield found
