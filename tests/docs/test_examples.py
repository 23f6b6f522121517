"""The commands that the documents show work, print what is shown, and the examples run.

In a ``console`` block of the README or a guide each line ``$ topoopt ...`` is run, in order, in one empty
folder per document (with a copy of ``examples/``). Lines below a command are its output; ``...`` stands for
anything, and a command without output is not compared. Numbers with decimals may differ by one unit of their last
digit: what lies in the middle between two is rounded either way by processors that differ in the last bit.
``# exit 2`` after a command expects that exit code. A block after the comment ``<!-- not run: reason -->`` is left
alone.

The guides take minutes: ``make guides`` runs them, and so does continuous integration, by a clean install.
"""

import doctest
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from decimal import Decimal
from io import StringIO
from pathlib import Path

import pytest

from topoopt.frontends.cli import main

ROOT = Path(__file__).parents[2]
GUIDES = sorted(path for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "extend")
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
BY_TORCHRUN = {"train_along_rings.py"}
"""Examples that are programs of torch.distributed."""
# Where the program is that runs the guides, too; continuous integration points it at a clean install.
BIN = Path(os.environ.get("TOPOOPT_BIN", str(Path(sys.executable).parent)))
BLOCK = re.compile(
    r"(?P<skip><!-- not run: [^>]*-->\s*)?^```console\n(?P<body>.*?)^```", re.MULTILINE | re.DOTALL
)
COMMAND = re.compile(r"^\$ (?P<command>(?:.*\\\n)*.*)\n(?P<output>(?:(?!\$ ).*\n)*)", re.MULTILINE)
TOKEN = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?|.")
"""A number that is no part of a word, or a character."""
EXIT = re.compile(r"\s+# exit (\d+)$")
LONGEST_S = 600


@dataclass(frozen=True)
class Shown:
    """A command of a document and what it prints there."""

    arguments: list[str]
    output: str
    exit_code: int


def shown_in(text: str) -> Iterator[Shown]:
    for block in BLOCK.finditer(text):
        if block["skip"]:
            continue
        for match in COMMAND.finditer(block["body"]):
            command = match["command"].replace("\\\n", " ")
            code = EXIT.search(command)
            yield Shown(
                shlex.split(EXIT.sub("", command), comments=True),
                match["output"],
                int(code[1]) if code else 0,
            )


def run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command as its readers do, or in this process, where every other second would go into imports."""
    settings = {"COLUMNS": "110", "NO_COLOR": "1", "TERM": "dumb"}
    if "TOPOOPT_BIN" not in os.environ and arguments[0] in IN_PROCESS:
        with (
            pytest.MonkeyPatch.context() as patch,
            redirect_stdout(StringIO()) as out,
            redirect_stderr(StringIO()) as err,
        ):
            patch.chdir(folder)
            for name, value in settings.items():
                patch.setenv(name, value)
            code = IN_PROCESS[arguments[0]](arguments[1:])
        return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())
    return subprocess.run(
        [str(BIN / arguments[0]), *arguments[1:]],
        cwd=folder,
        env={**os.environ, **settings},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGEST_S,
    )


def run_script(arguments: list[str]) -> int:
    """Run a script as the main program; warnings are errors in tests anyway."""
    runpy.run_path(arguments[-1], run_name="__main__")
    return 0


IN_PROCESS: Mapping[str, Callable[[list[str]], int]] = {"topoopt": main, "python": run_script}


def same(shown: str, printed: str) -> bool:
    """Return whether a command printed what is shown, up to spaces, ``...`` and the last digit of decimals."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    if not shown.strip() or doctest.OutputChecker().check_output(shown, printed, flags):
        return True
    found = TOKEN.findall(" ".join(printed.split()))
    parts = [TOKEN.findall(part.strip()) for part in " ".join(shown.split()).split("...")]
    begin = 0
    for number, part in enumerate(parts):
        last = len(found) - len(part)
        if number == len(parts) - 1:
            begin = max(begin, last)
        places = range(begin, (last if number else min(last, 0)) + 1)
        fits = (place for place in places if all(map(alike, part, found[place : place + len(part)])))
        begin = next(fits, -1) + len(part)
        if begin < len(part):
            return False
    return True


