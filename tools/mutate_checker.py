"""Tests the tests of the gradient checker: does any of them notice a changed line of its core?

    python tools/mutate_checker.py [--files judge.py,bias.py] [--count 300] [--seed 0]

Draws small edits of the files at random: another operator or constant, a statement left out. Each
is made in a copy of the package that `import fluidcore` finds, where the tests run until the first
failure; a run that fails or takes too long kills the mutant. Texts and annotations are left alone.
Prints the survivors and the share that was killed, and exits with 1 if it is less than 90 %.
"""

import argparse
import ast
import importlib
import importlib.util
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
CORE = (
    *("judge", "kernel_test", "bias", "formula", "kernel_check", "audits", "noise", "directional"),
    *("taylor", "modes", "kinks", "session", "assemble", "plain"),
)
# After test_<module>.py, in this order; the fastest to fail come first.
TESTS = (
    *("pipeline", "faults", "judge", "kernel_check", "kernel_test", "audits", "noise", "assemble"),
    *("directional", "taylor", "modes", "coloured", "kinks", "session", "second_order", "plain"),
    *("checker", "numerical"),
)
SWAPPED: dict[type[ast.AST], tuple[Any, ...]] = {
    ast.Lt: (ast.GtE, ast.LtE),
    ast.LtE: (ast.Gt, ast.Lt),
    ast.Gt: (ast.LtE, ast.GtE),
    ast.GtE: (ast.Lt, ast.Gt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
}
RENAMED = {"min": "max", "minimum": "maximum", "any": "all"}
RENAMED |= {new: old for old, new in RENAMED.items()}


@dataclass(frozen=True)
class Mutant:
    """One edit: `before` and `after` are source texts, `source` is the whole file."""

    module: str
    line: int
    before: str
    after: str
    source: bytes


def mutants_of(module: str, source: bytes) -> Iterator[Mutant]:
    """All edits of a file."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in _nodes(ast.parse(source)):
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        if source[begin:end].startswith(b"elif"):
            continue
        for new in _edits(node):
            after = ast.unparse(new)
            text = f"({after})" if isinstance(new, ast.expr) else after
            edited = source[:begin] + text.encode() + source[end:]
            yield Mutant(module, node.lineno, _first_line(node), after, edited)


def _nodes(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """What may be edited: no annotations, texts, imports, decorators, errors, strict=True."""
    if isinstance(node, (ast.JoinedStr, ast.Raise, ast.Import, ast.ImportFrom)):
        return
    if isinstance(node, ast.keyword) and node.arg == "strict":
        return
    if isinstance(node, (ast.expr, ast.stmt)):
        yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _nodes(child)


def _edits(node: ast.expr | ast.stmt) -> Iterator[ast.expr | ast.stmt]:
    match node:
        case ast.Compare(left, ops, right):
            number = None if any(map(_is_count, (left, *right))) else 1
            for i, op in enumerate(ops):
                for new in SWAPPED[type(op)][:number]:
                    yield ast.Compare(left, [*ops[:i], new(), *ops[i + 1 :]], right)
        case ast.BinOp(left, op, right):
            yield from (ast.BinOp(left, new(), right) for new in SWAPPED.get(type(op), ()))
        case ast.AugAssign(target, op, value):
            yield from (ast.AugAssign(target, new(), value) for new in SWAPPED.get(type(op), ()))
            yield ast.Pass()
        case ast.BoolOp(op, values):
            yield from (ast.BoolOp(new(), values) for new in SWAPPED[type(op)])
        case ast.UnaryOp(_, operand):
            yield operand
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(int(value) | float(value)):
            yield from (ast.Constant(new) for new in {2 * value, value + 1, 0} - {value})
        case ast.Name(name) if name in RENAMED:
            yield ast.Name(RENAMED[name])
        case ast.Attribute(value, name) if name in RENAMED:
            yield ast.Attribute(value, RENAMED[name])
        case ast.Return(value) if value is not None and not _is_none(value):
            yield ast.Return(ast.Constant(None))
        case ast.Assign([ast.Name(name)], value) if name in _names(value):
            yield ast.Pass()
        case ast.Expr(ast.Call() | ast.Yield()) | ast.If(orelse=[]) | ast.Continue():
            yield ast.Pass()


def _is_count(node: ast.expr) -> bool:
    """Whether it looks like an integer: between others, < and <= are the same but by chance."""
    match node:
        case ast.Constant(int()) | ast.Call(ast.Name("len")) | ast.Attribute(attr="size"):
            return True
    return False


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _names(node: ast.expr) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _first_line(node: ast.AST) -> str:
    first, *rest = ast.unparse(node).splitlines()
    return f"{first} ..." if rest else first


class Laboratory:
    """A copy of the package and its tests, in which one file at a time is changed."""

    def __init__(self, folder: Path) -> None:
        found = importlib.util.find_spec("fluidcore")
        if found is None or found.origin is None:
            sys.exit("mutate_checker: fluidcore must be installed, or on PYTHONPATH")
        self.core = folder / "fluidcore" / "gradcheck"
        self._tests = folder / "tests" / "python" / "gradcheck"
        stale = shutil.ignore_patterns("__pycache__")
        shutil.copytree(Path(found.origin).parent, folder / "fluidcore", ignore=stale)
        shutil.copytree(ROOT / "tests" / "python", self._tests.parent, ignore=stale)
        shutil.copy(ROOT / "pyproject.toml", folder)
        os.chdir(folder)
        os.environ["PYTHONPATH"] = str(folder)
        sys.path.insert(0, str(folder))
        importlib.import_module("fluidcore")  # once for all runs; it does not import the checker

    def kills(self, mutant: Mutant, seconds: int) -> bool:
        """Whether a test fails, or has no end."""
        path = self.core / f"{mutant.module}.py"
        right = path.read_bytes()
        path.write_bytes(mutant.source)
        for compiled in self.core.glob(f"__pycache__/{mutant.module}.*"):
            compiled.unlink()
        try:
            return not self.passes(mutant.module, seconds)
        finally:
            path.write_bytes(right)

    def passes(self, module: str, seconds: int = 0) -> bool:
        """Runs the tests with the name of a module, and then those of the others.

        Args:
            module: Its name.
            seconds: How long they may take; 0 for the first run, which shows what it does.
        """
        own = [f"test_{module}.py"]
        others = [*(f"test_{name}.py" for name in TESTS), "mutate/test_power.py"]
        stages = ([self._tests / name for name in names] for names in (own, others))
        return all(_pass([path for path in stage if path.exists()], seconds) for stage in stages)


def _pass(files: Sequence[Path], seconds: int) -> bool:
    child = os.fork() if files else -1
    if child == 0:
        if seconds:
            signal.alarm(seconds)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            # What is compiled from a mutant would be taken for the file itself.
            sys.dont_write_bytecode = True
            os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        options = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow"]
        os._exit(pytest.main([*options, *map(str, files)]))
    return child == -1 or os.waitpid(child, 0)[1] == 0


def main(arguments: Sequence[str]) -> int:
    """Draws, tests and counts mutants."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--files", default=",".join(f"{name}.py" for name in CORE))
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        laboratory = Laboratory(Path(folder))
        found: list[Mutant] = []
        for name in options.files.split(","):
            module = name.removesuffix(".py")
            found += mutants_of(module, (laboratory.core / f"{module}.py").read_bytes())
        count = min(options.count, len(found))
        drawn = random.Random(options.seed).sample(found, count)
        started = time.monotonic()
        if not laboratory.passes("judge"):
            sys.exit("mutate_checker: the tests must pass before anything is changed")
        limit = int(3 * (time.monotonic() - started)) + 10
        made: Counter[str] = Counter()
        survived: Counter[str] = Counter()
        for mutant in drawn:
            made[mutant.module] += 1
            if not laboratory.kills(mutant, limit):
                survived[mutant.module] += 1
                where = f"{mutant.module}.py:{mutant.line}"
                print(f"{where}: {mutant.before}  ->  {mutant.after}", flush=True)
    for module, number in sorted(made.items()):
        print(f"{module}.py: {number - survived[module]} of {number} killed")
    share = 1 - survived.total() / max(count, 1)
    print(f"{share:.1%} of {count} mutants killed, out of {len(found)}")
    return 0 if share >= 0.9 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
