"""What ends a run early: signals, a timeout, the end of the interpreter.

The loops here have no end, so that a test passes if and only if something ends them.
"""

import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import core, layers
from fluidcore.gradcheck import GradCheckConfig, GradientChecker
from fluidcore.gradcheck.verdict import Reason, Verdict

FOR_EVER = 2**60  # steps


def add_endless_loop(work: fluid.Variable) -> fluid.Variable:
    """Adds 1 to `work` again and again."""
    return layers.while_loop(lambda _: fill(True), lambda w: w + 1.0, [work], max_steps=FOR_EVER)[0]


def fill(value: bool) -> fluid.Variable:
    return layers.fill_constant([1], "bool", value)


@pytest.fixture
def endless() -> tuple[fluid.Variable, fluid.Variable]:
    """A program that changes a variable of the scope and never ends."""
    weight = layers.create_global_var([2], 1.0, "float32", persistable=True, name="weight")
    layers.assign(layers.scale(weight, scale=2.0), output=weight)
    end = add_endless_loop(layers.assign(weight))
    fluid.Executor().run(fluid.default_startup_program())
    return weight, end


def end_by_signals(
    run: Callable[[], object],
    handle: Callable[[], None],
    exception: type[BaseException],
    number: int = signal.SIGUSR1,
) -> None:
    """Sends signals until the run ends with what the handler raises."""
    armed, stop = threading.Event(), threading.Event()

    def guarded(*_: object) -> None:
        if armed.is_set() and not stop.is_set():
            try:
                handle()
            except BaseException:
                stop.set()  # the next signal would raise outside of the run
                raise

    def send() -> None:
        while not stop.wait(0.005):
            signal.raise_signal(number)

    def run_armed() -> None:
        armed.set()
        run()

    before = signal.signal(number, guarded)
    sender = threading.Thread(target=send)
    sender.start()
    try:
        with pytest.raises(exception):
            run_armed()
    finally:
        stop.set()
        sender.join()
        signal.signal(number, before)


def fetch(*variables: fluid.Variable) -> Callable[[], object]:
    return lambda: fluid.Executor().run(fetch_list=list(variables))


def weight_now() -> np.ndarray:
    return np.array(fluid.global_scope().find_var("weight").get_tensor())


class EndedError(Exception):
    """Of a signal handler."""


def end_at(call: int, exception: type[BaseException] = EndedError) -> Callable[[], None]:
    """A handler that raises when it is called so often."""
    calls = []

    def handle() -> None:
        calls.append(None)
        if len(calls) == call:
            raise exception

    return handle


def test_ctrl_c_ends_a_run_and_leaves_the_scope_as_it_was(endless):
    weight, end = endless
    names = fluid.global_scope().local_var_names()
    interrupt = end_at(1, KeyboardInterrupt)
    end_by_signals(fetch(end), interrupt, KeyboardInterrupt, signal.SIGINT)
    np.testing.assert_array_equal(weight_now(), [1, 1])
    assert fluid.global_scope().local_var_names() == names
    fetch(weight)()
    np.testing.assert_array_equal(weight_now(), [2, 2])


def test_what_a_signal_handler_raises_ends_the_run(endless):
    end_by_signals(fetch(endless[1]), end_at(1), EndedError)


def test_a_run_goes_on_after_a_handler_that_returns(endless):
    end_by_signals(fetch(endless[1]), end_at(3), EndedError)


def test_a_handler_may_run_another_program_and_not_touch_what_the_run_uses(endless):
    other = fluid.Program()
    with fluid.program_guard(other):
        one = layers.fill_constant([1], "float32", 1.0)
    messages = []

    def handle() -> None:
        assert fluid.Executor().run(other, fetch_list=[one])[0][0] == 1
        try:
            weight_now()
        except core.InvalidArgument as error:
            messages.append(str(error))
        if messages:
            raise EndedError

    end_by_signals(fetch(endless[1]), handle, EndedError)
    assert messages[0] == (
        "tensor: a variable of a scope must be used after the run that uses it, got a call from "
        "inside of that run, as from a signal handler"
    )


