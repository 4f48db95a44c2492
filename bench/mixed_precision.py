"""A training step in float32 and in 16 bits, and its losses: `python -m bench.mixed_precision`.

Three networks: a perceptron, convolutions with batch norms and residuals, a transformer's layer.
All three dtypes take turns, on the same threads; the fastest steps count. The losses are those
after --steps steps, the mean of several seeds, beside the spread of float32's.

With an interpreter that has torch, the same networks under torch.autocast are measured, too.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

import fluidcore as fluid
from bench.timing import best_of
from fluidcore import layers
from fluidcore.program import Variable

DTYPES = ("float32", "bfloat16", "float16")


def perceptron() -> tuple[Variable, dict[str, Any]]:
    """784-1024-1024-10, batch 128."""
    x, label = layers.data("x", [784]), layers.data("label", [1], dtype="int64")
    hidden = layers.fc(layers.fc(x, 1024, act="relu"), 1024, act="relu")
    return _loss(layers.fc(hidden, 10), label), _feed((128, 784))


def residual() -> tuple[Variable, dict[str, Any]]:
    """Four residual blocks of 64 channels on 32x32, batch 32."""
    x, label = layers.data("x", [3, 32, 32]), layers.data("label", [1], dtype="int64")
    hidden = layers.conv2d(x, 64, 3, padding=1, bias_attr=False)
    for _ in range(4):
        inner = layers.batch_norm(hidden, act="relu")
        inner = layers.conv2d(inner, 64, 3, padding=1, bias_attr=False)
        inner = layers.batch_norm(inner, act="relu")
        hidden = hidden + layers.conv2d(inner, 64, 3, padding=1, bias_attr=False)
    pooled = layers.pool2d(hidden, 1, pool_type="avg", global_pooling=True)
    return _loss(layers.fc(pooled, 10), label), _feed((32, 3, 32, 32))


def transformer() -> tuple[Variable, dict[str, Any]]:
    """One layer of 256 features and 4 heads on 64 steps, batch 32."""
    x = layers.data("x", [32, 64, 256], append_batch_size=False)
    label = layers.data("label", [1], dtype="int64")

    def heads(value: Variable) -> Variable:
        split = layers.reshape(layers.fc(value, 256, num_flatten_dims=2), [32, 64, 4, 64])
        return layers.transpose(split, [0, 2, 1, 3])

    normed = layers.layer_norm(x, begin_norm_axis=2)
    mixed = layers.scaled_dot_product_attention(heads(normed), heads(normed), heads(normed))
    mixed = layers.reshape(layers.transpose(mixed, [0, 2, 1, 3]), [32, 64, 256])
    hidden = x + layers.fc(mixed, 256, num_flatten_dims=2)
    inner = layers.fc(layers.layer_norm(hidden, begin_norm_axis=2), 1024, 2, act="gelu")
    hidden = hidden + layers.fc(inner, 256, num_flatten_dims=2)
    pooled = layers.reduce_mean(hidden, dim=1)
    return _loss(layers.fc(pooled, 10), label), _feed((32, 64, 256))


def _loss(logits: Variable, label: Variable) -> Variable:
    return layers.mean(layers.softmax_with_cross_entropy(logits, label))


def _feed(shape: tuple[int, ...]) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape, dtype=np.float32)
    directions = rng.standard_normal((x[0].size, 10), dtype=np.float32)
    label = np.argmax(x.reshape(shape[0], -1) @ directions, axis=1)
    return {"x": x, "label": label[:, None].astype(np.int64)}


NETWORKS = {"perceptron": perceptron, "residual": residual, "transformer": transformer}


def make_step(name: str, dtype: str, seed: int = 1) -> Callable[[], float]:
    """A training step that returns its loss, with parameters of its own."""
    main, startup, scope = fluid.Program(), fluid.Program(), fluid.Scope()
    main.random_seed = startup.random_seed = seed
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        loss, feed = NETWORKS[name]()
        momentum = fluid.optimizer.Momentum(0.01, 0.9)
        optimizer = momentum if dtype == "float32" else fluid.amp.decorate(momentum, dtype=dtype)
        optimizer.minimize(loss)
    exe = fluid.Executor()
    exe.run(startup, scope=scope)
    return lambda: exe.run(main, feed, [loss], scope=scope)[0].item()


def torch_steps() -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """The networks in PyTorch: float32, and torch.autocast in bfloat16."""
    import torch

    torch.set_num_threads(fluid.get_num_threads())

    class Residual(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()

            def conv(channels: int) -> torch.nn.Module:
                return torch.nn.Conv2d(channels, 64, 3, padding=1, bias=False)

            def norm() -> list[torch.nn.Module]:
                return [torch.nn.BatchNorm2d(64), torch.nn.ReLU()]

            self.first, self.last = conv(3), torch.nn.Linear(64, 10)
            blocks = [torch.nn.Sequential(*norm(), conv(64), *norm(), conv(64)) for _ in range(4)]
            self.blocks = torch.nn.ModuleList(blocks)

        def forward(self, x: Any) -> Any:
            hidden = self.first(x)
            for block in self.blocks:
                hidden = hidden + block(hidden)
            return self.last(hidden.mean((2, 3)))

    class Transformer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norms = torch.nn.ModuleList([torch.nn.LayerNorm(256) for _ in range(2)])
            self.heads = torch.nn.ModuleList([torch.nn.Linear(256, 256) for _ in range(3)])
            self.mix, self.last = torch.nn.Linear(256, 256), torch.nn.Linear(256, 10)
            gelu = torch.nn.GELU()
            self.inner = torch.nn.Sequential(
                torch.nn.Linear(256, 1024), gelu, torch.nn.Linear(1024, 256)
            )

        def forward(self, x: Any) -> Any:
            normed = self.norms[0](x)
            q, k, v = (f(normed).view(32, 64, 4, 64).transpose(1, 2) for f in self.heads)
            mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v)
            hidden = x + self.mix(mixed.transpose(1, 2).reshape(32, 64, 256))
            hidden = hidden + self.inner(self.norms[1](hidden))
            return self.last(hidden.mean(1))

    sizes = [(784, 1024), (1024, 1024)]
    inner = [part for n, m in sizes for part in (torch.nn.Linear(n, m), torch.nn.ReLU())]
    models = {
        "perceptron": (torch.nn.Sequential(*inner, torch.nn.Linear(1024, 10)), (128, 784)),
        "residual": (Residual().to(memory_format=torch.channels_last), (32, 3, 32, 32)),
        "transformer": (Transformer(), (32, 64, 256)),
    }

    def steps(model: Any, shape: tuple[int, ...]) -> tuple[Callable[[], Any], Callable[[], Any]]:
        feed = _feed(shape)
        x, label = torch.from_numpy(feed["x"]), torch.from_numpy(feed["label"][:, 0])
        if x.dim() == 4:
            x = x.contiguous(memory_format=torch.channels_last)
        optimizer = torch.optim.SGD(model.parameters(), 0.01, 0.9)

        def step(enabled: bool) -> float:
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
                loss = torch.nn.functional.cross_entropy(model(x), label)
            loss.backward()
            optimizer.step()
            return float(loss.item())

        return lambda: step(False), lambda: step(True)

    return {name: steps(*given) for name, given in models.items()}


def main() -> None:
    """Prints a line for each network."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=0, help="train so long; 0: only measure")
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    fluid.set_num_threads(given.threads)
    torch = torch_steps() if importlib.util.find_spec("torch") else {}
    print("ms a step     float32  bfloat16   float16     torch  autocast")
    for name in NETWORKS:
        calls = [make_step(name, dtype) for dtype in DTYPES]
        times = best_of([*calls, *torch.get(name, ())])
        print(f"{name:12}", *(f"{1e3 * seconds:9.2f}" for seconds in times))
    if not given.steps:
        return
    print(f"loss after {given.steps} steps, mean of {given.seeds} seeds, and float32's spread")
    for name in NETWORKS:
        ends = np.array(
            [
                [_last(make_step(name, dtype, 1 + s), given.steps) for s in range(given.seeds)]
                for dtype in DTYPES
            ]
        )
        print(f"{name:12}", *(f"{end:9.4f}" for end in ends.mean(1)), f"± {ends[0].std():.4f}")


def _last(step: Callable[[], float], steps: int) -> float:
    return float(np.mean([step() for _ in range(steps)][-5:]))


if __name__ == "__main__":
    main()
