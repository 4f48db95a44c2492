"""What users pass by mistake is refused at once, in words about what they wrote."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import io, layers
from fluidcore.base.checks import (
    check_extents,
    check_list,
    check_name,
    check_not_negative,
    check_number,
    check_positive,
    check_share,
    check_whole,
    is_whole,
)


def data(name="x", shape=(3,), dtype="float32"):
    return layers.data(name, shape, dtype=dtype)


def text(program):
    return program.serialize_to_string()


def test_whole_numbers_have_a_least_value():
    assert type(check_whole("size", np.int16(3), 1)) is int
    with pytest.raises(fluid.InvalidArgument) as caught:
        check_whole("size", 0, 1)
    assert str(caught.value) == "size must be a whole number of at least 1, got 0"
    for value, text in [(1.5, "float 1.5"), (True, "bool True"), (None, "NoneType None")]:
        with pytest.raises(TypeError) as caught:
            check_whole("size", value, 1)
        assert str(caught.value) == f"size must be a whole number of at least 1, got {text}"


def test_numpy_numbers_are_numbers_and_bools_are_not():
    assert check_number("rate", np.float32(0.5)) == 0.5
    assert check_number("rate", np.int64(2)) == 2.0
    assert is_whole(np.int64(3))
    assert not is_whole(True)
    assert not is_whole(3.0)
    for value in (True, "0.1", None):
        with pytest.raises(TypeError, match="rate must be a number, got"):
            check_number("rate", value)
    with pytest.raises(ValueError, match="rate must be finite, got nan"):
        check_number("rate", float("nan"))


@pytest.mark.parametrize(
    ("check", "good", "bad", "message"),
    [
        (check_positive, 0.5, 0, "must be positive, got 0"),
        (check_not_negative, 0, -0.5, "must be at least 0, got -0.5"),
        (check_share, 0, 1.0, r"must be in \[0, 1\), got 1.0"),
    ],
)
def test_the_range_of_a_number_is_checked(check, good, bad, message):
    assert check("k", good) == good
    with pytest.raises(ValueError, match=f"^k {message}$"):
        check("k", bad)
    for value in (True, "1"):
        with pytest.raises(TypeError, match=r"^k must be a number, got"):
            check("k", value)


def test_names_and_lists_are_checked():
    assert check_name("name", "x") == "x"
    with pytest.raises(TypeError, match="name must be a str, got int 3"):
        check_name("name", 3)
    assert check_list("items", ("a", "b")) == ["a", "b"]
    for value in ("ab", None):
        with pytest.raises(TypeError, match="items must be a list, got"):
            check_list("items", value)


@pytest.mark.parametrize("shape", [3, "34", None, [2.0], [2.5], [True], ["3"]])
def test_a_shape_is_a_list_of_whole_numbers(shape):
    with pytest.raises(TypeError, match="data 'x': shape must be a list of whole numbers, got"):
        data("x", shape)
    assert fluid.default_main_program().global_block().vars == {}


@pytest.mark.parametrize("extent", [-2, 2**70])
def test_an_extent_is_in_range(extent):
    with pytest.raises(fluid.InvalidArgument, match="extents must be at least 0, or -1"):
        data("x", [extent])


def test_a_lod_level_is_not_negative():
    with pytest.raises(fluid.InvalidArgument, match=r"lod_level must be .* at least 0, got -1"):
        layers.data("x", [3], lod_level=-1)
    assert fluid.default_main_program().global_block().vars == {}


def test_numpy_integers_and_none_are_extents():
    assert check_extents("x", np.array([3, 4])) == [3, 4]
    assert check_extents("x", [None, 3]) == [-1, 3]


def test_a_name_is_a_str():
    with pytest.raises(TypeError, match="data: name must be a str, got int 3"):
        data(3)
    with pytest.raises(TypeError, match="fc: name must be a str, got int 5"):
        layers.fc(data(), 2, name=5)
    with pytest.raises(TypeError, match="fc: act must be a str, got function"):
        layers.fc(data(), 2, act=layers.relu)
    with pytest.raises(TypeError, match="the key of a unique name must be a str, got int 5"):
        fluid.unique_name.generate(5)
    with pytest.raises(TypeError, match="new_generator must be a NameGenerator, got 5"):
        fluid.unique_name.switch(5)
    for find in (data().block.var, data().block.var_recursive):
        with pytest.raises(TypeError, match="the name of a variable must be a str, got int 5"):
            find(5)
    with pytest.raises(TypeError, match="the type of an operator must be a str, got NoneType"):
        fluid.default_main_program().global_block().append_op(None)


def test_an_element_type_is_never_guessed():
    for make in (
        lambda: data(dtype=None),
        lambda: layers.cast(data(), None),
        lambda: data().astype(None),
        lambda: fluid.default_main_program().global_block().create_parameter([2], None),
    ):
        with pytest.raises(fluid.InvalidArgument, match=r"dtype must be one of .*, got None"):
            make()


def test_data_takes_no_name_that_is_something_else():
    layers.fc(data(), 2, name="fc")
    before = text(fluid.default_main_program())
    with pytest.raises(fluid.InvalidArgument, match=r"data: 'fc\.b_0' must be a new name"):
        layers.data("fc.b_0", [2], append_batch_size=False)
    assert text(fluid.default_main_program()) == before


def test_a_parameter_takes_no_name_that_is_something_else():
    x = data()
    layers.data("w", [3, 2], append_batch_size=False)
    before = text(fluid.default_main_program())
    with pytest.raises(fluid.InvalidArgument, match="fc: a parameter must have a name of its own"):
        layers.fc(x, 2, param_attr="w")
    with pytest.raises(fluid.InvalidArgument, match="create_global_var: 'w' must be a new name"):
        layers.create_global_var([3, 2], 1.0, "float32", persistable=True, name="w")
    assert text(fluid.default_main_program()) == before


def test_layers_say_what_is_wrong_with_their_arguments():
    x, image = data(), data("image", (4, 8, 8))
    ids = data("ids", (1,), "int64")
    for error, message, make in (
        (TypeError, "fc: input must be a Variable, got NoneType", lambda: layers.fc(None, 2)),
        (fluid.InvalidArgument, "size must be a whole number", lambda: layers.fc(x, True)),
        (fluid.InvalidArgument, "fc: .* must be floating, got int64", lambda: layers.fc(ids, 2)),
        (fluid.InvalidArgument, "filter_size must be", lambda: layers.conv2d(image, 2, 3.0)),
        (fluid.InvalidArgument, "filter_size must be", lambda: layers.conv2d(image, 2, "33")),
        (fluid.InvalidArgument, "groups must be", lambda: layers.conv2d(image, 2, 3, groups=2.0)),
        (fluid.InvalidArgument, "pool_size must be", lambda: layers.pool2d(image, 2.5)),
        (TypeError, "embedding: shape must be a list", lambda: layers.embedding(ids, 10)),
        (fluid.InvalidArgument, "size must be .rows, width", lambda: layers.embedding(ids, [9])),
        (TypeError, "split: num_or_sections must be", lambda: layers.split(x, 2.0)),
        (TypeError, "value must be a number", lambda: layers.fill_constant([2], "float32", "1")),
        (TypeError, "value must be a number", lambda: layers.increment(x, None)),
    ):
        with pytest.raises(error, match=message):
            make()
    assert [op.type for op in fluid.default_main_program().global_block().ops] == []


def test_numpy_integers_are_sizes():
    image = data("image", (4, 8, 8))
    assert layers.conv2d(image, np.int64(2), np.int64(3)).shape == (-1, 2, 6, 6)
    assert len(layers.split(image, np.int64(2), dim=1)) == 2


def test_an_integer_constant_is_never_rounded():
    x = data("x", (3,), "int64")
    with pytest.raises(fluid.InvalidArgument, match="one that a float64 holds, got 90071992547409"):
        x + (2**53 + 1)
    with pytest.raises(fluid.InvalidArgument, match="one that a float64 holds, got 90071992547409"):
        layers.fill_constant([1], "int64", 2**53 + 1)
    with pytest.raises(fluid.InvalidArgument, match="got an int that is too large"):
        data("y") + 10**400
    assert (x + 2**53).dtype == "int64"


def test_arithmetic_that_fails_leaves_no_constant_behind():
    program = fluid.default_main_program()
    inner = program.create_block().create_var("inner", shape=[3], dtype="float32")
    program.rollback()
    before = text(program)
    with pytest.raises(fluid.NotFound, match="got the unknown name 'inner'"):
        inner + 1
    assert text(program) == before


def test_an_array_in_arithmetic_is_refused_with_a_cure():
    for make in (lambda x: x + np.ones(3), lambda x: np.ones(3) * x):
        with pytest.raises(TypeError, match=r"feed the array as a Variable made by layers\.data"):
            make(data())


def test_slots_are_a_mapping():
    block = fluid.default_main_program().global_block()
    with pytest.raises(TypeError, match="relu: inputs and outputs must map slots to Variables"):
        block.append_op("relu", [data()], {"Out": "y"})


def test_a_variable_is_not_renamed_to_nothing():
    x = data()
    for name in ("", "@EMPTY@"):
        with pytest.raises(fluid.InvalidArgument, match="must have a name of its own, got"):
            x.block.rename_var("x", name)
    assert x.name == "x"


def test_a_changed_attribute_is_checked():
    op = layers.scale(data(), scale=2.0).block.ops[-1]
    with pytest.raises(fluid.InvalidArgument, match="attribute 'scale' must be a float, got the s"):
        op.set_attr("scale", "a")
    with pytest.raises(fluid.NotFound, match="no attribute 'scal'; did you mean 'scale'"):
        op.set_attr("scal", 1.0)
    assert op.attr("scale") == 2.0
    op.set_attr("scale", 3.0)
    assert op.attr("scale") == 3.0


def test_programs_check_what_they_are_given():
    program = fluid.Program()
    with pytest.raises(TypeError, match="prune: targets must hold Variables or names, got int"):
        program.prune([5])
    with pytest.raises(TypeError, match="text must be a str, got NoneType"):
        fluid.Program.parse_from_string(None)
    for seed in ("a", 1.5, True):
        with pytest.raises(TypeError, match="random_seed must be a whole number, got"):
            program.random_seed = seed
    with pytest.raises(
        fluid.InvalidArgument, match=r"random_seed must be in \[0, 2\*\*64\), got -"
    ):
        program.random_seed = -1


def test_param_attr_checks_its_parts():
    for settings in (
        {"name": 5},
        {"initializer": 5},
        {"initializer": fluid.initializer.Xavier},
        {"learning_rate": "a"},
        {"regularizer": 4},
        {"gradient_clip": 4},
    ):
        with pytest.raises(TypeError, match=f"ParamAttr: {next(iter(settings))} must be"):
            fluid.ParamAttr(**settings)


def test_optimizers_check_their_settings():
    optimizer = fluid.optimizer
    for error, message, make in (
        (TypeError, "sgd: learning_rate must be a number", lambda: optimizer.SGD("0.1")),
        (TypeError, "sgd: learning_rate must be a number", lambda: optimizer.SGD(None)),
        (ValueError, "learning_rate must be finite", lambda: optimizer.SGD(float("nan"))),
        (TypeError, "momentum must be a number", lambda: optimizer.Momentum(0.1, "a")),
        (TypeError, "beta1 must be a number", lambda: optimizer.Adam(0.1, beta1="a")),
        (TypeError, "must be a regularizer such as", lambda: optimizer.SGD(0.1, 5)),
        (TypeError, "low must be a number", lambda: fluid.initializer.Uniform("a", 1.0)),
        (ValueError, "high must be finite", lambda: fluid.initializer.Uniform(0.0, float("inf"))),
        (TypeError, "clip_norm must be a number", lambda: fluid.GradientClipByNorm("1")),
    ):
        with pytest.raises(error, match=message):
            make()
    loss = layers.mean(layers.fc(data(), 2))
    with pytest.raises(TypeError, match="startup_program must be a Program, got 's'"):
        optimizer.SGD(0.1).minimize(loss, "s")


def test_a_gradient_clip_is_set_for_all_or_none():
    layers.fc(data(), 2, name="fc")
    parameters = fluid.default_main_program().all_parameters()
    clip = fluid.GradientClipByNorm(1.0)
    with pytest.raises(TypeError, match=r"param_list must be a list, got 'fc\.w_0'"):
        fluid.set_gradient_clip(clip, "fc.w_0")
    with pytest.raises(fluid.NotFound):
        fluid.set_gradient_clip(clip, ["fc.w_0", "w"])
    assert [p.gradient_clip_attr for p in parameters] == [None, None]


def test_gradients_are_of_variables_of_one_program():
    y = layers.scale(data(), scale=2.0)
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        other = data()
    before = text(fluid.default_main_program())
    for targets, inputs, given in (([y], [other], None), ([y, other], [y], None), (y, y, other)):
        with pytest.raises(fluid.InvalidArgument, match="gradients: all Variables must belong to"):
            fluid.gradients(targets, inputs, given)
    for targets, inputs, given in ((None, y, None), (y, ["x"], None), (y, y, [5])):
        with pytest.raises(TypeError, match="must be a Variable or a list of these, got"):
            fluid.gradients(targets, inputs, given)
    assert text(fluid.default_main_program()) == before


def test_saving_checks_before_it_makes_a_folder(tmp_path):
    exe, y = fluid.Executor(), layers.fc(data(), 2)
    folder = tmp_path / "model"
    with pytest.raises(fluid.NotFound, match="run the startup program first"):
        io.save_params(exe, folder)
    with pytest.raises(TypeError, match="main_program must be a Program, got str"):
        io.save_params(exe, folder, "main")
    with pytest.raises(TypeError, match="target_vars must hold Variables or names, got int"):
        io.save_inference_model(folder, ["x"], [5], exe)
    with pytest.raises(fluid.InvalidArgument, match="there must be a target"):
        io.save_inference_model(folder, ["x"], [], exe)
    assert not folder.exists()
    exe.run(fluid.default_startup_program())
    io.save_inference_model(folder, [y.block.var("x")], [y], exe)
    assert io.load_inference_model(folder, exe)[1] == ["x"]


def test_text_that_is_not_utf8_is_an_error_that_shows_its_place_only():
    main = fluid.default_main_program()
    layers.data("x", [3])
    text = main.serialize_to_string()
    place = text.index('"x"')
    for damaged, byte, near in (
        (text.replace('"x"', '"\udc80"'), place + 3, '"??'),
        (text.replace('"x"', '"\xff"').encode("latin-1"), place + 2, '"?'),
    ):
        with pytest.raises(fluid.InvalidArgument) as raised:
            fluid.Program.parse_from_string(damaged)
        assert str(raised.value) == (
            f"program file: must be complete JSON text, got a mistake at byte {byte} near '{near}'"
        )
    name = "a\udc80" + 1000 * "b"
    shown = ascii(name[:60])
    for what, use in {
        "data: name": lambda: layers.data(name, [3]),
        "the name of a variable": lambda: main.global_block().var(name),
        "the type of an operator": lambda: main.global_block().append_op(name),
        "a name in feed": lambda: fluid.Executor().run(feed={name: 1}),
        "a name in fetch_list": lambda: fluid.Executor().run(fetch_list=[name]),
        "relu: a name in slot 'X'": lambda: main.global_block().append_op("relu", {"X": name}),
        "pool2d: attribute 'pooling_type'": lambda: main.global_block().append_op(
            "pool2d", {"X": "x"}, {"Out": "y"}, {"pooling_type": name}
        ),
        "fc: name": lambda: layers.fc(main.global_block().var("x"), 3, name=name),
    }.items():
        with pytest.raises(fluid.InvalidArgument) as raised:
            use()
        assert str(raised.value) == (
            f"{what} must be text that UTF-8 can hold, got '\\udc80' at position 1 of {shown}"
        )
