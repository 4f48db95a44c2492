"""Trainer: a training loop over programs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from fluidcore import core
from fluidcore.data_feeder import DataFeeder
from fluidcore.executor import Executor, Scope, global_scope
from fluidcore.program import Program, Variable, default_startup_program
from fluidcore.program.arguments import check_owner
from fluidcore.trainer.batches import Batches, CountSamples
from fluidcore.trainer.early_stopping import EarlyStopping
from fluidcore.trainer.events import EventHandler
from fluidcore.trainer.history import History, Mode
from fluidcore.trainer.measures import Measures
from fluidcore.trainer.model import Model, evaluate
from fluidcore.trainer.options import checked_options
from fluidcore.trainer.progress import display
from fluidcore.trainer.startup import initialize_missing, updates
from fluidcore.trainer.training import EVALUATION, Training


class Minimizes(Protocol):
    """An optimizer, or what wraps one, such as `amp.decorate`."""

    def minimize(self, loss: Variable, startup_program: Program | None = None, /) -> Any:
        """Appends backward and updates."""


class Trainer:
    """Trains a program, epoch by epoch, and evaluates it.

        trainer = fluid.Trainer(loss, fluid.optimizer.Adam(0.01), {"accuracy": accuracy})
        history = trainer.train(loader, epochs=10, evaluate=other_loader)

    It has no state of its own that a training depends on: variables are in the scope, and the
    programs may be run by hand before, between and after. docs/trainer.md has the loop by hand.

    Args:
        loss: What is minimized: one floating number, for example [1].
        optimizer: Its `minimize(loss)` is called here; None if the program updates its parameters
            already.
        metrics: Name -> Variable of one number, whose mean over the batches, weighted by their
            samples, is told; or a pair of a metric of `fluid.metrics` and the list of Variables
            that it is updated with, such as `(fluid.metrics.Auc(), [prediction, label])`.
        program: What is trained; None for that of the loss.
        startup_program: Initializes the parameters; None for the default one.
        executor: Runs the programs; None for a new one.
        scope: Where variables live between runs; None for the global scope at present.
        feeder: Makes what is fed of the minibatches of Fluid's readers.
        samples: How many samples a batch, the dict that is fed, has; None for the first extent of
            what is fed to variables [-1, ...].

    Attributes:
        program: With backward and updates.
        test_program: `clone(for_test=True)` of the program without them.
        startup_program: As given.
        executor: As given.
        scope: As given.
        loss: Of `program`.
        history: Of the last call of `train`, also after an error; None before.

    Raises:
        TypeError: An argument is of another type.
        core.InvalidArgument: The loss or a metric is not of the program, or not one number; or
            there is an optimizer for a program that updates its parameters already.
    """

    def __init__(
        self,
        loss: Variable,
        optimizer: Minimizes | None = None,
        metrics: Mapping[str, Any] | None = None,
        *,
        program: Program | None = None,
        startup_program: Program | None = None,
        executor: Executor | None = None,
        scope: Scope | None = None,
        feeder: DataFeeder | None = None,
        samples: CountSamples | None = None,
    ) -> None:
        if not isinstance(loss, Variable):
            raise TypeError(f"Trainer: loss must be a Variable, got {type(loss).__name__} {loss!r}")
        for name, value, kind in (
            ("program", program, Program),
            ("startup_program", startup_program, Program),
            ("executor", executor, Executor),
            ("scope", scope, core.Scope),
            ("feeder", feeder, DataFeeder),
        ):
            if value is not None and not isinstance(value, kind):
                article = "an" if kind is Executor else "a"
                raise TypeError(
                    f"Trainer: {name} must be {article} {kind.__name__}, got {type(value).__name__}"
                )
        if samples is not None and not callable(samples):
            raise TypeError(f"Trainer: samples must be a function, got {samples!r}")
        if optimizer is not None and not hasattr(optimizer, "minimize"):
            raise TypeError(f"Trainer: optimizer must have minimize(loss), got {optimizer!r}")
        self.program = loss.block.program if program is None else program
        check_owner("Trainer: loss", loss, self.program)
        measures = Measures(loss, metrics, self.program)
        self.loss = self.program.global_block().var(loss.name)
        self.startup_program = startup_program or default_startup_program()
        self.executor = Executor() if executor is None else executor
        self.scope = global_scope() if scope is None else scope
        self.test_program = self._prepared(optimizer, measures)
        self.history: History | None = None
        self._feeder = feeder
        self._training: Training | None = None
        self._model = Model(
            self.program, self.test_program, self.executor, self.scope, measures, samples
        )

    def _prepared(self, optimizer: Minimizes | None, measures: Measures) -> Program:
        """Appends the updates; returns the program for tests."""
        if optimizer is None:
            return self.program.prune(measures.fetches).clone(for_test=True)
        present = updates(self.program)
        if present:
            raise core.InvalidArgument(
                f"Trainer: a program that an optimizer is given for must not update its parameters "
                f"yet, got {present[0]}; leave out optimizer=, or the call of minimize"
            )
        test_program = self.program.clone(for_test=True)
        optimizer.minimize(self.loss, self.startup_program)
        return test_program

    def train(
        self,
        loader: Any,
        epochs: int,
        event_handler: EventHandler | Sequence[EventHandler] | None = None,
        *,
        evaluate: Any = None,
        checkpoint_dir: str | os.PathLike[str] | None = None,
        checkpoint_every: int | None = None,
        keep_last: int | None = 3,
        keep_best: int = 1,
        resume: bool = False,
        checkpoint_on_interrupt: bool = False,
        early_stopping: EarlyStopping | None = None,
        monitor: str | None = None,
        mode: Mode = "min",
        stop_on_nan: bool = True,
        progress: bool = True,
    ) -> History:
        """Trains, with a run of the program for each batch.

        First, the variables that have no value get that of the startup program; those that have one
        keep it. Epochs and steps of each call are counted from 0.

        Ctrl-C ends the training with KeyboardInterrupt. With `checkpoint_on_interrupt` it waits
        until the present step is done, and a checkpoint is made; a second one does not wait.

        Args:
            loader: A DataLoader or any iterable of dicts to feed, gone through in each epoch; or a
                reader of Fluid, with the `feeder` of the trainer.
            epochs: How often; with `resume`, those before are counted too.
            event_handler: Called with each BeginEpochEvent, BeginStepEvent, EndStepEvent and
                EndEpochEvent; a list for several. What it raises ends the training. If it has a
                method `close`, that is called at the end.
            evaluate: As `loader`, for an evaluation after each epoch.
            checkpoint_dir: A checkpoint is made after each epoch here; None for none.
            checkpoint_every: Steps after which one is made, too; None for none within epochs.
            keep_last: How many of the last ones stay; None: all.
            keep_best: How many of the best ones, by `monitor`, stay beside them.
            resume: Whether to go on from the last checkpoint, bit for bit as if there had been no
                interruption; from the beginning if there is none. A loader without `state_dict` has
                to give the same batches again: those that were seen are passed over.
            checkpoint_on_interrupt: Whether one is made at Ctrl-C.
            early_stopping: Ends a training that does not get better.
            monitor: The metric that says what better is; None for "val_loss", or "loss" where
                there is no evaluation.
            mode: "min" where lower is better, else "max".
            stop_on_nan: Whether a loss that is not finite is an error.
            progress: Whether to show a bar in a terminal, and elsewhere a line for each epoch.

        Returns:
            The epochs; `trainer.history` is the same, after errors too.

        Raises:
            TypeError: An argument is of another type; the loader does not give dicts.
            core.InvalidArgument: An argument is not as above; an epoch has no batch; a loss is not
                finite; the checkpoint is not of this training; or as Executor.run, with the epoch
                and step as a note.
        """
        batches = Batches("Trainer.train: loader", loader, self._feeder)
        evaluation = None
        if evaluate is not None:
            evaluation = Batches(EVALUATION, evaluate, self._feeder)
        options = checked_options(
            epochs,
            event_handler,
            checkpoint_dir,
            checkpoint_every,
            keep_last,
            keep_best,
            resume,
            checkpoint_on_interrupt,
            early_stopping,
            monitor,
            mode,
            stop_on_nan,
            self._model.measures.names,
            evaluation is not None,
        )
        if self._training is not None:
            raise core.InvalidArgument(
                "Trainer.train: must not be called while it runs, got a call from an event handler "
                "or another thread"
            )
        if not updates(self.program):
            raise core.InvalidArgument(
                "Trainer.train: the program must update its parameters, got one without an "
                "operator that does; give optimizer= to the Trainer"
            )
        training = Training(self._model, batches, evaluation, options, display(progress))
        self._training = training
        try:
            if not training.load():
                self._initialize()
            self.history = training.history
            return training.run()
        finally:
            self._training = None

    def evaluate(self, loader: Any) -> dict[str, Any]:
        """The loss and the metrics of all batches, by the program for tests.

        Args:
            loader: As for `train`; one epoch of it.

        Returns:
            "loss" and the names of the metrics -> mean weighted by samples, or what the metric of
            `fluid.metrics` says.

        Raises:
            core.InvalidArgument: There is no batch; or as Executor.run.
        """
        what = "Trainer.evaluate: loader"
        batches = Batches(what, loader, self._feeder)
        self._initialize()
        return evaluate(self._model, batches, what)

    def stop(self) -> None:
        """Ends the training, for an event handler: after the present step, with a checkpoint.

        An epoch that was not gone through to its end is not in the history, and not evaluated.
        Outside of `train` it does nothing.
        """
        if self._training is not None:
            self._training.stop()

    def _initialize(self) -> None:
        initialize_missing(self.program, self.startup_program, self.executor, self.scope)

    def __repr__(self) -> str:
        metrics = [name for name in self._model.measures.names if name != "loss"]
        return f"Trainer('{self.loss.name}', metrics={metrics}, {self.program!r})"
