"""The second process compiles what the first will load, and only where nothing is compiled yet."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from topoopt.search import compile_ahead as room


def test_what_is_compiled_ahead_is_on_disk_afterwards(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = "from topoopt.search.compile_ahead import compile_ahead; compile_ahead()"
    subprocess.run([sys.executable, "-W", "error", "-c", command], env=environment, check=True, timeout=120)
    kept = {path.name.split("-")[0] for path in tmp_path.rglob("*.nbi")}
    assert {"first_come_kernel.run_first_come", "kernel.ecmp_shares", "kernel.hamiltonian_cycles"} <= kept


def test_a_compiled_program_starts_no_second_process(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(room, "_second_process", lambda: started.append([]))
    room.compile_ahead()  # now it is on disk
    room.start_compiling_ahead()
    assert started == []
