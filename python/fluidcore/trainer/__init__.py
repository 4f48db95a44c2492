"""A training loop that hides nothing: all that it does can be written with `Executor.run`.

Example:
    trainer = fluid.Trainer(loss, fluid.optimizer.Adam(learning_rate=0.01), {"accuracy": accuracy})
    trainer.train(loader, epochs=10, evaluate=other_loader)
    print(trainer.history.best())
"""

from fluidcore.trainer.early_stopping import EarlyStopping
from fluidcore.trainer.events import (
    BeginEpochEvent,
    BeginStepEvent,
    EndEpochEvent,
    EndStepEvent,
)
from fluidcore.trainer.history import EpochRecord, History
from fluidcore.trainer.tensorboard import TensorBoard
from fluidcore.trainer.trainer import Trainer

__all__ = [
    "BeginEpochEvent",
    "BeginStepEvent",
    "EarlyStopping",
    "EndEpochEvent",
    "EndStepEvent",
    "EpochRecord",
    "History",
    "TensorBoard",
    "Trainer",
]
