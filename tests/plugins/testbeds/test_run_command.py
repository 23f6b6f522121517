"""``topoopt testbed run`` leaves nothing behind, however it ends."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.plugins.testbeds.conftest import program
from topoopt.plugins.testbeds.namespaces import namespaces_named, processes_inside, remove_namespace

SERVERS = 12
WORDS = ("--workload", "allreduce", "--fabrics", "topoopt", "--simulators", "flow", "--iteration-time", "2s")
PATIENCE_S = 120.0

pytestmark = [
    pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed"),
    pytest.mark.slow,
]


@pytest.fixture
def name(machine: str) -> Iterator[str]:
    """Return the name of a testbed; after the test nothing of that name is left."""
    yield machine
    left = namespaces_named(f"topoopt-{machine}")
    for one in left:
        remove_namespace(one)
    assert left == ()


def started(name: str, *more: str) -> "subprocess.Popen[str]":
    """Start a run and wait until all of its processes are inside."""
    words = program("testbed", "run", *WORDS, "--name", name, *more)
    run = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < until_s and run.poll() is None:
        if len(inside(name)) == SERVERS:
            return run
        time.sleep(0.05)
    run.kill()
    pytest.fail(f"no {SERVERS} processes: {run.communicate()}")


def inside(name: str) -> tuple[int, ...]:
    return processes_inside(namespaces_named(f"topoopt-{name}"))


def lives(process: int) -> bool:
    """Whether a process runs; one that waits to be buried does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def gone(processes: tuple[int, ...]) -> bool:
    until_s = time.monotonic() + 10
    while any(lives(one) for one in processes) and time.monotonic() < until_s:
        time.sleep(0.05)
    return not any(lives(one) for one in processes)


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (signal.SIGINT, 130, "interrupted: nothing was written\n"),
        (signal.SIGTERM, 130, "interrupted: nothing was written\n"),
    ],
)
def test_a_signal_ends_all(name: str, number: signal.Signals, code: int, said: str) -> None:
    run = started(name, "--iterations", "50")
    workers = inside(name)
    run.send_signal(number)
    out, complaint = run.communicate(timeout=PATIENCE_S)
    assert (run.returncode, out, complaint) == (code, "", said)
    assert gone(workers)
    assert namespaces_named(f"topoopt-{name}") == ()


def test_a_kill_ends_the_workers_and_down_removes_the_rest(name: str) -> None:
    run = started(name, "--iterations", "50")
    workers = inside(name)
    command = program("testbed")
    busy = subprocess.run([*command, "down", "--all", "--json"], capture_output=True, text=True, check=True)
    assert json.loads(busy.stdout)["left_alone"] == {f"{name}-0": f"process {run.pid} runs on it"}
    run.kill()
    run.communicate()
    assert gone(workers)
    assert len(namespaces_named(f"topoopt-{name}")) == SERVERS
    shown = subprocess.run([*command, "status", "--json"], capture_output=True, text=True, check=True)
    assert [one["standing"] for one in json.loads(shown.stdout)["testbeds"]] == ["left over"]
    subprocess.run([*command, "down", "--all"], capture_output=True, check=True)
    assert namespaces_named(f"topoopt-{name}") == ()


def test_a_worker_that_is_killed_ends_the_run_in_one_line(name: str) -> None:
    run = started(name, "--iterations", "50")
    workers = inside(name)
    os.kill(workers[3], signal.SIGKILL)
    out, complaint = run.communicate(timeout=PATIENCE_S)
    assert (run.returncode, out) == (2, "")
    assert complaint.startswith("error: testbed: ")
    assert complaint.count("\n") == 1
    assert gone(workers)


def test_two_runs_at_once_do_not_meet(name: str) -> None:
    runs = [started(f"{name}-{letter}", "--iterations", "1", "--json") for letter in "ab"]
    for run in runs:
        out, complaint = run.communicate(timeout=PATIENCE_S)
        assert run.returncode == 0, complaint
        (fabric,) = json.loads(out)["fabrics"]
        assert abs(fabric["largest_link_excess"]) < 0.03
