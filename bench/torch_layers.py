"""PyTorch's counterparts of small networks: norms, units, images, factorizations.

A function gives None for attributes that PyTorch has no counterpart of.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import torch
import torch.nn.functional as F  # noqa: N812

Slots = SimpleNamespace  # slot -> tensor or list of tensors
Attrs = SimpleNamespace  # every attribute, defaults too
Function = Callable[[Slots, Attrs], torch.Tensor | None]


def _channels(i: Slots, normalized: torch.Tensor) -> torch.Tensor:
    """With the scale and the shift of each channel."""
    shape = [1, -1, *[1] * (normalized.dim() - 2)]
    out = normalized if i.Scale is None else normalized * i.Scale.reshape(shape)
    return out if i.Bias is None else out + i.Bias.reshape(shape)


def _group_norm(i: Slots, groups: int, epsilon: float) -> torch.Tensor:
    if i.X.numel() == 0:
        return _channels(i, i.X * 1)
    if i.X.numel() > i.X.shape[0] * groups and i.Scale is not None and i.Bias is not None:
        return F.group_norm(i.X, groups, i.Scale, i.Bias, epsilon)
    # PyTorch refuses groups of one element, and has no second gradient without scale and shift.
    x = i.X.reshape(i.X.shape[0], groups, -1)
    variance, mean = torch.var_mean(x, 2, correction=0, keepdim=True)
    return _channels(i, ((x - mean) / (variance + epsilon).sqrt()).reshape(i.X.shape))


def _rms_norm(i: Slots, a: Attrs) -> torch.Tensor:
    shape = i.X.shape[a.begin_norm_axis :]
    scale, bias = (None if v is None else v.reshape(shape) for v in (i.Scale, i.Bias))
    out = F.rms_norm(i.X, shape, scale, a.epsilon)
    return out if bias is None else out + bias


def _interpolate(i: Slots, a: Attrs) -> torch.Tensor:
    linear = a.mode in ("linear", "bilinear", "trilinear", "bicubic")
    return F.interpolate(
        i.X,
        size=a.size or None,
        scale_factor=a.scale or None,
        mode=a.mode,
        align_corners=a.align_corners if linear else None,
        recompute_scale_factor=True if a.scale else None,
    )


def _pixel_shuffle(x: torch.Tensor, r: int) -> torch.Tensor:
    """PyTorch's own has no gradient for a batch of none."""
    n, c, h, w = x.shape
    parts = x.reshape(n, c // r**2, r, r, h, w).permute(0, 1, 4, 2, 5, 3)
    return parts.reshape(n, c // r**2, h * r, w * r)


def _grid_sample(i: Slots, a: Attrs) -> torch.Tensor | None:
    if any(a.derivative):
        return None
    return F.grid_sample(i.X, i.Grid, a.mode, a.padding_mode, a.align_corners)


def _attention(i: Slots, a: Attrs) -> torch.Tensor | None:
    scores = i.Q @ i.K.mT * (a.scale or i.Q.shape[-1] ** -0.5)
    if i.Mask is not None:
        scores = scores + i.Mask
    if a.causal:
        scores = scores.masked_fill(torch.ones_like(scores).tril() == 0, -torch.inf)
    return torch.softmax(scores, -1) @ i.V if i.K.shape[2] else None


def _max_pool(pool: Callable[..., torch.Tensor], adaptive: Callable[..., torch.Tensor]) -> Function:
    def function(i: Slots, a: Attrs) -> torch.Tensor:
        if a.global_pooling:
            return i.X.amax(tuple(range(2, i.X.dim())), True)
        if a.adaptive:
            return adaptive(i.X, a.ksize)
        return pool(i.X, a.ksize, a.strides, a.paddings)

    return function


def _nll_loss(i: Slots, a: Attrs) -> torch.Tensor:
    label = i.Label.long().reshape(i.X.shape[:-1])
    rows = F.nll_loss(
        i.X.reshape(-1, i.X.shape[-1]),
        label.flatten(),
        i.Weight,
        ignore_index=a.ignore_index,
        reduction=a.reduction,
    )
    return rows.reshape(*i.X.shape[:-1], 1) if a.reduction == "none" else rows.reshape(1)


def _cumprod(i: Slots, a: Attrs) -> torch.Tensor:
    x = i.X.flip(a.axis) if a.reverse else i.X
    if a.exclusive and x.shape[a.axis]:
        x = torch.cat(
            [torch.ones_like(x.narrow(a.axis, 0, 1)), x.narrow(a.axis, 0, x.shape[a.axis] - 1)],
            a.axis,
        )
    out = x.cumprod(a.axis)
    return out.flip(a.axis) if a.reverse else out


def _triangular_solve(i: Slots, a: Attrs) -> torch.Tensor:
    x = i.X.triu() if a.upper else i.X.tril()
    return torch.linalg.solve_triangular(
        x.mT if a.transpose else x, i.Y, upper=a.upper != a.transpose, unitriangular=a.unitriangular
    )


def _lstm_unit(i: Slots, a: Attrs) -> torch.Tensor:
    before, forget, output, candidate = i.X.chunk(4, 1)
    kept = torch.sigmoid(forget + a.forget_bias) * i.C_prev
    return kept + torch.sigmoid(before) * torch.tanh(candidate) + 0 * output


def _gru_cell(i: Slots, a: Attrs) -> torch.Tensor:
    xu, xr, xc = i.X.chunk(3, 1)
    ru, rr, rc = i.Recurrent.chunk(3, 1)
    update = torch.sigmoid(xu + ru)
    candidate = torch.tanh(xc + torch.sigmoid(xr + rr) * rc)
    return (1 - update) * i.HiddenPrev + update * candidate


def _split(i: Slots, a: Attrs) -> torch.Tensor:
    if a.sections:
        return i.X.split(a.sections, a.axis)[0]
    return i.X.chunk(a.num, a.axis)[0]


def _cos_sim(i: Slots, a: Attrs) -> torch.Tensor:
    x, y = i.X.flatten(1), i.Y.flatten(1)
    return ((x * y).sum(1) / (x.norm(dim=1) * y.norm(dim=1))).unsqueeze(1)


def _scatter(i: Slots, a: Attrs) -> torch.Tensor | None:
    index = i.Index.long().flatten()
    if index.unique().numel() < index.numel():
        return None  # which of several counts is not defined there
    return i.Ref.index_put((index,), i.Updates)


FUNCTIONS: dict[str, Function] = {
    # Norms and units.
    "group_norm": lambda i, a: _group_norm(i, a.groups, a.epsilon),
    "gru_cell": _gru_cell,
    "instance_norm": lambda i, a: _group_norm(i, i.X.shape[1], a.epsilon),
    "lstm_unit": _lstm_unit,
    "prelu": lambda i, a: F.prelu(i.X, i.Alpha.reshape(1)),
    "rms_norm": _rms_norm,
    "scaled_dot_product_attention": _attention,
    # Images.
    "grid_sample": _grid_sample,
    "interpolate": _interpolate,
    "max_pool2d_with_index": _max_pool(F.max_pool2d, F.adaptive_max_pool2d),
    "max_pool3d_with_index": _max_pool(F.max_pool3d, F.adaptive_max_pool3d),
    "maxout": lambda i, a: i.X.unflatten(1, (-1, a.groups)).amax(2),
    "pixel_shuffle": lambda i, a: _pixel_shuffle(i.X, a.upscale_factor),
    # Factorizations.
    "cholesky": lambda i, a: torch.linalg.cholesky((i.X + i.X.mT) / 2),
    "det": lambda i, a: torch.linalg.det(i.X),
    "inverse": lambda i, a: torch.linalg.inv(i.X),
    "matrix_transpose": lambda i, a: i.X.mT.clone(),
    "slogdet": lambda i, a: torch.linalg.slogdet(i.X)[1],
    "triangular_solve": _triangular_solve,
    # Rows and what moves them.
    "clip_by_norm": lambda i, a: i.X * (a.max_norm / i.X.norm().clamp(min=a.max_norm)),
    "cos_sim": _cos_sim,
    "cumprod": _cumprod,
    "label_smooth": lambda i, a: (
        (1 - a.epsilon) * i.X
        + a.epsilon * (1 / i.X.shape[-1] if i.PriorDist is None else i.PriorDist.flatten())
    ),
    "nll_loss": _nll_loss,
    "scatter": _scatter,
    "split": _split,
    "squared_l2_distance": lambda i, a: (i.X - i.Y).flatten(1).square().sum(1, keepdim=True),
    "unstack": lambda i, a: i.X.unbind(a.axis)[0],
}
