"""What tests of testbeds share: whether this machine can have one, and a place of their own for its notes."""

import secrets
from pathlib import Path

import pytest

from topoopt.errors import TopoOptError
from topoopt.testbed.network.probe import check_machine


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Skip, with the reason, where no testbed can be; else return a name that none has."""
    try:
        check_machine()
    except TopoOptError as error:
        pytest.skip(str(error))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return f"test-{secrets.token_hex(4)}"
