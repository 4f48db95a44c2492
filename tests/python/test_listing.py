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


def test_the_operators_of_a_block_follow_the_operator_that_runs_it():
    x = layers.data("x", [3])
    flag = layers.data("flag", [1], dtype="bool", append_batch_size=False)
    out = layers.fill_constant([1], "float32", 0.0)
    with layers.ConditionalBlock([flag], True).block():
        layers.assign(layers.mean(x), output=out)
    layers.relu(out)
    assert operator_lines(out.block.ops) == [
        "   0  fill_constant() -> fill_constant_0.tmp_0  # shape=[1]",
        "   1  conditional_block(flag, x) -> fill_constant_0.tmp_0, conditional_block.scope_0",
        "          # sub_block=block 1, is_scalar_condition=True",
        "         0  mean(x) -> mean_0.tmp_0",
        "         1  assign(mean_0.tmp_0) -> fill_constant_0.tmp_0",
        "   2  relu(fill_constant_0.tmp_0) -> relu_0.tmp_0",
    ]


def test_a_gradient_block_shows_the_shapes_of_its_forward_block():
    x = layers.data("x", [3], append_batch_size=False, stop_gradient=False)
    flag = layers.data("flag", [1], dtype="bool", append_batch_size=False)
    fluid.gradients(layers.mean(layers.cond(flag, lambda: layers.exp(x), lambda: x)), x)
    lines = operator_lines(x.block.ops, shapes=True)
    assert any(line.startswith("         ") and "exp_0.tmp_0@GRAD[3]" in line for line in lines)
