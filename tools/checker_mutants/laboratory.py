"""Runs mutants against the tests that reach them, each in a fork of one process.

A test session imports and collects everything once. Then, for each mutant, a child takes the edit
over (patch.py) and runs tests, the likeliest to fail first, until one fails or has no end, or the
time is over.
"""

import gc
import hashlib
import json
import mmap
import os
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from checker_mutants.coverage import Lines
from checker_mutants.edits import Mutant
from checker_mutants.patch import Functions, apply, functions, is_known
from checker_mutants.trial import Trial, fork, waited

_PATIENCE = 10.0  # times the processor time of a test, and as much of the clock again
_LEAST = 3.0  # seconds of it that every test may take


@dataclass
class Reached:
    """What a test reaches.

    Attributes:
        seconds: Its processor time.
        lines: Of the modules, by name.
    """

    seconds: float
    lines: Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class Outcome:
    """Of a mutant.

    Attributes:
        killer: The test that failed; "" if none did.
        tests: How many reach it.
    """

    killer: str
    tests: int


@dataclass
class Laboratory:
    """The plugin of a test session that runs no test by itself.

    Attributes:
        folder: Where what is known of the tests is kept.
        digest: Of the package.
        modules: Path of a file -> name of its module.
        workers: Children at a time.
        seconds: Processor time of the tests of one mutant.
        work: What is done in the session.
    """

    folder: Path
    digest: str
    modules: Mapping[str, str]
    workers: int
    seconds: float
    work: Callable[["Laboratory"], None]
    tests: dict[str, Reached] = field(default_factory=dict)
    _items: dict[str, pytest.Item] = field(default_factory=dict)
    _kills: dict[str, Counter[str]] = field(default_factory=dict)
    _functions: Functions = field(default_factory=dict)
    _right: dict[str, bool] = field(default_factory=dict)
    _files: dict[Path, Path] = field(default_factory=dict)
    _failed: bool = False

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """In place of the tests."""
        if session.testsfailed:
            pytest.exit("mutate_checker: the tests cannot be collected")
        self._items = {item.nodeid: item for item in session.items}
        self._functions = functions()
        gc.freeze()  # keeps pages shared with the children; what is frozen is not found any more
        self._measure()
        self.work(self)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notes failures."""
        self._failed = self._failed or report.failed

    def run(self, mutants: Iterable[tuple[Mutant, str]]) -> Iterator[tuple[Mutant, Outcome]]:
        """Mutants as they are done; each comes with the test that killed it before, or ""."""
        running: list[Trial] = []
        waiting = iter(mutants)
        more = True
        while running or more:
            if more and len(running) < self.workers:
                following = next(waiting, None)
                more = following is not None
                if following is not None:
                    running.append(self._start(*following))
                continue
            time.sleep(0.005)
            for trial in [trial for trial in running if trial.ended()]:
                running.remove(trial)
                killer = trial.killer()
                if killer in self.tests and not self._is_right(killer):
                    del self.tests[killer]  # alone it fails in any case
                    running.append(self._start(trial.mutant, ""))
                    continue
                if killer:
                    self._kills.setdefault(trial.mutant.module, Counter())[killer] += 1
                yield trial.mutant, Outcome(killer, len(trial.names))

    def _start(self, mutant: Mutant, before: str) -> Trial:
        names = self._ordered(mutant, before) if is_known(mutant, self._functions) else []
        at = mmap.mmap(-1, 4)
        pid = fork(lambda: self._try(mutant, names, at))
        end = time.monotonic() + 60 + 5 * sum(self._limit(name) for name in names)
        return Trial(mutant, names, pid, at, end)

    def _ordered(self, mutant: Mutant, before: str) -> list[str]:
        """The tests that reach it, within the time, the likeliest to fail first.

        First those of its own file, then a case of every test, then another.
        """
        kills = self._kills.get(mutant.module, Counter())
        own = f"test_{mutant.module.rpartition('.')[2]}.py"
        lines = set(mutant.lines)
        has_functions = any(mutant.module in test.lines for test in self.tests.values())

        def reaches(name: str) -> bool:
            found = self.tests[name].lines.get(mutant.module, ())
            if mutant.owner:
                return not lines.isdisjoint(found)
            return bool(found) or own in name or not has_functions

        def cost(name: str) -> float:
            return self.tests[name].seconds / (kills[name] + 1)

        turns: Counter[str] = Counter()
        ranks: dict[str, tuple[bool, int, float]] = {}
        for name in sorted(filter(reaches, self.tests), key=cost):
            function = name.partition("[")[0]  # its other cases are much alike
            turns[function] += 1
            ranks[name] = name != before, 0 if own in name else turns[function], cost(name)
        left = self.seconds
        chosen: list[str] = []
        for name in sorted(ranks, key=lambda name: ranks[name]):
            if not chosen or self.tests[name].seconds <= left:
                left -= self.tests[name].seconds
                chosen.append(name)
        return chosen

    def _is_right(self, name: str) -> bool:
        """Whether a test passes by itself where nothing is changed."""
        if name not in self._right:
            pid = fork(lambda: self._passes(name))
            self._right[name] = os.waitpid(pid, 0)[1] == 0
        return self._right[name]

    def _limit(self, name: str) -> float:
        return _LEAST + _PATIENCE * self.tests[name].seconds

    def _try(self, mutant: Mutant, names: Sequence[str], at: mmap.mmap) -> bool:
        """Whether it survives; `at` tells which test is run."""
        if not names:
            return True
        try:
            apply(mutant, self._functions)
        except Exception:
            return False
        for i, (name, following) in enumerate(zip(names, [*names[1:], ""], strict=True)):
            at[:] = i.to_bytes(4)
            self._bound(self._limit(name))
            if not self._passes(name, following):
                return False
        return True

    def _passes(self, name: str, following: str = "") -> bool:
        item = self._items[name]
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=self._items.get(following))
        return not self._failed

    def _bound(self, seconds: float) -> None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        total = int(used.ru_utime + used.ru_stime + seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (total, resource.RLIM_INFINITY))

    def _measure(self) -> None:
        """Runs every test once, unless what it reaches is known; one that fails is left out."""
        by_file: dict[Path, list[str]] = {}
        for name, item in self._items.items():
            by_file.setdefault(item.path, []).append(name)
        missing = {path: names for path, names in by_file.items() if not self._load(path, names)}
        running: set[int] = set()
        for path, names in missing.items():
            running.add(fork(lambda: self._trace(path, names), quiet=False))  # noqa: B023
            while len(running) >= self.workers:
                running.remove(waited())
        while running:
            running.remove(waited())
        for path, names in missing.items():
            if not self._load(path, names):
                pytest.exit(f"mutate_checker: no coverage of {path}")

    def _trace(self, path: Path, names: Sequence[str]) -> bool:
        found: dict[str, Any] = {}
        lines = Lines(self.modules)
        for name, following in zip(names, [*names[1:], ""], strict=True):
            started = time.process_time()
            with lines:
                passed = self._passes(name, following)
            found[name] = [time.process_time() - started, lines.taken() if passed else None]
            if not passed:
                print(f"\n{name} fails unchanged: left out", flush=True)
                self._failed = False
        self._file(path).write_text(json.dumps(found))
        return True

    def _load(self, path: Path, names: Sequence[str]) -> bool:
        file = self._file(path)
        if not file.exists():
            return False
        known = json.loads(file.read_text())
        if not set(names) <= known.keys():
            return False
        self.tests |= {name: Reached(*known[name]) for name in names if known[name][1] is not None}
        return True

    def _file(self, path: Path) -> Path:
        """Where what a file of tests reaches is kept; for its text when it was first asked for."""
        if path not in self._files:
            name = f"{path.stem}-{digest([path], self.digest)}.json"
            self._files[path] = self.folder / name
        return self._files[path]


def digest(files: Iterable[Path], more: str = "") -> str:
    """Of the contents of files."""
    total = hashlib.sha256(more.encode())
    for path in files:
        total.update(path.read_bytes())
    return total.hexdigest()[:16]


def module_paths(package: Path, names: Iterable[str]) -> dict[str, str]:
    """Path -> name, of modules of the package."""
    return {str(package / f"{name.replace('.', '/')}.py"): name for name in names}
