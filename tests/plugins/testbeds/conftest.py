"""What tests of testbeds share: whether this machine can have one, a place for its notes, and ranks."""

import secrets
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.plugins.testbeds.ranks_here import ranks_here
from topoopt.base.errors import TopoOptError
from topoopt.plugins.testbeds.network import construction
from topoopt.plugins.testbeds.network.testbed import check_machine
from topoopt.plugins.testbeds.training.ranks import Ranks

WITH_FOLDER = """
import sys
from pathlib import Path
from topoopt.plugins.testbeds.network import construction
construction.STATE_FOLDER = Path(sys.argv.pop(1))
"""
"""What lets a program keep its records elsewhere, so that it meets no other testbed of this machine."""


def program(*words: str) -> list[str]:
    """Return the command of topoopt with the folder of records of this test."""
    script = f"{WITH_FOLDER}from topoopt.frontends.cli import main; sys.exit(main())"
    return [sys.executable, "-c", script, str(construction.STATE_FOLDER), *words]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Skip, with the reason, where no testbed can be; else return a name that none has."""
    try:
        check_machine()
    except TopoOptError as error:
        pytest.skip(str(error))
    monkeypatch.setattr(construction, "STATE_FOLDER", tmp_path / "testbed")
    return f"test-{secrets.token_hex(4)}"


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what a testbed needs: a mistake in words is named all the same."""
    monkeypatch.setitem(sys.modules, "pyroute2", None)
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(construction, "STATE_FOLDER", tmp_path / "testbed")


@pytest.fixture(scope="session")
def ranks() -> Iterator[Ranks]:
    """Five processes on this machine, for all tests, since PyTorch takes seconds to import."""
    with ranks_here() as members:
        yield members
