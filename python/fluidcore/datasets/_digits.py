"""The UCI handwritten digits; source and licence are in digits.md beside this file."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt


class Digits(NamedTuple):
    """Handwritten digits, split into a part to train on and a part to test on.

    Attributes:
        train_images: float32 [N, 1, 8, 8], 0 (white) to 1 (black).
        train_labels: int64 [N, 1], the digit.
        test_images: float32 [M, 1, 8, 8].
        test_labels: int64 [M, 1].
    """

    train_images: npt.NDArray[np.float32]
    train_labels: npt.NDArray[np.int64]
    test_images: npt.NDArray[np.float32]
    test_labels: npt.NDArray[np.int64]


def digits(seed: int = 0, test_fraction: float = 1 / 3) -> Digits:
    """1,797 real images of handwritten digits (UCI, Alpaydin and Kaynak, CC BY 4.0).

    Args:
        seed: Which images are held out, and the order of all; the same seed gives the same split.
        test_fraction: Which part is held out for testing, 0 to 1.

    Returns:
        By default 1,198 images to train on and 599 to test on.
    """
    from importlib import resources

    if not 0 <= test_fraction <= 1:
        raise ValueError(f"digits: test_fraction must be 0 to 1, got {test_fraction}")
    file = resources.files(__package__) / "digits.npz"
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
        images = (arrays["images"][:, None] / np.float32(16)).astype(np.float32)
        labels = arrays["labels"][:, None].astype(np.int64)
    # RandomState is the generator whose numbers NumPy promises never to change.
    order = np.random.RandomState(seed).permutation(len(labels))
    held_out = round(len(labels) * test_fraction)
    train, test = order[held_out:], order[:held_out]
    return Digits(images[train], labels[train], images[test], labels[test])
