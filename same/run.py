"""``python -m same.run``: the commands of the corpus by the program of BASE and by the working tree, compared.

Each version runs in one process (``--jobs`` are shared out), so that it starts and compiles once. What BASE answers is
kept in ``out/same/``. The exit code is 1 if anything differs that ``meant.toml`` does not name, or if an entry there
matches nothing any more.
"""

import argparse
import fnmatch
import hashlib
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Timer
from typing import Any

from same.compare import Difference, differences, judge, read_meant
from same.corpus import SHELL, Group, read_corpus, words_of
from same.program import CACHE, Program, Unusable, base_program, tree_program

HERE = Path(__file__).parent
LIMIT_S = 900.0
"""After so long a command is ended, with its process; kernels may have to be compiled meanwhile."""

SHOWN = 8
"""Lines of differences that are shown for a command."""

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
                found[group.name] = run_group(program, worker, group)

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
            before = after
            text = json.dumps(record)
            for place, instead in ((folder, "FOLDER"), (program.root, "ROOT")):
                text = text.replace(str(place), instead)
            records.append(json.loads(text))
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
        words = [str(self._program.interpreter), "-P", str(HERE / "worker.py"), self._program.door]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        return subprocess.Popen(words, text=True, env=self._program.environment, **pipes)


def base_records(program: Program, commit: str, groups: Sequence[Group], jobs: int) -> Records:
    """Return what BASE answers; groups that it has answered before are read from ``out/same/``."""
    kept = {
        group.name: CACHE / commit / "results" / f"{group.name}-{_digest(group)}.json" for group in groups
    }
    new = run_groups(program, [group for group in groups if not kept[group.name].exists()], jobs)
    for name, records in new.items():
        if any(isinstance(record["code"], str) for record in records):
            continue  # of a process that died, perhaps for want of memory
        kept[name].parent.mkdir(parents=True, exist_ok=True)
        for old in kept[name].parent.glob(f"{name}-*.json"):
            old.unlink()
        kept[name].write_text(json.dumps(records))
    return {name: new[name] if name in new else json.loads(path.read_text()) for name, path in kept.items()}


def _digest(group: Group) -> str:
    by = [path.read_bytes() for path in (HERE / "worker.py", HERE / "program.py", HERE / "run.py")]
    return hashlib.sha256(b"\n".join([*map(str.encode, group.lines), *by])).hexdigest()[:16]


def _listing(folder: Path) -> dict[str, tuple[int, int]]:
    states = ((path, path.lstat()) for path in sorted(folder.rglob("*")) if not path.is_dir())
    return {str(path.relative_to(folder)): (state.st_mtime_ns, state.st_size) for path, state in states}


def _content(path: Path) -> str:
    content = path.read_bytes()
    try:
        return content.decode()
    except UnicodeDecodeError:
        return f"{len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()}"


def compare_all(groups: Sequence[Group], base: Records, tree: Records) -> list[Difference]:
    """Return all differences, in the order of the corpus."""
    return [
        difference
        for group in groups
        for command, old, new in zip(group.commands, base[group.name], tree[group.name], strict=True)
        for difference in differences(command, old, new)
    ]


def show(found: Sequence[Difference]) -> None:
    """Print differences by command, the first few of each."""
    by_command: dict[str, list[str]] = {}
    for one in found:
        by_command.setdefault(one.command, []).extend(f"{one.key}: {line}" for line in one.shown.splitlines())
    for command, lines in by_command.items():
        print(f"\n$ topoopt {command}")
        for line in lines[:SHOWN]:
            print(f"    {line}")
        if len(lines) > SHOWN:
            print(f"    ... and {len(lines) - SHOWN} more lines")


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, and print what differs."""
    parser = argparse.ArgumentParser(prog="same", description=__doc__.partition("\n")[0])
    parser.add_argument("--base", metavar="COMMIT", help="in place of the commit in same/BASE")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    parser.add_argument(
        "--only", default="*", metavar="PATTERN", help="groups of commands by name, such as 'plan*'"
    )
    parser.add_argument(
        "--slowest", type=int, default=0, metavar="N", help="also print the N slowest commands"
    )
    asked = parser.parse_args(arguments)
    began_s = time.monotonic()
    groups = [group for group in read_corpus() if fnmatch.fnmatch(group.name, asked.only)]
    try:
        tree_version = tree_program()
        base_version = base_program(asked.base or (HERE / "BASE").read_text().strip())
    except Unusable as error:
        print(f"same: {error}", file=sys.stderr)
        return 2
    commit = base_version.root.parent.name
    with ThreadPoolExecutor(1) as pool:
        known = pool.submit(base_records, base_version, commit, groups, max(1, asked.jobs // 2))
        tree = run_groups(tree_version, groups, max(1, asked.jobs // 2))
        base = known.result()
    meant = read_meant(HERE / "meant.toml")
    found = compare_all(groups, base, tree)
    unmeant, stale = judge(found, meant)
    show(unmeant)
    if asked.only == "*":
        for entry in stale:
            print(
                f"\nmeant.toml: matches no difference, remove it: {entry.command}: {entry.key} ({entry.reason})"
            )
    commands = [(command, group.name, i) for group in groups for i, command in enumerate(group.commands)]
    cpu_s = resource.getrusage(resource.RUSAGE_CHILDREN)
    for command, name, i in sorted(commands, key=lambda one: -tree[one[1]][one[2]]["cpu_s"])[: asked.slowest]:
        print(f"{tree[name][i]['cpu_s']:7.2f} s  {command}")
    print(
        f"\n{len(commands)} commands beside {commit[:12]}: {len({one.command for one in unmeant})} differ, "
        f"{len(found) - len(unmeant)} differences are meant; {time.monotonic() - began_s:.0f} s, "
        f"{cpu_s.ru_utime + cpu_s.ru_stime:.0f} CPU-s"
    )
    return 1 if unmeant or (stale and asked.only == "*") else 0


if __name__ == "__main__":
    sys.exit(main())
