"""Small real data sets that come with the package."""

from fluidcore.datasets._digits import Digits, digits

__all__ = ["Digits", "digits"]
