"""How many numbers reading a model may make beside those that its file has."""

from __future__ import annotations

_AT_LEAST = 1 << 23


class Budget:
    """What may still be made.

    A file of a few bytes can ask for tensors of any size, again and again; those that would be made
    while it is read are counted.
    """

    def __init__(self) -> None:
        self.left = _AT_LEAST

    def add(self, count: int) -> None:
        """Allows as many more as the file itself has."""
        self.left += count

    def spend(self, count: int) -> bool:
        """Takes a number of elements, unless there are not so many left."""
        if count > self.left:
            return False
        self.left -= count
        return True
