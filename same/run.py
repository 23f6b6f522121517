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
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from same.compare import Difference, differences, judge, read_meant
from same.corpus import Group, read_corpus
from same.program import CACHE, Program, Unusable, base_program, tree_program
from same.recording import run_groups

HERE = Path(__file__).parent
SHOWN = 8
"""Lines of differences that are shown for a command."""


Row = tuple[str, dict[str, Any], dict[str, Any]]
"""A command, and what it left behind by BASE and by the tree."""


def kept_file(commit: str, group: Group) -> Path:
    """Return where the answers of BASE to a group are kept, as long as neither it nor how it is run changes."""
    how = [(HERE / f"{name}.py").read_bytes() for name in ("worker", "program", "recording")]
    digest = hashlib.sha256(b"\n".join([*map(str.encode, group.lines), *how])).hexdigest()[:16]
    return CACHE / commit / "results" / f"{group.name}-{digest}.json"


def answers(base: Program, commit: str, tree: Program, groups: Sequence[Group], jobs: int) -> list[Row]:
    """Run the groups by both versions, but for what BASE has answered before, and put the answers side by side."""
    missing = [group for group in groups if not kept_file(commit, group).exists()]
    each = max(1, jobs // 2) if missing else jobs
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(run_groups, base, missing, each)
        of_tree = run_groups(tree, groups, each)
        of_base = asked.result()
    for group in groups:
        path = kept_file(commit, group)
        if group.name not in of_base:
            of_base[group.name] = json.loads(path.read_text())
        elif not any(isinstance(record["code"], str) for record in of_base[group.name]):  # no process died
            path.parent.mkdir(parents=True, exist_ok=True)
            for old in path.parent.glob(f"{group.name}-{'?' * 16}.json"):
                old.unlink()
            path.write_text(json.dumps(of_base[group.name]))
    return [
        row
        for group in groups
        for row in zip(group.commands, of_base[group.name], of_tree[group.name], strict=True)
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
        commit = base_version.root.parent.name
        rows = answers(base_version, commit, tree_version, groups, asked.jobs)
    except Unusable as error:
        print(f"same: {error}", file=sys.stderr)
        return 2
    found = [difference for row in rows for difference in differences(*row)]
    unmeant, stale = judge(found, read_meant(HERE / "meant.toml"))
    stale = stale if asked.only == "*" else []
    show(unmeant)
    for entry in stale:
        print(f"\nmeant.toml: matches no difference, remove it: {entry.command}: {entry.key}")
    for command, _, record in rows:
        if record["code"] == 1:
            print(f"\na mistake of ours: topoopt {command}\n    {record['err'].partition(chr(10))[0]}")
    for command, _, record in sorted(rows, key=lambda row: -row[2]["cpu_s"])[: asked.slowest]:
        print(f"{record['cpu_s']:7.2f} s  {command}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"\n{len(rows)} commands beside {commit[:12]}: {len({one.command for one in unmeant})} differ, "
        f"{len(found) - len(unmeant)} differences are meant; {time.monotonic() - began_s:.0f} s, "
        f"{used.ru_utime + used.ru_stime:.0f} CPU-s"
    )
    return 1 if unmeant or stale else 0


if __name__ == "__main__":
    sys.exit(main())
