"""Trains a recurrent network to write like these docs, with and without an error clip.

Backward through 60 time steps multiplies by the recurrent weight 60 times; where that is large, the
gradient explodes. An error clip on the hidden state limits the gradient at each time step, before
it goes on to the step before. Draws the gradients on the terminal and in char_rnn.svg.
"""

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt

import fluidcore as fluid
from fluidcore import Variable, layers

Array = npt.NDArray[np.float64]

TIME, BATCH, WIDTH = 60, 16, 96
CLIP = 0.5 / (TIME * BATCH)  # for each element of the gradient of the hidden state
# An element of the weight's gradient is a sum over TIME * BATCH of hidden state (between -1 and 1)
# times gradient, so that it cannot be larger than
BOUND = CLIP * TIME * BATCH
COLUMNS, DECADES = 66, range(-2, 5)

pages = sorted((Path(__file__).resolve().parents[1] / "docs").glob("*.md"))
text = "\n".join(page.read_text(encoding="ascii", errors="ignore") for page in pages)
alphabet = sorted(set(text))
codes = np.array([alphabet.index(letter) for letter in text])


def network(clip: bool) -> tuple[Variable, Variable, Variable]:
    """Returns the loss, the probabilities of the next letter, and the hidden states."""
    letter = layers.data("letter", [-1, -1, 1], dtype="int64", append_batch_size=False)
    following = layers.data("following", [-1, -1, 1], dtype="int64", append_batch_size=False)
    start = layers.data("start", [WIDTH])
    letters = layers.embedding(letter, [len(alphabet), WIDTH])  # [time, batch, width]
    wild = fluid.ParamAttr("recurrent.w", fluid.initializer.Normal(0.0, 2.5 / WIDTH**0.5))
    rnn = layers.StaticRNN()
    with rnn.step():
        before = rnn.memory(init=start)
        turned = layers.fc(before, WIDTH, param_attr=wild, bias_attr=False)
        hidden = layers.tanh(rnn.step_input(letters) + turned)
        if clip:
            hidden.error_clip = fluid.ErrorClipByValue(max=CLIP)
        rnn.update_memory(before, hidden)
        rnn.step_output(hidden)
    states = rnn()  # [time, batch, width]
    assert isinstance(states, Variable)  # of one output
    logits = layers.fc(states, len(alphabet), num_flatten_dims=2)
    loss = layers.mean(layers.softmax_with_cross_entropy(logits, following))
    return loss, layers.softmax(logits), states


def train(clip: bool, steps: int) -> tuple[Array, Array, str]:
    """Returns loss and largest gradient of each step, and a text that the network has written."""
    rng = np.random.default_rng(0)
    main, startup = fluid.Program(), fluid.Program()
    startup.random_seed = 1
    with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()):
        loss, probabilities, states = network(clip)
        writer = main.clone(for_test=True)
        fluid.optimizer.Adam(learning_rate=0.003).minimize(loss)
        exe = fluid.Executor()
        exe.run(startup)
        history = []
        for _ in range(steps):
            places = rng.integers(0, len(codes) - TIME, BATCH) + np.arange(TIME + 1)[:, None]
            piece = codes[places][:, :, None]
            state = np.zeros((BATCH, WIDTH), np.float32)
            feed = {"letter": piece[:-1], "following": piece[1:], "start": state}
            value, gradient = exe.run(main, feed, [loss, "recurrent.w@GRAD"])
            history.append((value.item(), np.abs(gradient).max()))
        written, state = "The", np.zeros((1, WIDTH), np.float32)
        for i in range(300):  # one letter at a time: a sequence of length one
            feed = {"letter": np.full((1, 1, 1), alphabet.index(written[i])), "start": state}
            chances, (state,) = exe.run(writer, feed, [probabilities, states])
            if i + 1 == len(written):
                chances = chances.ravel() ** 1.5  # rather the likely letters
                written += rng.choice(alphabet, p=chances / chances.sum())
    losses, gradients = np.transpose(history)
    return losses, gradients, written


def heights(gradients: Array) -> Array:
    """The decimal logarithm of the largest gradient of each column of the plot."""
    largest = [part.max() for part in np.array_split(gradients, min(COLUMNS, len(gradients)))]
    return np.clip(np.log10(np.maximum(largest, 1e-30)), DECADES[0], DECADES[-1])


def print_plot(curves: list[tuple[Array, str]]) -> None:
    """A row for each decade."""
    for decade in reversed(DECADES):
        columns = zip(*(np.round(heights(curve)) == decade for curve, _ in curves), strict=True)
        row = "".join("*" if all(c) else "ox"[c.index(True)] if any(c) else " " for c in columns)
        print(f"{f'1e{decade}':>6} |{row}")


def svg_plot(curves: list[tuple[Array, str]]) -> str:
    """The curves as a picture, and the bound as a dashed line."""

    def points(values: Array) -> str:
        across = np.linspace(60, 590, len(values))
        down = 240 - 30 * (np.asarray(values) - DECADES[0])
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, down, strict=True))

    lines = [(heights(curve), color, "") for curve, color in curves]
    lines.append((np.log10([BOUND, BOUND]), "gray", ' stroke-dasharray="4"'))
    body = [
        f'<polyline points="{points(v)}" fill="none" stroke="{c}"{more}/>' for v, c, more in lines
    ]
    body += [
        f'<text x="50" y="{244 - 30 * (d - DECADES[0])}" text-anchor="end">1e{d}</text>'
        for d in DECADES
    ]
    title = "largest gradient of the recurrent weight: with error clip (blue), without (red)"
    body.append(f'<text x="60" y="20">{title}</text>')
    head = 'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 280" font-size="12"'
    return "\n".join([f'<svg {head} font-family="sans-serif">', *body, "</svg>\n"])


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=2000, help="steps of training")
steps = parser.parse_args().steps
with_clip, without = train(True, steps), train(False, steps)
curves = [(with_clip[1], "blue"), (without[1], "red")]
print("largest gradient of the recurrent weight while training, o with error clip, x without")
print_plot(curves)
Path("char_rnn.svg").write_text(svg_plot(curves), encoding="utf-8")
for name, (losses, gradients, _) in (("with error clip", with_clip), ("without", without)):
    print(
        f"{name:16} loss {losses[0]:.2f} -> {losses[-20:].mean():.2f}, "
        f"largest gradient {gradients.max():.3g}"
    )
print(f"the clip's bound for a gradient: {BOUND}\n\nwritten by the one with error clip:")
print(with_clip[2])
