"""The command prints what it has to say, whatever the terminal can show."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


def ascii_only(*words: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "LANG": "C", "LC_ALL": "C"}
    command = [sys.executable, "-m", "topoopt", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_what_the_terminal_lacks_is_an_escape() -> None:
    done = ascii_only("topology", "--servers", "12", "--strides", "1,5")
    assert done.returncode == 0, done.stderr
    assert r"\xb1" in done.stdout, "server i to i ± 1"


def test_a_file_name_that_is_no_text_is_one_line(tmp_path: Path) -> None:
    name = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.json")
    Path(name).write_text("{}")
    done = ascii_only("report", name)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "is not UTF-8 text; give the file another name" in done.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-"])
@pytest.mark.parametrize(
    "words", ["topology --servers 16 --degree 4", "cost --servers 16 --json", "--version"]
)
def test_a_closed_stream_takes_nothing(closed: str, words: str) -> None:
    command = f"'{sys.executable}' -m topoopt {words} {closed}"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