def test_nested_loops_and_branches_are_interrupted():
    x = layers.fill_constant([1], "float32", 0.0)

    def body(y: fluid.Variable) -> fluid.Variable:
        return layers.cond(fill(True), lambda: add_endless_loop(y), lambda: y)

    (end,) = layers.while_loop(lambda _: fill(True), body, [x], max_steps=FOR_EVER)
    end_by_signals(fetch(end), end_at(1), EndedError)


def test_an_endless_step_of_a_static_rnn_is_interrupted():
    x = layers.data("x", [3, 1, 2], append_batch_size=False)
    rnn = layers.StaticRNN()
    with rnn.step():
        rnn.step_output(add_endless_loop(rnn.step_input(x)))
    feed = {"x": np.zeros((3, 1, 2), np.float32)}
    end_by_signals(
        lambda: fluid.Executor().run(feed=feed, fetch_list=[rnn()]), end_at(1), EndedError
    )


def test_a_timeout_ends_a_run_and_names_the_operator(endless):
    with pytest.raises(fluid.TimedOut) as caught:
        fluid.Executor().run(fetch_list=[endless[1]], timeout=1e-9)
    assert isinstance(caught.value, fluid.Error)
    assert isinstance(caught.value, TimeoutError)
    assert str(caught.value) == (
        "scale: the run must end within 1e-09 s, got this still to do; give it more time, or "
        "look for a loop without an end"
    )
    (note,) = caught.value.__notes__
    assert note.startswith("operator 0 of block 0 (scale), added at ")
    assert note.endswith(": layers.assign(layers.scale(weight, scale=2.0), output=weight)")
    np.testing.assert_array_equal(weight_now(), [1, 1])


def test_a_timeout_ends_a_run_in_another_thread(endless):
    scope = fluid.global_scope()
    caught = []

    def work() -> None:
        try:
            main = endless[1].block.program
            fluid.Executor().run(main, fetch_list=[endless[1].name], scope=scope, timeout=0.05)
        except fluid.TimedOut as error:
            caught.append(error.__notes__[0])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(caught) == 1
    assert " of block 1 (" in caught[0] or " of block 0 (while)" in caught[0]
    np.testing.assert_array_equal(weight_now(), [1, 1])


def test_a_run_that_ends_in_time_is_not_changed_by_a_timeout():
    one = layers.fill_constant([1], "float32", 1.0)
    for timeout in (3600, 1e300, float("inf"), None):
        assert fluid.Executor().run(fetch_list=[one], timeout=timeout)[0][0] == 1


@pytest.mark.parametrize("timeout", [0, -1.5, float("nan")])
def test_a_timeout_must_be_positive(timeout):
    with pytest.raises(core.InvalidArgument) as caught:
        fluid.Executor().run(timeout=timeout)
    assert str(caught.value) == (
        f"run: timeout must be a positive number of seconds, got {float(timeout)}"
    )


def test_a_timeout_must_be_a_number():
    with pytest.raises(TypeError, match=r"^timeout must be a number of seconds or None, got '5'$"):
        fluid.Executor().run(timeout="5")  # type: ignore[arg-type]


def endless_loss() -> fluid.Variable:
    x = layers.data("x", [2], stop_gradient=False)
    h = layers.fc(x, 2, param_attr="w")
    done = add_endless_loop(layers.reduce_sum(h))
    loss = layers.reduce_sum(layers.elementwise_mul(done, done))
    fluid.append_backward(loss)
    fluid.Executor().run(fluid.default_startup_program())
    return loss


FEED = {"x": np.ones((1, 2), np.float32)}


def test_a_check_of_a_program_ends_when_its_budget_is_over():
    loss = endless_loss()
    checker = GradientChecker(GradCheckConfig(budget_s=0.05))
    program = fluid.default_main_program()
    report = checker.check_program(program, FEED, loss, raise_exception=False)
    assert report.verdict is Verdict.INCONCLUSIVE
    for result in report.results:
        assert (result.verdict, result.reasons) == (Verdict.INCONCLUSIVE, (Reason.BUDGET,))
        assert result.detail == "there was no time left"


