"""MLTCP is compiled and registered, told and asked, unregistered on every way out, and nothing else is touched."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.plugins.testbeds.conftest import WITH_FOLDER
from topoopt.base.errors import Infeasible, InvalidInput, TopoOptError
from topoopt.plugins.testbeds import congestion_control as toolchain
from topoopt.plugins.testbeds.congestion_control import (
    PREFIX,
    MltcpJob,
    check_toolchain,
    compile_algorithm,
    forget,
    iterations,
    key_of_mark,
    key_of_namespace,
    new_algorithm,
    register,
    registered,
    run_tool,
    tell,
    unregister,
)
from topoopt.plugins.testbeds.network import build, construction, known_states, switch_layout
from topoopt.plugins.testbeds.standing_testbeds import take_down
from topoopt.simulation import Aggressiveness

LAYOUT = switch_layout(2, 1e9)
DEFAULT = Path("/proc/sys/net/ipv4/tcp_congestion_control")
RUN = f"""{WITH_FOLDER}
import time
from topoopt.plugins.testbeds.network import build, switch_layout
from topoopt.plugins.testbeds.congestion_control import register
with build(switch_layout(2, 1e9), sys.argv[1], 100, congestion=(sys.argv[2],)):
    register(sys.argv[2])
    print("ready", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def algorithm(machine: str) -> Iterator[str]:
    """Return a name that no congestion control has; after the test none has it, and nothing else has changed."""
    try:
        check_toolchain()
    except TopoOptError as error:
        pytest.skip(str(error))
    before, default, name = registered(), DEFAULT.read_text(), new_algorithm()
    yield name
    was_left = unregister(name)
    assert not was_left, f"{name} is still registered"
    gone = {one for one in set(before) - set(registered()) if not one.startswith(PREFIX)}
    assert gone == set(), "a congestion control of somebody else is gone"
    assert DEFAULT.read_text() == default


def maps_left(name: str) -> bool:
    """Whether the kernel still has a map of an algorithm; it takes a moment to free them."""
    until_s = time.monotonic() + 10
    while name in run_tool("bpftool", "map", "show"):
        if time.monotonic() > until_s:
            return True
        time.sleep(0.05)
    return False


def test_it_is_there_once_registered_and_gone_afterwards(algorithm: str) -> None:
    assert algorithm not in registered()
    register(algorithm)
    assert algorithm in registered()
    assert unregister(algorithm)
    assert algorithm not in registered()
    assert not unregister(algorithm)
    assert not maps_left(algorithm)


def test_two_at_once_do_not_meet(algorithm: str) -> None:
    other = new_algorithm()
    register(algorithm)
    register(other)
    tell(algorithm, 1, MltcpJob(total_bytes=7))
    assert unregister(algorithm)
    assert other in registered()
    assert unregister(other)


def test_the_kernel_is_told_of_a_job_and_knows_of_no_iteration_yet(algorithm: str) -> None:
    register(algorithm)
    told = MltcpJob(Aggressiveness(-1.75, 2.0), 5_000_000_000, 0.6, by_job=True)
    tell(algorithm, key_of_mark(3), told)
    tell(algorithm, key_of_mark(3), told)
    listed = run_tool("bpftool", "map", "dump", "name", f"{algorithm}_p")
    assert '"slope": -1792' in listed
    assert '"intercept": 2048' in listed
    assert '"total_bytes": 5000000000' in listed
    assert '"compute_time_ns": 600000000' in listed
    assert '"by_job": 1' in listed
    assert iterations(algorithm) == {}
    forget(algorithm, 3)
    assert unregister(algorithm)


def test_only_our_own_are_taken_back(machine: str) -> None:
    there = tuple(name for name in registered() if not name.startswith(PREFIX))  # others' runs may go on
    assert not any(map(unregister, (*there, "mltcp", "mltcp_zzzzzz", "")))
    assert set(there) <= set(registered())


def test_a_normal_end(machine: str, algorithm: str) -> None:
    with build(LAYOUT, machine, 100, congestion=(algorithm,)):
        assert known_states()[0].congestion == (algorithm,)
        register(algorithm)
    assert algorithm not in registered()


def test_an_error_inside(machine: str, algorithm: str) -> None:
    def fail() -> None:
        with build(LAYOUT, machine, 100, congestion=(algorithm,)):
            register(algorithm)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()


def started(name: str, algorithm: str) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, str(construction.STATE_FOLDER), name, algorithm],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    assert algorithm in registered()
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals(machine: str, algorithm: str, number: signal.Signals) -> None:
    if signal.getsignal(number) == signal.SIG_IGN:
        pytest.skip(f"who started the tests has {number.name} ignored, and what they start ignores it, too")
    process = started(machine, algorithm)
    process.send_signal(number)
    with process:
        process.wait(20)
    assert algorithm not in registered()
    assert known_states() == ()


