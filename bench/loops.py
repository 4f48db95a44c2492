"""Loops and recomputation: `python -m bench --loops`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.measure import Framework, Row, measure
from bench.report import best_rows, table

STEPS = 10_000
LENGTHS = (100, 400)  # steps of the training loop
EXPECTED_MB = 2 * 256 * 256 * 4 / 2**20  # tanh and the product each need one tensor [256, 256]
ACTIVATIONS = ("relu", "gelu")
SLOWER, LARGER, SMALLER = 2.0, 1.1, 3.0  # targets
DIFFERENCE = 1e-3  # of the results of the loop and of the block, relative
DIRECTIONS = {"forward": "forward", "backward": "forward and backward"}

_WORKLOADS = [
    *(f"steps {form} {way} {STEPS}" for way in DIRECTIONS for form in ("while", "unrolled")),
    *(f"memory {way} {length}" for way in DIRECTIONS for length in LENGTHS),
    *(
        f"recompute {activation} {form}"
        for activation in ACTIVATIONS
        for form in ("inference", "kept", "checkpoints")
    ),
]


def measurements(framework: Framework, rounds: int) -> Iterator[Row]:
    """Everything, each in a process of its own."""
    for _ in range(rounds):
        for workload in _WORKLOADS:
            yield measure(framework, f"loops {workload}", 1)


class Results:
    """The best rows, as tables.

    Attributes:
        missed: The targets that were missed.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = {
            row["workload"].removeprefix("loops "): row
            for row in best_rows(row for row in rows if "error" not in row)
        }
        self.missed: list[str] = []

    def tables(self) -> list[str]:
        """Times of a loop, its memory, and recomputation."""
        return [self._times(), self._memory(), self._recomputation()]

    def _value(self, workload: str, key: str) -> float:
        return float(self._rows.get(workload, {}).get(key, "nan"))

    def _verdict(self, what: str, met: bool, target: str) -> str:
        if not met:
            self.missed.append(what)
        return f"{target}: {'met' if met else 'missed'}"

    def _times(self) -> str:
        lines = []
        for way, title in DIRECTIONS.items():
            for key, unit, scale in (
                ("median", "ms per run", 1e3),
                ("first_run", "s to build, plan and run once", 1.0),
                ("peak_mb", "MB at most", 1.0),
            ):
                loop, unrolled = (
                    self._value(f"steps {form} {way} {STEPS}", key)
                    for form in ("while", "unrolled")
                )
                what = f"{title}, {unit}"
                ratio = loop / unrolled
                met = ratio <= SLOWER
                target = self._verdict(what, met, f"{SLOWER:g}x") if key == "median" else ""
                values = [
                    f"{self._noise(f'steps {form} {way} {STEPS}', key)}{value * scale:.3f}"
                    for form, value in (("while", loop), ("unrolled", unrolled))
                ]
                lines.append([what, *values, f"{ratio:.2f}x", target])
            what = f"{title}, difference of the results"
            difference = self._difference(way)
            target = self._verdict(what, difference <= DIFFERENCE, f"{DIFFERENCE:g}")
            lines.append([what, "", "", f"{difference:.1e}", target])
        heading = f"{STEPS:,} steps of ten operators"
        return table([heading, "while", "unrolled", "while / unrolled", "target"], lines)

    def _noise(self, workload: str, key: str) -> str:
        clean = self._rows.get(workload, {}).get("clean", 3)
        return "~" if key == "median" and clean < 3 else ""

    def _difference(self, way: str) -> float:
        rows = [self._rows.get(f"steps {form} {way} {STEPS}") for form in ("while", "unrolled")]
        values: list[list[float]] = [row["values"] for row in rows if row]
        if len(values) < 2:
            return float("inf")
        return max(
            abs(a - b) / max(abs(a), abs(b)) for a, b in zip(values[0], values[1], strict=True)
        )

    def _memory(self) -> str:
        lines = []
        for way, title in DIRECTIONS.items():
            peaks = [self._value(f"memory {way} {length}", "peak_mb") for length in LENGTHS]
            each = (peaks[1] - peaks[0]) / (LENGTHS[1] - LENGTHS[0])
            expected = EXPECTED_MB if way == "backward" else 0.0
            met = each <= expected * LARGER + 0.01
            verdict = self._verdict(f"memory of a loop, {title}", met, f"{LARGER:g}x")
            cells = [f"{peak:.1f}" for peak in peaks]
            lines.append([title, *cells, f"{each:.3f}", f"{expected:.3f}", verdict])
        lengths = [f"{length} steps" for length in LENGTHS]
        return table(["peak memory, MB", *lengths, "per step", "expected", "target"], lines)

    def _recomputation(self) -> str:
        lines = []
        for activation in ACTIVATIONS:
            names = [f"recompute {activation} {form}" for form in ("kept", "checkpoints")]
            base = self._value(f"recompute {activation} inference", "grown_mb")
            peaks = [self._value(name, "peak_mb") for name in names]
            grown = [self._value(name, "grown_mb") - base for name in names]
            times = [self._value(name, "median") * 1e3 for name in names]
            digests = {self._rows.get(name, {}).get("digest", name) for name in names}
            what = f"{activation}: MB at most, beyond inference"
            met = grown[0] / grown[1] >= SMALLER
            verdict = self._verdict(what, met, f"{SMALLER:g}x")
            same = self._verdict(f"{activation}: gradients", len(digests) == 1, "same bits")
            lines += [
                _compared(f"{activation}: MB at most, whole process", peaks, ""),
                _compared(what, grown, verdict),
                _compared(f"{activation}: ms per step", times, "", self._noise(names[0], "median")),
                [f"{activation}: gradients", "", "", "", same],
            ]
        return table(
            ["MLP of 32 layers", "kept", "checkpoints", "kept / checkpoints", "target"], lines
        )


def _compared(what: str, values: Sequence[float], verdict: str, noise: str = "") -> list[str]:
    kept, checkpoints = values
    ratio = f"{kept / checkpoints:.2f}x"
    return [what, f"{noise}{kept:.1f}", f"{noise}{checkpoints:.1f}", ratio, verdict]
