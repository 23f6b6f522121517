"""A process that computes for another one ends with it; threads give answers in order, and end at a mistake."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from topoopt.base.workers import in_threads

PARENT = """
import ctypes, multiprocessing, time
from topoopt.base.workers import end_with_parent

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
    until = time.monotonic() + 300
    while is_alive(child) and time.monotonic() < until:
        time.sleep(0.05)
    assert not is_alive(child)


def test_threads_give_answers_in_the_order_of_the_items(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    meeting = threading.Barrier(3, timeout=300)  # passed only if three are at work at once

    def square(number: int) -> int:
        meeting.wait()
        return number * number

    assert in_threads(square, range(9)) == [number * number for number in range(9)]
    assert in_threads(abs, [-1]) == [1]
    assert in_threads(abs, []) == []


def test_a_mistake_in_a_thread_is_raised_and_what_has_not_begun_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    done: list[int] = []

    def fail_at_once(number: int) -> None:
        if number == 0:
            raise ValueError("first")
        time.sleep(0.05)
        done.append(number)

    with pytest.raises(ValueError, match="first"):
        in_threads(fail_at_once, range(50))
    assert len(done) < 49
