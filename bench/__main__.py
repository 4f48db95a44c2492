"""python -m bench: fluidcore beside its peers in one run."""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench import gradient_checks, loops, networks, peers, report, scale
from bench.measure import Framework, Row, measure, measure_contended, measure_import

RESULTS = Path(__file__).resolve().parent / "results"
_WORKLOADS = ["a", "b", "c", "chain", "contended", "import"]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    suites = parser.add_mutually_exclusive_group()
    suites.add_argument("--all", action="store_true", help="instead: networks beside all peers")
    suites.add_argument("--scale", action="store_true", help="instead: build large graphs")
    suites.add_argument("--gradcheck", action="store_true", help="instead: checks of gradients")
    suites.add_argument("--loops", action="store_true", help="instead: loops and recomputation")
    parser.add_argument("--peers", default="", metavar="torch", help="peers, or none")
    parser.add_argument("--torch-python", metavar="PATH", help="an interpreter that has torch")
    parser.add_argument(
        "--peer-python",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help="an interpreter that has this peer; may be repeated",
    )
    parser.add_argument("--cases", default="", help="of --gradcheck: only these, default all")
    parser.add_argument(
        "--resume",
        metavar="FILE",
        help="of --all, --gradcheck: rows that need not be measured again",
    )
    parser.add_argument("--threads", help="thread counts, default 1,2; of --all 2")
    parser.add_argument("--workloads", help="default: all of the suite")
    parser.add_argument("--rounds", type=int, default=1, help="repeat all, keep the best medians")
    parser.add_argument("--limit", type=float, default=20, help="seconds for a large graph")
    parser.add_argument("--wheel", metavar="PATH", help="also print the size of this wheel")
    return parser.parse_args()


def _suite(arguments: argparse.Namespace) -> str:
    for name in ("scale", "loops", "gradcheck"):
        if getattr(arguments, name):
            return name
    named = set((arguments.workloads or "").split(",")) - {*_WORKLOADS}
    return "networks" if arguments.all or named & {*networks.NAMES} else "training"


def _frameworks(arguments: argparse.Namespace) -> list[Framework]:
    suite = _suite(arguments)
    able = peers.TAKE_PART[suite]
    result = [Framework("fluidcore", sys.executable)]
    pythons = dict(pair.partition("=")[::2] for pair in arguments.peer_python)
    if arguments.torch_python:
        pythons["torch"] = arguments.torch_python
    for name in filter(None, arguments.peers.split(",")):
        if name not in able:
            sys.exit(f"bench: no peer '{name}' for {suite}; there is: {', '.join(able) or 'none'}")
        result.append(Framework(name, pythons.get(name) or str(peers.interpreter(name))))
    return result


def _measurements(
    frameworks: list[Framework], workloads: list[str], threads: list[int]
) -> Iterator[Row]:
    for workload in workloads:
        if workload == "import":
            yield from map(measure_import, frameworks)
        elif workload == "contended":
            for contended in ("a", "c"):
                for framework in frameworks:
                    yield measure_contended(framework, contended)
        else:
            for count in [1] if workload == "chain" else threads:
                for framework in frameworks:
                    yield measure(framework, workload, count)


def _machine() -> str:
    with open("/proc/cpuinfo") as file:
        names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    cores = f"{len(names)} cores of {names[0]}" if names else platform.machine()
    return f"{cores}, Python {platform.python_version()}"


def _known(path: str | None) -> list[Row]:
    """The rows of an earlier run that succeeded."""
    if path is None or not Path(path).exists():
        return []
    rows: list[Row] = [json.loads(line) for line in Path(path).read_text().splitlines()]
    return [row for row in rows if "error" not in row]


def _stored(
    rows: Iterator[Row], known: Sequence[Row] = (), resumed: str | None = None
) -> list[Row]:
    """All rows, each written down and shown as soon as it is there; an interrupt ends them."""
    RESULTS.mkdir(exist_ok=True)
    file = Path(resumed) if resumed else RESULTS / time.strftime("%Y-%m-%d-%H%M%S.jsonl")
    result = list(known)
    try:
        for row in rows:
            result.append(row)
            with file.open("a") as stream:
                stream.write(json.dumps(row) + "\n")
            print(
                f"{row['workload']} {row['framework']} t{row['threads']}: {_shown(row)}",
                file=sys.stderr,
                flush=True,
            )
    except KeyboardInterrupt:
        print("bench: interrupted; the table has what there is", file=sys.stderr)
    versions = sorted(
        {f"{r['framework'].split()[0]} {r['version']}" for r in result if "version" in r}
    )
    print(f"\n{_machine()}; {', '.join(versions)}\nall rows: {file}\n")
    return result


