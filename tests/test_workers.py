"""A process that computes for another one ends with it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PARENT = """
import ctypes, multiprocessing, time
from topoopt.workers import end_with_parent

def work(busy, told):
    end_with_parent()
    told.send(None)
    {call}

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    child = context.Process(target=work, args=(1, theirs))
    child.start()
    ours.recv()
    print(child.pid, flush=True)
    time.sleep(60)
"""


def is_alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc whether a process is alive")
@pytest.mark.parametrize(
    "call",
    [
        "time.sleep(60)",
        pytest.param("ctypes.PyDLL(None).sleep(60)", id="in a call that lets no thread of Python run"),
    ],
)
def test_a_worker_ends_with_a_parent_that_is_killed(tmp_path: Path, call: str) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT.format(call=call))
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert is_alive(child)
        os.kill(parent.pid, signal.SIGKILL)
    until = time.monotonic() + 20
    while is_alive(child) and time.monotonic() < until:
        time.sleep(0.05)
    assert not is_alive(child)
