import math

import numpy as np
import pytest

from fluidcore import core
from fluidcore.gradcheck.adapters.operator import operator_target
from fluidcore.gradcheck.verdict import Verdict
from tests.power.bug import Bug, BuggyTarget
from tests.power.measure import Case, Planted, Share, measure, merge
from tests.power.peers import NAMES, checker
from tests.power.table import power_table


@pytest.fixture
def case():
    right = operator_target("tanh", {"X": np.linspace(-1, 1, 5)})
    bug = Bug("twice", 1.0, lambda gradient, point: 2 * gradient)
    return Case(right, [Planted(1.0, BuggyTarget(right, bug, 0))])


def test_the_interval_is_wilsons():
    low, high = Share(81, 263).interval()  # Newcombe, Stat. Med. 17 (1998) 857, table I
    assert low == pytest.approx(0.2553, abs=1e-4)
    assert high == pytest.approx(0.3662, abs=1e-4)
    assert Share(20, 20).interval()[1] == 1.0
    assert Share().interval() == (0.0, 1.0)
    assert math.isnan(Share().rate)


def test_a_checker_that_rejects_everything_finds_nothing_useful(case):
    power = measure([case], {"no": lambda target, seed: Verdict.FAIL}, 0)["no"]
    assert (power.accused.found, power.useful.found, power.useful.total) == (1, 0, 1)
    assert power.wrongly_accused
    assert power.missed


def test_a_checker_that_accepts_everything_finds_nothing(case):
    power = measure([case], {"yes": lambda target, seed: Verdict.PASS}, 0)["yes"]
    assert (power.accused.found, power.useful.found) == (0, 0)


@pytest.mark.parametrize("name", ["fluidcore", "fluidcore-native", "seed000", "seed004"])
def test_every_checker_finds_a_factor_of_two_in_float64(case, name):
    power = measure([case], {name: checker(name)}, 0)[name]
    assert (power.accused.found, power.useful.found) == (0, 1)


def test_an_unknown_checker_is_named_with_those_there_are():
    with pytest.raises(core.NotFound, match="no checker is called 'torhc'; there are: fluidcore"):
        checker("torhc")


def test_parts_add_up_and_make_a_table(case):
    one = measure([case], {"fluidcore": checker("fluidcore")}, 0)
    both = merge([one, one])
    assert both["fluidcore"].useful.total == 2
    assert one["fluidcore"].useful.total == 1
    assert "| fluidcore | 0 of 2 | 0 of 2 | 100.0 % of 2 " in power_table(both)


def test_the_list_of_names_is_complete():
    assert set(NAMES) >= {"fluidcore", "torch", "jax", "seed000", "seed004"}
