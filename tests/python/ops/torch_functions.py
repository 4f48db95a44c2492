"""PyTorch's counterparts of operators that are compared with it, and not timed beside it."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812

from bench.torch_layers import Attrs, Function, Slots


def _ctc_loss(i: Slots, a: Attrs) -> torch.Tensor | None:
    steps, batch, _ = i.Logits.shape
    of_logits = i.LogitsLength if i.LogitsLength is not None else torch.full([batch], steps)
    of_label = i.LabelLength
    if of_label is None:
        of_label = torch.full([batch], i.Label.shape[1])
    if batch == 0:
        return None
    loss = F.ctc_loss(
        F.log_softmax(i.Logits, -1),
        i.Label.long(),
        of_logits.long(),
        of_label.long(),
        a.blank,
        "none",
    )
    return loss[:, None] if loss.isfinite().all() else None  # gradients of infinity are a choice


def _linear_recurrence(i: Slots, a: Attrs) -> torch.Tensor:
    factors, terms = (x.movedim(a.axis, 0) for x in (i.X, i.Y))
    if a.reverse:
        factors, terms = factors.flip(0), terms.flip(0)
    steps = list(terms[:1])
    for factor, term in zip(factors[1:], terms[1:], strict=True):
        steps.append(factor * steps[-1] + term)
    out = torch.stack(steps) if steps else terms * 1
    return (out.flip(0) if a.reverse else out).movedim(0, a.axis)


def _crop(i: Slots, a: Attrs) -> torch.Tensor:
    shape = a.shape if i.Y is None else i.Y.shape
    out = i.X.clone()
    for axis, (start, extent) in enumerate(zip(a.offsets, shape, strict=True)):
        out = out.narrow(axis, start, extent)
    return out


def _dropout(i: Slots, a: Attrs) -> torch.Tensor | None:
    if not a.is_test and 0.0 < a.dropout_prob < 1.0:
        return None  # other random numbers
    return i.X * (1.0 - a.dropout_prob)


def _floor_divide(i: Slots, a: Attrs) -> torch.Tensor:
    y = i.Y
    if a.axis != -1:
        y = y.reshape([*y.shape, *[1] * (i.X.dim() - a.axis - y.dim())])
    return torch.div(i.X, y, rounding_mode="floor")


def _flatten(i: Slots, a: Attrs) -> torch.Tensor:
    shape = i.X.shape
    return i.X.reshape(math.prod(shape[: a.axis]), math.prod(shape[a.axis :]))


def _squeeze(i: Slots, a: Attrs) -> torch.Tensor:
    return i.X.squeeze() if not a.axes else i.X.squeeze(tuple(a.axes))


def _unsqueeze(i: Slots, a: Attrs) -> torch.Tensor:
    out = i.X.clone()
    for axis in a.axes:
        out = out.unsqueeze(axis)
    return out


# Parts of other operators, and what Fluid makes IfElse of.
NOT_IN_TORCH = {
    "channel_window_sum",
    "grid_sample_adjoint",
    "group_mean",
    "merge_lod_tensor",
    "split_lod_tensor",
}
DIFFERENTIABLE: dict[str, Function] = {
    "cast": lambda i, a: i.X.to(getattr(torch, a.out_dtype)),
    "crop": _crop,
    "ctc_loss": _ctc_loss,
    "dropout": _dropout,
    "elementwise_floordiv": _floor_divide,
    "flatten": _flatten,
    "increment": lambda i, a: i.X + a.step,
    "linear_recurrence": _linear_recurrence,
    "multiplex": lambda i, a: torch.stack(i.X)[i.Ids.long().flatten(), torch.arange(i.Ids.numel())],
    "select_input": lambda i, a: i.X[int(i.Mask.item())].clone(),
    "squeeze": _squeeze,
    "unsqueeze": _unsqueeze,
}


def _all_of(function: Callable[..., torch.Tensor]) -> Function:
    def reduce(i: Slots, a: Attrs) -> torch.Tensor:
        out = i.X
        dims = range(i.X.dim()) if a.reduce_all else [d % i.X.dim() for d in a.dim]
        for axis in sorted(dims, reverse=True):
            out = function(out, axis, keepdim=a.keep_dim)
        return out if out.dim() else out.reshape(1)

    return reduce


# Of numbers that jump, and of truths: values alone.
OF_ONE: dict[str, Function] = {
    "argmax": lambda i, a: i.X.argmax(a.axis, a.keepdims),
    "argmin": lambda i, a: i.X.argmin(a.axis, a.keepdims),
    "fill_any_like": lambda i, a: torch.full_like(i.X, a.value),
    "fill_zeros_like": lambda i, a: torch.zeros_like(i.X),
    "isfinite": lambda i, a: i.X.isfinite(),
    "isinf": lambda i, a: i.X.isinf(),
    "isnan": lambda i, a: i.X.isnan(),
}
OF_TWO: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "equal": torch.eq,
    "greater_equal": torch.ge,
    "greater_than": torch.gt,
    "less_equal": torch.le,
    "less_than": torch.lt,
    "not_equal": torch.ne,
}
OF_TWO_TRUTHS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "logical_and": torch.logical_and,
    "logical_or": torch.logical_or,
    "logical_xor": torch.logical_xor,
}
OF_TRUTHS: dict[str, Function] = {
    "logical_not": lambda i, a: i.X.logical_not(),
    "reduce_all": _all_of(torch.all),
    "reduce_any": _all_of(torch.any),
}
OF_NOTHING: dict[str, Function] = {
    "arange": lambda i, a: torch.arange(a.start, a.end, a.step, dtype=torch.float64),
    "eye": lambda i, a: torch.eye(
        a.num_rows, a.num_rows if a.num_columns < 0 else a.num_columns, dtype=torch.float64
    ),
    "fill_constant": lambda i, a: torch.full(a.shape, a.value, dtype=torch.float64),
    "linspace": lambda i, a: torch.linspace(a.start, a.stop, a.num, dtype=torch.float64),
}