def _shown(row: Row) -> str:
    if "error" in row:
        return str(row["error"])
    if row["workload"].startswith("graph"):
        parts = [f"{part} {row[part]:.3f} s" for part in ("forward", "backward") if part in row]
        return ", ".join([*parts, "stopped" if "stopped" in row else f"{row['peak_mb']:.0f} MB"])
    return f"{row['median'] * 1e3:.3f} ms"


def main() -> int:
    """Measures, prints the tables, stores the rows; 1 if something failed or missed its target."""
    arguments = _arguments()
    suites = {
        "training": _training,
        "networks": _networks,
        "scale": _scale,
        "loops": _loops,
        "gradcheck": _gradcheck,
    }
    return suites[_suite(arguments)](arguments, _frameworks(arguments))


def _training(arguments: argparse.Namespace, frameworks: list[Framework]) -> int:
    workloads = _selected(arguments.workloads, _WORKLOADS)
    threads = _counts(arguments.threads or "1,2")
    rows = _stored(
        row
        for _ in range(arguments.rounds)
        for row in _measurements(frameworks, workloads, threads)
    )
    best = report.best_rows(rows)
    names = [framework.name for framework in frameworks]
    for table in (report.time_table, report.slowdown_table, report.footprint_table):
        if text := table(best, names):
            print(text)
    if arguments.wheel:
        print(report.wheel_line(arguments.wheel))
    return _end(rows, _disagreements(rows, workloads))


def _networks(arguments: argparse.Namespace, frameworks: list[Framework]) -> int:
    workloads = networks.expanded(_selected(arguments.workloads, networks.NAMES))
    threads = _counts(arguments.threads or "2")
    known = _known(arguments.resume)
    rows = _stored(
        networks.measurements(frameworks, workloads, threads, arguments.rounds, known),
        known,
        arguments.resume,
    )
    results = networks.Results(rows)
    print("\n".join(results.tables()))
    return _end(rows, results.complaints)


def _scale(arguments: argparse.Namespace, frameworks: list[Framework]) -> int:
    rows = _stored(scale.measurements(frameworks, arguments.rounds, arguments.limit))
    large = scale.Results(rows, [framework.name for framework in frameworks])
    print(large.table())
    return _end(rows, [f"{what}: target missed" for what in large.missed])


def _loops(arguments: argparse.Namespace, frameworks: list[Framework]) -> int:
    rows = _stored(loops.measurements(frameworks[0], arguments.rounds))
    repeated = loops.Results(rows)
    print("\n".join(repeated.tables()))
    return _end(rows, [f"{what}: target missed" for what in repeated.missed])


def _gradcheck(arguments: argparse.Namespace, frameworks: list[Framework]) -> int:
    cases = [case for case in arguments.cases.split(",") if case]
    if unknown := set(cases) - set(gradient_checks.TITLES):
        known_cases = ", ".join(gradient_checks.TITLES)
        sys.exit(f"bench: no case {sorted(unknown)}; there are: {known_cases}")
    known = _known(arguments.resume)
    rows = _stored(
        gradient_checks.measurements(frameworks, arguments.rounds, cases, known),
        known,
        arguments.resume,
    )
    checks = gradient_checks.Results(rows, cases, [peer.name for peer in frameworks[1:]])
    print(checks.table())
    return _end(rows, checks.missed)


def _selected(names: str | None, able: Sequence[str]) -> list[str]:
    selected = names.split(",") if names else list(able)
    if unknown := set(selected) - set(able):
        sys.exit(f"bench: no workload {sorted(unknown)}; there are: {', '.join(able)}")
    return selected


def _counts(threads: str) -> list[int]:
    return [int(count) for count in threads.split(",")]


def _disagreements(rows: list[Row], workloads: list[str]) -> list[str]:
    result = []
    for workload in workloads:
        found = [row for row in rows if row["workload"] == workload and "losses" in row]
        difference = report.loss_difference(found)
        if difference > report.LOSS_TOLERANCE:
            result.append(f"the results of workload {workload} differ by {difference:.2e}")
    return result


def _end(rows: list[Row], complaints: list[str]) -> int:
    failed = [row for row in rows if "error" in row]
    lines = [f"failed: {row['framework']} {row['workload']}: {row['error']}" for row in failed]
    for line in [*lines, *complaints]:
        print(line, file=sys.stderr)
    return 1 if failed or complaints else 0


if __name__ == "__main__":
    sys.exit(main())
