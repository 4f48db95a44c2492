"""Trains a small GPT, letter by letter, to write like the licence.

Blocks of causal attention and a perceptron, each behind a layer norm and with a way around it, as
in GPT-2 (Radford et al. 2019). Run it with `python examples/gpt.py [--steps 300]`; more steps
write better.
"""

import argparse
from pathlib import Path

import numpy as np

import fluidcore as fluid
from fluidcore import Variable, layers

TIME, BATCH, WIDTH, HEADS, BLOCKS = 32, 12, 64, 4, 2


def attention(x: Variable) -> Variable:
    """Each place mixes what it and those before it say, [batch, time, width]."""
    q, k, v = (layers.fc(x, WIDTH, num_flatten_dims=2) for _ in range(3))
    mixed = fluid.nets.scaled_dot_product_attention(q, k, v, HEADS, causal=True)
    return layers.fc(mixed, WIDTH, num_flatten_dims=2)


def gpt(letters: Variable, size: int) -> Variable:
    """Scores of the next letter at each place, [batch, time, size]."""
    normal = fluid.ParamAttr(initializer=fluid.initializer.Normal(0.0, 0.3))
    places = layers.create_parameter([TIME, WIDTH], attr=normal)
    x = layers.embedding(letters, [size, WIDTH], param_attr=normal) + places
    for _ in range(BLOCKS):
        x = x + attention(layers.layer_norm(x, begin_norm_axis=2))
        hidden = layers.fc(layers.layer_norm(x, begin_norm_axis=2), 4 * WIDTH, 2, act="gelu")
        x = x + layers.fc(hidden, WIDTH, num_flatten_dims=2)
    return layers.fc(layers.layer_norm(x, begin_norm_axis=2), size, num_flatten_dims=2)


def main() -> None:
    """Trains, then writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=300, help="steps of training")
    steps = parser.parse_args().steps
    text = (Path(__file__).resolve().parents[1] / "LICENSE").read_text(encoding="ascii")
    text = " ".join(text.split())
    alphabet = sorted(set(text))
    codes = np.array([alphabet.index(letter) for letter in text])

    letters = layers.data("letters", [TIME, 1], dtype="int64")
    following = layers.data("following", [TIME, 1], dtype="int64")
    scores = gpt(letters, len(alphabet))
    loss = layers.mean(layers.softmax_with_cross_entropy(scores, following))
    chances = layers.softmax(scores[:, -1] * 1.5)  # rather the likely letters
    train, startup = fluid.default_main_program(), fluid.default_startup_program()
    writer = train.clone(for_test=True).prune([chances])
    fluid.optimizer.AdamW(0.005, weight_decay=0.1).minimize(loss)

    startup.random_seed = 1
    exe = fluid.Executor()
    exe.run(startup)
    rng = np.random.default_rng(0)
    for step in range(1, steps + 1):
        starts = rng.integers(0, len(codes) - TIME, (BATCH, 1))
        piece = codes[starts + np.arange(TIME + 1), None]
        (value,) = exe.run(train, {"letters": piece[:, :-1], "following": piece[:, 1:]}, [loss])
        if step == 1 or step % 100 == 0:
            print(f"step {step:4}: loss {value.item():.2f}")
    written = list(codes[:TIME])
    for _ in range(200):
        (p,) = exe.run(writer, {"letters": np.reshape(written[-TIME:], [1, TIME, 1])}, [chances])
        written.append(rng.choice(len(alphabet), p=p[0] / p.sum(dtype=np.float64)))
    print("written:\n" + "".join(alphabet[code] for code in written[TIME:]))


if __name__ == "__main__":
    main()
