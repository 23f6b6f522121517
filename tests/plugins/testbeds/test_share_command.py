"""``topoopt testbed share``: what it measures, every mistake in one line, and nothing left behind however it ends."""

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.frontends.cli.conftest import Topoopt
from tests.plugins.testbeds.conftest import program
from topoopt.base.errors import TopoOptError
from topoopt.plugins.testbeds import congestion_control as toolchain
from topoopt.plugins.testbeds.congestion_control import PREFIX, check_toolchain, registered
from topoopt.plugins.testbeds.namespaces import namespaces_named, processes_inside
from topoopt.plugins.testbeds.sharing import share

SHORT = ("--iteration-time", "400ms", "--scale", "1000", "--runs", "1", "--iterations", "4")
PATIENCE_S = 60.0
JOB = '{"name": "six", "iteration_time_ms": 100, "phases": [[0, 20, 25], [50, 20, 50]]}'


@pytest.fixture
def mltcp(machine: str) -> Iterator[str]:
    """Skip where MLTCP cannot be compiled; else return a name, of which nothing is left after the test."""
    try:
        check_toolchain()
    except TopoOptError as error:
        pytest.skip(str(error))
    before = ours()
    yield machine
    left = namespaces_named(f"topoopt-{machine}"), ours() - before
    if any(left):  # the next test finds none of it, whatever this one did
        subprocess.run(program("testbed", "down", machine), check=False)
    assert left == ((), set())


def ours() -> set[str]:
    """Return what is registered, by other runs on this kernel too."""
    return {name for name in registered() if name.startswith(PREFIX)}


def test_jobs_of_files_and_of_parts_share_a_link(topoopt: Topoopt, mltcp: str) -> None:
    Path("six.json").write_text(JOB)
    words = ("--jobs", "six.json,0.3", "--congestion", "mltcp,cubic", "--cassini", "--name", mltcp)
    done = topoopt("testbed", "share", *words, *SHORT, "--json")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert [(job["job"], job["total_bytes"]) for job in told["jobs"]] == [("six", 750_000), ("0.3", 750_000)]
    assert [(way["congestion"], way["cassini"]) for way in told["ways"]] == [
        ("mltcp", False),
        ("cubic", False),
        ("mltcp", True),
        ("cubic", True),
    ]
    for way in told["ways"]:
        (run,) = way["runs"]
        assert [len(job["iteration_times_s"]) for job in run["jobs"]] == [4, 4]
        assert bool(run["kernel"]) == (way["congestion"] == "mltcp")
    assert told["time_shifts_s"][0] == 0 < told["time_shifts_s"][1]
    assert min(job["dedicated_s"] for job in told["jobs"]) > 0.39


