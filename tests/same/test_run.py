"""Commands are run in one process for each version, and what they leave behind is kept."""

import json
import shutil
import sys
from pathlib import Path

import pytest

import same.run
from fuzz.subjects import verbs
from same.compare import differences
from same.corpus import FOLDER, Group, read_corpus, words_of
from same.program import ROOT, Program, Unusable, full_commit, tree_program
from same.recording import Worker, run_groups
from same.run import answers

PROGRAM = """
import os, pathlib, sys

STARTED = []

def main():
    STARTED.append(1)
    verb, *words = sys.argv[1:]
    if verb == "die":
        os._exit(3)
    if verb == "fail":
        raise ZeroDivisionError("ours")
    if verb == "stop":
        print(pathlib.Path.cwd() / "here", file=sys.stderr)
        sys.exit(2)
    if verb == "write":
        pathlib.Path(words[0]).write_text(words[1])
    os.environ["LEFT"] = "over"
    print(verb, len(STARTED), os.environ.get("COLUMNS"), sys.stdin.read(), {answer!r}, "0.1.0 of 10.1.0.0")
"""


def program(folder: Path, answer: str = "same") -> Program:
    (folder / "src").mkdir(parents=True)
    (folder / "examples").mkdir()
    (folder / "examples" / "job.yaml").write_text("model: dlrm\n")
    (folder / "src" / "fake.py").write_text(PROGRAM.replace("{answer!r}", repr(answer)))
    environment = {"PYTHONPATH": str(folder / "src"), "COLUMNS": "110"}
    return Program("fake", folder, Path(sys.executable), environment, "fake:main", "0.1.0")


GROUP = Group(
    "some", ("say", "$ printf made > a.txt", "write b.txt 'two words'", "stop", "fail", "say again")
)


def test_commands_of_a_group_share_a_process_and_a_folder(tmp_path: Path) -> None:
    say, write, stop, fail, again = run_groups(program(tmp_path), [GROUP], 1)["some"]
    assert say["out"] == "say 1 110  same VERSION of 10.1.0.0\n"
    assert write["files"] == {"b.txt": "two words"}
    assert (stop["code"], stop["err"]) == (2, "FOLDER/here\n")
    assert (fail["code"], fail["err"]) == (1, "ZeroDivisionError: ours\n")
    assert (again["code"], again["out"], again["files"]) == (0, "say 5 110  same VERSION of 10.1.0.0\n", {})


def test_a_process_that_dies_is_begun_again(tmp_path: Path) -> None:
    with Worker(program(tmp_path)) as worker:
        assert worker.run(["die"], tmp_path)["code"] == "the process ended, 3"
        assert worker.run(["say"], tmp_path)["out"].startswith("say 1 110  same")


def test_two_versions_that_differ_are_told_apart_and_what_base_answers_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(same.run, "CACHE", tmp_path / "cache")
    base, tree = (program(tmp_path / answer, answer) for answer in ("base", "tree"))
    rows = answers(base, "abc", tree, [GROUP], 2)
    found = [(one.command, one.key) for row in rows for one in differences(*row)]
    assert found == [("say", "stdout"), ("write b.txt 'two words'", "stdout"), ("say again", "stdout")]
    (base.root / "src" / "fake.py").unlink()
    assert [row[1] for row in answers(base, "abc", tree, [GROUP], 2)] == [row[1] for row in rows]
    with pytest.raises(Unusable, match="the program of fake does not start"):
        answers(base, "abc", tree, [Group("some", ("say",))], 2)


def test_the_corpus_has_every_verb_and_no_command_twice() -> None:
    commands = [command for group in read_corpus() for command in group.commands]
    assert len(commands) >= 300
    called = [words_of(command) for command in commands if "--help" not in command]
    known = {verb for verb, _ in verbs()} - {"testbed status", "doctor"}  # show what is on the machine
    assert {
        verb for verb in known if not any(words[: len(verb.split())] == verb.split() for words in called)
    } == set()
    used = {path.name for path in (ROOT / "examples").iterdir() if path.suffix != ".py"}
    texts = "".join(path.read_text() for path in FOLDER.glob("*.txt"))
    assert {name for name in used if f"examples/{name}" not in texts} == set()


def test_the_front_door_is_that_of_the_project_file() -> None:
    tree = tree_program()
    module, _, name = tree.door.partition(":")
    assert (module.partition(".")[0], name) == ("topoopt", "main")
    assert str(ROOT / "src") in tree.environment["PYTHONPATH"]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_commit_that_is_not_in_the_history_is_one_line() -> None:
    with pytest.raises(Unusable, match="BASE 0123456789 is not in the history"):
        full_commit("0123456789")


def test_records_are_json(tmp_path: Path) -> None:
    found = run_groups(program(tmp_path), [GROUP], 1)
    assert json.loads(json.dumps(found)) == found
