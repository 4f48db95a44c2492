"""Optimizers of eager tensors, and the clip of their gradients."""

from fluidcore.eager.optim.adam import Adam, AdamW
from fluidcore.eager.optim.base import Optimizer
from fluidcore.eager.optim.clip import clip_grad_norm
from fluidcore.eager.optim.sgd import SGD, Momentum

__all__ = ["SGD", "Adam", "AdamW", "Momentum", "Optimizer", "clip_grad_norm"]
