"""Running programs: the Executor, the Scope where variables live, the number of threads."""

from fluidcore.executor.executor import Executor, RandomState
from fluidcore.executor.fetch_var import as_numpy, fetch_var
from fluidcore.executor.scopes import Scope, global_scope, scope_guard, switch_scope
from fluidcore.executor.threads import get_num_threads, set_num_threads

__all__ = [
    "Executor",
    "RandomState",
    "Scope",
    "as_numpy",
    "fetch_var",
    "get_num_threads",
    "global_scope",
    "scope_guard",
    "set_num_threads",
    "switch_scope",
]
