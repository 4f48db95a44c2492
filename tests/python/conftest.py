"""Every test starts with empty default programs, names from 0, and an empty scope."""

from collections.abc import Iterator

import pytest

import fluidcore as fluid


@pytest.fixture(autouse=True)
def fresh_world() -> Iterator[None]:
    with (
        fluid.program_guard(fluid.Program(), fluid.Program()),
        fluid.unique_name.guard(),
        fluid.scope_guard(fluid.Scope()),
    ):
        yield
