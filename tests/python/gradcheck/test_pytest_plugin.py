"""The pytest plugin: fixture, marker, options, summary, xdist."""

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest_plugins = ["pytester"]

TESTS = """
import numpy as np
import pytest

X = np.linspace(0.5, 2.0, 4)

def test_right(gradcheck):
    (report,) = gradcheck(np.square, X, vjp=lambda x, v: 2 * x * v)
    assert report

def test_wrong(gradcheck):
    gradcheck(np.square, X, vjp=lambda x, v: 3 * x * v)

def test_without_the_fixture():
    pass
"""
UNDECIDED = """
import numpy as np
import pytest

RNG = np.random.default_rng(0)

def noisy(x):
    return x + RNG.standard_normal(4)

def check(gradcheck, **options):
    gradcheck(noisy, np.ones(4), vjp=lambda x, v: v, **options)

def test_fail(gradcheck):
    check(gradcheck)

@pytest.mark.gradcheck(on_inconclusive="skip")
def test_skip(gradcheck):
    check(gradcheck)

@pytest.mark.gradcheck(on_inconclusive="skip")
def test_pass(gradcheck):
    check(gradcheck, on_inconclusive="pass")
"""


@pytest.fixture(autouse=True)
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    # Hypothesis takes a second to be imported, which its plugin does at the end of every run.
    options = "--strict-markers -p no:cacheprovider -p no:hypothesispytest"
    pytester.makeini(f"[pytest]\naddopts = {options}\n")
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """In a process of its own: that of the suite has imported everything."""
    return pytester.runpytest_subprocess("-p", "fluidcore_gradcheck", *arguments)


def test_a_right_gradient_passes_and_a_wrong_one_fails_with_the_report(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(TESTS)
    result = run(pytester)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*GradientError*square*",
            "*gradient checks*",
            "FAIL test_wrong: square",
            "2 checks: 1 pass, 1 fail; every pass sees errors of *",
        ]
    )
    result.stdout.no_fnmatch_line("*pytest_plugin.py:*: GradientError")


def test_the_seed_reaches_the_check(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        def test_option(gradcheck):
            assert gradcheck.op("tanh", per_op=1)[0].seed == 7

        @pytest.mark.gradcheck(seed=8)
        def test_marker(gradcheck):
            assert gradcheck.op("tanh", per_op=1)[0].seed == 8
            assert gradcheck.op("tanh", per_op=1, seed=9)[0].seed == 9
        """
    )
    run(pytester, "--gradcheck-seed", "7").assert_outcomes(passed=2)


def test_dtypes_come_from_the_call_the_marker_or_the_option(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import numpy as np
        import pytest

        X = np.linspace(-1, 1, 4)

        def seen(reports):
            return [report.results[-1].dtype for report in reports]

        def cube(gradcheck, **options):
            vjp = lambda x, v: 3 * x**2 * v
            return seen(gradcheck(lambda x: x**3, X, vjp=vjp, **options))

        def test_option(gradcheck):
            assert cube(gradcheck) == ["float64", "float32"]
            assert seen(gradcheck.op("tanh", per_op=1)) == ["float64", "float32"]
            inputs = {"X": [X, X]}
            assert seen(gradcheck.op("sum", inputs)) == ["float64", "float32"]

        @pytest.mark.gradcheck(dtypes=["float32"])
        def test_marker(gradcheck):
            assert cube(gradcheck) == ["float32"]
            assert cube(gradcheck, dtypes="float64") == ["float64"]
        """
    )
    run(pytester, "--gradcheck-dtypes", "float64,float32").assert_outcomes(passed=2)


