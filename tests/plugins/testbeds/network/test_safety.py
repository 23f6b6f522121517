"""Nothing is left behind, whatever ends a testbed, and nothing else is touched."""

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.plugins.testbeds.conftest import WITH_FOLDER
from topoopt.base.errors import InvalidInput
from topoopt.frontends.cli import main
from topoopt.plugins.testbeds.namespaces import (
    create_namespace,
    inside,
    namespaces_named,
    processes_inside,
    remove_namespace,
)
from topoopt.plugins.testbeds.network import (
    TestbedState,
    build,
    construction,
    find_state,
    known_states,
    remove,
    switch_layout,
)
from topoopt.plugins.testbeds.network import testbed as probe
from topoopt.plugins.testbeds.network.construction import PREFIX
from topoopt.plugins.testbeds.network.netlink import port_indices, speaking
from topoopt.plugins.testbeds.network.testbed import check_machine
from topoopt.plugins.testbeds.standing_testbeds import listed, take_down

RUN = f"""{WITH_FOLDER}
import time
from topoopt.plugins.testbeds.network import build, switch_layout
with build(switch_layout(3, 1e9), sys.argv[1], 100):
    print("ready", flush=True)
    time.sleep(60)
"""
LAYOUT = switch_layout(3, 1e9)


def links_of_the_machine() -> set[str]:
    """Return the links outside of all namespaces that are called like ours."""
    ours = ("nic", "tx", "rx", "port", "bridge")
    return {path.name for path in Path("/sys/class/net").iterdir() if path.name.startswith(ours)}


@pytest.fixture
def untouched(machine: str) -> Iterator[str]:
    """Return a name; a test leaves what it has found: namespaces of that name and of others, links outside, notes."""
    foreign, before = f"foreign-{machine}", links_of_the_machine()
    create_namespace(foreign)
    yield machine
    left = namespaces_named(PREFIX + machine)
    for name in left:
        remove_namespace(name)
    assert left == ()
    assert remove_namespace(foreign), "a namespace of somebody else is gone"
    assert known_states() == ()
    assert links_of_the_machine() == before


def started(name: str) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, str(construction.STATE_FOLDER), name], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    assert len(namespaces_named(PREFIX + name)) == 4
    return process


def test_a_normal_end(untouched: str) -> None:
    with build(LAYOUT, untouched, 100) as testbed:
        assert len(namespaces_named(PREFIX + untouched)) == 4
        assert [state.standing for state in known_states()] == ["in use"]
        assert testbed.namespace_file(0).exists()


def test_an_error_inside(untouched: str) -> None:
    with pytest.raises(ZeroDivisionError), build(LAYOUT, untouched, 100, kept=True):
        raise ZeroDivisionError


