"""fluidcore in one process with others: fork, PyTorch, threads, environment."""

import importlib.util
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

# A matrix product large enough for two threads, and its checksum.
STEP = """
import numpy as np

import fluidcore as fluid

fluid.set_num_threads(2)
main = fluid.Program()
with fluid.program_guard(main):
    x = fluid.layers.data("x", [512])
    y = fluid.layers.reduce_sum(fluid.layers.matmul(x, x, transpose_y=True))
exe = fluid.Executor()
data = np.ones((512, 512), np.float32)

def step():
    return float(exe.run(main, {"x": data}, [y])[0][0])
"""


def run_python(code: str, timeout: float = 60) -> str:
    """Runs code in a new interpreter; returns what it prints."""
    process = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_child_of_fork_runs_on_two_threads_after_its_parent_did() -> None:
    code = (
        STEP
        + """
import os

expected = step()
child = os.fork()
if child == 0:
    os._exit(0 if step() == expected else 1)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 0
assert step() == expected
print("done")
"""
    )
    assert run_python(code) == "done\n"


def test_pool_of_forked_workers_gives_the_parents_results() -> None:
    code = (
        STEP
        + """
import multiprocessing

expected = step()
with multiprocessing.get_context("fork").Pool(2) as pool:
    results = [pool.apply_async(step) for _ in range(4)]
    assert [result.get(30) for result in results] == [expected] * 4
print("done")
"""
    )
    assert run_python(code) == "done\n"


def test_two_threads_run_two_scopes_at_once() -> None:
    code = (
        STEP
        + """
import threading

expected = step()
results = []

def work():
    scope = fluid.Scope()
    for _ in range(20):
        results.append(float(exe.run(main, {"x": data}, [y], scope=scope)[0][0]))

workers = [threading.Thread(target=work) for _ in range(2)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
assert results == [expected] * 40
print("done")
"""
    )
    assert run_python(code) == "done\n"


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("first", ["fluidcore", "torch"])
def test_shares_a_process_with_pytorch_in_either_import_order(first: str) -> None:
    second = "torch" if first == "fluidcore" else "fluidcore"
    code = (
        f"import {first}\nimport {second}\nimport torch\n"
        + STEP
        + """
a = torch.ones(512, 512)
for _ in range(3):
    assert float((a @ a.T).sum()) == step()
print("done")
"""
    )
    assert run_python(code) == "done\n"


def test_import_leaves_the_environment_as_it_was() -> None:
    code = """
    import os
    before = dict(os.environ)
    import fluidcore
    assert dict(os.environ) == before
    print("done")
    """
    assert run_python(code) == "done\n"


def test_import_loads_no_module_that_only_some_functions_need() -> None:
    code = """
    import sys
    import fluidcore
    print(*({"torch", "rich", "safetensors", "ml_dtypes", "linecache"} & set(sys.modules)))
    """
    assert run_python(code).strip() in ("", "linecache")


def test_works_from_any_directory(tmp_path: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-c", "import fluidcore; print(fluidcore.__version__)"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert process.returncode == 0, process.stderr
