"""Tests of fluidcore.unique_name."""

import threading

from fluidcore import unique_name


def test_each_key_counts_from_zero():
    with unique_name.guard():
        names = [unique_name.generate("fc"), unique_name.generate("fc"), unique_name.generate("w")]
    assert names == ["fc_0", "fc_1", "w_0"]


def test_guard_restores_the_count():
    with unique_name.guard():
        unique_name.generate("fc")
        with unique_name.guard():
            assert unique_name.generate("fc") == "fc_0"
        assert unique_name.generate("fc") == "fc_1"


def test_guard_takes_a_prefix():
    with unique_name.guard("left_"):
        assert unique_name.generate("fc") == "left_fc_0"


def test_switch_returns_the_old_generator():
    with unique_name.guard():
        unique_name.generate("fc")
        old = unique_name.switch()
        assert unique_name.generate("fc") == "fc_0"
        unique_name.switch(old)
        assert unique_name.generate("fc") == "fc_1"


def test_guard_acts_in_its_own_thread_only():
    seen = []
    with unique_name.guard("mine_"):
        thread = threading.Thread(target=lambda: seen.append(unique_name.generate("other")))
        thread.start()
        thread.join()
    assert not seen[0].startswith("mine_")
