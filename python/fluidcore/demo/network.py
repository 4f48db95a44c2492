"""The network of the demo, as a program that trains it."""

from __future__ import annotations

from typing import NamedTuple

from fluidcore import layers, optimizer, unique_name
from fluidcore.program import Operator, Parameter, Program, Variable, program_guard


class Network(NamedTuple):
    """A network of two convolutions, and the programs around it.

    Attributes:
        main: Forward, backward and update.
        startup: Initializes the parameters.
        test: Forward alone, as for prediction.
        forward_ops: How many operators of `main` are forward.
        update_ops: The operators that update the parameters.
        params_grads: The parameters and their gradients.
        loss: [1], the mean over the batch.
        prediction: [batch, 10], probabilities of the digits.
        accuracy: [1], the part of the batch that is right.
    """

    main: Program
    startup: Program
    test: Program
    forward_ops: int
    update_ops: list[Operator]
    params_grads: list[tuple[Parameter, Variable | None]]
    loss: Variable
    prediction: Variable
    accuracy: Variable


def _block(x: Variable, channels: int, number: int) -> Variable:
    conv, norm = f"conv{number}", f"norm{number}"
    x = layers.conv2d(x, channels, 3, padding=1, param_attr=f"{conv}.w", bias_attr=False, name=conv)
    x = layers.batch_norm(
        x,
        act="relu",
        param_attr=f"{norm}.scale",
        bias_attr=f"{norm}.shift",
        moving_mean_name=f"{norm}.mean",
        moving_variance_name=f"{norm}.variance",
        name=norm,
    )
    return layers.pool2d(x, 2, "max", 2, name=f"pool{number}")


def build(seed: int, learning_rate: float = 0.1) -> Network:
    """Writes the programs; images are [batch, 1, 8, 8], labels [batch, 1]."""
    main, startup = Program(), Program()
    main.random_seed = startup.random_seed = seed + 1  # 0 would mean a new one each time
    with program_guard(main, startup), unique_name.guard():
        image = layers.data("image", [1, 8, 8])
        label = layers.data("label", [1], dtype="int64")
        hidden = _block(_block(image, 32, 1), 64, 2)
        logits = layers.fc(hidden, 10, param_attr="fc.w", bias_attr="fc.b", name="fc")
        losses = layers.softmax_with_cross_entropy(logits, label)
        loss = layers.mean(losses)
        prediction = layers.softmax(logits)
        accuracy = layers.accuracy(prediction, label)
        forward_ops = len(main.global_block().ops)
        test = main.clone(for_test=True)
        update_ops, params_grads = optimizer.SGD(learning_rate).minimize(loss)
    return Network(
        main, startup, test, forward_ops, update_ops, params_grads, loss, prediction, accuracy
    )
