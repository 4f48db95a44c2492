"""Values, gradients and second gradients agree with those of PyTorch's operators."""

from __future__ import annotations

from itertools import chain, count, islice
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import fluidcore as fc
from fluidcore import core
from fluidcore.gradcheck import cases
from fluidcore.gradcheck.cases import Array, OpExample, Value
from fluidcore.gradcheck.cases.example import as_list

torch = pytest.importorskip("torch")
from torch_functions import DIFFERENTIABLE, NOT_IN_TORCH  # noqa: E402

from bench import torch_operators  # noqa: E402
from bench.torch_operators import slots  # noqa: E402

EXAMPLES = 20
FUNCTIONS = torch_operators.FUNCTIONS | DIFFERENTIABLE
ONCE = ("ctc_loss",)  # PyTorch has no second gradient


def result_of(op_type: str) -> str:
    """The slot that is compared."""
    names = [slot.name for slot in core.op_def(op_type).outputs]
    return next(name for name in ("Out", "Loss", "Y", "Output", "Hidden", "C") if name in names)


def some_examples(op_type: str) -> list[OpExample]:
    of_seeds = (cases.examples(op_type, seed, "float64") for seed in count())
    return list(islice(chain.from_iterable(of_seeds), EXAMPLES))


class Torch:
    """The example in PyTorch."""

    def __init__(self, example: OpExample) -> None:
        definition = core.op_def(example.type)
        self.attrs = SimpleNamespace(**{a.name: a.default for a in definition.attrs})
        vars(self.attrs).update(example.attrs)
        self.function = FUNCTIONS[example.type]
        self.slots = [slot.name for slot in definition.inputs]
        self.leaves: dict[int, Any] = {}
        self.inputs = {slot: self._tensors(value) for slot, value in example.inputs.items()}

    def _tensors(self, value: Value) -> Any:
        if isinstance(value, list):
            return [self._tensors(array) for array in value]
        return self.leaves.setdefault(id(value), torch.tensor(value))

    def out(self) -> Any:
        return self.function(slots(self.inputs, self.slots), self.attrs)


class Program:
    """The example in a program of fluidcore."""

    def __init__(self, example: OpExample) -> None:
        self.program = fc.Program()
        self.block = self.program.global_block()
        self.feeds: dict[str, Array] = {}
        self.leaves: dict[int, fc.Variable] = {}
        inputs = {slot: self._variables(slot, value) for slot, value in example.inputs.items()}
        outputs = {
            slot.name: [
                self.block.create_var(name=f"{slot.name}_{i}")
                for i in range(example.outputs.get(slot.name, 1))
            ]
            for slot in core.op_def(example.type).outputs
        }
        self.block.append_op(example.type, inputs, outputs, dict(example.attrs))
        self.out = outputs[result_of(example.type)][0]

    def _variables(self, name: str, value: Value) -> list[fc.Variable]:
        return [self.leaf(f"{name}_{i}", array) for i, array in enumerate(as_list(value))]

    def leaf(self, name: str, array: Array) -> fc.Variable:
        if id(array) not in self.leaves:
            self.leaves[id(array)] = self.block.create_var(
                name=name, shape=array.shape, dtype=array.dtype.name, stop_gradient=False
            )
            self.feeds[name] = array
        return self.leaves[id(array)]

    def run(self, wanted: list[fc.Variable | None]) -> list[Array | None]:
        fetched = [variable for variable in wanted if variable is not None]
        results = iter(fc.Executor().run(self.program, feed=self.feeds, fetch_list=fetched))
        return [None if variable is None else next(results) for variable in wanted]


def as_array(tensor: Any) -> Array:
    # Added to zeros, for what PyTorch has only as "zeros" has no memory.
    return np.asarray((torch.zeros_like(tensor) + tensor).detach())


def assert_equal(name: str, ours: Array | None, theirs: Any) -> None:
    """A gradient that is None is zero."""
    if ours is None or theirs is None:
        given = as_array(theirs) if ours is None and theirs is not None else ours
        assert given is None or np.allclose(given, 0, atol=1e-12), name
        return
    expected = as_array(theirs)
    assert ours.shape == expected.shape, name
    np.testing.assert_allclose(
        ours,
        expected,
        rtol=1e-10,
        atol=1e-12 * max(1, np.abs(expected).max(initial=0)),
        err_msg=name,
    )


def derivatives_in_torch(out: Any, inputs: list[Any], given: list[Any]) -> list[Any]:
    if not out.requires_grad:
        return [None] * len(inputs)
    return list(torch.autograd.grad(out, inputs, given, allow_unused=True, create_graph=True))


def test_every_operator_that_pytorch_has_is_compared_with_it() -> None:
    differentiable = {t for t in core.op_types() if not t.endswith("_grad") and cases.has_case(t)}
    assert differentiable - set(FUNCTIONS) == NOT_IN_TORCH


@pytest.mark.parametrize("op_type", FUNCTIONS)
def test_values_and_two_gradients_agree(op_type: str) -> None:
    rng = np.random.default_rng(0)
    for example in some_examples(op_type):
        ours, theirs = Program(example), Torch(example)
        keys = [
            id(array)
            for slot in example.slots_to_check()
            for array in as_list(example.inputs[slot])
        ]
        x = [theirs.leaves[key].requires_grad_() for key in dict.fromkeys(keys)]
        y = [ours.leaves[key] for key in dict.fromkeys(keys)]
        out = theirs.out()
        if out is None:
            continue  # PyTorch has no such operator
        assert_equal(f"{example}", ours.run([ours.out])[0], out)
        v = rng.standard_normal(out.shape).astype(str(out.dtype).removeprefix("torch."))
        if "kink" in example.note or "ties" in example.note:
            continue  # a subgradient is a choice
        cotangent = torch.tensor(v, requires_grad=True)
        first = derivatives_in_torch(out, x, [cotangent])
        mine = fc.gradients([ours.out], y, [ours.leaf("v", v)])
        for got, expected in zip(ours.run(mine), first, strict=True):
            assert_equal(f"gradient of {example}", got, expected)
        if op_type in ONCE:
            continue
        both = [(g, h) for g, h in zip(first, mine, strict=True) if g is not None and h is not None]
        for g, h in both:
            u = rng.standard_normal(g.shape)
            second = derivatives_in_torch(g, [*x, cotangent], [torch.tensor(u)])
            mine = fc.gradients([h], [*y, ours.leaves[id(v)]], [ours.leaf(f"{h.name}_u", u)])
            for got, expected in zip(ours.run(mine), second, strict=True):
                assert_equal(f"second gradient of {example}", got, expected)
