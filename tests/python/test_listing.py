import fluidcore as fluid
from fluidcore import layers
from fluidcore.listing import operator_lines


def test_a_line_says_what_is_read_and_written_and_what_is_not_the_default():
    x = layers.data("x", [4, 6, 6])
    y = layers.pool2d(x, 2, "avg", 2, name="pool")
    assert operator_lines(y.block.ops) == [
        "   0  pool2d(x) -> pool.tmp_0  # pooling_type=avg, ksize=[2,2], strides=[2,2]"
    ]


def test_shapes_show_what_is_not_known_before_a_run():
    y = layers.tanh(layers.data("x", [3]))
    assert operator_lines(y.block.ops, first=7, shapes=True) == [
        "   7  tanh(x) -> tanh_0.tmp_0[?,3]"
    ]


def test_element_types_are_shown_by_name():
    y = layers.cast(layers.data("x", [3]), "float64")
    assert "out_dtype=float64" in operator_lines(y.block.ops)[0]


def test_a_long_operator_goes_on_in_the_next_line():
    names = [f"a_long_name_{i}" for i in range(12)]
    y = layers.concat([layers.data(name, [1]) for name in names], axis=1)
    lines = operator_lines(fluid.default_main_program().global_block().ops, width=60)
    assert len(lines) > 2
    assert all(len(line) <= 60 for line in lines)
    assert all(line.startswith(" " * 10) for line in lines[1:])
    text = " ".join(line.strip() for line in lines)
    assert text.startswith(f"0  concat({', '.join(names)}) -> {y.name}")
