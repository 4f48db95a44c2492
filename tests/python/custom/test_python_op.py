"""custom_op: operators whose formulas are Python functions."""

from __future__ import annotations

import gc
import itertools
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import core, eager
from fluidcore.base.dtypes import numpy_dtype
from fluidcore.gradcheck import GradientError

_COUNT = itertools.count()


@pytest.fixture
def name() -> str:
    """Of an operator that no other test defines."""
    return f"custom_{next(_COUNT)}"


@pytest.fixture(autouse=True)
def programs() -> Iterator[None]:
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        yield


def cube(name: str, **options: Any) -> Any:
    @fluid.custom_op(name, inputs=["X"], outputs=["Out"], attrs={"scale": 1.0}, **options)
    class Cube:
        """Out = scale X^3."""

        @staticmethod
        def forward(x, out, scale):
            np.multiply(scale, x**3, out=out)

        @staticmethod
        def backward(x, dout, dx, scale):
            np.multiply(3 * scale * x**2, dout, out=dx)

    return Cube


def run(fetch: list[Any], **feed: Any) -> list[Any]:
    return fluid.Executor().run(feed=feed, fetch_list=fetch)


class TestALayerOfIt:
    def test_calculates_in_a_program(self, name):
        x = fluid.layers.data("x", [3])
        y = cube(name)(x, scale=2.0)
        assert y.shape == (-1, 3)
        value = np.array([[1, 2, 3]], "float32")
        np.testing.assert_array_equal(run([y], x=value)[0], 2 * value**3)

    def test_is_found_by_name_with_its_documentation(self, name):
        cube(name)
        layer = getattr(fluid.layers, name)
        assert "Out = scale X^3." in layer.__doc__
        assert "scale" in str(layer.__signature__)

    @pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int64"])
    def test_takes_every_dtype(self, name, dtype):
        x = fluid.layers.data("x", [2], append_batch_size=False, dtype=dtype)
        (got,) = run([double(name)(x)], x=np.array([1, 3]).astype(numpy_dtype(dtype)))
        assert got.dtype.name == dtype
        np.testing.assert_array_equal(got.astype("float64"), [2, 6])

    def test_works_at_once(self, name):
        cube(name)
        x = eager.Tensor(np.array([1.0, 2.0]), requires_grad=True)
        y = getattr(eager, name)(x, scale=0.5)
        y.sum().backward()
        np.testing.assert_array_equal(y.numpy(), [0.5, 4.0])
        np.testing.assert_array_equal(x.grad.numpy(), [1.5, 6.0])


def double(name: str) -> Any:
    @fluid.custom_op(name, inputs=["X"], outputs=["Out"])
    class Double:
        @staticmethod
        def forward(x, out):
            np.add(x, x, out=out)

    return Double


class TestItsGradient:
    def test_is_part_of_a_program_that_trains(self, name):
        x = fluid.layers.data("x", [3])
        h = fluid.layers.fc(x, 4, param_attr=fluid.ParamAttr(name="w"))
        loss = fluid.layers.mean(cube(name)(h))
        fluid.optimizer.SGD(0.1).minimize(loss)
        exe = fluid.Executor()
        exe.run(fluid.default_startup_program())
        feed = {"x": np.full((2, 3), 0.5, "float32")}
        losses = [float(exe.run(feed=feed, fetch_list=[loss])[0][0]) for _ in range(5)]
        assert losses == sorted(losses, reverse=True)
        assert losses[-1] < losses[0]

    def test_keeps_only_what_backward_reads(self, name):
        cube(name)
        definition = core.op_def(f"{name}_grad")
        assert [s.name for s in definition.inputs] == ["X", "Out@GRAD"]

        @fluid.custom_op(f"{name}_b", inputs=["X"], outputs=["Out"])
        class Exp:
            @staticmethod
            def forward(x, out):
                np.exp(x, out=out)

            @staticmethod
            def backward(out, dout, dx):
                np.multiply(out, dout, out=dx)

        slots = {s.name: s.shape_only for s in core.op_def(f"{name}_b_grad").inputs}
        assert slots == {"X": True, "Out": False, "Out@GRAD": False}

    def test_of_an_input_that_nobody_asks_for_is_none(self, name):
        seen = []

        @fluid.custom_op(name, inputs=["X", "Y"], outputs=["Out"], check=False)
        class Product:
            @staticmethod
            def forward(x, y, out):
                np.multiply(x, y, out=out)

            @staticmethod
            def backward(x, y, dout, dx, dy):
                seen.append((dx is None, dy is None))
                if dx is not None:
                    np.multiply(y, dout, out=dx)
                if dy is not None:
                    np.multiply(x, dout, out=dy)

        x = fluid.layers.data("x", [2], append_batch_size=False, stop_gradient=False)
        y = fluid.layers.data("y", [2], append_batch_size=False)
        (gradient,) = fluid.gradients([fluid.layers.reduce_sum(Product(x, y))], [x])
        got = run([gradient], x=np.ones(2, "float32"), y=np.array([3, 4], "float32"))
        np.testing.assert_array_equal(got[0], [3, 4])
        assert seen == [(False, True)]

    def test_there_is_none_without_backward(self, name):
        x = fluid.layers.data("x", [2], stop_gradient=False)
        loss = fluid.layers.mean(double(name)(x))
        with pytest.raises(core.InvalidArgument, match=f"{name}.*gradient"):
            fluid.append_backward(loss, parameter_list=["x"])

    def test_is_proven_when_it_is_defined(self, name):
        with pytest.raises(GradientError, match=name):

            @fluid.custom_op(name, inputs=["X"], outputs=["Out"])
            class Wrong:
                @staticmethod
                def forward(x, out):
                    np.multiply(x, x, out=out)

                @staticmethod
                def backward(x, dout, dx):
                    np.multiply(x, dout, out=dx)

        assert name not in core.op_types()
        assert f"{name}_grad" not in core.op_types()

    def test_is_proven_at_the_examples(self, name):
        seen = []

        @fluid.custom_op(name, inputs=["X"], outputs=["Out"], examples={"X": np.linspace(0, 1, 5)})
        class Sine:
            @staticmethod
            def forward(x, out):
                seen.append(x.shape)
                np.sin(x, out=out)

            @staticmethod
            def backward(x, dout, dx):
                np.multiply(np.cos(x), dout, out=dx)

        assert (5,) in seen


