"""Gradients of recorded operators: the backward program of their tape, run on their values."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from fluidcore import core
from fluidcore.backward import gradients
from fluidcore.base.dtypes import numpy_dtype
from fluidcore.eager.operation import Array
from fluidcore.eager.state import note_backward
from fluidcore.eager.tape import Tape
from fluidcore.executor import profiling, threads

if TYPE_CHECKING:
    from fluidcore.eager.tensor import Tensor

_COTANGENT = "cotangent"
_KEPT = 32  # backward programs that stay ready


class Backward:
    """The gradient operators of a tape, ready to run; forward operators do not run again.

    Args:
        tape: The forward operators.
        wanted: The numbers of the values whose gradients are calculated.
    """

    def __init__(self, tape: Tape, wanted: Sequence[int]) -> None:
        names = tape.names()
        program = tape.program()
        block = program.global_block()
        target = block.var(names[tape.target])
        cotangent = block.create_var(_COTANGENT, shape=target.shape, dtype=target.dtype)
        found = gradients([target], [block.var(names[n]) for n in wanted], [cotangent])
        self._fetches = [gradient.name for gradient in found if gradient is not None]
        self._has_gradient = [gradient is not None for gradient in found]
        self._desc = program.prune(self._fetches, names).desc
        read = {name for op in self._desc.block(0).ops() for name in op.input_arg_names()}
        self._feeds = [(name, number) for number, name in enumerate(names) if name in read]
        self._executor = core.Executor(core.CPUPlace())
        self._scope = core.Scope()

    def run(self, tape: Tape, cotangent: Array) -> list[Array | None]:
        """The gradients on the values of a tape with the same key; None: there is none."""
        feed = {name: tape.values[number] for name, number in self._feeds}
        feed[_COTANGENT] = cotangent
        count = threads._num_threads
        found = self._executor.run(
            self._desc,
            feed,
            self._fetches,
            self._scope,
            count,
            False,
            True,
            None,
            profiling._profile,
        )
        results = iter(found)
        return [np.asarray(next(results)) if has else None for has in self._has_gradient]


class _Kept:
    """The backward programs used last."""

    def __init__(self) -> None:
        self._by_key: OrderedDict[Any, Backward] = OrderedDict()
        self._lock = Lock()

    def get(self, tape: Tape, wanted: tuple[int, ...]) -> Backward:
        key = (tape.key, wanted)
        with self._lock:
            found = self._by_key.get(key)
            if found is not None:
                self._by_key.move_to_end(key)
                return found
        made = Backward(tape, wanted)
        with self._lock:
            self._by_key[key] = made
            while len(self._by_key) > _KEPT:
                self._by_key.popitem(last=False)
        return made


_kept = _Kept()


def gradients_of(
    result: Tensor, inputs: Sequence[Tensor] | None, gradient: Any
) -> list[tuple[Tensor, Array | None]]:
    """The gradient by each leaf; None where the result does not depend on it.

    Args:
        result: What is differentiated.
        inputs: Leaves; None for all that the result depends on.
        gradient: Cotangent, of the form of `result`; None for ones.
    """
    cotangent = _cotangent(result, gradient)
    if result.record is None:  # the result is a leaf itself
        if not result.requires_grad:
            raise core.InvalidArgument(
                "backward: the tensor must depend on one that requires a gradient, got none; "
                "set x.requires_grad = True before the operators"
            )
        by_leaf: dict[int, Array] = {id(result): cotangent}
        leaves = [result]
    else:
        tape = Tape(result.record, result.position)
        asked = None if inputs is None else {id(tensor) for tensor in inputs}
        wanted = tuple(n for n, leaf in tape.leaves.items() if asked is None or id(leaf) in asked)
        by_leaf = {}
        found = _kept.get(tape, wanted).run(tape, cotangent) if wanted else []
        for number, array in zip(wanted, found, strict=True):
            leaf = id(tape.leaves[number])
            if array is not None:
                by_leaf[leaf] = by_leaf[leaf] + array if leaf in by_leaf else array
        leaves = list({id(leaf): leaf for leaf in tape.leaves.values()}.values())
    found_by = [(leaf, by_leaf.get(id(leaf))) for leaf in (leaves if inputs is None else inputs)]
    note_backward(leaf for leaf, array in found_by if array is not None)
    return found_by


def _cotangent(result: Tensor, gradient: Any) -> Array:
    dtype = numpy_dtype(result.dtype)
    if gradient is None:
        return np.ones(result.shape, dtype)
    array = np.asarray(gradient)
    if isinstance(gradient, (int, float, list, tuple)):
        array = array.astype(dtype)
    if array.shape != result.shape or array.dtype != dtype:
        raise core.InvalidArgument(
            f"backward: the gradient must have the form of the tensor, {result.dtype} "
            f"{list(result.shape)}, got {array.dtype.name} {list(array.shape)}"
        )
    return array
