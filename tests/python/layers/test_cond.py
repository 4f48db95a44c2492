"""Tests of cond, case and switch_case."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers


def run(fetches, **feed):
    return fluid.Executor().run(feed=feed, fetch_list=fetches)


def program_text():
    return str(fluid.default_main_program()) + str(fluid.default_startup_program())


def refused(kind, match, call):
    before = program_text()
    with pytest.raises(kind, match=match):
        call()
    assert program_text() == before
    assert fluid.default_main_program().current_block().idx == 0


def flag(name="flag"):
    return layers.data(name, [1], dtype="bool", append_batch_size=False)


def vector(name="x", size=3):
    return layers.data(name, [size], append_batch_size=False)


def scalar(value, dtype="float32"):
    return layers.fill_constant([1], dtype, value)


XS = np.array([1, -2, 3], "float32")
YES, NO = np.array([True]), np.array([False])


# cond


def test_cond_chooses_a_branch_in_each_run():
    x = vector()
    out = layers.cond(flag(), lambda: x * 2.0, lambda: x - 1.0)
    assert (out.shape, out.dtype) == ((3,), "float32")
    executor = fluid.Executor()
    for value in (True, False, False, True):
        (got,) = executor.run(feed={"x": XS, "flag": np.array([value])}, fetch_list=[out])
        np.testing.assert_array_equal(got, XS * 2 if value else XS - 1)


def test_only_the_branch_that_is_taken_is_calculated():
    x, i = vector(), scalar(0, "int64")
    blank = layers.create_array("float32", shape=[3])
    out = layers.cond(flag(), lambda: layers.array_read(blank, i), lambda: x)
    np.testing.assert_array_equal(run([out], x=XS, flag=NO)[0], XS)
    with pytest.raises(fluid.InvalidArgument, match="must have been written"):
        run([out], x=XS, flag=YES)


def test_results_may_be_nested():
    x = vector()
    out = layers.cond(
        flag(),
        lambda: {"a": [x, (x + 1.0, None)], "b": x.astype("int64")},
        lambda: {"b": scalar(7, "int64") + x.astype("int64"), "a": (x * 0.0, [x, None])},
    )
    assert isinstance(out["a"], list)
    assert isinstance(out["a"][1], tuple)
    assert out["a"][1][1] is None
    fetches = [out["a"][0], out["a"][1][0], out["b"]]
    for a, b in zip(run(fetches, x=XS, flag=YES), [XS, XS + 1, XS.astype(int)], strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(run(fetches, x=XS, flag=NO), [XS * 0, XS, XS.astype(int) + 7], strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_branch_may_return_an_outer_variable_or_a_number():
    x = vector()
    pred = flag()
    same, number, whole, mixed, truth = (
        layers.cond(pred, lambda: x, lambda: x * 2.0),
        layers.cond(pred, lambda: x, lambda: 0.5),
        layers.cond(pred, lambda: 1, lambda: 2),
        layers.cond(pred, lambda: 1, lambda: 2.5),
        layers.cond(pred, lambda: True, lambda: False),
    )
    assert [v.dtype for v in (number, whole, mixed, truth)] == [
        "float32",
        "int64",
        "float32",
        "bool",
    ]
    fetches = [same, number, whole, mixed, truth]
    got = [v.tolist() for v in run(fetches, x=XS, flag=YES)]
    assert got == [XS.tolist(), XS.tolist(), [1], [1], [True]]
    got = [v.tolist() for v in run(fetches, x=XS, flag=NO)]
    assert got == [(XS * 2).tolist(), [0.5] * 3, [2], [2.5], [False]]


def test_branches_without_results_may_write_outer_variables():
    total = scalar(1)

    def add():
        layers.assign(total + 4.0, output=total)

    assert layers.cond(flag(), add) is None
    assert run([total], flag=YES)[0][0] == 5
    assert run([total], flag=NO)[0][0] == 1


def test_branches_may_change_the_condition():
    pred = layers.assign(flag())

    def off():
        layers.logical_not(pred, out=pred)
        return scalar(1)

    out = layers.cond(pred, off, lambda: scalar(2))
    assert run([out, pred], flag=YES)[0][0] == 1
    assert run([out, pred], flag=NO)[0][0] == 2


def test_conds_nest_and_share_parameters():
    x = layers.data("x", [4])
    a, b = flag("a"), flag("b")

    def dense(factor):
        return layers.fc(x * factor, 2, param_attr="w", bias_attr=False)

    out = layers.cond(
        a,
        lambda: layers.cond(b, lambda: dense(1.0), lambda: dense(2.0)),
        lambda: layers.cond(b, lambda: dense(3.0), lambda: dense(4.0)),
    )
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program())
    w = np.asarray(fluid.global_scope().find_var("w").get_tensor())
    xs = np.ones((2, 4), "float32")
    for av, bv, factor in ((1, 1, 1), (1, 0, 2), (0, 1, 3), (0, 0, 4)):
        feed = {"x": xs, "a": np.array([bool(av)]), "b": np.array([bool(bv)])}
        (got,) = executor.run(feed=feed, fetch_list=[out])
        np.testing.assert_allclose(got, factor * xs @ w, rtol=1e-5)


def test_a_batch_may_be_of_any_size():
    x = layers.data("x", [3])
    out = layers.cond(flag(), lambda: x * 2.0, lambda: x)
    assert out.shape == (-1, 3)
    for rows in (2, 0, 5):
        xs = np.ones((rows, 3), "float32")
        np.testing.assert_array_equal(run([out], x=xs, flag=YES)[0], xs * 2)


def test_the_program_of_a_cond_is_readable():
    x = vector()
    layers.cond(flag(), lambda: x, lambda: x * 2.0)
    ops = [op.type for op in fluid.default_main_program().global_block().ops]
    assert ops == [
        "logical_not",
        "cast",
        "conditional_block",
        "conditional_block",
        "select_input",
    ]
    text = str(fluid.default_main_program())
    assert "select_input(Mask=cast_0.tmp_0, X=[cond_0.tmp_1, cond_0.tmp_0])" in text
    assert "conditional_block(Params=x, X=flag) -> Out=cond_0.tmp_0" in text


@pytest.mark.parametrize(
    ("true", "false", "match"),
    [
        (
            lambda x: ({"h": x},),
            lambda x: ({"h": layers.zeros([4], "float32")},),
            r"cond: out\[0\]\['h'\] must have the same shape and dtype everywhere, got "
            r"float32 \[3\] from true_fn, float32 \[4\] from false_fn",
        ),
        (
            lambda x: [x, x],
            lambda x: [x, layers.cast(x, "int64")],
            r"out\[1\] .* float32 \[3\] from true_fn, int64 \[3\] from false_fn",
        ),
        (
            lambda x: (x, x),
            lambda x: x,
            r"out must have the same structure everywhere, got a tuple of 2 from true_fn, "
            r"float32 \[3\] from false_fn",
        ),
        (lambda x: x, lambda x: None, "None from false_fn"),
        (lambda x: x, None, "None from false_fn"),
        (lambda x: x.astype("int64"), lambda x: 1.5, "a number that int64 holds, got 1.5"),
        (lambda x: x, lambda x: True, "a number that float32 holds, got True"),
        (lambda x: True, lambda x: 1, "out must be bool everywhere or nowhere, got True, 1"),
    ],
)
def test_the_branches_must_return_the_same(true, false, match):
    x, pred = vector(), flag()
    false_fn = None if false is None else lambda: false(x)
    refused(fluid.InvalidArgument, match, lambda: layers.cond(pred, lambda: true(x), false_fn))


def test_a_number_needs_a_known_shape():
    x, pred = layers.data("x", [3]), flag()
    refused(
        fluid.InvalidArgument,
        r"must not be a number where the shape is known only at run time, got 0 for float32 "
        r"\[-1, 3\]",
        lambda: layers.cond(pred, lambda: x, lambda: 0),
    )


def test_arrays_may_be_written_in_branches_but_not_chosen():
    i, pred = scalar(0, "int64"), flag()
    first = layers.array_write(scalar(1), i)
    second = layers.array_write(scalar(2), i)

    def write(value):
        return layers.array_write(scalar(value), i, array=first)

    assert layers.cond(pred, lambda: write(3), lambda: write(4)) is first
    element = layers.array_read(first, i)
    assert run([element], flag=YES)[0][0] == 3
    assert run([element], flag=NO)[0][0] == 4
    refused(
        fluid.InvalidArgument,
        "out must be the same tensor array in all branches",
        lambda: layers.cond(pred, lambda: first, lambda: second),
    )


def test_cond_refuses_what_cannot_be():
    x, pred = vector(), flag()
    stray = []
    layers.cond(pred, lambda: stray.append(x * 2.0))
    for kind, match, call in [
        (TypeError, "pred must be a Variable, got bool", lambda: layers.cond(True, None, None)),
        (fluid.InvalidArgument, "pred must be bool with one", lambda: layers.cond(x, None, None)),
        (TypeError, "true_fn must be a function, got Variable", lambda: layers.cond(pred, x)),
        (
            TypeError,
            r"out\[0\] of false_fn must be a Variable, .* got str 'x'",
            lambda: layers.cond(pred, lambda: [x], lambda: ["x"]),
        ),
        (
            fluid.InvalidArgument,
            "out of true_fn must be a variable of block 2 or of a block around it, got .* block 1",
            lambda: layers.cond(pred, lambda: stray[0], lambda: x),
        ),
        (KeyError, "mine", lambda: layers.cond(pred, lambda: x, lambda: {}["mine"])),
    ]:
        refused(kind, match, call)


# case


def test_case_takes_the_first_true_condition():
    x = scalar(3)
    a, b = flag("a"), flag("b")
    out = layers.case(
        [(a, lambda: x + 1.0), (b, lambda: x + 2.0)], default=lambda: {"unused": x}["unused"]
    )
    last = layers.case([(a, lambda: x + 1.0), (b, lambda: x + 2.0)])
    executor = fluid.Executor()
    for av, bv, expected, without in ((1, 1, 4, 4), (0, 1, 5, 5), (0, 0, 3, 5), (1, 0, 4, 4)):
        feed = {"a": np.array([bool(av)]), "b": np.array([bool(bv)])}
        got, other = executor.run(feed=feed, fetch_list=[out, last])
        assert (got[0], other[0]) == (expected, without)


def test_case_is_flat():
    a, b = flag("a"), flag("b")
    layers.case([(a, lambda: 1), (b, lambda: 2)], lambda: 3)
    program = fluid.default_main_program()
    assert [block.parent_idx for block in program.blocks] == [-1, 0, 0, 0]
    assert [op.type for op in program.global_block().ops].count("select_input") == 1


def test_a_single_case_is_always_taken():
    assert run([layers.case([(flag(), lambda: 5)])], flag=NO)[0][0] == 5


def test_case_refuses_what_cannot_be():
    pred = flag()
    for kind, match, call in [
        (TypeError, "must be a list of .condition, function.", lambda: layers.case(pred)),
        (TypeError, r"pred_fn_pairs\[0\] must be \(condition", lambda: layers.case([pred])),
        (TypeError, r"pred_fn_pairs\[0\]\[1\] must be a func", lambda: layers.case([(pred, 1)])),
        (TypeError, r"\[0\]\[0\] must be a Var", lambda: layers.case([(1, lambda: 1)])),
        (TypeError, "default must be a", lambda: layers.case([(pred, lambda: 1)], default=3)),
        (fluid.InvalidArgument, "at least one", lambda: layers.case([])),
        (
            fluid.InvalidArgument,
            r"float32 \[2\] from pred_fn_pairs\[0\], float32 \[3\] from default",
            lambda: layers.case(
                [(pred, lambda: layers.zeros([2], "float32"))], lambda: layers.ones([3], "float32")
            ),
        ),
    ]:
        refused(kind, match, call)


# switch_case


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_switch_case_takes_the_branch_of_the_number(dtype):
    i = layers.data("i", [1], dtype=dtype, append_batch_size=False)
    x = scalar(10)
    listed = layers.switch_case(i, [lambda: x, lambda: x + 1.0, lambda: x + 2.0])
    numbered = layers.switch_case(i, {7: lambda: x + 7.0, -1: lambda: x - 1.0}, lambda: x * 0.0)
    pairs = layers.switch_case(i, [(4, lambda: x + 4.0), (2, lambda: x + 2.0)])
    executor = fluid.Executor()
    for value, expected in (
        (0, (10, 0, 14)),
        (1, (11, 0, 14)),
        (2, (12, 0, 12)),
        (7, (12, 17, 14)),
        (-1, (12, 9, 14)),
        (4, (12, 0, 14)),
    ):
        feed = {"i": np.array([value], dtype)}
        got = executor.run(feed=feed, fetch_list=[listed, numbered, pairs])
        assert tuple(float(g[0]) for g in got) == expected


def test_switch_case_refuses_what_cannot_be():
    x, i = vector(), scalar(0, "int64")
    one = {"f": lambda: 1}["f"]
    for kind, match, call in [
        (TypeError, "branch_index must be a Variable", lambda: layers.switch_case(0, [one])),
        (
            fluid.InvalidArgument,
            "branch_index must be int64 or int32, got float32 for 'x'",
            lambda: layers.switch_case(x, [one]),
        ),
        (TypeError, "branch_fns must be a list or a dict", lambda: layers.switch_case(i, one)),
        (TypeError, r"must hold \(number, function\)", lambda: layers.switch_case(i, {"a": one})),
        (TypeError, "function of number 1 must be", lambda: layers.switch_case(i, [one, 2])),
        (
            fluid.InvalidArgument,
            r"each with a number of its own, got the numbers \[3, 3\]",
            lambda: layers.switch_case(i, [(3, one), (3, one)]),
        ),
        (fluid.InvalidArgument, "at least one function", lambda: layers.switch_case(i, [])),
        (
            fluid.InvalidArgument,
            r"a tuple of 2 from branch 0, a tuple of 1 from branch 1",
            lambda: layers.switch_case(i, [lambda: (1, 2), lambda: (1,)]),
        ),
    ]:
        refused(kind, match, call)