def test_what_is_inconclusive_fails_unless_the_test_says_otherwise(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(UNDECIDED)
    result = run(pytester, "-rs")
    result.assert_outcomes(passed=1, failed=1, skipped=1)
    result.stdout.fnmatch_lines(
        ["3 checks: 3 inc*", "SKIPPED*inconclusive: noisy by x: stochastic"]
    )


def test_a_program_can_be_checked(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import numpy as np
        import fluidcore as fluid
        from fluidcore import layers

        def test_program(gradcheck):
            x = layers.data("x", [3])
            loss = layers.mean(layers.square(layers.fc(x, 2)))
            fluid.Executor().run(fluid.default_startup_program())
            program = fluid.default_main_program()
            feed = {"x": np.ones((2, 3), np.float32)}
            (report,) = gradcheck.program(program, feed, loss, parameter_list=["fc_0.w_0"])
            assert {r.name for r in report.results} == {"fc_0.w_0"}
        """
    )
    run(pytester).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "on_inconclusive='ignore'",
            "*InvalidArgument: gradcheck: on_inconclusive must be one of*",
        ),
        ("colour=1", "*NotFound: gradcheck: no setting 'colour'; there are: dtypes, *"),
        ("shadows=1", "*NotFound: gradcheck: no setting 'shadows'; did you mean 'shadow'?"),
        ("config=3", "*TypeError: gradcheck: config must be a GradCheckConfig, got int"),
        ("resolution=-1.0", "*ValueError: GradCheckConfig: resolution must be positive*"),
        ("dtypes=['float33']", "*InvalidArgument: dtype must be one of *"),
    ],
)
def test_a_setting_that_does_not_exist_or_fit_is_an_error(
    pytester: pytest.Pytester, arguments: str, message: str
) -> None:
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.mark.gradcheck({arguments})
        def test_it(gradcheck):
            gradcheck.op("tanh", per_op=1)
        """
    )
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([message])


def test_the_fixture_takes_what_check_takes(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import numpy as np
        import pytest
        from fluidcore.eager import Tensor
        from fluidcore.gradcheck import GradCheckConfig

        X = np.linspace(0.5, 2.0, 4)
        RIGHT = {
            "vjp": lambda x, v: 3 * x**2 * v,
            "jvp": lambda x, u: 3 * x**2 * u,
            "second_vjp": lambda x, v, u: 6 * x * v * u,
            "framework": "numpy",
            "name": "third",
        }
        SECOND = GradCheckConfig(second_order=True, seed=5)

        def cube(x):
            return x**3

        def test_right(gradcheck):
            (report,) = gradcheck(cube, X, **RIGHT, config=SECOND, seed=6)
            assert (report.who, report.seed) == ("third", 6)
            assert "jvp and vjp agree, float64" in [audit.name for audit in report.audits]
            assert any(result.name.endswith("second order") for result in report.results)

        def test_value_and_grad(gradcheck):
            gradcheck(lambda x: (np.sum(x**3), 3 * x**2), X, value_and_grad=True)

        def test_tensors(gradcheck):
            gradcheck(cube, Tensor(X))

        @pytest.mark.parametrize("name", ["vjp", "jvp", "second_vjp"])
        def test_wrong(gradcheck, name):
            wrong = {**RIGHT, name: lambda *given: np.zeros(4)}
            reports = gradcheck(cube, X, **wrong, config=SECOND, raise_exception=False)
            assert not all(reports)
            gradcheck(cube, X, **wrong, config=SECOND)

        def test_mistyped(gradcheck):
            gradcheck(cube, X, vjpp=RIGHT["vjp"])

        def test_of_a_function_only(gradcheck):
            gradcheck.op("tanh", vjp=RIGHT["vjp"])
        """
    )
    result = run(pytester, "--gradcheck-seed", "7")
    result.assert_outcomes(passed=3, failed=5)
    result.stdout.fnmatch_lines(
        [
            "*NotFound: gradcheck: no setting 'vjpp'; did you mean 'vjp'?",
            "*NotFound: gradcheck: no setting 'vjp'; there are: dtypes, on_inconclusive, config, *",
            "9 checks: 3 pass, 6 fail; *",
        ]
    )


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["one process", "two workers"])
def test_reports_of_all_tests_are_merged(pytester: pytest.Pytester, workers: list[str]) -> None:
    pytester.makepyfile(test_a=TESTS, test_b=TESTS)
    paths = [pytester.path / f"report.{end}" for end in ("json", "html", "sarif", "xml")]
    options = [f"--gradcheck-report={path}" for path in paths]
    result = run(pytester, *workers, *options)
    result.assert_outcomes(passed=4, failed=2)
    result.stdout.fnmatch_lines(["4 checks: 2 pass, 2 fail; *", f"written to {paths[0]}"])
    report = json.loads(paths[0].read_text(encoding="utf-8"))
    text = json.dumps(report)
    assert text.count("test_right: square") == text.count("test_wrong: square") > 0
    assert all(path.stat().st_size > 100 for path in paths)


def test_without_checks_there_is_no_section_and_with_a_report_it_is_empty(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile("def test_nothing(): pass")
    result = run(pytester)
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*gradient checks*")
    result = run(pytester, "--gradcheck-report", "report.json")
    result.stdout.fnmatch_lines(["0 checks: none", "written to report.json"])
    assert (pytester.path / "report.json").exists()


def test_a_report_of_an_unknown_format_is_an_error_before_any_test_runs(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(TESTS)
    result = run(pytester, "--gradcheck-report", "report.pdf")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--gradcheck-report must end in .html, *, got 'report.pdf'*"])


def test_verdict_and_resolution_are_properties_in_junit(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    run(pytester, "--junit-xml", "junit.xml", "-o", "junit_family=xunit2")
    tree = ElementTree.parse(pytester.path / "junit.xml")
    found = {
        case.get("name"): {p.get("name"): p.get("value") for p in case.iter("property")}
        for case in tree.iter("testcase")
    }
    assert found["test_right"]["gradcheck_verdict"] == "pass"
    assert 0 < float(found["test_right"]["gradcheck_resolution"] or 0) < 1e-3
    assert found["test_wrong"]["gradcheck_verdict"] == "fail"
    assert found["test_without_the_fixture"] == {}


def test_the_fixture_marker_and_options_are_documented(pytester: pytest.Pytester) -> None:
    run(pytester, "--markers").stdout.fnmatch_lines(["@pytest.mark.gradcheck(dtypes=None, *"])
    run(pytester, "--fixtures").stdout.fnmatch_lines(["gradcheck -- *"])
    run(pytester, "--help").stdout.fnmatch_lines(["*--gradcheck-report=PATH*"])


def test_unused_the_plugin_imports_neither_fluidcore_nor_numpy(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import sys\n\n"
        "def test_nothing_is_imported():\n"
        "    assert not {'fluidcore', 'numpy'}.intersection(sys.modules)\n",
        encoding="utf-8",
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "fluidcore_gradcheck",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
    ]
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout
