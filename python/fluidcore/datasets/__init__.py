"""Small real data sets that come with the package, and files of others."""

from fluidcore.datasets._digits import Digits, digits
from fluidcore.datasets._idx import idx
from fluidcore.datasets._npz import npz

__all__ = ["Digits", "digits", "idx", "npz"]
