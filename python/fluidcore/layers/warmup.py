"""Learning rates that rise first, or follow a wave, as operators of the program.

Each is [1], float32: what an optimizer takes as its learning_rate. An argument that is no number is
a TypeError, one out of range a ValueError.
"""

from __future__ import annotations

from fluidcore import core
from fluidcore.base.checks import check_number, check_positive, check_whole
from fluidcore.base.dtypes import FLOATING
from fluidcore.layers.helper import atomic
from fluidcore.layers.schedule import as_rate, chosen, cosine_between, current_step
from fluidcore.layers.tensor import fill_constant
from fluidcore.program import Variable


@atomic
def noam_decay(d_model: int, warmup_steps: int, learning_rate: float = 1.0) -> Variable:
    """The rate of "Attention is all you need" (Vaswani et al. 2017, section 5.3).

    learning_rate * d_model ** -0.5 * min(step ** -0.5, step * warmup_steps ** -1.5), with step 1 in
    the first run.

    Args:
        d_model: The width of the model; above 0.
        warmup_steps: How many runs the rate rises; above 0.
        learning_rate: A factor.

    Returns and errors are those of exponential_decay.
    """
    width = check_positive("noam_decay: d_model", d_model)
    warmup = check_positive("noam_decay: warmup_steps", warmup_steps)
    factor = check_number("noam_decay: learning_rate", learning_rate)
    step = current_step() + 1.0
    rising, falling = step * warmup**-1.5, step**-0.5
    rate = chosen(rising < falling, rising, falling)
    return as_rate("noam_decay", rate * (factor * width**-0.5))


@atomic
def cosine_decay(learning_rate: float, step_each_epoch: int, epochs: int) -> Variable:
    """Half a wave of the cosine, in steps of an epoch (Loshchilov and Hutter 2017).

    learning_rate / 2 * (1 + cos(pi * epoch / epochs)), with epoch = floor(step / step_each_epoch)
    and step 0 in the first run. Beyond `epochs` the wave goes on, and the rate rises again.

    Args:
        learning_rate: Of the first epoch.
        step_each_epoch: The runs of an epoch, at least 1; 1 changes the rate with each run.
        epochs: How many epochs half a wave takes; at least 1.

    Returns and errors are those of exponential_decay.
    """
    rate = check_number("cosine_decay: learning_rate", learning_rate)
    steps = check_whole("cosine_decay: step_each_epoch", step_each_epoch, 1)
    count = check_whole("cosine_decay: epochs", epochs, 1)
    epoch = current_step() // float(steps)
    return as_rate("cosine_decay", cosine_between(rate, 0.0, epoch / float(count)))


@atomic
def linear_lr_warmup(
    learning_rate: float | Variable, warmup_steps: int, start_lr: float, end_lr: float
) -> Variable:
    """A straight line for the first runs, then another rate.

    start_lr + (end_lr - start_lr) * step / warmup_steps while step < warmup_steps, with step 0 in
    the first run; then learning_rate.

    Args:
        learning_rate: A number, or a floating Variable [1] such as another schedule, which counts
            from the first run on, not from the end of the line.
        warmup_steps: How many runs the line takes; above 0.
        start_lr: Where the line starts.
        end_lr: Where it ends.

    Returns:
        As exponential_decay.

    Raises:
        TypeError: An argument is no number.
        ValueError: A number is out of range; or the Variable is not one floating number.

    Example:
        rate = layers.linear_lr_warmup(layers.noam_decay(512, 4000), 100, 0.0, 1e-4)
    """
    count = check_positive("linear_lr_warmup: warmup_steps", warmup_steps)
    start = check_number("linear_lr_warmup: start_lr", start_lr)
    end = check_number("linear_lr_warmup: end_lr", end_lr)
    if isinstance(learning_rate, Variable):
        if learning_rate.dtype not in FLOATING or learning_rate.shape not in ((1,), ()):
            raise core.InvalidArgument(
                "linear_lr_warmup: learning_rate must be one floating number, got "
                f"{learning_rate!r}"
            )
        rate = learning_rate.astype("float64")
    else:
        number = check_number("linear_lr_warmup: learning_rate", learning_rate)
        rate = fill_constant([1], "float64", number)
    step = current_step()
    line = step / count * (end - start) + start
    return as_rate("linear_lr_warmup", chosen(step < count, line, rate))


@atomic
def one_cycle(
    max_lr: float,
    total_steps: int,
    pct_start: float = 0.3,
    div_factor: float = 25.0,
    final_div_factor: float = 1e4,
) -> Variable:
    """A rise to a large rate and a long fall (Smith and Topin 2018), as PyTorch's OneCycleLR.

    From max_lr / div_factor to max_lr at step pct_start * total_steps - 1, and from there to
    max_lr / div_factor / final_div_factor at step total_steps - 1, each along half a wave of the
    cosine, with step 0 in the first run; after that the rate stays as it is.

    Args:
        max_lr: The largest rate.
        total_steps: The runs of the cycle.
        pct_start: The share of the runs in which the rate rises; 1 < pct_start * total_steps <
            total_steps.
        div_factor: The largest rate divided by the first one; above 0.
        final_div_factor: The first rate divided by the last one; above 0.

    Returns and errors are those of exponential_decay.
    """
    top = check_number("one_cycle: max_lr", max_lr)
    total = check_whole("one_cycle: total_steps", total_steps, 1)
    share = check_number("one_cycle: pct_start", pct_start)
    first = top / check_positive("one_cycle: div_factor", div_factor)
    last = first / check_positive("one_cycle: final_div_factor", final_div_factor)
    if not 1 < share * total < total:
        raise ValueError(
            "one_cycle: pct_start * total_steps must be above 1 and below total_steps, got "
            f"pct_start {pct_start}, total_steps {total_steps}"
        )
    turn, end = share * total - 1.0, total - 1.0
    step = current_step()
    rise = cosine_between(first, top, step / turn)
    fall = cosine_between(top, last, ((step - turn) / (end - turn)).clip(max=1.0))
    return as_rate("one_cycle", chosen(step <= turn, rise, fall))
