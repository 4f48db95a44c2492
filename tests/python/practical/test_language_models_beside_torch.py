"""Trainings of language models have the losses of PyTorch, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers

torch = pytest.importorskip("torch")
from torch_twins import STEPS, Array, Twin, mean_loss, named, torch_in_float64, transposed  # noqa: E402

nn, functional = torch.nn, torch.nn.functional
BATCH, TIME, WIDTH, HEADS = 8, 12, 16, 2
LICENSE = Path(__file__).resolve().parents[3] / "LICENSE"
ALPHABET = 128  # of ASCII


@pytest.fixture(autouse=True)
def float64_modules() -> Iterator[None]:
    with torch_in_float64():
        yield


def letter_batches() -> list[dict[str, Array]]:
    codes = np.frombuffer(LICENSE.read_bytes(), np.uint8).astype(np.int64)
    count = STEPS * BATCH
    pieces = codes[: count * (TIME + 1)].reshape(STEPS, BATCH, TIME + 1, 1)
    return [{"letter": piece[:, :-1], "following": piece[:, 1:]} for piece in pieces]


def letters() -> tuple[fluid.Variable, fluid.Variable]:
    """The embedded letters [batch, time, width] and those that follow [batch, time, 1]."""
    letter = layers.data("letter", [TIME, 1], dtype="int64")
    table = layers.embedding(
        letter, [ALPHABET, WIDTH], param_attr="embedding.weight", dtype="float64"
    )
    return table, layers.data("following", [TIME, 1], dtype="int64")


class Model(nn.Module):
    """Letters, embedded, through a body and a linear layer."""

    def __init__(self, body: Any) -> None:
        super().__init__()
        self.embedding = nn.Embedding(ALPHABET, WIDTH)
        self.body = body
        self.out = nn.Linear(WIDTH, ALPHABET)

    def loss(self, batch: Mapping[str, Any]) -> Any:
        scores = self.out(self.states(self.embedding(batch["letter"][..., 0])))
        return functional.cross_entropy(scores.flatten(0, 1), batch["following"].flatten())


class Lstm(Model):
    def __init__(self) -> None:
        super().__init__(nn.LSTM(WIDTH, WIDTH, batch_first=True))
        # The gates have two biases in torch, which together move twice as far as one does.
        self.body.bias_hh_l0.data.zero_()
        self.body.bias_hh_l0.requires_grad_(False)

    def states(self, x: Any) -> Any:
        return self.body(x)[0]


class Transformer(Model):
    def __init__(self) -> None:
        block = {"dropout": 0.0, "activation": "gelu", "batch_first": True, "norm_first": True}
        blocks = (nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, **block) for _ in range(2))
        super().__init__(nn.ModuleList(blocks))

    def states(self, x: Any) -> Any:
        mask = nn.Transformer.generate_square_subsequent_mask(TIME)
        for block in self.body:
            x = block(x, src_mask=mask, is_causal=True)
        return x


def lstm_weights(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The gates are input, forget, candidate, output in torch; ours has the candidate last."""

    def gates(name: str) -> Array:
        i, f, candidate, o = np.split(arrays[f"body.{name}_l0"], 4)
        return np.concatenate([i, f, o, candidate]).T

    return {
        "embedding.weight": arrays["embedding.weight"],
        "lstm.0.w": gates("weight_ih"),
        "lstm.0.u": gates("weight_hh"),
        "lstm.0.b": gates("bias_ih"),
        "out.weight": arrays["out.weight"].T,
        "out.bias": arrays["out.bias"],
    }


def test_an_lstm_with_sgd():
    x, following = letters()
    states, _, _ = layers.lstm(x, WIDTH, param_attr="lstm", bias_attr="lstm")
    loss = mean_loss(layers.fc(states, ALPHABET, 2, **named("out")), following)
    module = Lstm()
    sgd = torch.optim.SGD(module.parameters(), lr=1.0)
    batches = letter_batches()
    twin = Twin(loss, module, module.loss, lstm_weights, fluid.optimizer.SGD(1.0), sgd, batches)
    twin.assert_same_curves()


def block(x: fluid.Variable, name: str) -> fluid.Variable:
    """Causal attention and a perceptron behind layer norms: TransformerEncoderLayer."""
    attention = f"{name}.self_attn"
    normal = layers.layer_norm(x, begin_norm_axis=2, **named(f"{name}.norm1"))
    projected = layers.fc(
        normal,
        3 * WIDTH,
        2,
        param_attr=f"{attention}.in_proj_weight",
        bias_attr=f"{attention}.in_proj_bias",
    )
    heads = layers.reshape(projected, [-1, TIME, 3, HEADS, WIDTH // HEADS])
    q, k, v = (layers.transpose(heads[:, :, i], [0, 2, 1, 3]) for i in range(3))
    mixed = layers.scaled_dot_product_attention(q, k, v, causal=True)
    mixed = layers.reshape(layers.transpose(mixed, [0, 2, 1, 3]), [-1, TIME, WIDTH])
    x = x + layers.fc(mixed, WIDTH, 2, **named(f"{attention}.out_proj"))
    normal = layers.layer_norm(x, begin_norm_axis=2, **named(f"{name}.norm2"))
    hidden = layers.fc(normal, 4 * WIDTH, 2, act="gelu", **named(f"{name}.linear1"))
    return x + layers.fc(hidden, WIDTH, 2, **named(f"{name}.linear2"))


def test_a_transformer_of_two_layers_with_adamw():
    x, following = letters()
    x = block(block(x, "body.0"), "body.1")
    loss = mean_loss(layers.fc(x, ALPHABET, 2, **named("out")), following)
    module = Transformer()
    twin = Twin(
        loss,
        module,
        module.loss,
        lambda a: transposed(
            a, "proj_weight", "proj.weight", "linear1.weight", "linear2.weight", "out.weight"
        ),
        fluid.optimizer.AdamW(0.01, weight_decay=0.1),
        torch.optim.AdamW(module.parameters(), lr=0.01, weight_decay=0.1),
        letter_batches(),
    )
    twin.assert_same_curves()
