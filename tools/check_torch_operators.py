"""Checks the gradients of PyTorch's operators and modules at the samples of PyTorch's own tests.

    python tools/check_torch_operators.py [--only REGEX] [--samples 1] [--dtypes float64,float32]
        [--second-order]

The operators are those of torch.testing._internal.common_methods_invocations.op_db that can be
differentiated on the CPU, each with its `gradcheck_wrapper`, and the modules of
torch.testing._internal.common_modules.module_db, by their parameters, too. Prints a line for every
one whose gradient does not pass, and how many do. Exits with 1 if a gradient fails without an
explanation below, or the checker raises.
"""

import itertools
import re
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from operator_outcomes import Sample, check_all
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db

from fluidcore.gradcheck.adapters import callable_target
from fluidcore.gradcheck.target.target import Target

# Why a gradient of PyTorch fails; each for somebody who maintains the operator.
_UNPOOLED = (
    "several indices of the sample name one output, the last of them is written and backward reads "
    "it for each; torch leaves it out of its own gradcheck for that"
)
_DRAWN = "by definition no gradient passes to mean and std, though the numbers drawn move with them"
EXPLANATIONS = {
    "as_strided_scatter": "backward passes the gradient of elements that src has overwritten to "
    "the input, too; torch expects its own gradcheck to fail",
    "linalg.norm (subgradients_at_zero)": "second order: at 0 the gradient jumps, and that of it "
    "is NaN",
    "native_group_norm": "backward drops the cotangents of mean and rstd when the first output has "
    "none; torch expects its own gradcheck to fail",
    "nn.CTCLoss": "the gradient is that of log_probs behind a log_softmax; torch leaves it out of "
    "its own gradcheck",
    "nn.functional.hardsigmoid": "the kernel of backward multiplies by 1/6 rounded to float32, "
    "3e-8 off in float64",
    "nn.functional.linear_cross_entropy (chunked)": "second order: backward returns what forward "
    "has calculated without a graph, so that the gradient of the gradient is 0",
    "nn.functional.max_unpool2d": _UNPOOLED,
    "nn.functional.max_unpool3d": _UNPOOLED,
    "normal": _DRAWN,
    "normal (number_mean)": _DRAWN,
    "round (decimals_3)": "a staircase of treads of 1e-3, shorter than a step of differences in "
    "float32: backward gives the slope between its steps, 0; torch leaves it out of its gradcheck",
}


def operators(only: str) -> Iterator[Any]:
    """The entries of the database that can be differentiated in float64 on the CPU."""
    for op in op_db:
        is_asked = re.search(only, name_of(op)) is not None
        dtypes = op.supported_backward_dtypes("cpu") & op.supported_dtypes("cpu")
        if is_asked and op.supports_autograd and torch.float64 in dtypes:
            yield op


def name_of(op: Any) -> str:
    """Like "linalg.norm (subgradients_at_zero)"."""
    return f"{op.name} ({op.variant_test_name})" if op.variant_test_name else op.name


def samples_of(op: Any, dtype: Any, count: int) -> list[Any]:
    """The first samples with something to differentiate by."""
    torch.manual_seed(0)
    found = op.sample_inputs("cpu", dtype, requires_grad=True)
    return list(itertools.islice(filter(_has_gradient, found), count))


def _has_gradient(sample: Any) -> bool:
    leaves = torch.utils._pytree.tree_leaves((sample.input, sample.args, sample.kwargs))
    return any(isinstance(leaf, torch.Tensor) and leaf.requires_grad for leaf in leaves)


def sample_of(op: Any, sample: Any) -> Sample:
    """An operator at one of its samples."""

    def f(input: Any, args: Any, kwargs: Any) -> Any:
        result = op.gradcheck_wrapper(op.get_op(), input, *args, **kwargs)
        return sample.output_process_fn_grad(result)

    def target() -> Target:
        args = (sample.input, tuple(sample.args), dict(sample.kwargs))
        return callable_target(f, args, name=name_of(op))

    return Sample(name_of(op), target)


class Called(torch.nn.Module):
    """A module of its arguments and of those that have names."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, args: Any, kwargs: Any) -> Any:
        """Calls it."""
        return self.module(*args, **kwargs)


def module_samples(info: Any, dtype: Any, count: int) -> Iterator[Sample]:
    """A module at its first samples, in training and else, if that is something else."""
    for is_training in (True, False)[: 1 + info.train_and_eval_differ]:
        torch.manual_seed(0)
        options = {"device": "cpu", "dtype": dtype, "requires_grad": True, "training": is_training}
        found = info.module_inputs_func(info, **options)
        for sample in itertools.islice((one for one in found if one.forward_input), count):
            made, given = sample.constructor_input, sample.forward_input
            module = info.module_cls(*made.args, **made.kwargs).to(dtype).train(is_training)
            args = (tuple(given.args), dict(given.kwargs))
            target = partial(callable_target, Called(module), args, name=info.name)
            yield Sample(info.name, target)


def all_samples(only: str, dtype: str, count: int) -> Iterator[Sample]:
    """Of all operators, and of all modules."""
    for op in operators(only):
        for sample in samples_of(op, getattr(torch, dtype), count):
            yield sample_of(op, sample)
    for info in module_db:
        if re.search(only, info.name):
            yield from module_samples(info, getattr(torch, dtype), count)


if __name__ == "__main__":
    sys.exit(check_all(__doc__.partition("\n")[0], all_samples, EXPLANATIONS))
