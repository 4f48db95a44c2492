"""Trains a ResNet-18 to tell coloured shapes apart, in images of the size of CIFAR's.

The network of He et al. 2015 with the stem for images of 32x32: a convolution of 3x3, and no
pooling before the blocks. It is made for CIFAR-10 by `--width 64`; the default is narrow, so that
it learns in seconds. Run it with `python examples/resnet18.py [--width 8]`.
"""

import argparse

import numpy as np
import numpy.typing as npt

import fluidcore as fluid
from fluidcore import Variable, layers

COLOURS = {"red": (1, 0, 0), "green": (0, 1, 0), "blue": (0, 0, 1)}
SHAPES = ("disc", "frame", "cross")
CLASSES = [f"{colour} {shape}" for colour in COLOURS for shape in SHAPES]
BATCH, STEPS, RATE = 32, 120, 0.05


def samples(rng: np.random.Generator, size: int) -> dict[str, npt.NDArray[np.generic]]:
    """Noisy images [size, 3, 32, 32] of one shape each, and the numbers of their classes."""
    label = rng.integers(0, len(CLASSES), (size, 1))
    middle, radius = rng.uniform(10, 22, (size, 2, 1, 1)), rng.uniform(6, 10, (size, 1, 1))
    y, x = (np.abs(axis - middle[:, i]) for i, axis in enumerate(np.mgrid[:32, :32]))
    far, near = np.maximum(x, y), np.minimum(x, y)
    frame = (far < radius) & (far > radius / 2)
    inside = [np.hypot(x, y) < radius, frame, (far < radius) & (near < radius / 3)]
    drawn = np.choose(label[:, :, None] % len(SHAPES), inside)[:, None]
    colour = np.array(list(COLOURS.values()))[label[:, 0] // len(SHAPES), :, None, None]
    image = drawn * colour + rng.normal(0, 0.2, (size, 3, 32, 32))
    return {"image": image.astype(np.float32), "label": label}


def convolution(x: Variable, filters: int, size: int, stride: int, act: str | None) -> Variable:
    """A convolution that keeps or divides the extents, and a batch norm."""
    filtered = layers.conv2d(x, filters, size, stride, padding=size // 2, bias_attr=False)
    return layers.batch_norm(filtered, act=act)


def block(x: Variable, filters: int, stride: int) -> Variable:
    """Two convolutions, and a way around them."""
    changed = convolution(convolution(x, filters, 3, stride, "relu"), filters, 3, 1, None)
    way_around = x if stride == 1 else convolution(x, filters, 1, stride, None)
    return layers.relu(changed + way_around)


def resnet18(image: Variable, width: int) -> Variable:
    """Scores [batch, classes]."""
    x = convolution(image, width, 3, 1, "relu")
    for level in range(4):
        x = block(x, width << level, stride=1 if level == 0 else 2)
        x = block(x, width << level, stride=1)
    return layers.fc(layers.pool2d(x, pool_type="avg", global_pooling=True), len(CLASSES))


def main() -> None:
    """Trains, and tests on images that the network has not seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=int, default=8, help="filters of the first block")
    width = parser.parse_args().width
    image, label = layers.data("image", [3, 32, 32]), layers.data("label", [1], dtype="int64")
    scores = resnet18(image, width)
    loss = layers.mean(layers.softmax_with_cross_entropy(scores, label))
    accuracy = layers.accuracy(layers.softmax(scores), label)
    train, startup = fluid.default_main_program(), fluid.default_startup_program()
    test = train.clone(for_test=True)  # its batch norms take the means of training
    cosine = fluid.learning_rate_decay.cosine_decay(RATE, step_each_epoch=1, epochs=STEPS)
    rate = fluid.learning_rate_decay.linear_lr_warmup(cosine, 5, start_lr=0.0, end_lr=RATE)
    fluid.optimizer.Momentum(rate, momentum=0.9).minimize(loss)

    startup.random_seed = 1
    exe = fluid.Executor()
    exe.run(startup)
    rng = np.random.default_rng(0)
    print(f"{sum(np.prod(p.shape) for p in train.all_parameters()):,} parameters")
    for step in range(1, STEPS + 1):
        value, now = exe.run(train, samples(rng, BATCH), [loss, rate])
        if step == 1 or step % 30 == 0:
            print(f"step {step:3}: loss {value.item():.3f}, learning rate {now.item():.3f}")
    (right,) = exe.run(test, samples(rng, 500), [accuracy])
    print(f"accuracy on 500 unseen images of {len(CLASSES)} classes: {right.item():.1%}")


if __name__ == "__main__":
    main()
