"""A second process compiles ahead, and whoever needs a part waits for it, but never without end."""

import os
from collections.abc import Iterator
from inspect import unwrap
from pathlib import Path

import pytest

from topoopt.base import workers as ahead


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[pytest.MonkeyPatch]:
    """An empty cache, and room for a worker of the test's own."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(ahead, "_is_compiled", unwrap(ahead._is_compiled))
    second_process = ahead._second_process
    second_process.cache_clear()
    yield monkeypatch
    second_process.cache_clear()


def test_nothing_waits_where_no_process_was_started(worker: pytest.MonkeyPatch) -> None:
    ahead.wait_for("chain", lambda: pytest.fail("there is nothing to wait for"))


def test_a_part_is_waited_for_until_it_is_there(worker: pytest.MonkeyPatch, tmp_path: Path) -> None:
    may_begin, done = tmp_path / "may begin", tmp_path / "done"
    script = [
        "import os, time",
        f"while not os.path.exists({str(may_begin)!r}): time.sleep(0.01)",
        f"open({str(done)!r}, 'w').close(); print('chain', flush=True); time.sleep(0.5)",
    ]
    worker.setattr(ahead, "_WORKER", "\n".join(script))
    ahead.start_compiling_ahead()
    ahead.wait_for("chain", may_begin.touch)
    assert done.exists()
    ahead.wait_for("chain", lambda: pytest.fail("it is there"))


def test_a_process_that_dies_is_waited_for_no_longer(worker: pytest.MonkeyPatch) -> None:
    worker.setattr(ahead, "_WORKER", "import os; os._exit(1)")
    ahead.start_compiling_ahead()
    for part in ahead.PARTS:
        ahead.wait_for(part)
        assert ahead._second_process()[part].is_set()  # not given up after the longest wait


def test_a_part_that_is_not_begun_is_not_waited_for(worker: pytest.MonkeyPatch) -> None:
    worker.setattr(ahead, "_WORKER", "import time; time.sleep(1)")
    ahead.start_compiling_ahead()
    ahead.wait_for("rings", lambda: pytest.fail("the chain comes first"))


def test_a_compiled_program_starts_no_second_process(worker: pytest.MonkeyPatch, tmp_path: Path) -> None:
    started: list[str] = []
    worker.setattr(ahead, "_second_process", lambda: started.append("process"))
    ahead.start_compiling_ahead()
    assert started == ["process"]
    (tmp_path / "mcmc_kernel.run_chain.nbi").write_bytes(b"")
    ahead.start_compiling_ahead()
    assert started == ["process"]


def test_a_cache_older_than_the_kernel_is_none(worker: pytest.MonkeyPatch, tmp_path: Path) -> None:
    index = tmp_path / "mcmc_kernel.run_chain.nbi"
    index.write_bytes(b"")
    os.utime(index, (0, 0))
    assert not ahead._is_compiled()
