"""Whole networks run elsewhere and give the same to 1e-5."""

from collections.abc import Callable

import pytest
from networks import NETWORKS
from saved import Saved, every_runtime


@every_runtime
@pytest.mark.parametrize("network", NETWORKS, ids=lambda build: build.__name__)
def test_the_network_gives_the_same(network: Callable[[], Saved], runtime: str) -> None:
    network().agrees(runtime, 1e-5)
