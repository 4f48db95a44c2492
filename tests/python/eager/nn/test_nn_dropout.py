"""Dropout."""

import numpy as np
import pytest
from checked_modules import check_module

import fluidcore as fluid
from fluidcore import eager
from fluidcore.eager import nn


def test_what_is_kept_is_scaled_up_in_training_and_all_is_kept_after_it() -> None:
    eager.seed(0)
    drop, x = nn.Dropout(0.75), eager.ones([4000])
    values, counts = np.unique(drop(x).numpy(), return_counts=True)
    assert values.tolist() == [0.0, 4.0]
    assert counts[1] == pytest.approx(1000, abs=100)
    assert drop(x).tolist() != drop(x).tolist()
    assert drop.eval()(x) is x


def test_all_or_nothing_can_be_dropped() -> None:
    x = eager.ones([4])
    assert nn.Dropout(0)(x) is x
    assert nn.Dropout(1)(x).tolist() == [0, 0, 0, 0]
    with pytest.raises(fluid.InvalidArgument, match=r"^Dropout: p must be in \[0, 1\], got -1$"):
        nn.Dropout(-1)
    assert repr(nn.Dropout()) == "Dropout(p=0.5)"


def test_its_gradient_is_right() -> None:
    check_module(nn.Dropout(), eager.randn([6]))