def test_an_error_while_it_is_made(untouched: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*things: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(construction, "make_switch", fail)
    with pytest.raises(ZeroDivisionError), build(LAYOUT, untouched, 100, kept=True):
        pass


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_signals(untouched: str, number: signal.Signals, code: int) -> None:
    if signal.getsignal(number) == signal.SIG_IGN:
        pytest.skip(f"who started the tests has {number.name} ignored, and what they start ignores it, too")
    process = started(untouched)
    process.send_signal(number)
    with process:
        assert process.wait(20) in (code, 128 + number, 1)


def test_a_signal_while_it_is_made(untouched: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C waits for the end of the step, and then all of it is removed."""
    monkeypatch.setattr(construction, "hang_on_switch", lambda *things: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt), build(LAYOUT, untouched, 100):
        pytest.fail("Ctrl-C came before")


def test_a_kill_and_down(untouched: str) -> None:
    process = started(untouched)
    process.kill()
    with process:
        process.wait()
    assert [state.standing for state in listed().testbeds] == ["left over"]
    assert len(namespaces_named(PREFIX + untouched)) == 4
    assert [state.name for state in take_down(None).testbeds] == [untouched]


def test_down_of_all_leaves_alone_what_a_run_needs(untouched: str) -> None:
    with build(LAYOUT, untouched, 100):
        answer = take_down(None)
        assert answer.testbeds == ()
        assert answer.left_alone == {untouched: f"process {os.getpid()} runs on it"}
        assert len(namespaces_named(PREFIX + untouched)) == 4


def test_processes_inside_end_and_others_do_not(untouched: str) -> None:
    outside = subprocess.Popen(["sleep", "60"])
    with build(LAYOUT, untouched, 100) as testbed:
        inner = inside(testbed.namespace(1), lambda: subprocess.Popen(["sleep", "60"]))
        assert processes_inside(testbed.state.namespaces) == (inner.pid,)
    assert inner.wait(5) == -signal.SIGKILL
    assert outside.poll() is None
    outside.kill()
    outside.wait()


def test_a_name_is_of_one_testbed(untouched: str) -> None:
    with build(LAYOUT, untouched, 100):
        with (
            pytest.raises(InvalidInput, match=f'there is a testbed "{untouched}"'),
            build(LAYOUT, untouched, 100),
        ):
            pass
        assert len(namespaces_named(PREFIX + untouched)) == 4


def test_a_foreign_namespace_is_left_alone(untouched: str) -> None:
    foreign = f"{PREFIX}{untouched}-s2"
    create_namespace(foreign)
    try:
        with (
            pytest.raises(InvalidInput, match=f"there is a namespace {foreign} already"),
            build(LAYOUT, untouched, 100),
        ):
            pass
        assert namespaces_named(PREFIX + untouched) == (foreign,)
    finally:
        remove_namespace(foreign)


def test_no_link_is_seen_outside_and_no_packet_leaves(untouched: str) -> None:
    before = links_of_the_machine()
    with build(LAYOUT, untouched, 100) as testbed:
        assert links_of_the_machine() == before
        for node in range(3):
            assert set(speaking(testbed.namespace(node), port_indices)) <= {"lo", "nic0"}


@pytest.mark.parametrize("name", ["", "A", "a b", "../x", "x" * 40])
def test_a_name_is_plain(untouched: str, name: str) -> None:
    with pytest.raises(InvalidInput, match="expected small letters"), build(LAYOUT, name, 100):
        pass


def test_an_unknown_testbed_has_no_state(machine: str) -> None:
    with pytest.raises(InvalidInput, match='no testbed "x"; there are: none'):
        find_state("x")


def test_a_state_of_another_process_with_the_same_id_is_left_over(machine: str) -> None:
    state = TestbedState(machine, (), 2, 1, "switch", 1.0, 1.0, os.getpid(), 1, kept=False, ready=True)
    assert state.standing == "left over"
    assert not construction.STATE_FOLDER.exists()
    remove(state)  # what is gone already is no mistake


def test_without_root_it_is_one_line(machine: str) -> None:
    def drop_rights() -> None:
        assert ctypes.CDLL(None).prctl(24, 21, 0, 0, 0) == 0  # PR_CAPBSET_DROP, CAP_SYS_ADMIN

    done = subprocess.run(
        [sys.executable, "-m", "topoopt", "testbed", "up"],
        capture_output=True,
        text=True,
        preexec_fn=drop_rights,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: testbed: making network namespaces needs root; run it as root (sudo)\n"


def test_a_missing_feature_of_the_kernel_is_named(machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = ("flying links", "CONFIG_FLY", lambda kernel: kernel.link("add", ifname="x", kind="flying"))
    monkeypatch.setattr(probe, "_FEATURES", (*probe._FEATURES, missing))
    with pytest.raises(
        InvalidInput, match=r"this kernel has no flying links \(CONFIG_FLY\): .*not supported"
    ):
        check_machine()


def test_without_pyroute2_it_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyroute2", None)
    with pytest.raises(InvalidInput, match=r'pip install "topoopt\[testbed\]"'):
        check_machine()


def test_on_another_system_it_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(InvalidInput, match="needs Linux"):
        check_machine()


def test_a_run_is_over_quickly_once_it_ends(untouched: str) -> None:
    with build(LAYOUT, untouched, 100):
        begun = time.process_time()
    assert time.process_time() - begun < 1.0  # measured: 0.01 s


def changed(note: Path, **words: object) -> None:
    note.write_text(json.dumps({**json.loads(note.read_text()), **words}))


def in_place(place: Path, make: Callable[[], object]) -> None:
    shutil.rmtree(place) if place.is_dir() else place.unlink()
    make()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda note: note.write_text(""),
    "truncated": lambda note: note.write_text(note.read_text()[:60]),
    "no JSON": lambda note: note.write_bytes(b"\xff\xfe\x00"),
    "a list": lambda note: note.write_text("[1]"),
    "null": lambda note: note.write_text("null"),
    "nested": lambda note: note.write_text("[" * 100_000),
    "wrong types": lambda note: changed(note, servers="3", kept=1, namespaces=7, congestion="x"),
    "a list of paths": lambda note: changed(note, name=["/etc"], congestion=[{"a": 1}]),
    "a key less": lambda note: note.write_text("{}"),
    "another version": lambda note: changed(note, version=9),
    "another name": lambda note: changed(note, name="../../etc"),
    "a link": lambda note: in_place(note, lambda: note.symlink_to("/etc/passwd")),
    "a folder": lambda note: in_place(note, note.mkdir),
    "a pipe": lambda note: in_place(note, lambda: os.mkfifo(note)),
    "nothing": lambda note: note.unlink(),
    "another user's": lambda note: os.chown(note, 65534, 65534),
    "all may write it": lambda note: note.chmod(0o666),
    "all may write its folder": lambda note: note.parent.chmod(0o777),
    "another user's folder": lambda note: os.chown(note.parent, 65534, 65534),
    "a file in place of its folder": lambda note: in_place(note.parent, note.parent.touch),
    "a link in place of its folder": lambda note: in_place(
        note.parent, lambda: note.parent.symlink_to("/etc")
    ),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_record_is_one_line_and_all_is_removed(
    untouched: str, damage: Callable[[Path], object], capsys: pytest.CaptureFixture[str]
) -> None:
    """By its name, and so are the testbeds beside it."""
    beside = f"{untouched}-beside"
    for name in (untouched, beside):
        with build(switch_layout(2, 1e9), name, 100, kept=True):
            pass
    damage(construction.STATE_FOLDER / untouched / "state.json")
    assert main(["testbed", "status", "--json"]) == 0
    rows = {row["name"]: row["standing"] for row in json.loads(capsys.readouterr().out)["testbeds"]}
    assert rows == {untouched: "damaged", beside: "up"}
    assert main(["testbed", "down", "--all"]) == 0
    said = capsys.readouterr()
    assert f"{untouched}: its record is damaged: " in " ".join(said.out.split())
    assert said.err == ""
    assert namespaces_named(PREFIX + untouched) == ()
    assert Path("/etc/passwd").exists()


def test_a_record_names_nothing_that_is_removed(untouched: str, tmp_path: Path) -> None:
    """Namespaces of others, files, and another congestion control than ours stay, whatever it says."""
    kept, foreign = tmp_path / "kept", f"foreign-{untouched}"
    kept.write_text("kept")
    with build(LAYOUT, untouched, 100, kept=True):
        pass
    note = construction.STATE_FOLDER / untouched / "state.json"
    changed(note, namespaces=[foreign, str(kept), "../../etc/passwd", "."], congestion=["cubic", "reno"])
    assert [state.name for state in take_down(None).testbeds] == [untouched]
    assert kept.read_text() == "kept"
    assert foreign in namespaces_named("foreign-")


def test_what_has_no_record_is_removed_by_its_name(untouched: str) -> None:
    with build(LAYOUT, untouched, 100, kept=True):
        pass
    shutil.rmtree(construction.STATE_FOLDER)
    assert take_down(None).testbeds == ()
    assert [state.damage for state in take_down(untouched).testbeds] == ["it has no record"]


def test_a_namespace_of_the_machine_is_not_emptied_of_its_processes(untouched: str) -> None:
    """Somebody has given the machine's own namespace a name that one of ours could have."""
    name = f"{PREFIX}{untouched}-s0"
    subprocess.run(["ip", "netns", "attach", name, str(os.getpid())], check=True)
    assert processes_inside((name,)) == ()
    assert take_down(untouched).testbeds[0].namespaces == (name,)


@pytest.mark.parametrize("how", ["link", "owner", "mode", "file"])
def test_a_folder_of_records_that_others_could_write_is_refused(
    machine: str, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = construction.STATE_FOLDER
    if how == "link":
        folder.symlink_to("/etc")
    elif how == "file":
        folder.write_text("")
    else:
        folder.mkdir(mode=0o700)
        os.chown(folder, 65534, 65534) if how == "owner" else folder.chmod(0o777)
    for words in (["status"], ["down", "--all"], ["down", "x"]):
        assert main(["testbed", *words]) == 2
        said = capsys.readouterr().err
        assert said.startswith("error: testbed: records of testbeds cannot be kept or read: ")
        assert said.count("\n") == 1


def test_records_in_a_folder_of_the_environment_are_none(
    machine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``sudo -E`` hands on the folder of the user who says it."""
    place = tmp_path / "topoopt" / "testbed" / machine
    place.mkdir(parents=True)
    (place / "state.json").write_text('{"name": "x", "namespaces": ["../../etc/passwd"]}')
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert known_states() == take_down(None).testbeds == ()
    assert place.exists()