class TestInfer:
    def test_gives_shape_and_dtype_of_each_output(self, name):
        @fluid.custom_op(
            name, inputs=["X"], outputs=["Low", "Index"], attrs={"axis": 0}, check=False
        )
        class Lowest:
            @staticmethod
            def infer(x, axis):
                shape = tuple(n for i, n in enumerate(x.shape) if i != axis)
                return fluid.custom.Spec(shape, x.dtype), fluid.custom.Spec(shape, "int64")

            @staticmethod
            def forward(x, low, index, axis):
                np.min(x, axis=axis, out=low)
                np.argmin(x, axis=axis, out=index)

        x = fluid.layers.data("x", [3])
        low, index = Lowest(x, axis=1)
        assert (low.shape, index.shape) == ((-1,), (-1,))
        got = run([low, index], x=np.array([[3, 1, 2], [0, 5, 6]], "float32"))
        np.testing.assert_array_equal(got[0], [1, 0])
        np.testing.assert_array_equal(got[1], [1, 0])

    @pytest.mark.parametrize(
        "given",
        [(3, 4), fluid.custom.Spec((2.5,), "float32"), fluid.custom.Spec((-2,), "float32")],
        ids=["tuple", "fraction", "negative"],
    )
    def test_that_gives_something_else_is_an_error(self, name, given):
        @fluid.custom_op(name, inputs=["X"], outputs=["Out"])
        class Odd:
            @staticmethod
            def infer(x):
                return given

            @staticmethod
            def forward(x, out):
                pass

        x = fluid.layers.data("x", [3])
        with pytest.raises(TypeError, match=f"{name}: infer must return a Spec for each of 1"):
            Odd(x)

    def test_that_leaves_an_extent_unknown_is_an_error_when_it_runs(self, name):
        @fluid.custom_op(name, inputs=["X"], outputs=["Out"])
        class Unknown:
            @staticmethod
            def infer(x):
                return fluid.custom.Spec((-1, 3), x.dtype)

            @staticmethod
            def forward(x, out):
                pass

        y = Unknown(fluid.layers.data("x", [3]))
        with pytest.raises(core.InvalidArgument, match=f"{name}: Out must have a known shape"):
            run([y], x=np.ones((2, 3), "float32"))


