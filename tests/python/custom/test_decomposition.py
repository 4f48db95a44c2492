"""custom_op: operators that stand for layers, and gradients that come from layers."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import core, eager, layers
from fluidcore.base.dtypes import numpy_dtype
from fluidcore.gradcheck import GradientChecker, GradientError

_COUNT = itertools.count()
ROWS = np.array([[0.5, -1.0, 2.0], [3.0, 0.25, -0.5]], "float32")


@pytest.fixture
def name() -> str:
    """Of an operator that no other test defines."""
    return f"decomposed_{next(_COUNT)}"


@pytest.fixture(autouse=True)
def programs() -> Iterator[None]:
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        yield


def swish_layers(x, beta):
    return layers.elementwise_mul(x, layers.sigmoid(layers.scale(x, beta)))


def swish_formula(x, out, beta):
    np.divide(x, 1 + np.exp(-beta * x), out=out)


def expected(x: Any, beta: float) -> Any:
    return x / (1 + np.exp(-beta * x))


def slope(x: Any, beta: float) -> Any:
    s = 1 / (1 + np.exp(-beta * x))
    return s + beta * x * s * (1 - s)


def defined(name: str, functions: dict[str, Any], **options: Any) -> Any:
    settings: dict[str, Any] = {"inputs": ["X"], "outputs": ["Out"]} | options
    return fluid.custom_op(name, **settings)(type("Formulas", (), functions))


ONLY_LAYERS = {"decompose": swish_layers}
WITH_FORWARD = {"decompose": swish_layers, "forward": swish_formula}


def swish(name: str, functions: dict[str, Any], **options: Any) -> Any:
    return defined(name, functions, attrs={"beta": 1.0}, **options)


def run(fetch: list[Any], **feed: Any) -> list[Any]:
    return fluid.Executor().run(feed=feed, fetch_list=fetch)


def types(program: fluid.Program) -> list[str]:
    return [op.type for op in program.global_block().ops]


@pytest.mark.parametrize("functions", [ONLY_LAYERS, WITH_FORWARD])
class TestAnOperator:
    def test_calculates_what_the_layers_do(self, name, functions):
        y = swish(name, functions)(layers.data("x", [3]), beta=2.0)
        assert y.shape == (-1, 3)
        np.testing.assert_allclose(run([y], x=ROWS)[0], expected(ROWS, 2.0), rtol=1e-6)

    def test_has_the_gradient_of_the_layers(self, name, functions):
        x = layers.data("x", [3], stop_gradient=False)
        y = swish(name, functions)(x, beta=2.0)
        (dx,) = fluid.gradients([y], [x])
        np.testing.assert_allclose(run([dx], x=ROWS)[0], slope(ROWS, 2.0), rtol=1e-5)

    def test_has_gradients_of_the_gradient(self, name, functions):
        x = layers.data("x", [3], dtype="float64", stop_gradient=False)
        y = swish(name, functions)(x, beta=2.0)
        (dx,) = fluid.gradients([y], [x])
        (ddx,) = fluid.gradients([dx], [x])
        at, h = ROWS.astype("float64"), 1e-6
        difference = (slope(at + h, 2.0) - slope(at - h, 2.0)) / (2 * h)
        np.testing.assert_allclose(run([ddx], x=at)[0], difference, rtol=1e-7, atol=1e-9)

    def test_works_at_once(self, name, functions):
        swish(name, functions)
        x = eager.Tensor(ROWS, requires_grad=True)
        y = getattr(eager, name)(x, beta=2.0)
        y.sum().backward()
        np.testing.assert_allclose(y.numpy(), expected(ROWS, 2.0), rtol=1e-6)
        np.testing.assert_allclose(x.grad.numpy(), slope(ROWS, 2.0), rtol=1e-5)

    def test_is_proven_by_the_checker(self, name, functions):
        swish(name, functions, check=False)
        report = GradientChecker().check_op(name, {"X": ROWS.astype("float64")}, {"beta": 0.5})
        report.assert_ok()

    @pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
    def test_takes_every_floating_dtype(self, name, functions, dtype):
        swish(name, functions)
        x = eager.Tensor(ROWS.astype(numpy_dtype(dtype)))
        got = getattr(eager, name)(x, beta=2.0).numpy()
        assert got.dtype.name == dtype
        np.testing.assert_allclose(got.astype("float64"), expected(ROWS, 2.0), rtol=0.05)

    def test_is_part_of_a_program_that_trains(self, name, functions):
        x = layers.data("x", [3])
        h = swish(name, functions)(layers.fc(x, 4))
        loss = layers.mean(layers.square(h))
        fluid.optimizer.SGD(0.1).minimize(loss)
        exe = fluid.Executor()
        exe.run(fluid.default_startup_program())
        losses = [float(exe.run(feed={"x": ROWS}, fetch_list=[loss])[0][0]) for _ in range(5)]
        assert losses == sorted(losses, reverse=True)
        assert losses[-1] < losses[0]

    def test_runs_in_every_step_of_a_loop(self, name, functions):
        x = layers.data("x", [3])
        count = layers.fill_constant([1], "int64", 0)
        last = layers.fill_constant([1], "int64", 3)
        value = layers.assign(x)
        goes_on = layers.less_than(count, last)
        layer = swish(name, functions)
        loop = layers.While(goes_on)
        with loop.block():
            layers.assign(layer(value), value)
            layers.increment(count)
            layers.less_than(count, last, cond=goes_on)
        want = expected(expected(expected(ROWS, 1.0), 1.0), 1.0)
        np.testing.assert_allclose(run([value], x=ROWS)[0], want, rtol=1e-5)

    def test_may_overwrite_its_input(self, name, functions):
        swish(name, functions)
        x = layers.assign(layers.data("x", [3]))
        fluid.default_main_program().global_block().append_op(name, {"X": x}, {"Out": x})
        np.testing.assert_allclose(run([x], x=ROWS)[0], expected(ROWS, 1.0), rtol=1e-6)

    def test_is_an_activation_of_other_layers(self, name, functions):
        swish(name, functions)
        y = layers.relu(layers.data("x", [3]), act=name)
        want = expected(np.maximum(ROWS, 0), 1.0)
        np.testing.assert_allclose(run([y], x=ROWS)[0], want, rtol=1e-6)

    def test_may_be_used_in_the_layers_of_another(self, name, functions):
        inner = swish(name, functions)
        outer = defined(f"{name}_outer", {"decompose": lambda x: inner(inner(x, beta=2.0))})
        x = layers.data("x", [3], stop_gradient=False)
        y = outer(x)
        (dx,) = fluid.gradients([y], [x])
        once = expected(ROWS, 2.0)
        got, gradient = run([y, dx], x=ROWS)
        np.testing.assert_allclose(got, expected(once, 1.0), rtol=1e-5)
        np.testing.assert_allclose(gradient, slope(once, 1.0) * slope(ROWS, 2.0), rtol=1e-4)

    def test_runs_in_threads(self, name, functions):
        swish(name, functions)
        found: list[Any] = []

        def calculate() -> None:
            found.extend(getattr(eager, name)(eager.Tensor(ROWS)).numpy() for _ in range(20))

        threads = [threading.Thread(target=calculate) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 80
        for got in found:
            np.testing.assert_allclose(got, expected(ROWS, 1.0), rtol=1e-6)


class TestWithoutForward:
    def test_programs_get_the_layers(self, name):
        swish(name, ONLY_LAYERS)(layers.data("x", [3]), beta=2.0, name="s")
        program = fluid.default_main_program()
        assert types(program) == ["scale", "sigmoid", "elementwise_mul"]
        ops = program.global_block().ops
        assert ops[-1].output("Out") == ["s.tmp_0"]
        assert [op.output("Out") for op in ops[:2]] == [["s.tmp_0@PART@0"], ["s.tmp_0@PART@1"]]
        assert "test_decomposition.py" in ops[0].call_site

    def test_programs_that_are_traced_get_the_layers(self, name):
        swish(name, ONLY_LAYERS)
        traced = eager.trace(lambda x: getattr(eager, name)(x), eager.Tensor(ROWS))
        assert name not in types(traced.program)

    def test_a_saved_model_is_read_where_nothing_is_known_of_it(self, name, tmp_path):
        y = swish(name, ONLY_LAYERS)(layers.data("x", [3]))
        exe = fluid.Executor()
        fluid.io.save_inference_model(tmp_path, ["x"], [y], exe)
        script = (
            "import sys, numpy as np, fluidcore as fluid\n"
            "exe = fluid.Executor()\n"
            "program, feeds, targets = fluid.io.load_inference_model(sys.argv[1], exe)\n"
            "feed = {feeds[0]: np.full((1, 3), 2, 'float32')}\n"
            "print(exe.run(program, feed=feed, fetch_list=targets)[0].tolist())"
        )
        command = [sys.executable, "-c", script, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        np.testing.assert_allclose(eval(done.stdout), np.full((1, 3), expected(2, 1.0)), rtol=1e-6)

    def test_an_operator_that_is_put_first_is_written_out_there(self, name):
        swish(name, ONLY_LAYERS)
        x = layers.data("x", [3])
        layers.relu(x)
        block = fluid.default_main_program().global_block()
        block.prepend_op(name, {"X": x}, {"Out": "y"})
        assert types(block.program) == ["scale", "sigmoid", "elementwise_mul", "relu"]


class TestWithForward:
    def test_programs_get_the_operator(self, name):
        swish(name, WITH_FORWARD)(layers.data("x", [3]))
        assert types(fluid.default_main_program()) == [name]

    def test_the_layers_are_in_the_gradient_as_far_as_it_reads_them(self, name):
        x = layers.data("x", [3], stop_gradient=False)
        fluid.gradients([swish(name, WITH_FORWARD)(x)], [x])
        found = types(fluid.default_main_program())
        assert found.count("scale") == 2  # again, and the gradient of it
        assert "sigmoid_grad" in found
        assert f"{name}_grad" not in found

    def test_that_disagrees_is_an_error_with_numbers(self, name):
        def forward(x, out, beta):
            swish_formula(x, out, beta)
            out[1, 2] += 0.5

        with pytest.raises(
            core.InvalidArgument,
            match=rf"^{name}: decompose must make what forward does, got Out\[1, 2\] = 0\.\d+ of "
            r"decompose, 1\.\d+ of forward, in 1 of 12 elements they differ",
        ) as raised:
            swish(name, WITH_FORWARD | {"forward": forward})
        assert "test_decomposition.py" in raised.value.__notes__[0]
        assert name not in core.op_types()

    def test_that_gives_nan_is_an_error(self, name):
        def forward(x, out, beta):
            out[...] = np.nan

        with pytest.raises(core.InvalidArgument, match=r"nan of forward, in 12 of 12 elements"):
            swish(name, WITH_FORWARD | {"forward": forward})

    def test_may_round_as_it_likes(self, name):
        def forward(x, out, beta):
            out[...] = x * (0.5 + 0.5 * np.tanh(0.5 * beta * x))

        swish(name, WITH_FORWARD | {"forward": forward})


class TestWhatTheLayersMake:
    def test_may_be_several_outputs(self, name):
        def decompose(x, y):
            return layers.elementwise_add(x, y), layers.elementwise_mul(x, y)

        both = defined(
            name, {"decompose": decompose}, inputs=["X", "Y"], outputs=["Sum", "Product"]
        )
        x = layers.data("x", [3], stop_gradient=False)
        y = layers.data("y", [3], stop_gradient=False)
        total, product = both(x, y)
        gradients = fluid.gradients([product], [x, y])
        got = run([total, product, *gradients], x=ROWS, y=2 * ROWS)
        for found, want in zip(got, [3 * ROWS, 2 * ROWS**2, 2 * ROWS, ROWS], strict=True):
            np.testing.assert_allclose(found, want)

    @pytest.mark.parametrize("with_forward", [False, True])
    def test_may_be_an_input_and_a_result_twice(self, name, with_forward):
        def decompose(x):
            doubled = layers.scale(x, 2.0)
            return doubled, x, doubled

        def forward(x, a, b, c):
            a[...], b[...], c[...] = 2 * x, x, 2 * x

        functions = {"decompose": decompose} | ({"forward": forward} if with_forward else {})
        layer = defined(name, functions, outputs=["A", "B", "C"])
        x = layers.data("x", [3], stop_gradient=False)
        results = layer(x)
        (dx,) = fluid.gradients(list(results), [x])
        a, b, c, gradient = run([*results, dx], x=ROWS)
        for found, want in ((a, 2 * ROWS), (b, ROWS), (c, 2 * ROWS), (gradient, 0 * ROWS + 5)):
            np.testing.assert_array_equal(found, want)

    def test_has_shape_and_dtype_of_the_layers(self, name):
        layer = defined(name, {"decompose": lambda x: layers.reduce_sum(x, dim=[1])})
        assert layer(layers.data("x", [3])).shape == (-1,)
        whole = defined(
            f"{name}_int", {"decompose": lambda x: layers.cast(x, "int32")}, check=False
        )
        assert whole(layers.data("y", [3])).dtype == "int32"

    def test_depends_on_the_shape_of_the_input(self, name):
        def decompose(x):
            return layers.reduce_sum(x, dim=list(range(1, len(x.shape))))

        layer = defined(name, {"decompose": decompose})
        got = run([layer(layers.data("x", [2, 2]))], x=np.ones((3, 2, 2), "float32"))
        np.testing.assert_array_equal(got[0], [4, 4, 4])
        got = run([layer(layers.data("y", [5]))], y=np.ones((2, 5), "float32"))
        np.testing.assert_array_equal(got[0], [5, 5])

    def test_may_overwrite_its_variables(self, name):
        def decompose(x):
            value = layers.scale(x, 1.0)
            before = layers.square(value)
            layers.assign(layers.scale(value, 3.0), value)
            return layers.elementwise_add(before, value)

        x = layers.data("x", [3], stop_gradient=False)
        y = defined(name, {"decompose": decompose})(x)
        (dx,) = fluid.gradients([y], [x])
        got, gradient = run([y, dx], x=ROWS)
        np.testing.assert_allclose(got, ROWS**2 + 3 * ROWS, rtol=1e-6)
        np.testing.assert_allclose(gradient, 2 * ROWS + 3, rtol=1e-6)

    @pytest.mark.parametrize("with_forward", [False, True])
    def test_stops_gradients_where_the_layers_do(self, name, with_forward):
        def decompose(x):
            stopped = layers.scale(x, 2.0)
            stopped.stop_gradient = True
            return layers.elementwise_mul(x, stopped)

        def forward(x, out):
            np.multiply(2 * x, x, out=out)

        functions = {"decompose": decompose} | ({"forward": forward} if with_forward else {})
        x = layers.data("x", [3], stop_gradient=False)
        y = defined(name, functions, check=False)(x)
        (dx,) = fluid.gradients([y], [x])
        np.testing.assert_allclose(run([dx], x=ROWS)[0], 2 * ROWS, rtol=1e-6)

    @pytest.mark.parametrize("with_forward", [False, True])
    def test_stops_gradients_at_one_of_two_results_of_an_operator(self, name, with_forward):
        def decompose(x):
            first, second = layers.split(x, 2, dim=1)
            second.stop_gradient = True
            return layers.elementwise_mul(first, second)

        def forward(x, out):
            half = x.shape[1] // 2
            np.multiply(x[:, :half], x[:, half:], out=out)

        functions = {"decompose": decompose} | ({"forward": forward} if with_forward else {})
        x = layers.data("x", [4], stop_gradient=False)
        y = defined(name, functions, check=False)(x)
        (dx,) = fluid.gradients([y], [x])
        value = np.arange(8, dtype="float32").reshape(2, 4)
        got = run([dx], x=value)[0]
        np.testing.assert_array_equal(got, np.hstack([value[:, 2:], np.zeros((2, 2))]))

    def test_need_not_have_a_gradient(self, name):
        layer = defined(name, {"decompose": lambda x: layers.sign(x)})
        (got,) = run([layer(layers.data("x", [3]))], x=ROWS)
        np.testing.assert_array_equal(got, np.sign(ROWS))


def outside() -> Any:
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        return layers.fill_constant([1], "float32", 1.0)


def looped(x):
    count = layers.fill_constant([1], "int64", 0)
    goes_on = layers.less_than(count, layers.fill_constant([1], "int64", 3))
    loop = layers.While(goes_on)
    with loop.block():
        layers.increment(count)
        layers.less_than(count, layers.fill_constant([1], "int64", 3), cond=goes_on)
    return layers.scale(x, 2.0)


BAD: list[tuple[str, Callable[..., Any], str, str]] = [
    (
        "another program",
        lambda x: layers.elementwise_add(x, outside()),
        "elementwise_add: the variables of slot 'Y' must belong to this program",
        "layers.elementwise_add(x, outside())",
    ),
    (
        "a result of another program",
        lambda x: outside(),
        "decompose must return what it makes of its inputs, got 'fill_constant_.*', which",
        "lambda x: outside()",
    ),
    (
        "parameters",
        lambda x: layers.fc(x, 4),
        "decompose must make nothing that lives between runs, got 'fc_0.w_0'; let parameters",
        "layers.fc(x, 4)",
    ),
    (
        "too many results",
        lambda x: (x, x),
        "decompose must return a Variable for each of 1 outputs, Out, got Variable, Variable",
        "lambda x: (x, x)",
    ),
    (
        "nothing",
        lambda x: None,
        "decompose must return a Variable for each of 1 outputs, Out, got NoneType",
        "lambda x: None",
    ),
    (
        "random numbers",
        lambda x: layers.dropout(x, 0.5),
        r"decompose must draw no random numbers, got dropout\(",
        "layers.dropout(x, 0.5)",
    ),
    (
        "data",
        lambda x: layers.elementwise_add(x, layers.data("more", [4], dtype=x.dtype)),
        "decompose must read its inputs and what it makes of them alone, got 'more'",
        "layers.elementwise_add(x, ",
    ),
    (
        "a block",
        looped,
        r"decompose must be of operators on tensors, without blocks, got while\(",
        "loop.block()",
    ),
    (
        "what does not fit",
        lambda x: layers.reshape(x, [7]),
        "reshape",
        "layers.reshape(x, [7])",
    ),
]


class TestAMistake:
    @pytest.mark.parametrize("with_forward", [False, True])
    @pytest.mark.parametrize(
        ("decompose", "message", "line"), [case[1:] for case in BAD], ids=[c[0] for c in BAD]
    )
    def test_in_the_layers_is_an_error_with_its_line(
        self, name, decompose, message, line, with_forward
    ):
        functions = {"decompose": decompose}
        if with_forward:
            functions["forward"] = lambda x, out: None
        with pytest.raises(core.InvalidArgument, match=message) as raised:
            defined(name, functions)
        assert any(line in note for note in raised.value.__notes__)
        assert name not in core.op_types()
        assert not hasattr(layers, name)

    def test_that_raises_is_that_error(self, name):
        def decompose(x):
            raise ZeroDivisionError("no luck")

        with pytest.raises(ZeroDivisionError, match="no luck"):
            defined(name, {"decompose": decompose})
        assert name not in core.op_types()

    @pytest.mark.parametrize("with_forward", [False, True])
    def test_to_use_itself_is_an_error(self, name, with_forward):
        functions: dict[str, Any] = {"decompose": lambda x: getattr(layers, name)(x)}
        if with_forward:
            functions["forward"] = lambda x, out: None
        with pytest.raises(
            core.InvalidArgument,
            match=f"{name}: decompose must be made of other operators, got {name} itself",
        ) as raised:
            defined(name, functions)
        assert any("getattr(layers, name)(x)" in note for note in raised.value.__notes__)
        assert name not in core.op_types()

    def test_in_the_shape_is_an_error(self, name):
        functions = {
            "infer": lambda x: fluid.custom.Spec(x.shape, x.dtype),
            "decompose": lambda x: layers.reduce_sum(x, dim=[1]),
        }
        with pytest.raises(
            core.InvalidArgument,
            match=rf"{name}: decompose must make Out as infer declares it, \w+ \[3, 4\], got \w+ "
            r"\[3\]",
        ):
            defined(name, functions)
        assert name not in core.op_types()

    def test_is_found_when_the_operator_is_used_if_nothing_was_checked(self, name):
        layer = defined(name, {"decompose": lambda x: layers.fc(x, 4)}, check=False)
        x = layers.data("x", [3])
        with pytest.raises(core.InvalidArgument, match="nothing that lives between runs"):
            layer(x)
        program = fluid.default_main_program()
        assert types(program) == []
        assert [v.name for v in program.list_vars()] == ["x"]
        assert types(fluid.default_startup_program()) == []

    def test_is_to_give_backward_too(self, name):
        functions = WITH_FORWARD | {"backward": lambda x, dout, dx: None}
        with pytest.raises(
            core.InvalidArgument,
            match=f"^custom_op: {name}: the gradient must come from one function, got backward "
            "and decompose$",
        ):
            swish(name, functions)
        assert name not in core.op_types()

    def test_in_the_parameters_is_an_error(self, name):
        with pytest.raises(core.InvalidArgument, match="one of x, beta, got 'out'"):
            swish(name, {"decompose": lambda x, out: x})
        assert name not in core.op_types()

    def test_in_the_gradient_is_an_error(self, name):
        def decompose(x, beta):
            stopped = layers.scale(x, beta)
            stopped.stop_gradient = True
            return layers.elementwise_mul(x, stopped)

        with pytest.raises(GradientError, match=name):
            swish(name, {"decompose": decompose})
        assert name not in core.op_types()

    def test_leaves_the_operator_that_there_was(self, name):
        swish(name, ONLY_LAYERS)
        with pytest.raises(core.InvalidArgument):
            defined(name, {"decompose": lambda x: (x, x)})
        y = getattr(layers, name)(layers.data("x", [3]), beta=2.0)
        np.testing.assert_allclose(run([y], x=ROWS)[0], expected(ROWS, 2.0), rtol=1e-6)


def test_to_define_an_operator_again_replaces_its_layers(name):
    inner = defined(name, {"decompose": lambda x: layers.scale(x, 2.0)})
    outer = defined(f"{name}_outer", {"decompose": lambda x: inner(x)})
    x = layers.data("x", [3])
    np.testing.assert_array_equal(run([outer(x)], x=ROWS)[0], 2 * ROWS)
    defined(name, {"decompose": lambda x: layers.scale(x, 3.0)})
    np.testing.assert_array_equal(run([outer(x)], x=ROWS)[0], 3 * ROWS)


def test_it_is_written_down_once_for_a_shape(name):
    calls = []

    def decompose(x):
        calls.append(x.shape)
        return layers.scale(x, 2.0)

    layer = defined(name, {"decompose": decompose}, check=False)
    for _ in range(3):
        layer(layers.data("x", [3]))
    layer(layers.data("y", [4]))
    assert calls == [(-1, 3), (-1, 4)]
