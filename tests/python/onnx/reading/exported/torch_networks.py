"""Networks in plain torch with the structure of well-known ones, small and with random weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional


class Residual(nn.Module):
    """The basic block of ResNet; a 1 x 1 convolution where the extents change."""

    def __init__(self, channels: int, out: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or channels != out:
            narrow = nn.Conv2d(channels, out, 1, stride, bias=False)
            self.shortcut = nn.Sequential(narrow, nn.BatchNorm2d(out))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = functional.relu(self.bn1(self.conv1(x)))
        return functional.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


def resnet() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 7, 2, 3, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
        Residual(8, 8, 1),
        Residual(8, 12, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(12, 5),
    )


class SqueezeExcite(nn.Module):
    """Channels, each by a factor that depends on the means of all."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(channels, 4, 1)
        self.excite = nn.Conv2d(4, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        means = functional.adaptive_avg_pool2d(x, 1)
        factors = self.excite(functional.relu(self.squeeze(means)))
        return x * functional.hardsigmoid(factors)


class InvertedResidual(nn.Module):
    """The block of MobileNetV3: wider, each channel by itself, narrower."""

    def __init__(self, channels: int, wide: int, out: int, stride: int) -> None:
        super().__init__()
        self.is_residual = stride == 1 and channels == out
        self.block = nn.Sequential(
            nn.Conv2d(channels, wide, 1, bias=False),
            nn.BatchNorm2d(wide, eps=1e-3, momentum=0.01),
            nn.Hardswish(),
            nn.Conv2d(wide, wide, 5, stride, 2, groups=wide, bias=False),
            nn.BatchNorm2d(wide, eps=1e-3, momentum=0.01),
            nn.Hardswish(),
            SqueezeExcite(wide),
            nn.Conv2d(wide, out, 1, bias=False),
            nn.BatchNorm2d(out, eps=1e-3, momentum=0.01),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.block(x)
        return x + y if self.is_residual else y


def mobilenet() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, 2, 1, bias=False),
        nn.BatchNorm2d(8),
        nn.Hardswish(),
        InvertedResidual(8, 16, 8, 1),
        InvertedResidual(8, 12, 10, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(10, 16),
        nn.Hardswish(),
        nn.Linear(16, 5),
    )


class EncoderBlock(nn.Module):
    """Attention and a perceptron, each after a normalization of rows and beside a shortcut."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width, eps=1e-6), nn.LayerNorm(width, eps=1e-6)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class VisionTransformer(nn.Module):
    """Patches, a token for the class, positions, an encoder."""

    def __init__(self) -> None:
        super().__init__()
        width = 12
        self.patches = nn.Conv2d(3, width, 8, 8)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        self.positions = nn.Parameter(torch.randn(1, 17, width))
        self.blocks = nn.Sequential(EncoderBlock(width, 3), EncoderBlock(width, 3))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        patches = self.patches(x).flatten(2).transpose(1, 2)
        token = self.token.expand(x.shape[0], -1, -1)
        y = torch.cat([token, patches], dim=1) + self.positions
        return self.head(self.norm(self.blocks(y))[:, 0])


class Recurrent(nn.Module):
    """Two layers in both directions; what the last step says of each example."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(6, 7, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(14, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        steps, (hidden, cell) = self.lstm(x)
        last = torch.cat([hidden[-2], cell[-1]], dim=1)
        return self.head(steps.mean(dim=1) + last)


class CausalBlock(nn.Module):
    """The block of GPT-2."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, steps, width = x.shape
        parts = self.qkv(self.norm1(x)).split(width, dim=2)
        q, k, v = (
            part.view(batch, steps, self.heads, width // self.heads).transpose(1, 2)
            for part in parts
        )
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, steps, width))
        return x + self.down(functional.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    """A language model whose last layer has the weight of the embedding."""

    def __init__(self) -> None:
        super().__init__()
        width, words, longest = 12, 19, 16
        self.tokens, self.positions = nn.Embedding(words, width), nn.Embedding(longest, width)
        self.blocks = nn.Sequential(CausalBlock(width, 3), CausalBlock(width, 3))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.tokens(tokens) + self.positions(positions)
        return self.head(self.norm(self.blocks(x)))


@dataclass(frozen=True)
class Network:
    """A module, and what it is fed.

    Args:
        build: Makes the module.
        example: An input, and one with other extents where these are open.
        open_axes: The extents of the input that are open, by axis, within what it can have.
    """

    build: Callable[[], nn.Module]
    example: tuple[torch.Tensor, torch.Tensor]
    open_axes: dict[int, torch.export.Dim]

    def module(self) -> nn.Module:
        """With weights and running statistics of which no two are equal."""
        torch.manual_seed(0)
        made = self.build()
        with torch.no_grad():
            for tensor in (*made.parameters(), *made.buffers()):
                if tensor.is_floating_point():
                    tensor += 0.1 * torch.rand_like(tensor)
        return made


_random = torch.Generator().manual_seed(1)


def _floats(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=_random)


def _words(*shape: int) -> torch.Tensor:
    return torch.randint(19, shape, generator=_random)


_BATCH = {0: torch.export.Dim("batch", max=64)}
_IMAGES = {
    **_BATCH,
    2: torch.export.Dim("height", min=16, max=64),
    3: torch.export.Dim("width", min=16, max=64),
}
_WORDS = {**_BATCH, 1: torch.export.Dim("steps", min=2, max=16)}
NETWORKS = {
    "resnet": Network(resnet, (_floats(2, 3, 32, 32), _floats(3, 3, 40, 48)), _IMAGES),
    "mobilenet": Network(mobilenet, (_floats(2, 3, 32, 32), _floats(3, 3, 40, 48)), _IMAGES),
    "vit": Network(VisionTransformer, (_floats(2, 3, 32, 32), _floats(3, 3, 32, 32)), _BATCH),
    "lstm": Network(Recurrent, (_floats(2, 9, 6), _floats(3, 9, 6)), _BATCH),
    "gpt": Network(Gpt, (_words(2, 10), _words(3, 7)), _WORDS),
}
