"""Ranks on this machine for tests, without namespaces."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from topoopt.plugins.testbeds.training.ranks import Ranks
from topoopt.plugins.testbeds.training.script import Place

MEMBERS = 5


@contextmanager
def ranks_here(members: int = MEMBERS) -> Iterator[Ranks]:
    """Ranks that talk over the loopback interface; without PyTorch the test is skipped."""
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install topoopt[testbed]")
    with Ranks([Place()] * members) as ranks:
        yield ranks
