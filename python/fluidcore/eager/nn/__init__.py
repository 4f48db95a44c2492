"""Modules: functions of tensors with parameters, in the words of PyTorch.

    from fluidcore import eager
    from fluidcore.eager import nn

    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    optimizer = eager.Adam(model.parameters(), lr=0.01)

Names and layouts of parameters are those of PyTorch, too: a state_dict of the one can be loaded by
the other.
"""

from fluidcore.eager.nn.activation import GELU, ReLU, Sigmoid, Tanh
from fluidcore.eager.nn.containers import ModuleList, Sequential
from fluidcore.eager.nn.conv import Conv2d
from fluidcore.eager.nn.dropout import Dropout
from fluidcore.eager.nn.embedding import Embedding
from fluidcore.eager.nn.flatten import Flatten
from fluidcore.eager.nn.linear import Linear
from fluidcore.eager.nn.module import Module
from fluidcore.eager.nn.norm import BatchNorm, LayerNorm
from fluidcore.eager.nn.parameter import parameter
from fluidcore.eager.nn.recurrent import LSTM

__all__ = [
    "GELU",
    "LSTM",
    "BatchNorm",
    "Conv2d",
    "Dropout",
    "Embedding",
    "Flatten",
    "LayerNorm",
    "Linear",
    "Module",
    "ModuleList",
    "ReLU",
    "Sequential",
    "Sigmoid",
    "Tanh",
    "parameter",
]
