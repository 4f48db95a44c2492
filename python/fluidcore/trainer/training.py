"""One call of Trainer.train."""

from __future__ import annotations

import math
from contextlib import ExitStack, closing
from numbers import Real

from fluidcore import checkpoint, core
from fluidcore.trainer.batches import Batches, Feed
from fluidcore.trainer.events import (
    BeginEpochEvent,
    BeginStepEvent,
    EndEpochEvent,
    EndStepEvent,
    Event,
)
from fluidcore.trainer.history import History
from fluidcore.trainer.interrupts import Interrupts, deferred_interrupts
from fluidcore.trainer.measures import EVALUATED
from fluidcore.trainer.model import Model, evaluate
from fluidcore.trainer.options import Options
from fluidcore.trainer.position import Position
from fluidcore.trainer.progress import Display

EVALUATION = "Trainer.train: evaluate"  # how errors call the loader of evaluations


class Training:
    """A training, from its first step or from a checkpoint on.

    Args:
        model: What is trained.
        batches: To train on.
        evaluation: To evaluate on after each epoch.
        options: Everything else.
        display: Shows how it goes.
    """

    def __init__(
        self,
        model: Model,
        batches: Batches,
        evaluation: Batches | None,
        options: Options,
        display: Display,
    ) -> None:
        self._model = model
        self._batches = batches
        self._evaluation = evaluation
        self._options = options
        self._display = display
        self._at = Position(model, batches, evaluation, options)
        self._saved: tuple[int, int, int] | None = None  # where the last checkpoint was made
        self._interrupts = Interrupts()
        self._is_stopping = False

    @property
    def history(self) -> History:
        """What the training has given so far."""
        return self._at.history

    def stop(self) -> None:
        """Ends it after the present step, or the present event."""
        self._is_stopping = True

    def load(self) -> bool:
        """Goes on from the last checkpoint if that is wanted, and there is one.

        Raises:
            core.InvalidArgument: It is not wanted, and there is one; or it is not of this training.
        """
        folder = self._options.checkpoint_dir
        if folder is None:
            return False
        found = checkpoint.steps(folder)
        if not self._options.resume:
            if found:
                raise core.InvalidArgument(
                    f"Trainer.train: checkpoint_dir must be without checkpoints, got {folder} with "
                    f"those of steps {found}; give resume=True to go on, or another folder"
                )
            return False
        if not found:
            return False
        model = self._model
        checkpoint.load(folder, model.executor, model.program, model.scope, reader=self._at)
        self._saved = self._place()
        return True

    def run(self) -> History:
        """Trains until the last epoch, or an earlier end."""
        with ExitStack() as stack:
            for handler in self._options.event_handlers:
                if hasattr(handler, "close"):
                    stack.callback(handler.close)
            stack.callback(self._display.close)
            wanted = self._options.checkpoint_on_interrupt
            with deferred_interrupts(wanted) as self._interrupts:
                try:
                    self._run_epochs()
                except KeyboardInterrupt as interrupt:
                    self.history.stopped = "interrupt"
                    if wanted and not self._interrupts.is_urgent:
                        self._save_interrupted(interrupt)
                    raise
        return self.history

    def _run_epochs(self) -> None:
        at, epochs = self._at, self._options.epochs
        while at.epoch < epochs:
            if at.patience.is_over:
                self.history.stopped = "early_stopping"
                return
            self._run_epoch()
            if self._is_stopping and at.epoch < epochs:
                self.history.stopped = "stop"
                if at.global_step:
                    self._save()
                return

    def _run_epoch(self) -> None:
        at = self._at
        total = self._batches.count()
        self._display.begin_epoch(at.epoch, self._options.epochs, at.step, total)
        self._tell(BeginEpochEvent(at.epoch))
        if self._is_stopping:
            return
        with closing(self._batches.feeds(at.step)) as feeds:
            for feed in feeds:
                self._run_step(feed)
                if self._is_stopping:
                    return
        if not at.step:
            cure = "; an iterator can be gone through once, give a list or a DataLoader"
            raise core.InvalidArgument(
                f"Trainer.train: loader must give a batch in every epoch, got none in epoch "
                f"{at.epoch}{cure if at.epoch else ''}"
            )
        self._end_epoch()

    def _run_step(self, feed: Feed) -> None:
        at, model = self._at, self._model
        epoch, step, number = self._place()
        begin = BeginStepEvent(epoch, step, number)
        self._tell(begin)
        if self._is_stopping:
            return
        metrics: dict[str, float] = {}
        try:
            samples = model.samples(feed)
            fetches = model.measures.fetches if begin.fetch_metrics else []
            values = model.run(model.program, feed, fetches)
            if begin.fetch_metrics:
                metrics = at.totals.add(values, samples)
        except Exception as error:
            error.add_note(f"in epoch {epoch}, step {step} of Trainer.train, counted from 0")
            raise
        at.advance()
        if self._options.stop_on_nan and not math.isfinite(metrics.get("loss", 0.0)):
            raise core.InvalidArgument(self._not_finite(metrics["loss"], epoch, step))
        self._display.step(metrics, samples)
        self._tell(EndStepEvent(epoch, step, number, metrics))
        at.mark()  # a handler may have evaluated
        every = self._options.checkpoint_every
        if every is not None and at.global_step % every == 0:
            self._save()
        self._interrupts.obey()

    def _end_epoch(self) -> None:
        at = self._at
        self._display.end_steps()
        epoch, metrics = at.epoch, at.totals.results()
        if self._evaluation is not None:
            obey = self._interrupts.obey
            metrics |= evaluate(self._model, self._evaluation, EVALUATION, EVALUATED, obey)
        monitor = self._options.monitor
        if not isinstance(metrics.get(monitor, 0.0), Real):
            raise core.InvalidArgument(
                f"Trainer.train: the metric to monitor must be one number, got {metrics[monitor]} "
                f"for '{monitor}'; give another monitor="
            )
        at.end_epoch(metrics)
        self._display.end_epoch(metrics)
        self._tell(EndEpochEvent(epoch, metrics))
        at.mark()
        self._save()
        self._interrupts.obey()

    def _tell(self, event: Event) -> None:
        for handler in self._options.event_handlers:
            handler(event)

    def _not_finite(self, loss: float, epoch: int, step: int) -> str:
        folder = self._options.checkpoint_dir
        steps = checkpoint.steps(folder) if folder is not None else []
        last = f"; the last checkpoint is that of step {steps[-1]} in {folder}" if steps else ""
        return (
            f"Trainer.train: the loss must be finite, got {loss} in epoch {epoch}, step {step}, "
            "counted from 0; with the environment variable FLUIDCORE_CHECK_NAN=1 the run names the "
            f"operator that made the first NaN{last}"
        )

    def _place(self) -> tuple[int, int, int]:
        return self._at.epoch, self._at.step, self._at.global_step

    def _save(self) -> None:
        """Makes a checkpoint, if they are wanted and the last one is not of here."""
        folder, model = self._options.checkpoint_dir, self._model
        if folder is None or self._saved == self._place():
            return
        checkpoint.save(
            folder,
            self._at.global_step,
            model.executor,
            model.program,
            model.scope,
            reader=self._at,
            metric=self._at.cost,
            keep_last=self._options.keep_last,
            keep_best=self._options.keep_best,
        )
        self._saved = self._place()

    def _save_interrupted(self, interrupt: KeyboardInterrupt) -> None:
        number = self._at.global_step
        if number:
            self._save()
            folder = self._options.checkpoint_dir
            interrupt.add_note(f"Trainer.train: the checkpoint of step {number} is in {folder}")
