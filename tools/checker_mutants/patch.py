"""A mutant put into modules that are imported already, so that nothing is imported anew.

A function keeps its identity and gets the edited code; a constant is replaced wherever it is known
by its name; of a class, the attributes and the defaults of its methods.
"""

import ast
import gc
import inspect
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType, FunctionType, ModuleType
from typing import Any

from checker_mutants.edits import Mutant

PACKAGE = "fluidcore.gradcheck"


Functions = Mapping[tuple[str, str, int], Sequence[FunctionType]]


def functions() -> Functions:
    """All functions of the package, by module, qualified name and first line."""
    found: dict[tuple[str, str, int], list[FunctionType]] = defaultdict(list)
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and str(one.__module__).startswith(PACKAGE):
            code = one.__code__
            found[one.__module__, code.co_qualname, code.co_firstlineno].append(one)
    return found


def is_known(mutant: Mutant, known: Functions) -> bool:
    """Whether the edit can be taken over: the function around it, if there is one, is there."""
    module = f"{PACKAGE}.{mutant.module}".removesuffix(".__init__")
    return not mutant.owner or any(key[:2] == (module, mutant.owner) for key in known)


def apply(mutant: Mutant, known: Functions) -> None:
    """Changes the modules of this process."""
    module = sys.modules[f"{PACKAGE}.{mutant.module}".removesuffix(".__init__")]
    code = compile(mutant.source, str(module.__file__), "exec", dont_inherit=True)
    if mutant.owner:
        _exchange(module, mutant.owner, code, known)
        return
    edited = ModuleType(module.__name__)
    edited.__file__ = module.__file__
    edited.__package__ = module.__package__
    exec(code, edited.__dict__)
    for statement in ast.parse(mutant.source).body:
        if statement.lineno <= mutant.line <= (statement.end_lineno or 0):
            _take_over(module, edited, statement)
        elif statement.lineno > mutant.line and isinstance(statement, ast.Assign):
            _take_over(module, edited, statement, plain=True)  # it may follow from the edit


def _exchange(module: ModuleType, owner: str, code: CodeType, known: Functions) -> None:
    for new in _functions(code):
        if new.co_qualname == owner:
            for function in known.get((module.__name__, owner, new.co_firstlineno), ()):
                function.__code__ = new


def _functions(code: CodeType) -> Iterator[CodeType]:
    """The functions of a module and of its classes, but not those inside of functions."""
    for part in code.co_consts:
        if isinstance(part, CodeType):
            if part.co_flags & inspect.CO_OPTIMIZED:
                yield part
            else:
                yield from _functions(part)


def _take_over(
    module: ModuleType, edited: ModuleType, statement: ast.stmt, *, plain: bool = False
) -> None:
    match statement:
        case ast.FunctionDef(name=name):
            _defaults(getattr(module, name), getattr(edited, name))
        case ast.ClassDef(name=name):
            _class(getattr(module, name), getattr(edited, name))
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            parts = [part for target in targets for part in ast.walk(target)]
            for name in [part.id for part in parts if isinstance(part, ast.Name)]:
                new = getattr(edited, name)
                is_plain = isinstance(new, (bool, int, float, tuple)) and " at 0x" not in repr(new)
                if not plain or (is_plain and new != getattr(module, name)):
                    _everywhere(name, module, new)


def _everywhere(name: str, module: ModuleType, new: Any) -> None:
    """In its own module, and where it was imported from there, unless it is private."""
    old = getattr(module, name)
    others = [] if name.startswith("_") else list(sys.modules.values())
    for other in (module, *others):
        names = getattr(other, "__dict__", {})
        if names.get(name) is old:
            names[name] = new


def _class(old: type, new: type) -> None:
    for name, value in vars(new).items():
        mine = vars(old).get(name)
        if isinstance(value, (FunctionType, staticmethod, classmethod, property)):
            _defaults(mine, value)
        elif isinstance(value, (bool, int, float)) and value != mine:
            setattr(old, name, value)


def _defaults(old: Any, new: Any) -> None:
    old, new = _function(old), _function(new)
    if isinstance(old, FunctionType) and isinstance(new, FunctionType):
        old.__defaults__, old.__kwdefaults__ = new.__defaults__, new.__kwdefaults__


def _function(method: Any) -> Any:
    method = getattr(method, "fget", None) or getattr(method, "__func__", method)
    return inspect.unwrap(method) if callable(method) else method
