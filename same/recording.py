"""Commands of the corpus, run by one version, and what they leave behind."""

import hashlib
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Timer
from typing import Any

from same.corpus import SHELL, Group, words_of
from same.program import Program, Unusable

WORKER = Path(__file__).with_name("worker.py")

LIMIT_S = 900.0
"""After so long a command is ended, with its process; kernels may have to be compiled meanwhile."""

NOT_COMPARED = (".duckdb", ".wal")
"""Files of a database hold times and free space; ``results`` shows what is in them."""

Records = dict[str, list[dict[str, Any]]]
"""What each command of a group left behind, by the name of the group."""


def run_groups(program: Program, groups: Sequence[Group], jobs: int) -> Records:
    """Run groups of commands by one version, on as many processes as there are jobs."""
    waiting: SimpleQueue[Group] = SimpleQueue()
    for group in groups:
        waiting.put(group)
    found: Records = {}

    def work() -> None:
        with Worker(program) as worker:
            while True:
                try:
                    group = waiting.get_nowait()
                except Empty:
                    return
                records = found[group.name] = run_group(program, worker, group)
                took_s = sum(record["cpu_s"] for record in records)
                print(
                    f"{program.label}: {group.name}, {len(records)} commands, {took_s:.0f} CPU-s", flush=True
                )

    with ThreadPoolExecutor(jobs) as pool:
        for crew in [pool.submit(work) for _ in range(jobs)]:
            crew.result()
    return found


def run_group(program: Program, worker: "Worker", group: Group) -> list[dict[str, Any]]:
    """Run the commands of a group, one after the other, in a new folder."""
    records = []
    with tempfile.TemporaryDirectory(prefix="same-") as name:
        folder = Path(name).resolve()
        shutil.copytree(program.root / "examples", folder / "examples")
        before = _listing(folder)
        for command in group.lines:
            if command.startswith(SHELL):
                subprocess.run(command.removeprefix(SHELL), shell=True, cwd=folder, check=False)
                before = _listing(folder)
                continue
            record = worker.run(words_of(command), folder)
            after = _listing(folder)
            written = [path for path, state in after.items() if before.get(path) != state]
            record["files"] = {
                path: _content(folder / path) for path in written if not path.endswith(NOT_COMPARED)
            }
            for path in written:  # a page is compared without the times of its run, and so is its size
                size = f'"size_bytes": {after[path][1]}'
                record["out"] = record["out"].replace(size, f'"size_bytes": "of {path}"')
            before = after
            text = json.dumps(record).replace(str(folder), "FOLDER").replace(str(program.root), "ROOT")
            version = rf"(?<![\d.]){re.escape(program.version)}(?![\d.])"
            records.append(json.loads(re.sub(version, "VERSION", text)))
    return records


class Worker:
    """A process that runs commands of one version; a new one is begun where it has died or was ended."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.communicate()

    def run(self, words: Sequence[str], folder: Path) -> dict[str, Any]:
        """Run one command and return what it left behind, but for files."""
        process = self._process = self._process or self._begin()
        assert process.stdin is not None
        assert process.stdout is not None
        patience = Timer(LIMIT_S, process.kill)
        patience.start()
        try:
            process.stdin.write(json.dumps({"words": words, "folder": str(folder)}) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            patience.cancel()
        if line:
            record: dict[str, Any] = json.loads(line)
            return record
        process.communicate()
        self._process = None
        return {"code": f"the process ended, {process.returncode}", "out": "", "err": "", "cpu_s": 0.0}

    def _begin(self) -> "subprocess.Popen[str]":
        words = [str(self._program.interpreter), "-P", str(WORKER), self._program.door]
        pipe, environment = subprocess.PIPE, self._program.environment
        process = subprocess.Popen(words, text=True, env=environment, stdin=pipe, stdout=pipe)
        assert process.stdout is not None
        if not process.stdout.readline():
            process.communicate()
            raise Unusable(f"the program of {self._program.label} does not start")
        return process


def _listing(folder: Path) -> dict[str, tuple[int, int]]:
    states = ((path, path.lstat()) for path in sorted(folder.rglob("*")) if not path.is_dir())
    return {str(path.relative_to(folder)): (state.st_mtime_ns, state.st_size) for path, state in states}


def _content(path: Path) -> str:
    content = path.read_bytes()
    try:
        return content.decode()
    except UnicodeDecodeError:
        return f"{len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()}"