def test_ctrl_c_ends_a_check():
    loss = endless_loss()
    main = fluid.default_main_program()
    end_by_signals(lambda: GradientChecker().check_program(main, FEED, loss), end_at(1), EndedError)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_engine_ends_an_evaluation_of_a_program(workers):
    x = layers.data("x", [2], dtype="float64", stop_gradient=False)
    # Endless only at a moved point.
    moved = layers.not_equal(layers.reduce_sum(x), layers.fill_constant([1], "float64", 2.0))
    total = layers.reduce_sum(x)
    y = layers.cond(moved, lambda: add_endless_loop(total), lambda: layers.assign(total))
    point = np.ones((1, 2))
    desc = fluid.default_main_program().desc
    f = core.ProgramFunction(desc, {"x": point}, ["x"], [y.name])
    with core.TimeLimit(0.05), pytest.raises(core.OutOfTime):
        core.differentiate(f, 0, [np.ones(1)], workers=workers)
    end_by_signals(
        lambda: core.differentiate(f, 0, [np.ones(1)], workers=workers), end_at(1), EndedError
    )
    np.testing.assert_array_equal(np.asarray(f.inputs()[0]), point)


def test_time_limits_nest():
    one = layers.fill_constant([1], "float32", 1.0)
    exe = fluid.Executor()
    with core.TimeLimit(1e-9):
        with core.TimeLimit(1000.0), pytest.raises(core.OutOfTime, match="within 1e-09 s"):
            exe.run(fetch_list=[one])
        with core.TimeLimit(None), pytest.raises(core.OutOfTime):
            exe.run(fetch_list=[one], timeout=1000)
    exe.run(fetch_list=[one])


# Three threads that run a loop of STEPS steps again and again.
RUNNING = """
import threading
import fluidcore as fluid
from fluidcore import layers

zero = layers.fill_constant([1], "int64", 0)
(end,) = layers.while_loop(lambda i: i < STEPS, lambda i: [i + 1], [zero], max_steps=STEPS)
exe = fluid.Executor()
main = fluid.default_main_program()
begun = threading.Event()

def work():
    begun.set()
    while True:
        exe.run(main, fetch_list=[end], scope=fluid.Scope())

threads = [threading.Thread(target=work, daemon=True) for _ in range(3)]
for thread in threads:
    thread.start()
begun.wait()
"""
ENDLESS = RUNNING.replace("STEPS", str(FOR_EVER))
SHORT = RUNNING.replace("STEPS", "1000")


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        # Python 3.12 warns of a fork beside threads, which is what some of these are about.
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@pytest.mark.parametrize("running", [SHORT, ENDLESS])
@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("", 0),
        ("import sys; sys.exit(3)", 3),
        ("import time; time.sleep(0.1)", 0),
        # What is to run at exit still runs programs.
        (
            "import atexit; one = layers.fill_constant([1], 'float32', 1.0); "
            "atexit.register(lambda: print(exe.run(fetch_list=[one])))",
            0,
        ),
        ("import os; pid = os.fork(); pid and os.waitpid(pid, 0)", 0),
    ],
)
def test_the_interpreter_exits_quietly_with_threads_inside_of_runs(running, end, status):
    done = run_python(running + end)
    assert (done.returncode, done.stderr) == (status, "")


def test_the_interpreter_exits_quietly_with_a_thread_inside_of_a_check():
    done = run_python(
        """
        import threading
        import numpy as np
        from fluidcore.gradcheck import check

        begun = threading.Event()

        def f(x):
            begun.set()
            return np.tanh(x)

        def work():
            while True:
                check(f, np.linspace(0.1, 1, 300), vjp=lambda x, v: v * (1 - np.tanh(x) ** 2))

        threading.Thread(target=work, daemon=True).start()
        begun.wait()
        """
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_ctrl_c_ends_a_program_with_its_traceback():
    done = run_python(
        ENDLESS
        + """
import _thread
threading.Timer(0.1, _thread.interrupt_main).start()
exe.run(main, fetch_list=[end])
"""
    )
    assert done.returncode != 0
    assert done.stderr.rstrip().endswith("KeyboardInterrupt")
