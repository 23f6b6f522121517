"""A version of the program: its source, its front door and the interpreter that has what it needs."""

import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CACHE = ROOT / "out" / "same"
EXTRAS = ("import", "parquet")
"""Optional packages that commands of the corpus use."""


class Unusable(Exception):
    """One line about why nothing can be compared."""


@dataclass(frozen=True)
class Program:
    """One version, ready to be run: ``interpreter`` with ``environment`` imports it."""

    label: str
    root: Path
    interpreter: Path
    environment: dict[str, str]
    door: str
    version: str


def tree_program() -> Program:
    """Return the program of the working tree."""
    return _program("tree", ROOT, CACHE / "tree", Path(sys.executable))


def base_program(revision: str) -> Program:
    """Return the program of a commit, checked out once; with an environment of its own if its packages differ."""
    commit = full_commit(revision)
    home = CACHE / commit
    root = home / "checkout"
    if not (home / "ready").exists():
        root.mkdir(parents=True, exist_ok=True)
        archive = _git("archive", commit, "src", "examples", "pyproject.toml")
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
            if hasattr(tarfile, "data_filter"):  # security releases of Python 3.11 from 3.11.4 on have it
                files.extraction_filter = tarfile.data_filter
            files.extractall(root)
        (home / "ready").touch()
    same_packages = _packages(root) == _packages(ROOT)
    return _program(
        "base", root, home, Path(sys.executable) if same_packages else _own_interpreter(home, root)
    )


def full_commit(revision: str) -> str:
    """Return the whole name of a commit that is in the history."""
    found = _git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", check=False)
    if found.returncode:
        raise Unusable(f"BASE {revision} is not in the history: fetch all of it, git fetch --unshallow")
    return found.stdout.decode().strip()


def _git(*words: str, check: bool = True) -> "subprocess.CompletedProcess[bytes]":
    if shutil.which("git") is None:
        raise Unusable("git is missing, which has the program of BASE")
    whoever = ("-c", "safe.directory=*")  # a checkout may belong to another user than the one who tests it
    return subprocess.run(["git", *whoever, "-C", str(ROOT), *words], capture_output=True, check=check)


def _program(label: str, root: Path, home: Path, interpreter: Path) -> Program:
    """Write the metadata that plug-ins are found by, and say how this version is imported."""
    project = _project(root)
    metadata = home / "metadata" / f"{project['name']}-{project['version']}.dist-info"
    metadata.mkdir(parents=True, exist_ok=True)
    named = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (metadata / "METADATA").write_text(named)
    groups = {"console_scripts": project["scripts"], **project.get("entry-points", {})}
    (metadata / "entry_points.txt").write_text(
        "".join(
            f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in rows.items())
            for group, rows in groups.items()
        )
    )
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("TOPOOPT", "PYTHON", "FORCE_COLOR"))
    }
    environment = {
        **kept,
        "PYTHONPATH": os.pathsep.join([str(root / "src"), str(metadata.parent)]),
        "TOPOOPT_SETTINGS": "none",
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",
        "COLUMNS": "110",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "TZ": "UTC",
        "SOURCE_DATE_EPOCH": "0",
    }
    return Program(label, root, interpreter, environment, project["scripts"]["topoopt"], project["version"])


def _project(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    return found


def _packages(root: Path) -> list[str]:
    project = _project(root)
    extras = [name for extra in EXTRAS for name in project["optional-dependencies"].get(extra, [])]
    return sorted({*project["dependencies"], *extras})


def _own_interpreter(home: Path, root: Path) -> Path:
    packages = _packages(root)
    venv = home / f"venv-{hashlib.sha256(repr(packages).encode()).hexdigest()[:12]}"
    interpreter = venv / "bin" / "python"
    if not (venv / "ready").exists():
        print("The packages of BASE differ: building an environment for it, once.", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=True)
        quiet = ["-qq", "--disable-pip-version-check"]
        subprocess.run([str(interpreter), "-m", "pip", "install", *quiet, *packages], check=True)
        (venv / "ready").touch()
    return interpreter
