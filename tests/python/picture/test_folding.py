import sample_programs

import fluidcore as fluid
from fluidcore import layers
from fluidcore.picture.folding import Group, folded, operators_of, repetition
from fluidcore.picture.graph import read_graph


def ops_of(program: fluid.Program):
    return read_graph(program.desc).ops


def names(items):
    return [item.name if isinstance(item, Group) else item.type for item in items]


def test_few_operators_stay_as_they_are():
    ops = ops_of(sample_programs.perceptron())
    assert folded(ops, 100) == folded(ops, None) == ops


def test_operators_of_one_name_scope_become_a_group():
    x = layers.data("x", [1, 8, 8])
    for name in ("first", "second"):
        x = layers.conv2d(x, 2, 3, act="relu", name=name)
    layers.mean(x)
    assert names(folded(ops_of(fluid.default_main_program()), 4)) == ["first", "second", "mean"]


def test_inner_scopes_are_put_together_where_they_are_too_many():
    x = layers.data("x", [3])
    for name in ("a.1", "a.2", "b.1", "b.2"):
        x = layers.fc(x, 3, name=name)
    assert names(folded(ops_of(fluid.default_main_program()), 4)) == ["a.1", "a.2", "b.1", "b.2"]
    assert names(folded(ops_of(fluid.default_main_program()), 3)) == ["a", "b"]


def test_what_is_repeated_becomes_a_group_for_each_repetition():
    x = layers.data("x", [3])
    for _ in range(5):
        x = layers.tanh(layers.square(layers.relu(x)))
    groups = folded(ops_of(fluid.default_main_program()), 6)
    assert names(groups) == ["1 of 5", "2 of 5", "3 of 5", "4 of 5", "5 of 5"]
    assert [op.type for op in operators_of(groups[2])] == ["relu", "square", "tanh"]


def test_many_equal_operators_become_one_group():
    x = layers.data("x", [3])
    for _ in range(50):
        x = layers.tanh(x)
    layers.mean(x)
    assert names(folded(ops_of(fluid.default_main_program()), 10)) == ["tanh", "mean"]


def test_what_has_no_structure_is_cut_into_pieces():
    x = layers.data("x", [3])
    kinds = "abbabaabbaababba"  # of Thue and Morse, without long repetitions
    for kind in kinds:
        x = layers.tanh(x) if kind == "a" else layers.relu(x)
    items = folded(ops_of(fluid.default_main_program()), 3)
    assert len(items) <= 3


def test_folding_keeps_every_operator_in_order():
    ops = ops_of(sample_programs.tower(30))
    for limit in (1, 2, 7, 60):
        items = folded([op for op in ops if op.role == "backward"], limit)
        flat = [op.number for item in items for op in operators_of(item)]
        assert flat == [op.number for op in ops if op.role == "backward"]
        assert len(items) <= limit


def test_a_group_can_always_be_opened():
    def depth(items, limit):
        groups = [item for item in items if isinstance(item, Group)]
        assert len(groups) < len(items) or len(items) > 1
        return 1 + max((depth(folded(g.items, limit), limit) for g in groups), default=0)

    x = layers.data("x", [3])
    for _ in range(200):
        x = layers.tanh(x, name="same")
    assert depth(folded(ops_of(fluid.default_main_program()), 3), 3) < 8


def test_repetition_finds_the_shortest_period_that_covers_almost_all():
    assert repetition("xabcabcabcabcy") == (1, 3, 4)
    assert repetition("aaaaaa") == (0, 1, 6)
    assert repetition("abcd") is None
    assert repetition("") is None
