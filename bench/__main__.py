"""python -m bench: fluidcore beside its peers in one run."""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench import peers, report
from bench.measure import Framework, Row, measure, measure_contended, measure_import
from bench.workloads import TRAINING

RESULTS = Path(__file__).resolve().parent / "results"
_WORKLOADS = [*TRAINING, "chain", "contended", "import"]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--peers", default="", metavar="torch", help="peers, or none")
    parser.add_argument("--torch-python", metavar="PATH", help="an interpreter that has torch")
    parser.add_argument("--threads", default="1,2", help="thread counts, default 1,2")
    parser.add_argument("--workloads", default=",".join(_WORKLOADS), help="default: all")
    parser.add_argument("--rounds", type=int, default=1, help="repeat all, keep the best medians")
    parser.add_argument("--wheel", metavar="PATH", help="also print the size of this wheel")
    return parser.parse_args()


def _frameworks(arguments: argparse.Namespace) -> list[Framework]:
    result = [Framework("fluidcore", sys.executable)]
    for name in filter(None, arguments.peers.split(",")):
        if name not in peers.PACKAGES:
            sys.exit(f"bench: no peer '{name}'; there is: {', '.join(peers.PACKAGES)}")
        python = arguments.torch_python or str(peers.interpreter(name))
        result.append(Framework(name, python))
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


def main() -> int:
    """Measures, prints the tables, stores the rows; 1 if something failed or losses disagree."""
    arguments = _arguments()
    frameworks = _frameworks(arguments)
    names = [framework.name for framework in frameworks]
    workloads = arguments.workloads.split(",")
    unknown = set(workloads) - set(_WORKLOADS)
    if unknown:
        sys.exit(f"bench: no workload {sorted(unknown)}; there are: {', '.join(_WORKLOADS)}")
    threads = [int(count) for count in arguments.threads.split(",")]
    RESULTS.mkdir(exist_ok=True)
    file = RESULTS / time.strftime("%Y-%m-%d-%H%M%S.jsonl")
    rows: list[Row] = []
    for _ in range(arguments.rounds):
        for row in _measurements(frameworks, workloads, threads):
            rows.append(row)
            with file.open("a") as stream:
                stream.write(json.dumps(row) + "\n")
            shown = row.get("error") or f"{row['median'] * 1e3:.3f} ms"
            print(
                f"{row['workload']} {row['framework']} t{row['threads']}: {shown}", file=sys.stderr
            )
    best = report.best_rows(rows)
    versions = sorted({f"{r['framework']} {r['version']}" for r in rows if "version" in r})
    print(f"\n{_machine()}; {', '.join(versions)}\n")
    for table in (report.time_table, report.slowdown_table, report.footprint_table):
        if text := table(best, names):
            print(text)
    if arguments.wheel:
        print(report.wheel_line(arguments.wheel))
    print(f"all rows: {file}")
    return _verdict(rows, workloads)


def _verdict(rows: list[Row], workloads: list[str]) -> int:
    failed = [row for row in rows if "error" in row]
    for row in failed:
        print(f"failed: {row['framework']} {row['workload']}: {row['error']}", file=sys.stderr)
    disagree = False
    for workload in workloads:
        found = [row for row in rows if row["workload"] == workload and "losses" in row]
        difference = report.loss_difference(found)
        if difference > report.LOSS_TOLERANCE:
            disagree = True
            print(f"the results of workload {workload} differ by {difference:.2e}", file=sys.stderr)
    return 1 if failed or disagree else 0


if __name__ == "__main__":
    sys.exit(main())
