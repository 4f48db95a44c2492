"""The networks of the workloads in PyTorch, as a PyTorch user would write them for speed.

Each function takes the examples, the tensors of `tensors`, and whether it trains, and returns
logits [labels, classes].
"""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from bench.workloads import BLOCKS, HEADS, Workload, depth, weights

Tensors = dict[str, torch.Tensor]


def tensors(workload: Workload) -> Tensors:
    """The first weights, with the shapes that PyTorch wants, and the state of batch norms."""
    values = weights(workload)
    result: Tensors = {}
    for kind, name, _ in workload.layers:
        if kind == "fc":
            values[f"{name}.w"] = values[f"{name}.w"].T  # functional.linear wants [out, in]
        if kind == "lstm":
            for part in ("w", "u", "b"):
                values[f"{name}.0.{part}"] = _gates(values[f"{name}.0.{part}"])
    for name, value in values.items():
        result[name] = torch.tensor(value).contiguous().requires_grad_()
    for kind, name, shape in workload.layers:
        if kind == "conv_norm":
            result[f"{name}.mean"] = torch.zeros(shape[0])
            result[f"{name}.variance"] = torch.ones(shape[0])
    return result


def _gates(value: np.ndarray) -> np.ndarray:
    """From input, forget, output, candidate in columns to input, forget, candidate, output."""
    first, forget, output, candidate = np.split(value, 4, axis=-1)
    return np.concatenate([first, forget, candidate, output], axis=-1).T


def _fc(x: torch.Tensor, t: Tensors, name: str) -> torch.Tensor:
    return functional.linear(x, t[f"{name}.w"], t[f"{name}.b"])


def perceptron(x: torch.Tensor, t: Tensors, training: bool) -> torch.Tensor:
    """Three layers."""
    x = functional.relu(_fc(x, t, "l0"))
    x = functional.relu(_fc(x, t, "l1"))
    return _fc(x, t, "l2")


def lenet(x: torch.Tensor, t: Tensors, training: bool) -> torch.Tensor:
    """Two convolutions, and the perceptron."""
    for name, padding in (("c0", 2), ("c1", 0)):
        x = functional.conv2d(x, t[f"{name}.w"], t[f"{name}.b"], padding=padding)
        x = functional.max_pool2d(functional.relu(x), 2)
    return perceptron(x.flatten(1), t, training)


def residual(x: torch.Tensor, t: Tensors, training: bool) -> torch.Tensor:
    """Blocks of two convolutions and a shortcut."""

    def conv_norm(x: torch.Tensor, name: str, stride: int = 1) -> torch.Tensor:
        filters = t[f"{name}.w"]
        x = functional.conv2d(x, filters, stride=stride, padding=filters.shape[2] // 2)
        state = (t[f"{name}.mean"], t[f"{name}.variance"])
        return functional.batch_norm(x, *state, t[f"{name}.scale"], t[f"{name}.shift"], training)

    x = functional.relu(conv_norm(x, "stem"))
    for index, (_, stride) in enumerate(BLOCKS):
        inner = functional.relu(conv_norm(x, f"b{index}.0", stride))
        inner = conv_norm(inner, f"b{index}.1")
        if f"b{index}.s.w" in t:
            x = conv_norm(x, f"b{index}.s", stride)
        x = functional.relu(inner + x)
    return _fc(x.mean((2, 3)), t, "out")


def language_model(x: torch.Tensor, t: Tensors, training: bool) -> torch.Tensor:
    """Logits of the next word after each; the second of PyTorch's two biases stays 0."""
    x = functional.embedding(x, t["table.w"])
    bias = t["lstm.0.b"]
    state = torch.zeros(1, x.shape[0], len(bias) // 4, device=x.device)
    if torch.compiler.is_compiling():  # which leaves torch.lstm out
        return _fc(_unrolled(x, state[0], t).flatten(0, 1), t, "out")
    parts = [t["lstm.0.w"], t["lstm.0.u"], bias, torch.zeros_like(bias)]
    states, _, _ = torch.lstm(x, (state, state), parts, True, 1, 0.0, training, False, True)
    return _fc(states.flatten(0, 1), t, "out")


def _unrolled(x: torch.Tensor, state: torch.Tensor, t: Tensors) -> torch.Tensor:
    projected = functional.linear(x, t["lstm.0.w"], t["lstm.0.b"])
    cell, states = state, []
    for step in projected.unbind(1):
        gates = step + functional.linear(state, t["lstm.0.u"])
        enter, forget, candidate, output = gates.chunk(4, 1)
        cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(candidate)
        state = torch.sigmoid(output) * torch.tanh(cell)
        states.append(state)
    return torch.stack(states, 1)


def transformer(x: torch.Tensor, t: Tensors, training: bool) -> torch.Tensor:
    """Attention and a perceptron in each layer; the mean of all steps at the end."""
    batch, steps, features = x.shape

    def norm(x: torch.Tensor, name: str) -> torch.Tensor:
        return functional.layer_norm(x, (features,), t[f"{name}.scale"], t[f"{name}.shift"])

    for index in range(depth(t)):
        qkv = _fc(norm(x, f"{index}.norm1"), t, f"{index}.qkv")
        heads = qkv.view(batch, steps, 3, HEADS, features // HEADS).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(*heads.unbind())
        mixed = mixed.transpose(1, 2).reshape(batch, steps, features)
        x = x + _fc(mixed, t, f"{index}.mix")
        inner = functional.gelu(_fc(norm(x, f"{index}.norm2"), t, f"{index}.up"))
        x = x + _fc(inner, t, f"{index}.down")
    return _fc(norm(x, "norm").mean(1), t, "out")
