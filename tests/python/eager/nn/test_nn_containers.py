"""Modules in a row."""

import pytest

from fluidcore import eager
from fluidcore.eager import nn


def test_a_sequence_calls_its_modules_one_after_the_other() -> None:
    first, last = nn.Linear(3, 4), nn.Linear(4, 2)
    net = nn.Sequential(first, nn.Tanh(), last)
    x = eager.randn([5, 3])
    assert net(x).tolist() == last(first(x).tanh()).tolist()
    assert nn.Sequential()(x) is x


@pytest.mark.parametrize("kind", [nn.Sequential, lambda *modules: nn.ModuleList(modules)])
def test_a_row_is_a_list(kind: type[nn.Sequential]) -> None:
    a, b, c = nn.ReLU(), nn.Tanh(), nn.Sigmoid()
    row = kind(a, b)
    assert row.append(c) is row
    assert (len(row), list(row), row[0], row[-1]) == (3, [a, b, c], a, c)
    assert list(row[1:]) == [b, c]
    assert type(row[1:]) is type(row)
    assert [name for name, _ in row[1:].named_children()] == ["0", "1"]
    assert list(row.extend([a])) == [a, b, c, a]
    with pytest.raises(IndexError):
        row[4]


def test_only_modules_are_in_a_row() -> None:
    with pytest.raises(TypeError, match=r"^Sequential: all parts must be Modules, got function$"):
        nn.Sequential(lambda x: x)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^ModuleList: all parts must be Modules, got int$"):
        nn.ModuleList([1])  # type: ignore[list-item]
