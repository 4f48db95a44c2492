"""python -m bench.operators: every operator beside PyTorch's, in one process.

Needs an interpreter that has torch and fluidcore. The two take turns, on the same threads; the
fastest of their runs counts. What a run makes is a temporary, as in a program that goes on: an
operator that follows reads one element of it, and nothing is copied out. Either may give a view.
Beside GB/s stands the share of what a copy that moves as many bytes reaches, in the same turns.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

import fluidcore as fc
from bench.timing import best_of
from bench.torch_operators import FUNCTIONS, slots
from fluidcore import core
from fluidcore.backward.copies import read_directly

Array = NDArray[Any]
SIDE = 1024
POSITIVE = ("log", "sqrt", "pow", "elementwise_pow", "elementwise_div", "reciprocal", "reduce_prod")
UNTOUCHED = ("Mean", "Variance", "Label", "Labels")  # slots by which nobody differentiates


class Case(NamedTuple):
    """An operator at a size at which it has work to do.

    Attributes:
        type: Of the operator.
        inputs: Slot -> array or list of arrays.
        attrs: Attributes away from their defaults.
        flops: Of the forward operator, where its speed is counted in those.
    """

    type: str
    inputs: Mapping[str, Array | list[Array]]
    attrs: Mapping[str, Any] = {}
    flops: float = 0

    def __str__(self) -> str:
        shapes = (
            "x".join(map(str, array.shape))
            for value in self.inputs.values()
            for array in _list(value)
        )
        return f"{self.type} {', '.join(shapes)}"


def _list(value: Array | list[Array]) -> list[Array]:
    return value if isinstance(value, list) else [value]


def _cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> Array:
        return rng.standard_normal(shape, dtype=np.float32)

    def part(*shape: int) -> Array:
        return rng.uniform(0.1, 0.9, shape).astype(np.float32)

    def labels(count: int, classes: int) -> Array:
        return rng.integers(0, classes, (count, 1))

    special = _special(normal, part, labels)
    named = {case.type for case in special}
    yield from special
    for name in FUNCTIONS:
        definition = core.op_def(name)
        inputs = [slot for slot in definition.inputs if not slot.optional]
        plain = not any(slot.list for slot in definition.outputs)
        plain = plain and not any(attr.required for attr in definition.attrs)
        if plain and name not in named and [slot.name for slot in inputs] in (["X"], ["X", "Y"]):
            draw = part if name in POSITIVE else normal
            values: dict[str, Any] = {slot.name: draw(SIDE, SIDE) for slot in inputs}
            yield Case(
                name, {s.name: [values[s.name]] * 2 if s.list else values[s.name] for s in inputs}
            )


def _special(
    normal: Callable[..., Array], part: Callable[..., Array], labels: Callable[[int, int], Array]
) -> list[Case]:
    """Those that do not take one or two matrices of the same shape."""
    n = SIDE
    square, other = normal(n, n), normal(n, n)
    pairs = normal(n, n), (part(n, n) > 0.5).astype(np.float32)
    of_sides = {"axes": [0, 1], "starts": [8, 8], "ends": [n - 8, n - 8]}
    ids = labels(4096, 10_000)
    image = normal(8, 64, 56, 56)
    one = {"strides": [1, 1], "paddings": [1, 1]}
    windows = {"ksize": [2, 2], "strides": [2, 2]}
    near_identity = np.eye(32, dtype=np.float32) + 0.05 * normal(64, 32, 32)
    grid = np.stack(np.meshgrid(np.arange(n), np.arange(8), indexing="ij"), -1)
    return [
        Case("elementwise_add", {"X": square, "Y": normal(n)}),
        Case("matmul", {"X": square, "Y": other}, {}, 2 * n**3),
        Case("matmul", {"X": normal(1, n), "Y": other}, {}, 2 * n**2),
        Case("mul", {"X": square, "Y": other}, {}, 2 * n**3),
        _convolution("conv2d", image, normal(64, 64, 3, 3), one),
        _convolution("depthwise_conv2d", image, normal(64, 1, 3, 3), {**one, "groups": 64}),
        _convolution("conv2d_transpose", image, normal(64, 64, 3, 3), one),
        _convolution(
            "conv1d", normal(8, 64, n), normal(64, 64, 3), {"strides": [1], "paddings": [1]}
        ),
        _convolution(
            "conv3d",
            normal(2, 16, 16, 28, 28),
            normal(16, 16, 3, 3, 3),
            {"strides": [1, 1, 1], "paddings": [1, 1, 1]},
        ),
        Case("pool2d", {"X": image}, {"pooling_type": "max", **windows}),
        Case(
            "pool3d",
            {"X": normal(4, 16, 16, 28, 28)},
            {"pooling_type": "max", "ksize": [2] * 3, "strides": [2] * 3},
        ),
        Case("pow", {"X": part(n, n)}, {"factor": 1.5}),
        Case("pool2d", {"X": image}, {"pooling_type": "avg", **windows}),
        Case(
            "batch_norm",
            {
                "X": image,
                "Scale": part(64),
                "Bias": normal(64),
                "Mean": normal(64),
                "Variance": part(64),
            },
        ),
        Case("group_norm", {"X": image, "Scale": part(64), "Bias": normal(64)}, {"groups": 8}),
        Case("instance_norm", {"X": image, "Scale": part(64), "Bias": normal(64)}),
        Case("rms_norm", {"X": normal(4096, n), "Scale": part(n)}),
        Case("interpolate", {"X": image}, {"mode": "bilinear", "scale": [2.0, 2.0]}),
        Case("grid_sample", {"X": image, "Grid": 2 * part(8, 56, 56, 2) - 1}),
        Case("pixel_shuffle", {"X": image}, {"upscale_factor": 2}),
        Case("max_pool2d_with_index", {"X": image}, windows),
        Case("maxout", {"X": image}, {"groups": 2}),
        *(Case(name, {"X": near_identity}) for name in ("cholesky", "det", "inverse", "slogdet")),
        Case("triangular_solve", {"X": near_identity, "Y": normal(64, 32, 8)}),
        Case("clip_by_norm", {"X": square}, {"max_norm": 1.0}),
        Case("nll_loss", {"X": normal(4096, n), "Label": labels(4096, n)}),
        Case("layer_norm", {"X": normal(4096, n), "Scale": part(n), "Bias": normal(n)}),
        Case("lrn", {"X": image}),
        Case("norm", {"X": image, "Scale": part(64)}),
        Case("softmax", {"X": normal(4096, n)}),
        Case("log_softmax", {"X": normal(4096, n)}),
        Case("softmax_with_cross_entropy", {"Logits": normal(4096, n), "Label": labels(4096, n)}),
        Case("cross_entropy", {"X": part(4096, n), "Label": labels(4096, n)}),
        Case("reduce_sum", {"X": normal(4096, 4096)}, {"dim": [-1]}),
        Case("reduce_sum", {"X": normal(4096, 4096)}, {"dim": [0]}),
        Case("reduce_sum", {"X": normal(4096, 4096)}, {"reduce_all": True}),
        Case("reduce_max", {"X": normal(4096, 4096)}, {"dim": [-1]}),
        Case("exp", {"X": normal(4096, 4096)}),
        *(
            Case(name, {"Logits" if name == "hinge_loss" else "X": pairs[0], slot: pairs[1]})
            for name, slot in (
                ("hinge_loss", "Labels"),
                ("modified_huber_loss", "Y"),
                ("sigmoid_cross_entropy_with_logits", "Label"),
            )
        ),
        Case("log_loss", {"Predicted": part(n, n), "Labels": pairs[1]}, {"epsilon": 1e-4}),
        Case("kl_div", {"X": square, "Target": part(n, n)}),
        Case("huber_loss", {"X": square, "Y": other}, {"delta": 1.0}),
        Case("margin_rank_loss", {"X1": square, "X2": other, "Label": 2 * pairs[1] - 1}),
        Case("rank_loss", {"Left": square, "Right": other, "Label": pairs[1]}),
        Case("where", {"Condition": pairs[1] > 0, "X": square, "Y": other}),
        Case("clip", {"X": square}, {"min": -0.5, "max": 0.5}),
        Case("concat", {"X": [square, other]}, {"axis": 1}),
        Case("stack", {"X": [square, other]}),
        Case("transpose", {"X": square}, {"axis": [1, 0]}),
        Case("reshape", {"X": square}, {"shape": [n // 2, 2 * n]}),
        Case("expand", {"X": square}, {"expand_times": [1, 4]}),
        Case("tile", {"X": square}, {"repeat_times": [4, 1]}),
        Case("broadcast_to", {"X": normal(1, n)}, {"shape": [n, n]}),
        Case("pad", {"X": square}, {"paddings": [8, 8, 8, 8]}),
        Case("slice", {"X": square}, of_sides),
        Case("strided_slice", {"X": square}, {**of_sides, "strides": [2, 2]}),
        Case("flip", {"X": square}, {"axis": [1]}),
        Case("roll", {"X": square}, {"shifts": [8], "axis": [1]}),
        Case("lookup_table", {"W": normal(10_000, 256), "Ids": ids}),
        Case("gather", {"X": normal(10_000, 256), "Index": ids[:, 0]}),
        Case("index_select", {"X": square, "Index": labels(n, n)[:, 0]}, {"axis": 1}),
        Case("gather_nd", {"X": normal(n, 64, 64), "Index": grid}),
        Case(
            "scatter_nd_add", {"X": normal(n, 64, 64), "Index": grid, "Updates": normal(n, 8, 64)}
        ),
        Case("take_along_axis", {"X": square, "Index": np.argsort(other, 1)}, {"axis": 1}),
        Case("top_k", {"X": square}, {"k": 8}),
    ]


def _convolution(name: str, x: Array, weights: Array, attrs: Mapping[str, Any]) -> Case:
    of_all = np.prod(x.shape[2:]) * x.shape[0] * 2.0 * weights.size
    return Case(name, {"Input": x, "Filter": weights}, attrs, of_all)


def _read(block: fc.Block, result: fc.Variable) -> None:
    """Reads the first element, so that the result is needed."""
    rank = len(result.shape)
    first = block.create_var(
        name=f"first of {result.name}", shape=[1] * rank, dtype=result.dtype, persistable=True
    )
    ends = {"axes": list(range(rank)), "starts": [0] * rank, "ends": [1] * rank}
    block.append_op("slice", {"X": result}, {"Out": first}, ends)


class Ours:
    """A case as programs whose results are read."""

    def __init__(self, case: Case) -> None:
        self.scope = fc.Scope()
        self.executor = fc.Executor()
        self.forward = self._program(case, with_gradient=False)
        self.both = self._program(case, with_gradient=True)

    def _program(self, case: Case, *, with_gradient: bool) -> fc.Program:
        program = fc.Program()
        block = program.global_block()
        made: dict[int, fc.Variable] = {}

        def variable(name: str, array: Array) -> fc.Variable:
            if id(array) not in made:
                made[id(array)] = block.create_var(
                    name=name, shape=array.shape, dtype=array.dtype.name, persistable=True
                )
                self.scope.var(name).get_tensor().set(array)
            return made[id(array)]

        definition = core.op_def(case.type)
        inputs = {
            slot: [variable(f"{slot}{k}", array) for k, array in enumerate(_list(value))]
            for slot, value in case.inputs.items()
        }
        outputs = {slot.name: [block.create_var(name=slot.name)] for slot in definition.outputs}
        block.append_op(case.type, inputs, outputs, dict(case.attrs))
        results = [outputs[s.name][0] for s in definition.outputs if not s.intermediate]
        self.out = next(outputs[s][0] for s in ("Out", "Loss", "Y", "Output") if s in outputs)
        if with_gradient:
            wanted = [
                v
                for slot, group in inputs.items()
                for v in group
                if v.dtype == "float32" and slot not in UNTOUCHED
            ]
            rng = np.random.default_rng(1)
            v = variable("v", rng.standard_normal(self.out.shape, dtype=np.float32))
            gradients = fc.gradients([self.out], wanted, [v])
            results += [gradient for gradient in gradients if gradient is not None]
            # PyTorch does not copy the cotangent either.
            read_directly(block.desc, {core.grad_var_name(self.out.name)})
        for result in results:
            _read(block, result)
        return program

    def run(self, program: fc.Program) -> None:
        self.executor.run(program, scope=self.scope)


class Theirs:
    """A case in PyTorch."""

    def __init__(self, case: Case, out_shape: Sequence[int]) -> None:
        definition = core.op_def(case.type)
        self.attrs = SimpleNamespace(**{a.name: a.default for a in definition.attrs})
        vars(self.attrs).update(case.attrs)
        made = {id(a): torch.tensor(a) for value in case.inputs.values() for a in _list(value)}
        self.inputs = slots(
            {
                slot: [made[id(a)] for a in value] if isinstance(value, list) else made[id(value)]
                for slot, value in case.inputs.items()
            },
            [slot.name for slot in definition.inputs],
        )
        self.function = FUNCTIONS[case.type]
        wanted = [slot for slot in case.inputs if slot not in UNTOUCHED]
        self.leaves = [
            made[id(a)]
            for slot in wanted
            for a in _list(case.inputs[slot])
            if made[id(a)].is_floating_point()
        ]
        self.v = torch.randn(*out_shape)

    def forward(self) -> None:
        with torch.no_grad():
            self.function(self.inputs, self.attrs).contiguous()

    def both(self) -> None:
        for leaf in self.leaves:
            leaf.requires_grad_()
        out = self.function(self.inputs, self.attrs).contiguous()
        if out.requires_grad:
            v = self.v.reshape(out.shape)
            for gradient in torch.autograd.grad(out, self.leaves, v, allow_unused=True):
                if gradient is not None:
                    gradient.contiguous()  # not a view of one number


def _copy(moved: int) -> Callable[[], object]:
    """Reads and writes so many bytes, half of them each."""
    source = torch.zeros(moved // 8)
    target = source.clone()
    return lambda: target.copy_(source)


def _row(case: Case) -> tuple[str, float, float]:
    ours = Ours(case)
    theirs = Theirs(case, ours.out.shape)
    count = sum(array.nbytes for value in case.inputs.values() for array in _list(value))
    count += 4 * math.prod(ours.out.shape)
    a, b, copy = best_of([lambda: ours.run(ours.forward), theirs.forward, _copy(count)])
    c, d = best_of([lambda: ours.run(ours.both), theirs.both])
    speed = f"{count / a / 1e9:.0f} GB/s, {copy / a:.2f}"
    if case.flops:
        speed = f"{case.flops / a / 1e9:.0f} GFLOP/s"
    times = (
        f"{1e3 * a:.3f} | {1e3 * b:.3f} | {b / a:.2f}x | {speed} | {1e3 * c:.3f} | {1e3 * d:.3f}"
    )
    return f"| {case} | {times} | {d / c:.2f}x |", b / a, d / c


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.operators", description=__doc__)
    parser.add_argument("--only", default="", metavar="NAME,NAME", help="these operators")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    fc.set_num_threads(arguments.threads)
    only = set(filter(None, arguments.only.split(",")))
    columns = "ms | torch, ms | torch / fluidcore"
    print(f"| float32 | {columns} | | with gradient, {columns} |")
    print("|---" * 8 + "|")
    forward, both = [], []
    for case in _cases():
        if not only or case.type in only:
            text, first, second = _row(case)
            print(text, flush=True)
            forward.append(math.log(first))
            both.append(math.log(second))
    means = [math.exp(sum(logs) / len(logs)) for logs in (forward, both)]
    print(f"\ngeometric mean of {len(both)} rows: {means[0]:.2f}x, with gradient {means[1]:.2f}x")


if __name__ == "__main__":
    main()
