"""Ctrl-C is one line and exit code 130, whatever it interrupts."""

import os
import pty
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import FrameType, SimpleNamespace

import pytest

from tests.frontends.cli.conftest import Topoopt
from topoopt.frontends.cli import main
from topoopt.frontends.cli import program as interrupt


def stop_here(*words: object) -> None:
    raise KeyboardInterrupt


def stop_in_a_kernel(*words: object) -> None:
    """What numba makes of Ctrl-C during compiled code."""
    try:
        raise SystemError("_numba_unpickle returned a result with an exception set") from KeyboardInterrupt()
    except SystemError as inner:
        raise SystemError("CPUDispatcher returned a result with an exception set") from inner


@pytest.mark.parametrize("stop", [stop_here, stop_in_a_kernel])
def test_in_a_verb(topoopt: Topoopt, monkeypatch: pytest.MonkeyPatch, stop: object) -> None:
    monkeypatch.setattr(import_module("topoopt.jobs.job_source"), "resolve_variant", stop)
    ran = topoopt("models", "dlrm")
    assert (ran.code, ran.out, ran.err) == (130, "", "interrupted: nothing was written\n")


def test_while_words_are_read(topoopt: Topoopt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("typer.core.TyperGroup.make_context", stop_here)
    ran = topoopt("models")
    assert (ran.code, ran.out, ran.err) == (130, "", "interrupted: nothing was written\n")


def test_while_the_program_is_imported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupting:
        def find_spec(self, name: str, *more: object) -> None:
            if name == "topoopt.frontends.cli.program":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "topoopt.frontends.cli.program", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    assert main(["models"]) == 130
    assert capsys.readouterr().err == "interrupted: nothing was written\n"


def test_it_waits_until_the_glue_of_numba_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled and run under the file name of the glue, the first attempt only sets a timer."""
    timers: list[tuple[object, ...]] = []
    monkeypatch.setattr("signal.setitimer", lambda *words: timers.append(words))
    handler = interrupt._interrupt
    frames: dict[str, FrameType] = {}
    exec(compile("import sys; frames['in'] = sys._getframe()", "/x/numba/core/serialize.py", "exec"))
    handler(signal.SIGINT, frames["in"])
    assert timers == [(signal.ITIMER_REAL, interrupt.AGAIN_S)]
    with pytest.raises(KeyboardInterrupt):
        handler(signal.SIGALRM, sys._getframe())


def test_a_handler_of_the_calling_program_is_kept() -> None:
    def own(number: int, frame: object) -> None:
        raise AssertionError

    before = signal.signal(signal.SIGINT, own)
    try:
        interrupt.interrupt_when_safe()
        assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_comparison_with_half_a_search_is_none(topoopt: Topoopt, monkeypatch: pytest.MonkeyPatch) -> None:
    def half(*words: object, **more: object) -> object:
        return SimpleNamespace(search=SimpleNamespace(stopped_because="interrupted")), None

    monkeypatch.setattr(import_module("topoopt.frontends.verbs.plan"), "planned", half)
    ran = topoopt("compare", "dlrm", "--servers", "16")
    assert (ran.code, ran.out, ran.err) == (130, "", "interrupted: nothing was written\n")


def test_another_system_error_is_ours(topoopt: Topoopt, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*words: object) -> None:
        raise SystemError("ours")

    monkeypatch.setattr(import_module("topoopt.jobs.job_source"), "resolve_variant", broken)
    with pytest.raises(SystemError, match="ours"):
        topoopt("models", "dlrm")


INSIDE_EXEC = """
import os, signal
exec("os.kill(os.getpid(), signal.SIGINT)\\nfor turn in range(10_000_000): pass")
"""
INSIDE_A_DELETION = """
import os, signal, time
class Deleted:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for turn in range(10_000_000): pass
Deleted()
time.sleep(10)
raise AssertionError("the interrupt was lost")
"""


@pytest.mark.parametrize("moment", [INSIDE_EXEC, INSIDE_A_DELETION])
def test_at_a_bad_moment_in_a_process_of_its_own(tmp_path: Path, moment: str) -> None:
    """Not seen by one's own process: CPython would let it die of the signal, or go on as if there was none."""
    body = "".join(f"    {line}\n" for line in moment.strip().split("\n"))
    (tmp_path / "interrupted_command.py").write_text(
        "import sys\nfrom topoopt.frontends.cli import main, program\n"
        f"def run(words):\n{body}"
        "program.run = run\nsys.exit(main())\n"
    )
    command = [sys.executable, "-m", "interrupted_command"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "interrupted: nothing was written\n")


def test_a_terminal_sees_it_acknowledged_and_a_second_one_discards(tmp_path: Path) -> None:
    (tmp_path / "interrupted_twice.py").write_text(
        "import os, signal, sys, time\nfrom topoopt.frontends.cli import main, program\n"
        "def run(words):\n"
        "    try:\n        os.kill(os.getpid(), signal.SIGINT)\n        time.sleep(10)\n"
        "    except KeyboardInterrupt:\n"
        "        print('keeping')\n        os.kill(os.getpid(), signal.SIGINT)\n        time.sleep(10)\n"
        "    raise AssertionError('an interrupt was lost')\n"
        "program.run = run\nsys.exit(main())\n"
    )
    ours, terminal = pty.openpty()
    command = [sys.executable, "-m", "interrupted_twice"]
    done = subprocess.run(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=terminal, text=True, check=False
    )
    shown = os.read(ours, 1000).replace(b"\r\n", b"\n")
    os.close(ours)
    os.close(terminal)
    assert (done.returncode, done.stdout) == (130, "keeping\n")
    assert shown == interrupt.ACKNOWLEDGED + interrupt.DISCARDED


def test_a_plan_is_kept_if_the_other_networks_are_interrupted(
    topoopt: Topoopt, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(import_module("topoopt.search.planner"), "compare_job", stop_here)
    out = tmp_path / "plan.json"
    ran = topoopt(
        *("plan", "ncf", "--servers", "4", "--degree", "2", "--budget", "5"),
        *("--fabrics", "ideal-switch", "--out", str(out)),
    )
    assert ran.code == 130
    assert out.is_file()
    assert "without ideal-switch: interrupted" in ran.out
    assert "The search was interrupted: this is the best that it had found." in " ".join(ran.out.split())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_an_end_that_is_asked_for_is_an_interrupt(number: signal.Signals, tmp_path: Path) -> None:
    script = (
        "import os, signal, sys; from topoopt.frontends.cli import program;"
        f"signal.signal({int(number)}, signal.SIG_DFL);"  # where tests run without a terminal, SIGHUP may be ignored
        f"program.interrupt_when_safe(); os.kill(os.getpid(), {int(number)})"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "KeyboardInterrupt" in ran.stderr
    assert ran.returncode in (1, 130, -signal.SIGINT)
