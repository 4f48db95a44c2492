"""Checkpoints: all that a training run needs to go on as if it had not been interrupted."""

from fluidcore.checkpoint.folder import best, steps
from fluidcore.checkpoint.state import Checkpoint, load, save

__all__ = ["Checkpoint", "best", "load", "save", "steps"]
