"""Learns vectors of the words of the operators' pages, and says which words are near each other.

Skip-gram with negative sampling (Mikolov et al. 2013): the vector of a word shall have a large
product with those of the words around it and a small one with those of words drawn at random. The
gradients of both tables are sparse: a step touches the rows of the words of its batch, however
many words there are. Run it with `python examples/word2vec.py`.
"""

import re
from collections import Counter
from pathlib import Path

import numpy as np

import fluidcore as fluid
from fluidcore import layers

WINDOW, NEGATIVES, WIDTH, BATCH, EPOCHS, RAREST = 4, 8, 48, 512, 4, 8
ASKED = ("float32", "height", "sigmoid", "batch", "gradient", "columns")


def main() -> None:
    """Reads the words, trains, and asks."""
    pages = sorted((Path(__file__).resolve().parents[1] / "docs" / "operators").glob("*.md"))
    text = " ".join(page.read_text(encoding="utf-8") for page in pages).lower()
    words = re.findall(r"[a-z_][a-z_0-9]+", text)
    counts = {word: n for word, n in Counter(words).most_common() if n >= RAREST}
    number = {word: i for i, word in enumerate(counts)}
    stream = np.array([number[word] for word in words if word in number])
    often = np.array(list(counts.values())) / len(stream)
    rng = np.random.default_rng(0)
    stream = stream[rng.random(len(stream)) < np.sqrt(1e-3 / often)[stream]]  # fewer of "the"
    pairs = np.concatenate(
        [np.stack([stream[d:], stream[:-d]], 1) for d in range(1, WINDOW + 1)]
        + [np.stack([stream[:-d], stream[d:]], 1) for d in range(1, WINDOW + 1)]
    )
    print(f"{len(number):,} words, {len(pairs):,} pairs")

    word = layers.data("word", [1], dtype="int64")
    others = layers.data("others", [1 + NEGATIVES, 1], dtype="int64")  # a true one, and random ones
    size = [len(number), WIDTH]
    table = fluid.ParamAttr("words", fluid.initializer.Uniform(-0.5 / WIDTH, 0.5 / WIDTH))
    zeros = fluid.ParamAttr("contexts", fluid.initializer.Constant(0.0))
    vector = layers.embedding(word, size, is_sparse=True, param_attr=table)  # [batch, width]
    contexts = layers.embedding(others, size, is_sparse=True, param_attr=zeros)
    products = layers.reduce_sum(contexts * layers.unsqueeze(vector, [1]), dim=2)
    right, wrong = products[:, :1], products[:, 1:]
    costs = layers.softplus(-right) + layers.reduce_sum(layers.softplus(wrong), 1, keep_dim=True)
    loss = layers.mean(costs)
    fluid.optimizer.Adagrad(0.3).minimize(loss)

    exe = fluid.Executor()
    fluid.default_startup_program().random_seed = 1
    exe.run(fluid.default_startup_program())
    chances = often**0.75 / np.sum(often**0.75)
    for epoch in range(1, EPOCHS + 1):
        losses = []
        for chosen in np.array_split(rng.permutation(len(pairs)), len(pairs) // BATCH):
            random = rng.choice(len(number), (len(chosen), NEGATIVES), p=chances)
            near = np.concatenate([pairs[chosen, 1:], random], axis=1)
            feed = {"word": pairs[chosen, :1], "others": near[:, :, None]}
            losses.append(exe.run(feed=feed, fetch_list=[loss])[0].item())
        print(f"epoch {epoch}: loss {losses[0]:.2f} -> {np.mean(losses[-50:]):.2f}")

    vectors = np.array(fluid.global_scope().find_var("words").get_tensor())
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    names = list(number)
    for asked in ASKED:
        nearest = np.argsort(-(vectors @ vectors[number[asked]]))[1:6]
        print(f"near {asked}: {', '.join(names[i] for i in nearest)}")


if __name__ == "__main__":
    main()