def alike(shown: str, printed: str) -> bool:
    """Return whether two tokens are equal, or decimals that differ by one unit of the last digit of the longer."""
    if shown == printed or not (shown[0].isdigit() and printed[0].isdigit()) or "." not in shown + printed:
        return shown == printed
    first, second = (Decimal(token.replace(",", "")) for token in (shown, printed))
    digit = min(int(number.as_tuple().exponent) for number in (first, second))
    return abs(first - second) <= Decimal(1).scaleb(digit)


@pytest.mark.long
def test_the_commands_of_the_readme_do_what_it_shows(tmp_path: Path) -> None:
    check_commands(ROOT / "README.md", tmp_path)


@pytest.mark.slow
@pytest.mark.skipif("TOPOOPT_BIN" not in os.environ, reason="all guides take minutes: make guides runs them")
@pytest.mark.parametrize("path", GUIDES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_commands_of_a_guide_do_what_it_shows(path: Path, tmp_path: Path) -> None:
    check_commands(path, tmp_path)


def check_commands(path: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for shown in shown_in(path.read_text()):
        line = shlex.join(shown.arguments)
        assert shown.arguments[0] == "topoopt", (
            f"{path.name}: only topoopt is run in console blocks, not {line}"
        )
        done = run(shown.arguments, tmp_path)
        assert done.returncode == shown.exit_code, f"$ {line}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr, f"$ {line}\n{done.stderr}"
        printed = done.stdout + (done.stderr if shown.exit_code else "")
        assert same(shown.output, printed), f"$ {line}\nshown:\n{shown.output}\nprinted:\n{printed}"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_an_example_runs(path: Path, tmp_path: Path) -> None:
    command = ["python", "-W", "error", str(path)]
    if path.name in BY_TORCHRUN:
        if not (BIN / "torchrun").exists():
            pytest.skip("PyTorch is not installed: pip install topoopt[testbed]")
        command = ["torchrun", "--nproc-per-node", "3", str(path)]
    done = run(command, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout, "an example shows something"


def test_the_readme_and_the_guide_show_commands() -> None:
    assert list(shown_in((ROOT / "README.md").read_text()))
    assert list(shown_in((ROOT / "docs" / "guides" / "plan-a-job.md").read_text()))


def test_commands_are_read_as_they_are_meant() -> None:
    text = "```console\n$ topoopt a \\\n    --b 1  # exit 2\none\n...\n$ topoopt c\n```\n"
    skipped = "<!-- not run: slow -->\n```console\n$ topoopt d\n```\n"
    assert list(shown_in(text + skipped)) == [
        Shown(["topoopt", "a", "--b", "1"], "one\n...\n", 2),
        Shown(["topoopt", "c"], "", 0),
    ]


def test_a_different_output_is_noticed() -> None:
    assert same("strides  1, 5\n...\n", "strides 1, 5\ndiameter 4\n")
    assert not same("strides 1, 5\n", "strides 1, 3\n")


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("35.1 ms of communication", "35.11 ms of communication"),
        ("(9.547 ms)", "(9.548 ms)"),
        ("9.999 s", "10 s"),
        ("1,234.5 MB\n...\n12 links, 0.25 full", "1,234.6 MB\nmuch\n12 links,   0.26 full"),
        ("1.5e-06 s", "1.6e-06 s"),
    ],
)
def test_the_last_digit_of_decimals_may_differ(shown: str, printed: str) -> None:
    assert same(shown, printed)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("35.1 ms", "35.12 ms"),
        ("9.547 ms", "9.549 ms"),
        ("88 operators", "87 operators"),
        ("tp8.1", "tp8.2"),
        ("1.5 ms", "1.5 s"),
        ("1.5 ms\n...\n2.5 ms", "1.6 ms\n2.7 ms"),
        ("1.5 ms", "1.6 ms more"),
    ],
)
def test_no_more_than_that_may_differ(shown: str, printed: str) -> None:
    assert not same(shown, printed)
