"""Tests the tests of the gradient checker: does any of them notice a changed line of its core?

    python tools/mutate_checker.py [--files measure,localise] [--count 300] [--seed 0] [--workers 2]

Draws small edits of the files at random: another operator or constant, a statement left out. Each
is tried on the tests that reach its line until one fails; a test that fails or has no end kills
the mutant. Texts and annotations are left alone. What was found is kept in a folder of its own, so
that a run that was stopped goes on where it was, and the next is fast. Prints the survivors and the
share that was killed, and exits with 1 if it is less than 90 %.
"""

import argparse
import importlib.util
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from checker_mutants.edits import Mutant, mutants_of  # noqa: E402
from checker_mutants.laboratory import Laboratory, digest, module_paths  # noqa: E402

TESTS = ROOT / "tests" / "python" / "gradcheck"
CORE = ("checker", "config", "verdict", "report.data", "report.errors", "report.result")
FOLDERS = ("explain", "fixed_step", "localise", "measure", "pipeline", "program", "target")
# They run other processes, all operators, or the engine alone: of no more use than the others.
LEFT_OUT = ("all_ops", "cases", "command", "engine", "pytest_plugin")
FOLDERS_LEFT_OUT = ("report", "with_frameworks")
ENOUGH = 0.9


class Records:
    """What was found about mutants, in a file with one line for each.

    Args:
        path: Of the file.
        digest: Of the package and its tests; other lines only tell which test to try first.
        seconds: For which mutants are tried; what survived fewer is tried again.
    """

    def __init__(self, path: Path, digest: str, seconds: float) -> None:
        self._path, self._digest, self._seconds = path, digest, seconds
        self.killers: dict[str, str] = {}
        self.known: dict[str, str] = {}
        for line in path.read_text().splitlines() if path.exists() else []:
            digest, key, killer, tried = json.loads(line)
            self.killers[key] = killer or self.killers.get(key, "")
            if digest == self._digest and (killer or tried >= seconds):
                self.known[key] = killer

    def add(self, key: str, killer: str) -> None:
        """Keeps the test that killed a mutant, "" for none."""
        self.known[key] = killer
        with self._path.open("a") as file:
            file.write(json.dumps([self._digest, key, killer, self._seconds]) + "\n")


def main(arguments: Sequence[str]) -> int:
    """Draws, tests and counts mutants."""
    options = _parsed(arguments)
    found = importlib.util.find_spec("fluidcore")
    if found is None or found.origin is None:
        sys.exit("mutate_checker: fluidcore must be installed, or on PYTHONPATH")
    package = Path(found.origin).parent / "gradcheck"
    paths = module_paths(package, _core(package))
    power = ROOT / "tests" / "power"
    sources = sorted([*package.rglob("*.py"), *power.glob("*.py"), *TESTS.parent.glob("*.py")])
    helpers = [path for path in TESTS.rglob("*.py") if not path.name.startswith("test_")]
    surroundings = digest([*sources, *sorted(helpers)])
    tests = _tests()
    options.folder.mkdir(parents=True, exist_ok=True)
    known = digest(tests, surroundings)
    records = Records(options.folder / "mutants.jsonl", known, options.seconds)
    drawn = _drawn(options, package)
    lived: list[str] = []

    def work(laboratory: Laboratory) -> None:
        new = [mutant for mutant in drawn if _key(mutant) not in records.known]
        tried = ((mutant, records.killers.get(_key(mutant), "")) for mutant in new)
        for mutant, outcome in laboratory.run(tried):
            records.add(_key(mutant), outcome.killer)
            if not outcome.killer:
                print(f"{_told(mutant)}  ({outcome.tests} tests)", flush=True)

    laboratory = Laboratory(
        options.folder, surroundings, paths, options.workers, options.seconds, work
    )
    quiet = [
        "-q",
        "-s",
        "--tb=native",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-m",
        "not slow",
    ]
    status = pytest.main([*quiet, *map(str, tests)], plugins=[laboratory])
    if any(_key(mutant) not in records.known for mutant in drawn):
        sys.exit(int(status) or 2)
    lived = [_told(mutant) for mutant in drawn if not records.known[_key(mutant)]]
    print(f"\nsurvivors, with seed {options.seed}:", *lived or ["none"], sep="\n")
    made = Counter(mutant.module for mutant in drawn)
    alive = Counter(mutant.module for mutant in drawn if not records.known[_key(mutant)])
    for module, number in sorted(made.items()):
        print(f"{module}: {number - alive[module]} of {number} killed")
    share = 1 - len(lived) / max(len(drawn), 1)
    print(f"{share:.1%}: {len(drawn) - len(lived)} of {len(drawn)} mutants killed")
    return 0 if share >= ENOUGH else 1


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--files", default="", help="of the core, or folders; all if not given")
    parser.add_argument("--count", type=int, default=300, help="mutants; 0 for all there are")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--seconds", type=float, default=30, help="of tests, for one mutant")
    kept = Path(tempfile.gettempdir()) / "fluidcore-checker-mutants"
    parser.add_argument("--folder", type=Path, default=kept, help="where results are kept")
    return parser.parse_args(arguments)


def _core(package: Path) -> list[str]:
    inner = [
        f"{folder}.{path.stem}"
        for folder in FOLDERS
        for path in sorted((package / folder).glob("*.py"))
    ]
    return [*CORE, *inner]


def _drawn(options: argparse.Namespace, package: Path) -> list[Mutant]:
    wanted = [name.removesuffix(".py").replace("/", ".") for name in options.files.split(",")]
    mutants: list[Mutant] = []
    for module in _core(package):
        if any(module == name or module.startswith(f"{name}.") or not name for name in wanted):
            path = package / f"{module.replace('.', '/')}.py"
            mutants += mutants_of(module, path.read_bytes())
    if not mutants:
        sys.exit(f"mutate_checker: nothing to change in {options.files}")
    count = min(options.count or len(mutants), len(mutants))
    print(f"{count} of {len(mutants)} mutants", flush=True)
    return random.Random(options.seed).sample(mutants, count)


def _tests() -> list[Path]:
    kept = [
        path
        for path in TESTS.rglob("test_*.py")
        if path.stem.removeprefix("test_") not in LEFT_OUT
        and (path.parent.name not in FOLDERS_LEFT_OUT or _mirrored(path) in CORE)
    ]
    return [*sorted(kept), TESTS.parent / "power" / "test_power.py"]


def _mirrored(path: Path) -> str:
    """The module that a file of tests in a folder is for."""
    return f"{path.parent.name}.{path.stem.removeprefix('test_')}"


def _key(mutant: Mutant) -> str:
    return f"{mutant.module} {digest([], mutant.source.decode())}"


def _told(mutant: Mutant) -> str:
    return f"{mutant.module}:{mutant.line}: {mutant.before}  ->  {mutant.after}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
