"""Tasks in several processes."""

import os
from functools import partial

import pytest

from fluidcore import core
from fluidcore.gradcheck import all_ops
from fluidcore.gradcheck.cli.processes import in_processes
from fluidcore.gradcheck.config import GradCheckConfig

TASKS = [partial(divmod, 7, divisor) for divisor in (3, 2, 5, 4)]
RESULTS = [(2, 1), (3, 1), (1, 2), (1, 3)]


@pytest.mark.parametrize("jobs", [1, 2, 9])
def test_results_come_in_the_order_of_the_tasks(jobs: int) -> None:
    assert list(in_processes(TASKS, jobs)) == RESULTS


def test_one_job_is_this_process_and_more_are_others() -> None:
    assert list(in_processes([os.getpid] * 2, 1)) == [os.getpid()] * 2
    assert os.getpid() not in in_processes([os.getpid] * 2, 2)


def test_no_tasks_have_no_results() -> None:
    assert list(in_processes([], 2)) == []


def test_the_error_of_a_task_is_raised_where_its_result_would_be() -> None:
    results = in_processes([partial(divmod, 7, 3), partial(divmod, 7, 0)], 2)
    assert next(results) == (2, 1)
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_an_error_of_the_core_comes_back_as_it_is() -> None:
    tasks = [partial(core.op_def, "tanhh"), partial(core.op_def, "exp")]
    with pytest.raises(core.NotFound, match="no operator 'tanhh'; did you mean 'tanh'"):
        list(in_processes(tasks, 2))


def test_a_report_from_another_process_is_the_same() -> None:
    config = GradCheckConfig(workers=1)
    tasks = [partial(all_ops.check_all_ops, config, [op], 2) for op in ("tanh", "top_k")]
    ours, theirs = (list(in_processes(tasks, jobs)) for jobs in (1, 2))
    assert [[str(report) for report in reports] for reports in ours] == [
        [str(report) for report in reports] for reports in theirs
    ]
