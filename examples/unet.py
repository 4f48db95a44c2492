"""Trains a small U-Net to say of each pixel whether it is of a disc, of a square or of neither.

On the way down each level halves the image, on the way up it is doubled again and joined to what
the level saw on the way down (Ronneberger et al. 2015). Run it with `python examples/unet.py`.
"""

import numpy as np
import numpy.typing as npt

import fluidcore as fluid
from fluidcore import Variable, layers

NAMES = ("neither", "disc", "square")
SIZE, BATCH, STEPS, WIDTHS = 32, 16, 200, (8, 16, 32)


def samples(rng: np.random.Generator, size: int) -> dict[str, npt.NDArray[np.generic]]:
    """Noisy images [size, 1, 32, 32] with two discs and two squares, and the classes of pixels."""
    label = np.zeros((size, SIZE, SIZE), np.int64)
    y, x = np.mgrid[:SIZE, :SIZE]
    for kind in (1, 2, 1, 2):
        top, left = rng.uniform(5, SIZE - 5, (2, size, 1, 1))
        down, across = np.abs(y - top), np.abs(x - left)
        radius = rng.uniform(4, 8, (size, 1, 1))
        far = np.hypot(down, across) if kind == 1 else np.maximum(down, across)
        label[far < radius] = kind
    image = (label > 0) + rng.normal(0, 0.3, label.shape)
    return {"image": image[:, None].astype(np.float32), "label": label[..., None]}


def convolutions(x: Variable, filters: int) -> Variable:
    """Two of 3x3, with batch norm."""
    for _ in range(2):
        x = layers.conv2d(x, filters, 3, padding=1, bias_attr=False)
        x = layers.batch_norm(x, act="relu")
    return x


def unet(image: Variable) -> Variable:
    """Scores of the classes, [batch, height, width, classes]."""
    x, seen = image, []
    for filters in WIDTHS[:-1]:
        x = convolutions(x, filters)
        seen.append(x)
        x = layers.pool2d(x, 2, "max", 2)
    x = convolutions(x, WIDTHS[-1])
    for filters, level in zip(reversed(WIDTHS[:-1]), reversed(seen), strict=True):
        larger = layers.conv2d_transpose(x, filters, filter_size=2, stride=2)
        x = convolutions(layers.concat([larger, level], axis=1), filters)
    return layers.transpose(layers.conv2d(x, len(NAMES), 1), [0, 2, 3, 1])


def main() -> None:
    """Trains, then measures the overlap on images that the network has not seen."""
    image = layers.data("image", [1, SIZE, SIZE])
    label = layers.data("label", [SIZE, SIZE, 1], dtype="int64")
    scores = unet(image)
    loss = layers.mean(layers.softmax_with_cross_entropy(scores, label))
    train, startup = fluid.default_main_program(), fluid.default_startup_program()
    test = train.clone(for_test=True)
    fluid.optimizer.Adam(0.01).minimize(loss)

    startup.random_seed = 1
    exe = fluid.Executor()
    exe.run(startup)
    rng = np.random.default_rng(0)
    for step in range(1, STEPS + 1):
        (value,) = exe.run(train, samples(rng, BATCH), [loss])
        if step == 1 or step % 40 == 0:
            print(f"step {step:3}: loss {value.item():.3f}")

    unseen = samples(rng, 100)
    (found,) = exe.run(test, unseen, [scores])
    guess, truth = found.argmax(axis=3), unseen["label"][..., 0]
    for kind, name in enumerate(NAMES):
        both, either = (guess == kind) & (truth == kind), (guess == kind) | (truth == kind)
        print(f"{name:8} intersection over union {both.sum() / either.sum():.2f}")
    print(f"{'an unseen image':{SIZE}}   found")
    for true_row, row in zip(truth[0, ::2], guess[0, ::2], strict=True):
        print("   ".join("".join(" o#"[kind] for kind in line) for line in (true_row, row)))


if __name__ == "__main__":
    main()
