"""Readers of made-up samples in the form of the data sets of Fluid's book."""

import numpy as np


def uci_housing():
    """13 features and a price."""
    rng = np.random.default_rng(1)
    weight = rng.normal(size=13)
    for _ in range(200):
        x = rng.normal(size=13).astype("float32")
        yield x, np.array([x @ weight + 2.0], "float32")


def mnist():
    """784 pixels in [-1, 1] and one of ten labels."""
    rng = np.random.default_rng(2)
    centers = rng.uniform(-1, 1, (10, 784))
    for _ in range(640):
        label = int(rng.integers(10))
        yield np.clip(centers[label] + 0.2 * rng.normal(size=784), -1, 1).astype("float32"), label


def cifar10():
    """3 x 32 x 32 pixels in [0, 1], flat, and one of ten labels."""
    rng = np.random.default_rng(3)
    centers = rng.uniform(0, 1, (10, 3 * 32 * 32))
    for _ in range(64):
        label = int(rng.integers(10))
        yield (0.8 * centers[label] + 0.2 * rng.random(3072)).astype("float32"), label


def imikolov(words=30):
    """Five words that follow each other: each is the one before, plus one."""
    rng = np.random.default_rng(4)
    for _ in range(256):
        first = int(rng.integers(words))
        yield tuple((first + step) % words for step in range(5))


def movielens():
    """User (id, gender, age, job), movie id and score."""
    rng = np.random.default_rng(5)
    for _ in range(256):
        user, movie = int(rng.integers(40)), int(rng.integers(50))
        gender, age, job = user % 2, user % 7, user % 21
        yield user, gender, age, job, movie, [float(1 + (user + movie) % 5)]