def test_a_kill_and_down(machine: str, algorithm: str) -> None:
    process = started(machine, algorithm)
    process.kill()
    with process:
        process.wait()
    assert algorithm in registered()
    assert [state.congestion for state in take_down(None).testbeds] == [(algorithm,)]
    assert algorithm not in registered()


def test_a_tool_ends_with_who_is_killed(machine: str) -> None:
    """Else it could register something after ``down`` has looked."""
    script = "from topoopt.plugins.testbeds.congestion_control import run_tool; run_tool('sleep', '60')"
    process = subprocess.Popen([sys.executable, "-c", script])
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    until_s = time.monotonic() + 20
    while not (found := children.read_text().split()) and time.monotonic() < until_s:
        time.sleep(0.02)
    (tool,) = found
    process.kill()
    process.wait()
    while Path(f"/proc/{tool}/exe").exists() and time.monotonic() < until_s:
        time.sleep(0.02)
    assert not Path(f"/proc/{tool}/exe").exists()


def test_a_note_of_before_has_no_congestion_control(machine: str) -> None:
    """What an older version has left behind can be removed, too."""
    with build(LAYOUT, machine, 100):
        note = construction.STATE_FOLDER / machine / "state.json"
        note.write_text(note.read_text().replace(',\n "congestion": []', ""))
        assert "congestion" not in note.read_text()
        assert known_states()[0].congestion == ()


def test_a_kernel_without_types_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(toolchain, "KERNEL_TYPES", tmp_path / "vmlinux")
    with pytest.raises(
        InvalidInput, match=r"does not describe its types .*CONFIG_DEBUG_INFO_BTF.*reno or cubic"
    ):
        check_toolchain()


@pytest.mark.parametrize("tool", ["clang", "bpftool"])
def test_a_tool_that_is_missing_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tool: str, tmp_path: Path
) -> None:
    types = tmp_path / "vmlinux"
    types.touch()
    monkeypatch.setattr(toolchain, "KERNEL_TYPES", types)
    monkeypatch.setattr(shutil, "which", lambda name, path: None if name == tool else f"/bin/{name}")
    with pytest.raises(
        InvalidInput, match=rf"{tool} is not installed; install it \(apt-get install clang bpftool\)"
    ):
        check_toolchain()


def test_what_a_compiler_complains_of_is_one_line(
    algorithm: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.c"
    broken.write_text("int main(void) { return nothing; }\n")
    monkeypatch.setattr(toolchain, "SOURCE", broken)
    with pytest.raises(Infeasible, match=r"clang -O2 fails: .*error: use of undeclared identifier 'nothing'"):
        compile_algorithm(algorithm, tmp_path)


def test_the_kernel_refuses_what_it_does_not_know(algorithm: str) -> None:
    with pytest.raises(Infeasible, match="bpftool map fails"):
        tell(algorithm, 1, MltcpJob())


def test_f_is_linear_in_the_kernel_and_not_too_large() -> None:
    with pytest.raises(InvalidInput, match="linear only, got quadratic"):
        MltcpJob(Aggressiveness(form="quadratic"))
    with pytest.raises(InvalidInput, match="slope: must be in"):
        MltcpJob(Aggressiveness(slope=1e9))


def test_jobs_of_marks_and_of_namespaces_have_different_keys() -> None:
    assert key_of_mark(7) == 7
    assert key_of_namespace(Path("/proc/self/ns/net")) == (1 << 32) + os.stat("/proc/self/ns/net").st_ino
