"""Checks the gradients of PyTorch's own operators, at the samples that PyTorch tests them with.

    python tools/check_torch_operators.py [--only REGEX] [--samples 1] [--dtypes float64,float32]

The operators are those of torch.testing._internal.common_methods_invocations.op_db that can be
differentiated on the CPU, each with its `gradcheck_wrapper`. Prints a line for every one whose
gradient does not pass, and how many do. Exits with 1 if a gradient fails without an explanation
below, or the checker raises.
"""

import argparse
import itertools
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch.testing._internal.common_methods_invocations import op_db

from fluidcore import core
from fluidcore.gradcheck.adapters import callable_target
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.pipeline.run import run_check

BUDGET_S = 60.0

# Why a gradient of PyTorch fails; each for somebody who maintains the operator.
_UNPOOLED = (
    "several indices of the sample name one output, the last of them is written and backward reads "
    "it for each; torch leaves it out of its own gradcheck for that"
)
_DRAWN = "by definition no gradient passes to mean and std, though the numbers drawn move with them"
EXPLANATIONS = {
    "as_strided_scatter": "backward passes the gradient of elements that src has overwritten to "
    "the input, too; torch expects its own gradcheck to fail",
    "native_group_norm": "backward drops the cotangents of mean and rstd when the first output has "
    "none; torch expects its own gradcheck to fail",
    "nn.functional.hardsigmoid": "the kernel of backward multiplies by 1/6 rounded to float32, "
    "3e-8 off in float64",
    "nn.functional.max_unpool2d": _UNPOOLED,
    "nn.functional.max_unpool3d": _UNPOOLED,
    "normal": _DRAWN,
    "normal (number_mean)": _DRAWN,
    "round (decimals_3)": "a staircase of treads of 1e-3, shorter than a step of differences in "
    "float32: backward gives the slope between its steps, 0; torch leaves it out of its gradcheck",
}


class Outcome(NamedTuple):
    """What a check of one operator has found.

    Attributes:
        operator: Its name, with that of its variant.
        dtype: Of the sample.
        verdict: "pass", "fail" or "inconclusive"; "refused" where it cannot be checked, "crash"
            where the checker raises.
        why: Reasons, or what was raised.
    """

    operator: str
    dtype: str
    verdict: str
    why: str


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


def outcome_of(op: Any, sample: Any, dtype: str) -> Outcome:
    """Checks an operator at a sample."""

    def f(input: Any, args: Any, kwargs: Any) -> Any:
        result = op.gradcheck_wrapper(op.get_op(), input, *args, **kwargs)
        return sample.output_process_fn_grad(result)

    config = GradCheckConfig(budget_s=BUDGET_S, explain=False)
    name = name_of(op)
    try:
        args = (sample.input, tuple(sample.args), dict(sample.kwargs))
        report = run_check(callable_target(f, args, name=name), config)
    except core.InvalidArgument as error:
        return Outcome(name, dtype, "refused", _line(error))
    except Exception as error:
        return Outcome(name, dtype, "crash", f"{type(error).__name__}: {_line(error)}")
    unproven = [one for one in (*report.results, *report.audits) if not one.verdict]
    return Outcome(name, dtype, report.verdict.value, "; ".join(map(_why, unproven)))


def _line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:160]


def _why(part: Any) -> str:
    reasons = part.reasons if hasattr(part, "reasons") else (part.reason,)
    shown = ", ".join(reason.value for reason in reasons if reason)
    return f"{part.name}: {shown}" + (f" ({part.detail})" if part.detail else "")


def explained(outcome: Outcome) -> str:
    """Why it fails; "" if nobody knows."""
    return EXPLANATIONS.get(outcome.operator, "")


def is_wrong(outcome: Outcome) -> bool:
    """Whether somebody must look at it."""
    return outcome.verdict == "crash" or (outcome.verdict == "fail" and not explained(outcome))


def print_unproven(outcome: Outcome) -> None:
    """A line for a gradient that does not pass."""
    if outcome.verdict == "pass":
        return
    note = explained(outcome) if outcome.verdict == "fail" else ""
    why = f"{note or 'not explained'} [{outcome.why}]" if outcome.verdict == "fail" else outcome.why
    print(f"{outcome.verdict:12} {outcome.dtype} {outcome.operator}: {why}", flush=True)


def main() -> int:
    """Checks what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="a regular expression for names")
    parser.add_argument("--samples", type=int, default=1, help="of each operator")
    parser.add_argument("--dtypes", default="float64,float32")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    outcomes = []
    for dtype in options.dtypes.split(","):
        begun = time.monotonic()
        found = []
        for op in operators(options.only):
            for sample in samples_of(op, getattr(torch, dtype), options.samples):
                found.append(outcome_of(op, sample, dtype))
                print_unproven(found[-1])
        outcomes += found
        counts = Counter(one.verdict for one in found)
        shown = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
        seconds = time.monotonic() - begun
        print(f"{dtype}: {len(found)} samples, {shown}, {seconds:.0f} s", flush=True)
    return int(any(map(is_wrong, outcomes)))


if __name__ == "__main__":
    sys.exit(main())