class TestAMistake:
    def test_in_forward_says_where_the_operator_was_added(self, name):
        @fluid.custom_op(name, inputs=["X"], outputs=["Out"])
        class Broken:
            @staticmethod
            def forward(x, out):
                raise ZeroDivisionError("no luck")

        y = Broken(fluid.layers.data("x", [2]))
        with pytest.raises(ZeroDivisionError, match="no luck") as raised:
            run([y], x=np.ones((1, 2), "float32"))
        assert "test_python_op.py" in raised.value.__notes__[0]
        assert "y = Broken" in raised.value.__notes__[0]

    def test_an_input_is_not_written(self, name):
        @fluid.custom_op(name, inputs=["X"], outputs=["Out"])
        class Writes:
            @staticmethod
            def forward(x, out):
                x[0] = 1

        y = Writes(fluid.layers.data("x", [2]))
        with pytest.raises(ValueError, match="read-only"):
            run([y], x=np.ones((1, 2), "float32"))

    def test_a_result_must_be_written(self, name):
        @fluid.custom_op(name, inputs=["X"], outputs=["Out"])
        class Returns:
            @staticmethod
            def forward(x, out):
                return x

        y = Returns(fluid.layers.data("x", [2]))
        message = f"{name}: forward must write into its results, .* got ndarray"
        with pytest.raises(TypeError, match=message):
            run([y], x=np.ones((1, 2), "float32"))

    def test_what_is_kept_is_an_error(self, name):
        kept = []

        @fluid.custom_op(name, inputs=["X"], outputs=["Out"])
        class Keeps:
            @staticmethod
            def forward(x, out):
                kept.append(x[:1])

        y = Keeps(fluid.layers.data("x", [2]))
        with pytest.raises(core.InvalidArgument, match=f"{name}: forward must not keep X"):
            run([y], x=np.ones((1, 2), "float32"))
        kept.clear()
        gc.collect()

    @pytest.mark.parametrize(
        ("formulas", "message"),
        [
            ({}, "there must be a function forward or decompose, got none"),
            ({"forward": lambda x: None}, "each output must be a parameter, .* none for out"),
            ({"forward": lambda x, out, y: None}, "one of x, out, scale, got 'y'"),
            ({"forward": lambda *x: None}, r"one of x, out, scale, got '\*x'"),
            (
                {"forward": lambda x, out: None, "backward": lambda x, dx: None},
                r"must take a cotangent \(dout\) and a gradient to write \(dx\), got x, dx",
            ),
        ],
    )
    def test_in_the_functions_is_found_when_it_is_defined(self, name, formulas, message):
        make = fluid.custom_op(name, inputs=["X"], outputs=["Out"], attrs={"scale": 1.0})
        with pytest.raises(core.InvalidArgument, match=message):
            make(type("Formulas", (), formulas))
        assert name not in core.op_types()

    def test_in_the_names_is_found_when_it_is_declared(self, name):
        with pytest.raises(core.InvalidArgument, match="custom_op: relu: the type must be free"):
            fluid.custom_op("relu", inputs=["X"], outputs=["Out"])
        with pytest.raises(core.InvalidArgument, match="got 'x' twice"):
            fluid.custom_op(name, inputs=["X"], outputs=["x"])
        with pytest.raises(core.InvalidArgument, match="does not end with _grad"):
            fluid.custom_op("a_grad", inputs=["X"], outputs=["Out"])
        with pytest.raises(core.InvalidArgument, match="does not begin with c_, as what several"):
            fluid.custom_op("c_mine", inputs=["X"], outputs=["Out"])
        with pytest.raises(core.InvalidArgument, match=r'inputs must be a list of names, \["X"\]'):
            fluid.custom_op(name, inputs="X", outputs=["Out"])


class TestDefinedAgain:
    def test_a_program_that_exists_runs_the_new_one(self, name):
        x = fluid.layers.data("x", [2])
        y = double(name)(x)
        exe = fluid.Executor()
        feed = {"x": np.ones((1, 2), "float32")}
        assert exe.run(feed=feed, fetch_list=[y])[0].tolist() == [[2, 2]]

        @fluid.custom_op(name, inputs=["X"], outputs=["Out"])
        class Triple:
            @staticmethod
            def forward(x, out):
                np.multiply(3, x, out=out)

        assert exe.run(feed=feed, fetch_list=[y])[0].tolist() == [[3, 3]]

    def test_its_layer_has_the_new_arguments(self, name):
        double(name)
        assert "scale" not in str(getattr(fluid.layers, name).__signature__)
        cube(name)
        assert "scale" in str(getattr(fluid.layers, name).__signature__)

    def test_wrongly_leaves_the_old_one(self, name):
        cube(name)
        with pytest.raises(GradientError):

            @fluid.custom_op(name, inputs=["X"], outputs=["Out"])
            class Wrong:
                @staticmethod
                def forward(x, out):
                    np.multiply(x, x, out=out)

                @staticmethod
                def backward(x, dout, dx):
                    dx[...] = dout

        assert [attr.name for attr in core.op_def(name).attrs] == ["scale"]


class TestASavedModel:
    def test_names_the_operators_that_are_not_defined(self, name, tmp_path):
        y = double(name)(fluid.layers.data("x", [3]))
        exe = fluid.Executor()
        fluid.io.save_inference_model(tmp_path, ["x"], [y], exe)
        script = (
            "import sys, fluidcore as fluid\n"
            "fluid.io.load_inference_model(sys.argv[1], fluid.Executor())"
        )
        command = [sys.executable, "-c", script, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert f"must be defined, got no {name}; load their library first" in done.stderr
        program, feeds, targets = fluid.io.load_inference_model(tmp_path, exe)
        value = np.ones((1, 3), "float32")
        got = exe.run(program, feed={feeds[0]: value}, fetch_list=targets)
        np.testing.assert_array_equal(got[0], 2 * value)


def test_in_a_loop_it_runs_in_every_step(name):
    x = fluid.layers.data("x", [3])
    count = fluid.layers.fill_constant([1], "int64", 0)
    last = fluid.layers.fill_constant([1], "int64", 5)
    value = fluid.layers.assign(x)
    goes_on = fluid.layers.less_than(count, last)
    layer = double(name)
    loop = fluid.layers.While(goes_on)
    with loop.block():
        fluid.layers.assign(layer(value), value)
        fluid.layers.increment(count)
        fluid.layers.less_than(count, last, cond=goes_on)
    (got,) = run([value], x=np.ones((1, 3), "float32"))
    np.testing.assert_array_equal(got, np.full((1, 3), 32))
