"""A function of tensors as a program: it runs once, and its operators are noted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.eager.nn.module import Module
from fluidcore.eager.notes import noting
from fluidcore.eager.operation import Array
from fluidcore.eager.state import no_grad, same_numbers
from fluidcore.eager.tensor import Tensor
from fluidcore.eager.tracing.build import Builder, Named
from fluidcore.eager.tracing.compare import check_same
from fluidcore.eager.tracing.traced import TracedProgram
from fluidcore.gradcheck.adapters.arguments import argument_names


def trace(
    function: Callable[..., Any], *examples: Any, dynamic_batch: bool = False
) -> TracedProgram:
    """The operators that a module or a function runs, as a program with its parameters.

        traced = eager.trace(model.eval(), images)
        traced.run(images)                       # the same numbers
        traced.save("model")                     # for io.load_inference_model, and C++

    What is traced is one run: the branches that Python took, the rounds of its loops, the numbers
    that it calculated from shapes. Taking the value of a tensor that depends on the examples, in an
    `if` for example, is an error. A module is traced as it is: write `model.eval()` first. Nothing
    of it is changed.

    Args:
        function: A Module, a method of one, or a function of tensors. What it reads beside its
            arguments becomes parameters, under the names of the module's state_dict, and constants.
        examples: For each argument a Tensor or an array, whose shape and dtype count.
        dynamic_batch: Whether the first extent of all arguments is any in the program, -1. The
            function is then run on the examples twice over, too, to see that no operator depends
            on the extent.

    Raises:
        TypeError: An example is something else, or the function gives no Tensors.
        core.InvalidArgument: The value of a tensor was taken; or, with `dynamic_batch`, an operator
            depends on the extent of the batch.
    """
    if not callable(function):
        raise TypeError(
            f"trace: the first argument must be a Module or a function, got "
            f"{type(function).__name__}"
        )
    arrays = _arrays(examples)
    if not dynamic_batch:
        return _traced(function, arrays, False)
    batch = _batch(arrays)
    traced = _traced(function, arrays, True)
    twice = _traced(function, [np.concatenate([array, array]) for array in arrays], True)
    check_same(traced, twice, batch)
    return traced


def _traced(
    function: Callable[..., Any], arrays: Sequence[Array], dynamic_batch: bool
) -> TracedProgram:
    tensors = [Tensor(array) for array in arrays]
    owner = function if isinstance(function, Module) else getattr(function, "__self__", None)
    module = owner if isinstance(owner, Module) else None
    state = [] if module is None else [*module.parameters(), *module.buffers()]
    kept = [tensor.array for tensor in state]
    named = {} if module is None else _named(module)
    called = function.forward if isinstance(function, Module) else function
    names = [
        name.replace("[", "_").replace("]", "") for name in argument_names(called, len(tensors))
    ]
    try:
        with no_grad(), same_numbers(), noting(tensor.array for tensor in tensors) as notes:
            value = function(*tensors)
    finally:
        for tensor, array in zip(state, kept, strict=True):
            tensor.array = array
    results = [tensor.array for tensor in _results(value)]
    if not results:
        raise TypeError("trace: the function must return a Tensor, got none")
    feeds = dict(zip(names, (tensor.array for tensor in tensors), strict=True))
    return Builder(notes, feeds, named, results, dynamic_batch).traced()


def _named(module: Module) -> dict[int, Named]:
    """What a module calls the arrays of its tensors."""
    parameters = {id(tensor) for tensor in module.parameters()}
    tensors = [*module.named_parameters(), *module.named_buffers()]
    return {
        id(tensor.array): Named(name, id(tensor) in parameters, tensor.requires_grad)
        for name, tensor in tensors
    }


def _arrays(examples: Sequence[Any]) -> list[Array]:
    for place, example in enumerate(examples):
        if not isinstance(example, (Tensor, np.ndarray)):
            raise TypeError(
                f"trace: example {place} must be a Tensor or an array, got "
                f"{type(example).__name__}; hand what is constant to a function of the others"
            )
    if not examples:
        raise TypeError("trace: there must be an example for each argument, got none")
    return [np.asarray(example) for example in examples]


def _batch(arrays: Sequence[Array]) -> int:
    extents = {array.shape[0] if array.ndim else 0 for array in arrays}
    if len(extents) != 1 or not all(extents):
        raise core.InvalidArgument(
            "trace: with dynamic_batch all examples must have one first extent, of at least 1, got "
            f"{[list(array.shape) for array in arrays]}"
        )
    return extents.pop()


def _results(value: Any) -> Iterator[Tensor]:
    """The tensors in a tree of tuples, lists and dicts."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _results(item)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _results(item)
    else:
        raise TypeError(
            "trace: the function must return Tensors, in tuples, lists or dicts, got "
            f"{type(value).__name__}"
        )
