import fluidcore as fluid
from fluidcore import layers
from fluidcore.program.step_counter import STEP_COUNTER, find_step_counter, stop_counting


def test_a_program_without_a_schedule_has_no_counter_and_loses_nothing():
    layers.increment(layers.ones([1], "int64"))
    block = fluid.default_main_program().global_block()
    text = str(block.program)
    assert find_step_counter(block.desc) is None
    stop_counting(block.desc)
    assert str(block.program) == text


def test_what_counts_is_found_by_name_and_removed():
    counter = fluid.learning_rate_decay.step_counter()
    rate = layers.increment(counter, 2.0, in_place=False)
    assert find_step_counter(counter.block.desc) == counter.name
    assert counter.name.startswith(STEP_COUNTER)
    stop_counting(counter.block.desc)
    assert [op.output("Out") for op in counter.block.ops] == [[rate.name]]
    assert find_step_counter(counter.block.desc) == counter.name
