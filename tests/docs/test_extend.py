"""The pages "Extend it" are true: what they add is added to a copy of the source, and the program then has it.

On a page a block of Python whose first line is ``# src/...`` is a new file. A ``diff`` block after ``+++ src/...`` puts
its ``+`` lines below the line before them, which must be there; an ellipsis is any lines. A ``pycon`` block is a
session, a ``console`` block holds commands; both meet the changed source. A comment ``<!-- after: page.md -->`` puts
another page first. A distribution of its own has files ``# topoopt-.../...``, and ``pip install ./topoopt-...`` in a
``sh`` block installs it.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.docs.test_examples import same, shown_in

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "extend").glob("*.md"))
BLOCK = re.compile(
    r"^```(?P<kind>python|toml|diff|sh|pycon|console)\n(?P<body>.*?)^```", re.MULTILINE | re.DOTALL
)
LONGEST_S = 600
INSTALLED = "site-packages"


@dataclass(frozen=True)
class Block:
    kind: str
    body: str

    @property
    def place(self) -> str:
        """The file that a block makes or changes, empty for a session or commands."""
        head = re.match(r"(?:# |\+\+\+ )((?:src|topoopt-\w+)/\S+)\n", self.body)
        return head[1] if head else ""

    @property
    def lines(self) -> list[str]:
        """The block without the name of its file."""
        return self.body.splitlines()[1 if self.place else 0 :]

    @property
    def added(self) -> list[str]:
        """The lines that a diff adds."""
        return [line[1:] for line in self.lines if line.startswith("+")]


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    before = [page.with_name(name) for name in re.findall(r"<!-- after: (\S+) -->", text)]
    own = [Block(match["kind"], match["body"]) for match in BLOCK.finditer(text)]
    return [block for other in before for block in blocks_of(other) if block.place] + own


def patched(text: str, block: Block) -> str:
    """Return a file with the lines of a diff put below the ones that stand before them."""
    lines, at = text.splitlines(), -1
    for line in block.lines:
        if line.startswith("+"):
            lines.insert(at + 1, line[1:])
            at += 1
        elif line != " ...":
            at = lines.index(line[1:], at + 1)
    return "\n".join(lines) + "\n"


def run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    places = os.pathsep.join((str(folder / "src"), str(folder / INSTALLED)))
    surroundings = {"PYTHONPATH": places, "COLUMNS": "110", "NO_COLOR": "1", "TERM": "dumb"}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, **surroundings},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGEST_S,
    )


def carry_out(block: Block, folder: Path) -> None:
    if block.kind == "console":
        for shown in shown_in(f"```console\n{block.body}```\n"):
            done = run(["-m", *shown.arguments], folder)
            assert done.returncode == shown.exit_code, done.stdout + done.stderr
            printed = done.stdout + (done.stderr if shown.exit_code else "")
            assert same(shown.output, printed), f"{shown.arguments}\n{shown.output}\nprinted:\n{printed}"
    elif block.kind == "pycon":
        (folder / "session.txt").write_text(block.body, encoding="utf-8")
        done = run(["-m", "doctest", "-o", "ELLIPSIS", "session.txt"], folder)
        assert done.returncode == 0, done.stdout + done.stderr
    elif block.kind == "diff":
        path = folder / block.place
        path.write_text(patched(path.read_text(encoding="utf-8"), block), encoding="utf-8")
    elif block.kind == "sh":
        command = block.body.split()
        assert command[:2] == ["pip", "install"]
        wheel = wheel_of(folder / command[2])
        done = run(
            ["-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target", INSTALLED, str(wheel)],
            folder,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    elif block.place:
        assert not (folder / block.place).exists(), f"{block.place} is there already"
        (folder / block.place).parent.mkdir(parents=True, exist_ok=True)
        (folder / block.place).write_text("\n".join(block.lines) + "\n", encoding="utf-8")


def wheel_of(distribution: Path) -> Path:
    """Return a wheel of a distribution of Python files, as its build backend would make it, without one."""
    project = tomllib.loads((distribution / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name, version = project["name"].replace("-", "_"), project["version"]
    info = f"{name}-{version}.dist-info"
    groups = project["entry-points"].items()
    files = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "\n".join(
            f"[{group}]\n" + "".join(f"{key} = {place}\n" for key, place in entries.items())
            for group, entries in groups
        ),
    }
    for path in sorted((distribution / name).rglob("*.*")):
        files[str(path.relative_to(distribution))] = path.read_text(encoding="utf-8")
    files[f"{info}/RECORD"] = "".join(f"{file},,\n" for file in [*files, f"{info}/RECORD"])
    wheel = distribution / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for file, text in files.items():
            archive.writestr(file, text)
    return wheel


def pages() -> list[Any]:
    """All pages; those that plan, fit or compile the packet engine anew wait for ``make guides``."""
    later = pytest.mark.skipif("TOPOOPT_BIN" not in os.environ, reason="takes seconds: make guides runs it")
    marks = {name: [pytest.mark.slow, later] for name in ("calibration", "fabric", "routing", "transport")}
    return [pytest.param(page, marks=marks.get(page.stem, []), id=page.stem) for page in PAGES]


@pytest.mark.long
@pytest.mark.parametrize("page", pages())
def test_what_a_page_adds_is_used_by_the_program(page: Path, tmp_path: Path) -> None:
    # With the caches of compiled kernels, whose files keep their times; not what another process is writing.
    leave_out = shutil.ignore_patterns("*.tmp.*")
    shutil.copytree(ROOT / "src" / "topoopt", tmp_path / "src" / "topoopt", ignore=leave_out)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for block in blocks_of(page):
        carry_out(block, tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_of_a_page_has_the_form_of_the_house(page: Path, tmp_path: Path) -> None:
    for block in blocks_of(page):
        if block.kind == "python":
            (tmp_path / Path(block.place).name).write_text("\n".join(block.lines) + "\n", encoding="utf-8")
    ruff = [str(Path(sys.executable).with_name("ruff")), "--config", str(ROOT / "pyproject.toml")]
    for check in (["check", "--no-cache"], ["format", "--no-cache", "--check"]):
        done = subprocess.run([*ruff, *check, str(tmp_path)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_diff_adds_below_the_line_that_it_shows() -> None:
    block = Block("diff", "+++ src/a.py\n one\n+two\n four\n+five\n")
    assert block.place == "src/a.py"
    assert patched("zero\none\nthree\nfour\n", block) == "zero\none\ntwo\nthree\nfour\nfive\n"
    with pytest.raises(ValueError, match="not in list"):
        patched("zero\n", block)
