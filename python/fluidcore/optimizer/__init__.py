"""Optimizers: operators that update the parameters.

Each optimizer has two names, as in Fluid: `Adam` and `AdamOptimizer`. Beside them are updates in
every k-th run, and averages of the parameters.
"""

from fluidcore.optimizer.accumulating import (
    AdadeltaOptimizer,
    AdagradOptimizer,
    DecayedAdagradOptimizer,
    RMSPropOptimizer,
)
from fluidcore.optimizer.adam import AdamaxOptimizer, AdamOptimizer, AdamWOptimizer
from fluidcore.optimizer.base import Optimizer
from fluidcore.optimizer.gradient_accumulation import GradientAccumulation
from fluidcore.optimizer.lamb import LambOptimizer
from fluidcore.optimizer.lion import LionOptimizer
from fluidcore.optimizer.model_average import ModelAverage
from fluidcore.optimizer.moving_average import ExponentialMovingAverage
from fluidcore.optimizer.nadam import NAdamOptimizer
from fluidcore.optimizer.proximal import (
    FtrlOptimizer,
    ProximalAdagradOptimizer,
    ProximalGDOptimizer,
)
from fluidcore.optimizer.sgd import MomentumOptimizer, SGDOptimizer
from fluidcore.optimizer.weight_average import WeightAverage
from fluidcore.regularizer import append_regularization_ops

SGD = SGDOptimizer
Momentum = MomentumOptimizer
Adagrad = AdagradOptimizer
DecayedAdagrad = DecayedAdagradOptimizer
Adadelta = AdadeltaOptimizer
RMSProp = RMSPropOptimizer
Adam = AdamOptimizer
AdamW = AdamWOptimizer
Adamax = AdamaxOptimizer
NAdam = NAdamOptimizer
Lamb = LambOptimizer
Lion = LionOptimizer
Ftrl = FtrlOptimizer
ProximalGD = ProximalGDOptimizer
ProximalAdagrad = ProximalAdagradOptimizer

__all__ = [
    "append_regularization_ops",
    "SGD",
    "Adadelta",
    "AdadeltaOptimizer",
    "Adagrad",
    "AdagradOptimizer",
    "Adam",
    "AdamOptimizer",
    "AdamW",
    "AdamWOptimizer",
    "Adamax",
    "AdamaxOptimizer",
    "DecayedAdagrad",
    "DecayedAdagradOptimizer",
    "ExponentialMovingAverage",
    "Ftrl",
    "FtrlOptimizer",
    "GradientAccumulation",
    "Lamb",
    "LambOptimizer",
    "Lion",
    "LionOptimizer",
    "ModelAverage",
    "Momentum",
    "MomentumOptimizer",
    "NAdam",
    "NAdamOptimizer",
    "Optimizer",
    "ProximalAdagrad",
    "ProximalAdagradOptimizer",
    "ProximalGD",
    "ProximalGDOptimizer",
    "RMSProp",
    "RMSPropOptimizer",
    "SGDOptimizer",
    "WeightAverage",
]
