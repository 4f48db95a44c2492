"""One scope in several threads: nothing is read while it is written, and nothing crashes."""

import gc
import threading
from collections.abc import Callable

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import core, layers

TIMES = 200


def together(*jobs: Callable[[], None]) -> None:
    """Calls each job so often, in a thread of its own; raises the first of their exceptions."""
    errors: list[BaseException] = []

    def repeat(job: Callable[[], None]) -> None:
        try:
            for _ in range(TIMES):
                job()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=repeat, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


class Model:
    """weight = weight + 1, and its sum."""

    def __init__(self, size: int) -> None:
        self.main, self.startup, self.scope = fluid.Program(), fluid.Program(), fluid.Scope()
        with fluid.program_guard(self.main, self.startup):
            self.weight = layers.create_global_var(
                [size], 1.0, "float32", persistable=True, name="weight"
            )
            self.sum = layers.reduce_sum(self.weight)
            layers.assign(self.weight + 1.0, output=self.weight)
        self.exe = fluid.Executor()
        self.exe.run(self.startup, scope=self.scope)
        self.size = size

    def step(self) -> float:
        (value,) = self.exe.run(self.main, fetch_list=[self.sum], scope=self.scope)
        return float(value.item()) / self.size

    def tensor(self) -> fluid.Tensor:
        return self.scope.find_var("weight").get_tensor()


@pytest.fixture(params=[4, 100_000])
def model(request: pytest.FixtureRequest) -> Model:
    return Model(request.param)


def test_a_variable_is_set_between_runs(model):
    value = np.full(model.size, 5, np.float32)
    seen: list[float] = []
    together(
        lambda: seen.append(model.step()),
        lambda: model.tensor().set(value),
        lambda: model.tensor().set(value),
    )
    # No sum mixes elements from before and after.
    assert all(value == int(value) for value in seen)


def test_runs_of_two_executors_on_one_scope_lose_no_update(model):
    other = fluid.Executor()
    together(model.step, lambda: other.run(model.main, scope=model.scope))
    np.testing.assert_array_equal(np.asarray(model.tensor()), 1 + 2 * TIMES)


def test_an_array_of_a_variable_outlives_what_replaces_the_variable(model):
    value = np.zeros(model.size, np.float32)

    def look() -> None:
        view = np.asarray(model.tensor())
        other = np.from_dlpack(model.tensor())
        model.tensor().set(value)
        gc.collect(0)
        assert view.shape == other.shape == (model.size,)
        assert np.isfinite(view).all()

    together(model.step, look)


def test_names_come_and_go_during_runs(model):
    def change() -> None:
        model.scope.var("other").get_tensor().set(np.ones(3, np.float32))
        model.scope.local_var_names()
        model.scope.erase(["other"])
        child = model.scope.new_scope()
        child.var("x")
        model.scope.drop_kids()

    together(model.step, change, change)


def test_erasing_what_a_run_uses_does_not_harm_it(model):
    def restart() -> None:
        model.scope.erase(["weight"])
        model.exe.run(model.startup, scope=model.scope)

    def step() -> None:
        try:
            model.step()
        except core.InvalidArgument as error:
            assert "got no value in the scope" in str(error)  # noqa: PT017

    together(step, restart)


def test_elements_are_changed_between_runs():
    model = Model(2)

    def change() -> None:
        tensor = model.tensor()
        tensor.set_float_element(0, tensor.get_float_element(0))
        assert tensor.shape() == [2]

    together(model.step, change)


def test_a_save_holds_whole_steps(model, tmp_path):
    def save() -> None:
        with fluid.scope_guard(model.scope):
            fluid.io.save_persistables(model.exe, tmp_path / "saved", model.main)
        loaded = fluid.Scope()
        with fluid.scope_guard(loaded):
            fluid.io.load_persistables(model.exe, tmp_path / "saved", model.main)
        assert len(set(np.asarray(loaded.find_var("weight").get_tensor()).tolist())) == 1

    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            model.step()

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for _ in range(10):
            save()
    finally:
        stop.set()
        worker.join()


def test_runs_that_only_read_share_a_scope():
    model = Model(8)
    with fluid.program_guard(fluid.Program()):
        weight = (
            fluid.default_main_program()
            .global_block()
            .create_var("weight", shape=[8], dtype="float32", persistable=True)
        )
        total = layers.reduce_sum(weight)
        main = fluid.default_main_program()
    meet = threading.Barrier(3)

    def read() -> None:
        meet.wait()
        assert model.exe.run(main, fetch_list=[total], scope=model.scope)[0].item() == 8

    together(read, read, read)


def test_a_forked_child_does_not_wait_for_the_threads_of_its_parent(tmp_path):
    from test_interruption import ENDLESS, run_python

    done = run_python(
        ENDLESS
        + """
import os
import numpy as np

scope = fluid.Scope()
program = fluid.Program()
with fluid.program_guard(program):
    w = layers.create_global_var([1], 1.0, "float32", persistable=True, name="w")
    layers.increment(w)
    go = layers.fill_constant([1], "bool", True)
    layers.while_loop(lambda _: go, lambda v: [v + 1.0], [layers.assign(w)], max_steps=2**60)
with fluid.scope_guard(scope):
    exe.run(fluid.default_startup_program())
scope.var("w").get_tensor().set(np.ones(1, np.float32))
threading.Thread(
    target=lambda: exe.run(program, fetch_list=[w], scope=scope), daemon=True
).start()
import time
time.sleep(0.05)
pid = os.fork()
if pid == 0:
    scope.find_var("w").get_tensor().set(np.zeros(1, np.float32))
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
"""
    )
    assert (done.returncode, done.stderr) == (0, "")
