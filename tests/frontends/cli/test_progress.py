"""Progress is for people who look: quiet in files, a bar on a terminal."""

import io
import sys

import pytest

from topoopt.frontends.cli.output import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_quiet_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("searching") as report:
        report("searching", 1, 2)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_sees_the_stage_and_keeps_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with progress("searching") as report:
        report("searching for torus", 1, 4)
    assert "searching for torus" in terminal.getvalue()
    assert "25%" in terminal.getvalue()
    assert capsys.readouterr().out == ""
