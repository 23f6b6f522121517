"""Ctrl-C is one line and exit code 130, whatever it interrupts."""

import sys

import pytest

from tests.cli.conftest import Topoopt
from topoopt.cli import main


def interrupt(*words: object) -> None:
    raise KeyboardInterrupt


def interrupt_in_a_kernel(*words: object) -> None:
    """What numba makes of Ctrl-C during compiled code."""
    raise SystemError("returned a result with an exception set") from KeyboardInterrupt()


@pytest.mark.parametrize("stop", [interrupt, interrupt_in_a_kernel])
def test_in_a_verb(topoopt: Topoopt, monkeypatch: pytest.MonkeyPatch, stop: object) -> None:
    monkeypatch.setattr("topoopt.workload.resolve_variant", stop)
    ran = topoopt("models", "dlrm")
    assert (ran.code, ran.out, ran.err) == (130, "", "interrupted: nothing was written\n")


def test_while_words_are_read(topoopt: Topoopt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("typer.core.TyperGroup.make_context", interrupt)
    ran = topoopt("models")
    assert (ran.code, ran.out, ran.err) == (130, "", "interrupted: nothing was written\n")


def test_while_the_program_is_imported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupting:
        def find_spec(self, name: str, *more: object) -> None:
            if name == "topoopt.cli.program":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "topoopt.cli.program", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    assert main(["models"]) == 130
    assert capsys.readouterr().err == "interrupted: nothing was written\n"


def test_another_system_error_is_ours(topoopt: Topoopt, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*words: object) -> None:
        raise SystemError("ours")

    monkeypatch.setattr("topoopt.workload.resolve_variant", broken)
    with pytest.raises(SystemError, match="ours"):
        topoopt("models", "dlrm")
