"""Two results of one command, compared byte by byte; what differs is named by key."""

import difflib
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VOLATILE: Mapping[str, str] = {
    "cpu_s": "time that the run took",
    "search_cpu_s": "time that the run took",
    "proposals_per_s": "over the time that the run took",
    "configurations_per_s": "over the time that the run took",
    "events_per_cpu_s": "over the time that the run took",
    "packet_hops_per_cpu_s": "over the time that the run took",
    "peak_memory_bytes": "most memory that the process had",
}
"""Keys of JSON whose values belong to a run, not to its answer; each with the reason."""

MASKS = (
    *((rf'("{key}": ?)[^,}}\n]+', r"\1*") for key in VOLATILE),
    (r"[\d.,]+ \w+ of CPU( time)?( \([\d.,]+/s\))?", "* of CPU"),
    (r"this took +[\d.]+ CPU-s.*", "this took *"),
)
"""Patterns of text that belongs to a run, and what is compared in its place."""

LONGEST = 150
"""Characters of a line of a difference that are shown."""

Record = Mapping[str, Any]
"""What a command left behind: ``code``, ``out``, ``err``, and ``files`` by name."""


@dataclass(frozen=True)
class Difference:
    """One key of one command, and its two values in a line or a few."""

    command: str
    key: str
    shown: str


@dataclass(frozen=True)
class Meant:
    """A difference that is meant; ``*`` in the command or the key stands for anything."""

    command: str
    key: str
    reason: str

    def matches(self, difference: Difference) -> bool:
        """Return whether this is the difference that is meant."""
        pairs = ((self.command, difference.command), (self.key, difference.key))
        return all(re.fullmatch(re.escape(mine).replace(r"\*", ".*"), other) for mine, other in pairs)


def read_meant(path: Path) -> list[Meant]:
    """Return the entries ``[[meant]]`` of a file, each with a command, a key and a reason."""
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("meant", [])
    for entry in entries:
        if set(entry) != {"command", "key", "reason"} or not str(entry["reason"]).strip():
            raise ValueError(f"{path.name}: an entry needs command, key and reason, and no more: {entry}")
    return [Meant(**entry) for entry in entries]


def judge(differences: Iterable[Difference], meant: Iterable[Meant]) -> tuple[list[Difference], list[Meant]]:
    """Return the differences that nobody means, and the entries that match no difference any more."""
    found, entries = list(differences), list(meant)
    unmeant = [one for one in found if not any(entry.matches(one) for entry in entries)]
    return unmeant, [entry for entry in entries if not any(map(entry.matches, found))]


def differences(command: str, base: Record, tree: Record) -> Iterator[Difference]:
    """Yield what differs between two results of a command."""
    if base["code"] != tree["code"]:
        yield Difference(command, "exit code", f"{base['code']} -> {tree['code']}")
    for key, name in (("out", "stdout"), ("err", "stderr")):
        yield from _of_texts(command, name, base[key], tree[key])
    for name in sorted({*base["files"], *tree["files"]}):
        missing = [label for label, one in (("base", base), ("tree", tree)) if name not in one["files"]]
        if missing:
            yield Difference(command, f"file {name}", f"not written by {missing[0]}")
        else:
            yield from _of_texts(command, f"file {name}", base["files"][name], tree["files"][name])


def masked(text: str) -> str:
    """Return a text without what belongs to the run."""
    for pattern, instead in MASKS:
        text = re.sub(pattern, instead, text)
    return text


def _of_texts(command: str, name: str, base: str, tree: str) -> Iterator[Difference]:
    old, new = masked(base), masked(tree)
    if old == new:
        return
    documents = [_document(text) for text in (base, tree)]
    if None in documents:
        lines = list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0))[2:]
        yield Difference(command, name, "\n".join(_around(line, lines) for line in lines) or "ends of lines")
        return
    prefix = "" if name == "stdout" else f"{name}: "
    found = [Difference(command, prefix + key, shown) for key, shown in _of_values("", *documents)]
    yield from found or [Difference(command, f"{prefix}(layout)", "other order or layout of the same values")]


def _document(text: str) -> Any:
    """Return the value of a text that is an object or an array of JSON, or None."""
    try:
        return json.loads(text) if text.lstrip()[:1] in ("{", "[") else None
    except ValueError:
        return None


def _of_values(path: str, base: Any, tree: Any) -> Iterator[tuple[str, str]]:
    if isinstance(base, dict) and isinstance(tree, dict):
        for key in dict.fromkeys((*base, *tree)):
            here = f"{path}.{key}" if path else key
            if key not in base or key not in tree:
                yield here, f"{_short(base, key)} -> {_short(tree, key)}"
            elif key not in VOLATILE:
                yield from _of_values(here, base[key], tree[key])
    elif isinstance(base, list) and isinstance(tree, list):
        if len(base) != len(tree):
            yield path, f"{len(base)} -> {len(tree)} items"
        for index, pair in enumerate(zip(base, tree, strict=False)):
            yield from _of_values(f"{path}[{index}]", *pair)
    elif repr(base) != repr(tree):
        yield path, f"{base!r:.{LONGEST}} -> {tree!r:.{LONGEST}}"


def _short(values: Mapping[str, Any], key: str) -> str:
    return f"{values[key]!r:.{LONGEST}}" if key in values else "(missing)"


def _around(line: str, lines: list[str]) -> str:
    """Return a long line of a diff from a little before the place where it leaves the other side."""
    if len(line) <= LONGEST:
        return line
    others = [other[1:] for other in lines if other[:1] in "+-" and other[0] != line[0]]
    other = max(others, key=lambda one: len(_common(one, line[1:])), default="")
    start = max(0, len(_common(other, line[1:])) - 40)
    return f"{line[0]}…{line[1 + start : 1 + start + LONGEST]}…"


def _common(one: str, other: str) -> str:
    end = next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    return one[:end]
