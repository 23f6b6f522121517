"""Commands run in this process, in an empty folder: quick enough to try every mistake."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from topoopt.frontends.cli import main

EXAMPLES = Path(__file__).parents[3] / "examples"


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str


Topoopt = Callable[..., Ran]


def instead(words: Sequence[str], *flags: str) -> tuple[str, ...]:
    """Return a command with flags in place of its own of the same name; each flag has a value."""
    kept, again = list(words), set(flags[::2]) & set(words)
    for flag in again:
        at = kept.index(flag)
        del kept[at : at + 2]
    return (*kept, *flags)


@pytest.fixture
def topoopt(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Topoopt:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")

    def run(*words: str) -> Ran:
        capsys.readouterr()
        code = main(words)
        printed = capsys.readouterr()
        return Ran(code, printed.out, printed.err)

    return run


@pytest.fixture(scope="session")
def plan_text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small plan file, made once."""
    path = tmp_path_factory.mktemp("plan") / "plan.json"
    words = [
        "plan",
        "dlrm",
        "--servers",
        "16",
        "--budget",
        "100",
        "--fabrics",
        "ideal-switch",
        "--wirings",
        "strides",
        "--out",
    ]
    assert main([*words, str(path), "--json"]) == 0
    return path.read_text()


@pytest.fixture
def plan_file(plan_text: str, tmp_path: Path) -> str:
    (tmp_path / "plan.json").write_text(plan_text)
    return "plan.json"
