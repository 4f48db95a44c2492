"""Tests of fluidcore.backward.versions."""

from texts import forward

from fluidcore.backward.versions import Version, Versions


def versions(*lines, differentiated, leaves=(), existing=(), arrays=()):
    ops = forward(*lines)
    return ops, Versions(ops, differentiated, leaves, set(existing).__contains__, arrays)


def test_a_variable_that_is_written_once_has_one_value():
    ops, found = versions("mul: x, w -> h", "relu: h -> y", differentiated={0, 1})
    assert found.several == set()
    assert found.read(ops[1], "h") == found.written(ops[0], "h") == Version(0, 0)
    assert found.writer("h", Version()) == 0
    assert found.writer("x", Version()) is None


def test_an_operator_in_place_reads_one_value_and_leaves_the_next():
    ops, found = versions("mul: x, w -> h", "relu: h -> h", differentiated={0, 1})
    assert found.written(ops[0], "h") == found.read(ops[1], "h") == Version(1, 1)
    assert found.written(ops[1], "h") == found.at_end("h") == Version(2, 2)
    assert found.seen(ops[1], "h", is_new=True) == Version(2, 2)
    assert found.writer("h", Version(1, 1)) == 0
    assert found.overwriter("h", Version(1, 1)) == 1


def test_the_plain_gradient_is_that_of_the_last_value_or_of_one_from_outside():
    _, found = versions(
        "mul: x, w -> h", "relu: h -> h", "relu: x -> x", differentiated={0, 1, 2}, existing={"x"}
    )
    assert found.official == {"h": 2}


def test_an_optimizer_does_not_end_the_gradient_of_a_parameter():
    ops, found = versions(
        "mul: x, w -> a", "sgd: w, g -> w", "mul: x, w -> b", differentiated={0, 2}, leaves={"w"}
    )
    assert found.read(ops[0], "w") == Version(0, 0)
    assert found.read(ops[2], "w") == Version(1, 0)


def test_a_constant_that_is_written_over_another_variable_does():
    ops, found = versions(
        "mul: h, w -> a", "fill_constant: -> h", "mul: h, w -> b", differentiated={0, 2}
    )
    assert found.read(ops[0], "h") == Version(0, 0)
    assert found.read(ops[2], "h") == Version(1, 1)


def test_arrays_have_no_versions():
    _, found = versions("w: x -> a", "w: y -> a", differentiated={0, 1}, arrays={"a"})
    assert found.several == set()
