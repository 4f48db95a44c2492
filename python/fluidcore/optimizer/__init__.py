"""Optimizers: operators that update the parameters.

Each class has two names, as in Fluid: `Adam` and `AdamOptimizer`.
"""

from fluidcore.optimizer.accumulating import (
    AdadeltaOptimizer,
    AdagradOptimizer,
    DecayedAdagradOptimizer,
    RMSPropOptimizer,
)
from fluidcore.optimizer.adam import AdamaxOptimizer, AdamOptimizer, AdamWOptimizer
from fluidcore.optimizer.base import Optimizer
from fluidcore.optimizer.lamb import LambOptimizer
from fluidcore.optimizer.lion import LionOptimizer
from fluidcore.optimizer.nadam import NAdamOptimizer
from fluidcore.optimizer.proximal import (
    FtrlOptimizer,
    ProximalAdagradOptimizer,
    ProximalGDOptimizer,
)
from fluidcore.optimizer.sgd import MomentumOptimizer, SGDOptimizer

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
    "Ftrl",
    "FtrlOptimizer",
    "Lamb",
    "LambOptimizer",
    "Lion",
    "LionOptimizer",
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
]
