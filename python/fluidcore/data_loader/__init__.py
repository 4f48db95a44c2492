"""Batches of a data set, as what Executor.run is fed."""

from fluidcore.data_loader.loader import DataLoader

__all__ = ["DataLoader"]
