"""Commands are run in one process for each version, and what they leave behind is kept."""

import json
import sys
from pathlib import Path

import pytest

import same.run
from same.corpus import FOLDER, Group, read_corpus
from same.program import ROOT, Program, Unusable, full_commit, tree_program
from same.run import Worker, base_records, compare_all, run_groups
from topoopt.frontends.cli.program import VERBS

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
    print(verb, len(STARTED), os.environ.get("COLUMNS"), sys.stdin.read(), {answer!r})
"""


def program(folder: Path, answer: str = "same") -> Program:
    (folder / "src").mkdir(parents=True)
    (folder / "examples").mkdir()
    (folder / "examples" / "job.yaml").write_text("model: dlrm\n")
    (folder / "src" / "fake.py").write_text(PROGRAM.replace("{answer!r}", repr(answer)))
    environment = {"PYTHONPATH": str(folder / "src"), "COLUMNS": "110"}
    return Program("fake", folder, Path(sys.executable), environment, "fake:main")


GROUP = Group(
    "some", ("say", "$ printf made > a.txt", "write b.txt 'two words'", "stop", "fail", "say again")
)


def test_commands_of_a_group_share_a_process_and_a_folder(tmp_path: Path) -> None:
    say, write, stop, fail, again = run_groups(program(tmp_path), [GROUP], 1)["some"]
    assert say["out"] == "say 1 110  same\n"
    assert write["files"] == {"b.txt": "two words"}
    assert (stop["code"], stop["err"]) == (2, "FOLDER/here\n")
    assert (fail["code"], fail["err"]) == (1, "ZeroDivisionError: ours\n")
    assert (again["code"], again["out"], again["files"]) == (0, "say 5 110  same\n", {})


def test_a_process_that_dies_is_begun_again(tmp_path: Path) -> None:
    with Worker(program(tmp_path)) as worker:
        assert worker.run(["die"], tmp_path)["code"] == "the process ended, 3"
        assert worker.run(["say"], tmp_path)["out"] == "say 1 110  same\n"


def test_what_base_answers_is_kept_until_its_commands_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(same.run, "CACHE", tmp_path / "cache")
    fake = program(tmp_path / "fake")
    first = base_records(fake, "abc", [GROUP], 1)
    (fake.root / "src" / "fake.py").unlink()
    assert base_records(fake, "abc", [GROUP], 1) == first
    changed = base_records(fake, "abc", [Group("some", ("say",))], 1)
    assert changed["some"][0]["code"] != 0


def test_two_versions_that_differ_are_told_apart(tmp_path: Path) -> None:
    answers = [run_groups(program(tmp_path / one, one), [GROUP], 1) for one in ("base", "tree")]
    found = compare_all([GROUP], *answers)
    assert [(one.command, one.key) for one in found] == [
        ("say", "stdout"),
        ("write b.txt 'two words'", "stdout"),
        ("say again", "stdout"),
    ]


def test_the_corpus_has_every_verb_and_no_command_twice() -> None:
    commands = [command for group in read_corpus() for command in group.commands]
    assert len(commands) >= 300
    assert set(VERBS) <= {command.split()[0] for command in commands if "--help" not in command}
    used = {path.name for path in (ROOT / "examples").iterdir() if path.suffix != ".py"}
    texts = "".join(path.read_text() for path in FOLDER.glob("*.txt"))
    assert {name for name in used if f"examples/{name}" not in texts} == set()


def test_the_front_door_is_that_of_the_project_file() -> None:
    tree = tree_program()
    module, _, name = tree.door.partition(":")
    assert (module.partition(".")[0], name) == ("topoopt", "main")
    assert str(ROOT / "src") in tree.environment["PYTHONPATH"]


def test_a_commit_that_is_not_in_the_history_is_one_line() -> None:
    with pytest.raises(Unusable, match="BASE 0123456789 is not in the history"):
        full_commit("0123456789")


def test_records_are_json(tmp_path: Path) -> None:
    found = run_groups(program(tmp_path), [GROUP], 1)
    assert json.loads(json.dumps(found)) == found
