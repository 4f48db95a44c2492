"""Tests of fluidcore.layers.warmup: 50 runs beside the formulas in float64."""

import numpy as np
import pytest
from schedules import RUNS, rates

import fluidcore as fluid
from fluidcore import layers, learning_rate_decay

step = np.arange(RUNS, dtype=np.float64)


def wave(start, end, share):
    return end + (start - end) / 2 * (1 + np.cos(np.pi * share))


def noam(factor=1.0):
    return factor * 64**-0.5 * np.minimum((step + 1) ** -0.5, (step + 1) * 12**-1.5)


def one_cycle(top, total, share, div, final_div):
    turn, end = share * total - 1, total - 1
    first = top / div
    fall = wave(top, first / final_div, np.minimum((step - turn) / (end - turn), 1))
    return np.where(step <= turn, wave(first, top, step / turn), fall)


CASES = {
    "noam": (lambda f: f.noam_decay(64, 12), noam()),
    "noam, factor": (lambda f: f.noam_decay(64, 12, 3.0), noam(3.0)),
    "cosine": (
        lambda f: f.cosine_decay(0.5, 4, 6),
        0.25 * (1 + np.cos(np.pi * (step // 4) / 6)),
    ),
    "warmup, number": (
        lambda f: f.linear_lr_warmup(0.4, 9, 0.1, 0.3),
        np.where(step < 9, 0.1 + 0.2 * step / 9, 0.4),
    ),
    "warmup, schedule": (
        lambda f: f.linear_lr_warmup(f.exponential_decay(0.4, 7, 0.8), 9, 0.0, 0.3),
        np.where(step < 9, 0.3 * step / 9, 0.4 * 0.8 ** (step / 7)),
    ),
    "warmup, float64 without a dimension": (
        lambda f: f.linear_lr_warmup(layers.fill_constant([], "float64", 0.4), 9, 0.1, 0.3),
        np.where(step < 9, 0.1 + 0.2 * step / 9, 0.4),
    ),
    "one cycle": (lambda f: f.one_cycle(0.5, 40), one_cycle(0.5, 40, 0.3, 25, 1e4)),
    "one cycle, odd": (
        lambda f: f.one_cycle(0.5, 33, 0.25, 10.0, 5.0),
        one_cycle(0.5, 33, 0.25, 10, 5),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_fifty_runs_are_those_of_the_formula(name):
    make, expected = CASES[name]
    got = rates(lambda: make(learning_rate_decay))
    np.testing.assert_allclose(got, expected.astype(np.float32), rtol=2e-7, atol=1e-9)


def test_one_cycle_has_the_corners_of_pytorch():
    # torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10), steps 0, 2 and 9
    got = rates(lambda: learning_rate_decay.one_cycle(1.0, 10), 12)
    np.testing.assert_allclose(got[[0, 2, 9, 11]], [0.04, 1.0, 4e-6, 4e-6], rtol=1e-6)


@pytest.mark.parametrize("name", ["noam_decay", "cosine_decay", "linear_lr_warmup"])
def test_a_schedule_is_a_layer_and_in_the_module_of_fluid(name):
    assert getattr(layers, name) is getattr(learning_rate_decay, name)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda f: f.noam_decay(64, 0),
            ValueError,
            "noam_decay: warmup_steps must be positive, got 0",
        ),
        (
            lambda f: f.noam_decay(-1, 5),
            ValueError,
            "noam_decay: d_model must be positive, got -1",
        ),
        (
            lambda f: f.cosine_decay(0.1, 0, 5),
            ValueError,
            "cosine_decay: step_each_epoch must be a whole number of at least 1, got 0",
        ),
        (
            lambda f: f.cosine_decay(0.1, 5, 2.5),
            TypeError,
            "cosine_decay: epochs must be a whole number of at least 1, got float 2.5",
        ),
        (
            lambda f: f.linear_lr_warmup(0.1, 0, 0.0, 0.1),
            ValueError,
            "linear_lr_warmup: warmup_steps must be positive, got 0",
        ),
        (
            lambda f: f.linear_lr_warmup("0.1", 5, 0.0, 0.1),
            TypeError,
            "linear_lr_warmup: learning_rate must be a number, got str '0.1'",
        ),
        (
            lambda f: f.linear_lr_warmup(layers.zeros([2], "float32"), 5, 0.0, 0.1),
            fluid.InvalidArgument,
            r"linear_lr_warmup: learning_rate must be one floating number, got "
            r"Variable\('fill_constant_0.tmp_0', float32 \[2\]\)",
        ),
        (
            lambda f: f.linear_lr_warmup(f.step_counter(), 5, 0.0, 0.1),
            fluid.InvalidArgument,
            "linear_lr_warmup: learning_rate must be one floating number, got .* int64 .*",
        ),
        (
            lambda f: f.one_cycle(0.1, 3),
            ValueError,
            r"one_cycle: pct_start \* total_steps must be above 1 and below total_steps, got "
            "pct_start 0.3, total_steps 3",
        ),
        (
            lambda f: f.one_cycle(0.1, 30, div_factor=0),
            ValueError,
            "one_cycle: div_factor must be positive, got 0",
        ),
    ],
)
def test_a_wrong_argument_is_an_error_that_leaves_nothing(make, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        make(learning_rate_decay)
    left = {op.type for op in fluid.default_main_program().global_block().ops}
    assert left <= {"fill_constant", "increment"}  # of the argument itself
