"""How far a training has got: all that a checkpoint holds beside the variables."""

from __future__ import annotations

import math
from typing import Any

from fluidcore import core
from fluidcore.executor import RandomState
from fluidcore.trainer.batches import Batches
from fluidcore.trainer.early_stopping import Patience
from fluidcore.trainer.history import EpochRecord, History, cost_of
from fluidcore.trainer.model import Model
from fluidcore.trainer.options import Options
from fluidcore.trainer.totals import Totals

KEY = "trainer"  # of what is ours, beside the keys of the loader


class Position:
    """How far a training has got; what `checkpoint.save` and `load` call the reader.

    What is saved is the state after the last step that was done, also when the loader has given
    the next batch already: `mark` notes where the loaders are.

    Attributes:
        epoch: The present one.
        step: Steps done in it.
        global_step: Steps done in all.
        totals: What they gave.
        patience: Of early stopping.
        history: The epochs before.
    """

    def __init__(
        self, model: Model, batches: Batches, evaluation: Batches | None, options: Options
    ) -> None:
        self.epoch = self.step = self.global_step = 0
        self.totals = Totals(model.measures)
        self.patience = Patience(options.early_stopping)
        self.history = History(options.monitor, options.mode)
        self._model = model
        self._batches = batches
        self._evaluation = evaluation
        self._is_saved = options.checkpoint_dir is not None
        self._loaders: dict[str, Any] = {}

    def advance(self) -> None:
        """A step was done."""
        self.step += 1
        self.global_step += 1
        self.history.steps = self.global_step
        self.mark()

    def end_epoch(self, metrics: dict[str, Any]) -> None:
        """An epoch was done, and evaluated."""
        record = EpochRecord(self.epoch, self.step, self.totals.samples, metrics)
        self.history.epochs.append(record)
        self.epoch, self.step = self.epoch + 1, 0
        self.patience.see(self.cost)
        self.totals = Totals(self._model.measures)
        self.mark()

    @property
    def cost(self) -> float | None:
        """What is monitored of the epoch that has just ended, the lower the better.

        None within an epoch, and for NaN.
        """
        history = self.history
        if self.step or not history.epochs:
            return None
        cost = cost_of(history.epochs[-1].metrics.get(history.monitor), history.mode)
        return None if math.isnan(cost) else cost

    def mark(self) -> None:
        """Notes where the loaders are, and the random numbers of the evaluation."""
        if self._is_saved:
            evaluation = self._evaluation
            random = self._model.executor.random_state(self._model.test_program)
            self._loaders = {
                "loader": self._batches.position(),
                "evaluate": None if evaluation is None else evaluation.position(),
                "evaluate_random": list(random),
            }

    def state_dict(self) -> dict[str, Any]:
        """The loader's own keys, so that it can be resumed by hand, and "trainer".

        Raises:
            core.InvalidArgument: The loader has a key of that name.
        """
        loader = self._loaders["loader"]
        if KEY in loader:
            raise core.InvalidArgument(
                f"Trainer.train: state_dict() of the loader must have no key '{KEY}', got "
                f"{sorted(loader)}"
            )
        own = {
            "epoch": self.epoch,
            "step": self.step,
            "global_step": self.global_step,
            "monitor": self.history.monitor,
            "mode": self.history.mode,
            "history": [list(record) for record in self.history.epochs],
            "totals": self.totals.state(),
            "patience": self.patience.state(),
            "has_position": self._batches.has_position,
            "evaluate": self._loaders["evaluate"],
            "evaluate_random": self._loaders["evaluate_random"],
        }
        return {**loader, KEY: own}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes to where a training was.

        Raises:
            core.InvalidArgument: The state is not of a trainer, or of one with another monitor,
                other metrics, or another kind of loader.
        """
        own = state.get(KEY) if isinstance(state, dict) else None
        if not isinstance(own, dict):
            raise core.InvalidArgument(
                "Trainer.train: the checkpoint must be one that Trainer.train wrote, got one of "
                "checkpoint.save; load it with checkpoint.load, and train without resume"
            )
        try:
            self._check_alike(own)
            totals = Totals(self._model.measures)
            totals.restore(own["totals"])
            records = [EpochRecord(*record) for record in own["history"]]
            random = RandomState(*own["evaluate_random"])
            numbers = [int(own[key]) for key in ("epoch", "step", "global_step")]
            self.patience.restore(own["patience"])
            evaluated = own["evaluate"]
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, core.Error):
                raise
            raise core.InvalidArgument(
                "Trainer.train: the state in the checkpoint must be whole, got a damaged one: "
                f"{error!r}"
            ) from None
        self._restore_loaders({key: state[key] for key in state if key != KEY}, evaluated)
        self._model.executor.set_random_state(random, self._model.test_program)
        self.totals = totals
        self.epoch, self.step, self.global_step = numbers
        self.history.epochs = records
        self.history.steps = self.global_step
        self.mark()

    def _restore_loaders(self, trained: dict[str, Any], evaluated: dict[str, Any] | None) -> None:
        """Moves both or none."""
        before = self._batches.position()
        self._batches.restore(trained)
        evaluation = self._evaluation
        if evaluation is not None and evaluated and not evaluation.is_of(self._batches):
            try:
                evaluation.restore(evaluated)
            except BaseException:
                self._batches.restore(before)
                raise

    def _check_alike(self, own: dict[str, Any]) -> None:
        mine = (self.history.monitor, self.history.mode)
        saved = (own["monitor"], own["mode"])
        if mine != saved:
            raise core.InvalidArgument(
                f"Trainer.train: monitor and mode must be those of the checkpoint, {saved}, got "
                f"{mine}"
            )
        if bool(own["has_position"]) != self._batches.has_position:
            has, had = (
                "with" if each else "without"
                for each in (self._batches.has_position, own["has_position"])
            )
            raise core.InvalidArgument(
                f"Trainer.train: the loader must be as that of the checkpoint, {had} state_dict, "
                f"got one {has}"
            )