def test_one_at_a_time_a_link_carries_a_job_as_fast_as_it_should(topoopt: Topoopt, machine: str) -> None:
    """A job of 0.3 sends 750 kB in 120 ms of 400; headers are 66 bytes on 1,448."""
    words = ("--jobs", "0.3,0.3", "--congestion", "reno", "--cassini", "--name", machine)
    done = topoopt("testbed", "share", *words, *SHORT, "--json")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    ideal_s = 0.28 + 0.12 * 1514 / 1448
    assert told["jobs"][0]["dedicated_s"] == pytest.approx(ideal_s, rel=0.25)  # measured: 0.41 s, 3 % more
    together, shifted = told["ways"]
    assert together["first_slowdown"] > 1.1  # both send at once: 0.52 s for 0.4 s
    assert shifted["slowdown"] < together["first_slowdown"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--jobs", "0.4"), "--jobs: expected 2..4 of them, got 1"),
        (("--jobs", ""), "--jobs: expected 2..4 of them, got 0"),
        (("--jobs", "0.4,1.2"), "--jobs: a job sends for a part of its iteration, 0 < part < 1, got 1.2"),
        (("--jobs", "0.4,nothing.json"), "nothing.json: no such file"),
        (("--congestion", "bbq"), '--congestion: unknown name "bbq"'),
        (("--capacity", "0Gbps"), "--capacity"),
        (("--runs", "0"), "--runs: expected an integer >= 1, got 0"),
        (("--iterations", "1"), "--iterations: expected an integer >= 2, got 1"),
        (("--queue", "1kB"), "--queue 1 kB: must hold 4 packets of 1500 bytes; use 6 kB or more"),
        (("--scale", "1000000"), "--scale 1e+06: a link of 50 kb/s is too slow; use 50000 or less"),
        (("--connections", "65"), "--connections: must be in 1..64, got 65"),
        (("--intercept", "-1"), "F has to be positive"),
        (("--attach", "host"), "--attach: expected socket or namespace, got host"),
        (("--iteration-time", "0s"), "--iteration-time"),
        (("--name", "A b"), '--name: expected small letters, digits and "-"'),
    ],
)
def test_a_mistake_is_one_line_whatever_the_machine_has(
    topoopt: Topoopt, bare: None, words: tuple[str, ...], message: str
) -> None:
    done = topoopt("testbed", "share", *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert message in done.err


def test_without_a_compiler_it_is_one_line(
    topoopt: Topoopt, machine: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(toolchain, "KERNEL_TYPES", tmp_path / "vmlinux")
    done = topoopt("testbed", "share")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: --congestion mltcp: this kernel does not describe its types")
    assert namespaces_named(f"topoopt-{machine}") == ()


def test_what_a_namespace_may_not_have_is_one_line(
    topoopt: Topoopt, machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(share, "unrestricted", lambda: ("reno",))
    done = topoopt("testbed", "share", "--congestion", "reno,cubic", "--attach", "namespace")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: --congestion cubic: this machine lets namespaces have reno only")


def started(name: str) -> "subprocess.Popen[str]":
    """Start a run and wait until its four processes are inside, under a registered MLTCP."""
    words = ("--congestion", "mltcp", "--iteration-time", "400ms", "--iterations", "200", "--name", name)
    command = program("testbed", "share", *words)
    before = ours()
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < until_s and run.poll() is None:
        if len(processes_inside(namespaces_named(f"topoopt-{name}"))) == 4 and ours() - before:
            return run
        time.sleep(0.05)
    run.kill()
    pytest.fail(f"no processes: {run.communicate()}")


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (signal.SIGINT, 130, "interrupted: nothing was written\n"),
        (signal.SIGTERM, 130, "interrupted: nothing was written\n"),
    ],
)
def test_a_signal_ends_all(mltcp: str, number: signal.Signals, code: int, said: str) -> None:
    if signal.getsignal(number) == signal.SIG_IGN:
        pytest.skip(f"who started the tests has {number.name} ignored, and what they start ignores it, too")
    run = started(mltcp)
    workers = processes_inside(namespaces_named(f"topoopt-{mltcp}"))
    run.send_signal(number)
    out, complaint = run.communicate(timeout=PATIENCE_S)
    assert (run.returncode, out, complaint) == (code, "", said)
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers)


def test_after_a_kill_down_unregisters(mltcp: str) -> None:
    before = ours()
    run = started(mltcp)
    run.kill()
    run.communicate()
    assert len(ours() - before) == 1
    command = program("testbed", "down", mltcp, "--json")
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (gone,) = json.loads(done.stdout)["testbeds"]
    assert (gone["name"], len(gone["congestion"]), gone["standing"]) == (mltcp, 1, "left over")


def test_a_process_that_is_killed_ends_the_run_in_one_line(mltcp: str) -> None:
    run = started(mltcp)
    subprocess.run(
        ["kill", "-9", str(processes_inside(namespaces_named(f"topoopt-{mltcp}-s0"))[0])], check=True
    )
    out, complaint = run.communicate(timeout=PATIENCE_S)
    assert (run.returncode, out) == (2, "")
    assert complaint == "error: testbed: job 0.4 #1: its process has ended\n"
