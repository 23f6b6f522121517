"""A crew on this machine for tests, without namespaces."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from topoopt.testbed.training.crew import Crew
from topoopt.testbed.training.member import Place

MEMBERS = 5


@contextmanager
def crew_here(members: int = MEMBERS) -> Iterator[Crew]:
    """A crew that talks over the loopback interface; without PyTorch the test is skipped."""
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install topoopt[testbed]")
    with Crew([Place()] * members) as crew:
        yield crew
