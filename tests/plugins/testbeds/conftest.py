"""What tests of testbeds share: whether this machine can have one, a place for its notes, and ranks."""

import secrets
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.plugins.testbeds.ranks_here import ranks_here
from topoopt.base.errors import TopoOptError
from topoopt.plugins.testbeds.network.testbed import check_machine
from topoopt.plugins.testbeds.training.ranks import Ranks


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Skip, with the reason, where no testbed can be; else return a name that none has."""
    try:
        check_machine()
    except TopoOptError as error:
        pytest.skip(str(error))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return f"test-{secrets.token_hex(4)}"


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what a testbed needs: a mistake in words is named all the same."""
    monkeypatch.setitem(sys.modules, "pyroute2", None)
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


@pytest.fixture(scope="session")
def ranks() -> Iterator[Ranks]:
    """Five processes on this machine, for all tests, since PyTorch takes seconds to import."""
    with ranks_here() as members:
        yield members
