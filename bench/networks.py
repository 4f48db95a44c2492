"""Networks trained and run beside the fastest of all peers: `python -m bench --all`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import geometric_mean
from typing import NamedTuple

from bench.measure import Framework, Row, measure
from bench.report import LOSS_TOLERANCE, best_rows, figure, loss_difference, seconds, table
from bench.workloads import TRAINING

SIZES = (1, 32)  # examples of an inference
INFERENCE = {f"infer-{name}": TRAINING[name] for name in ("b", "c", "d", "f")}
NAMES = (*TRAINING, "infer", *INFERENCE)
OWN = "fluidcore"
_WAYS = {  # in which a peer runs a network; the second word is the `way` of `with_*.py`
    "torch": ("torch", "torch channels_last", "torch compile"),
    "onnx": ("onnx runtime", "onnx openvino"),
}


class Family(NamedTuple):
    """What a table is about, and how many times faster than the fastest peer its rows are to be.

    The mean is judged where all rows were measured.
    """

    title: str
    rows: int
    each: float
    mean: float


TRAINED = Family("training step", len(TRAINING), 1.2, 2.0)
INFERRED = Family("inference", len(INFERENCE) * len(SIZES), 1.0, 1.15)


def expanded(names: Iterable[str]) -> list[str]:
    """The workloads that these names stand for, each once; `infer` stands for all inference."""
    groups = [tuple(INFERENCE) if name == "infer" else (name,) for name in names]
    return list(dict.fromkeys(name for group in groups for name in group))


def measurements(
    frameworks: Iterable[Framework],
    workloads: Iterable[str],
    threads: Iterable[int],
    rounds: int,
    known: Iterable[Row] = (),
) -> Iterator[Row]:
    """Every workload in every way that it can be run; not again what is known."""
    done = {_key(row) for row in known}
    runs = [
        (framework._replace(name=name), run, count)
        for workload in workloads
        for run in _runs(workload)
        for count in threads
        for framework in frameworks
        for name in _WAYS.get(framework.name, (framework.name,))
        if _takes_part(name, run)
    ]
    for _ in range(rounds):
        for framework, workload, count in runs:
            if (framework.name, workload, count) not in done:
                more = ("--bound",) if framework.name == OWN else ()
                yield measure(framework, workload, count, *more)


def _key(row: Row) -> tuple[str, str, int]:
    return row["framework"], row["workload"], row["threads"]


def _runs(workload: str) -> list[str]:
    return [f"{workload} {size}" for size in SIZES] if workload in INFERENCE else [workload]


def _takes_part(name: str, workload: str) -> bool:
    if _family(workload) is INFERRED:
        return name == OWN or name.startswith("onnx")
    if name == "torch channels_last":
        return len(TRAINING[workload].example) == 3
    return not name.startswith("onnx")


def _family(workload: str) -> Family:
    return INFERRED if workload.startswith("infer") else TRAINED


class Results:
    """The best of all rounds, as tables.

    Attributes:
        complaints: The targets that were missed, and results that differ.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows: dict[tuple[str, int], dict[str, Row]] = {}
        for row in best_rows(rows):
            rivals = self._rows.setdefault((row["workload"], row["threads"]), {})
            rivals[row["framework"]] = row
        self.complaints: list[str] = []

    def tables(self) -> list[str]:
        """One for each family and number of threads that was measured."""
        groups: dict[tuple[Family, int], list[str]] = {}
        for workload, threads in self._rows:
            groups.setdefault((_family(workload), threads), []).append(workload)
        return [self._table(*group, workloads) for group, workloads in groups.items()]

    def _table(self, family: Family, threads: int, workloads: Sequence[str]) -> str:
        """GFLOP are of products and convolutions; the share is of what a large product reaches."""
        rivals = [self._rows[workload, threads] for workload in workloads]
        pairs = zip(workloads, rivals, strict=True)
        lines = [self._line(workload, rows, family.each) for workload, rows in pairs]
        ratios = [ratio for rows in rivals if (ratio := _ratio(rows))]
        if ratios:
            mean = geometric_mean(ratios)
            judged = mean if len(ratios) == family.rows else None
            target = self._verdict(judged, family.mean, f"geometric mean, {family.title}")
            lines.append(["geometric mean", "", "", "", _times(mean), target, *[""] * 4])
        heading = f"{family.title}, ms, {threads} thread{'s' if threads > 1 else ''}"
        columns = [OWN, "fastest peer", "which", "peer / fluidcore", "target", "difference"]
        return table([heading, *columns, "GFLOP", "GFLOP/s", "of a product"], lines)

    def _line(self, workload: str, rows: dict[str, Row], target: float) -> list[str]:
        own, peer, ratio = rows.get(OWN), _fastest(rows), _ratio(rows)
        which = peer["framework"] if peer else "-"
        verdict = self._verdict(ratio, target, workload)
        judged = [_times(ratio), verdict, self._difference(workload, rows)]
        return [_title(workload), figure(own), figure(peer), which, *judged, *_work(own)]

    def _verdict(self, ratio: float | None, target: float, what: str) -> str:
        if ratio is None:
            return ""
        if ratio < target:
            self.complaints.append(f"{what}: {ratio:.2f}x, target {target:g}x missed")
        return f"{target:g}x: {'met' if ratio >= target else 'missed'}"

    def _difference(self, workload: str, rows: dict[str, Row]) -> str:
        found = [row for row in rows.values() if "median" in row]
        if len(found) < 2:
            return "-"
        difference = max(loss_difference(found, "losses"), loss_difference(found, "logits"))
        if difference > LOSS_TOLERANCE:
            self.complaints.append(f"the results of {workload} differ by {difference:.2e}")
        return f"{difference:.1e}"


def _fastest(rows: dict[str, Row]) -> Row | None:
    peers = [row for name, row in rows.items() if name != OWN and "median" in row]
    return min(peers, key=seconds, default=None)


def _ratio(rows: dict[str, Row]) -> float | None:
    own, peer = rows.get(OWN), _fastest(rows)
    return seconds(peer) / seconds(own) if own and peer and "median" in own else None


def _title(workload: str) -> str:
    name, _, size = workload.partition(" ")
    if size:
        network = INFERENCE[name].title.partition(",")[0]
        return f"{name.removeprefix('infer-')}: {network}, batch {size}"
    return f"{name}: {TRAINING[name].title}"


def _times(ratio: float | None) -> str:
    return f"{ratio:.2f}x" if ratio else "-"


def _work(row: Row | None) -> list[str]:
    if row is None or "flops" not in row:
        return ["-"] * 3
    speed = row["flops"] / row["median"]
    share = speed / row["product_flops_per_second"]
    return [f"{row['flops'] / 1e9:.3g}", f"{speed / 1e9:.0f}", f"{share:.0%}"]
