"""``python -m fuzz.second``: one number, key or heading of a file is changed; the answer must change or be refused.

What says nothing about the answer (names, sources, remarks) is listed in :data:`SILENT`.
"""

import contextlib
import copy
import csv
import io
import json
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Any

import yaml

from fuzz.subjects import READERS, Reader, make_files
from topoopt.frontends.cli import main

SKIPPED = ("packet", "calibrate", "choose", "rl", "results", "report", "export", "verify", "rank0.json")
"""Words of commands that take long, or of whose answers most is in files."""
SILENT = (
    *("source", "note", "license", "confidence", "date", "about", "description", "provenance"),
    *("user", "vc", "ip", "status", "type", "turn", "chat_id", "parent_chat_id", "hash_ids"),
    *("configuration", "accounting", "memory_bytes", "faster_with", "options", "recipe", "rules"),
)
"""Keys and headings whose values are for people or for other programs, or are carried along from a plan to another."""
OF_MANY = (
    *("plan.json", "llama.json", "other.json", "comparison.json", "cluster.json", "wiring.json"),
    *("prices.csv", "prices.yaml", "watts.csv", "profile.json", "room.yaml", "config.json"),
    *("job.yaml", "serving.yaml", "runs.csv", "burst.csv", "acme.csv", "european.csv"),
)
"""Files for many verbs, of which one takes some of the numbers; in these only keys, headings and kinds are spoiled."""
Spoiled = tuple[str, bytes]
"""What was changed, and the file with it."""


def spoiled_forms(name: str, data: bytes, most: int, rng: random.Random) -> Iterator[Spoiled]:
    """Yield some of the forms of a file in which one number, key or heading is another."""
    suffix = PurePath(name).suffix
    made: list[Spoiled] = []
    if suffix == ".csv":
        made = list(_tables(data, name in OF_MANY))
    elif suffix in (".json", ".yaml", ".jsonl"):
        begin, _, rest = data.partition(b"\n") if suffix == ".jsonl" else (data, b"", b"")
        made = [
            (words, text + (b"\n" + rest if rest else b""))
            for words, text in _documents(begin, name in OF_MANY)
        ]
    yield from rng.sample(made, min(most, len(made)))


def _tables(data: bytes, is_of_many: bool) -> Iterator[Spoiled]:
    rows = list(csv.reader(io.StringIO(data.decode(), newline="")))
    for r, row in enumerate(rows[:6]):
        for c, cell in enumerate(row):
            if row[0].startswith("#") or rows[0][c : c + 1] in ([one] for one in SILENT):
                continue
            other = (
                ("" if is_of_many else _other_number(cell))
                if _is_number(cell)
                else cell + "x"
                if r == 0
                else ""
            )
            if other:
                spoiled = copy.deepcopy(rows)
                spoiled[r][c] = other
                text = io.StringIO()
                csv.writer(text, lineterminator="\n").writerows(spoiled)
                yield f"row {r}, column {c}: {cell} -> {other}", text.getvalue().encode()


def _documents(data: bytes, is_of_many: bool) -> Iterator[Spoiled]:
    document = yaml.safe_load(data) if data[:1] not in b"{[" else json.loads(data)
    for path in _paths(document):
        if any(step in SILENT for step in path):
            continue
        spoiled = copy.deepcopy(document)
        holder = spoiled
        for step in path[:-1]:
            holder = holder[step]
        key, value = path[-1], holder[path[-1]]
        if isinstance(key, str):
            yield f"{path}: key", json.dumps(_renamed(document, path)).encode()
        if isinstance(value, int | float):
            for other in (True, 1 - value if value in (0, 1) else value * 3):
                if (other is True and value in (0, 1)) or (other is not True and is_of_many):
                    continue
                holder[key] = other
                yield f"{path}: {value} -> {other}", json.dumps(spoiled).encode()


def _renamed(document: Any, path: tuple[Any, ...]) -> Any:
    spoiled = copy.deepcopy(document)
    holder = spoiled
    for step in path[:-1]:
        holder = holder[step]
    holder[f"{path[-1]}x"] = holder.pop(path[-1])
    return spoiled


def _paths(document: Any) -> Iterator[tuple[Any, ...]]:
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in items:
        yield (key,)
        if isinstance(value, dict | list):
            yield from ((key, *rest) for rest in _paths(value))


def _is_number(cell: str) -> bool:
    with contextlib.suppress(ValueError):
        float(cell)
        return True
    return False


def _other_number(cell: str) -> str:
    return str(1 - float(cell)) if float(cell) in (0, 1) else f"{float(cell) * 3:g}"


def answer_of(words: tuple[str, ...]) -> tuple[int, str]:
    """Return exit code and answer of a command, without what is written about the run itself."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    try:
        answer = json.loads(out.getvalue())
        answer.pop("provenance", None)
        return code, json.dumps(answer, sort_keys=True)
    except (ValueError, AttributeError):
        return code, out.getvalue()


def check(reader: Reader, most: int, rng: random.Random) -> Iterator[str]:
    """Yield what a reader took without a change of its answer; the files are in the working directory."""
    path = Path(reader.file)
    data = path.read_bytes()
    usual = answer_of(reader.words)
    for words, spoiled in spoiled_forms(reader.file, data, most, rng):
        path.write_bytes(spoiled)
        if answer_of(reader.words) == usual:
            yield f"{' '.join(reader.words)}: {words}"
    path.write_bytes(data)


def run(seed: int, most: int) -> int:
    """Check all readers with so many changes each; return how many were taken in silence."""
    rng, count = random.Random(seed), 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        make_files(Path(folder))
        for reader in READERS:
            if not set(SKIPPED) & set(reader.words):
                for found in check(reader, most, rng):
                    count += 1
                    print(found, flush=True)
    return count


if __name__ == "__main__":
    sys.exit(bool(run(int(sys.argv[1]), int(sys.argv[2]))))
