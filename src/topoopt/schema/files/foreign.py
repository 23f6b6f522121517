"""Formats of other programs that no verb reads: every file is looked at before its reader, and named.

The table is ``foreign_formats.toml``. Only the beginning of a file is looked at, in time proportional to it.
"""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from topoopt.base.errors import InvalidInput

LOOKED_AT = 1 << 16
"""Bytes of a file."""
_LINES, _LONGEST = 60, 300
_JSON = re.compile(r'("(?:[^"\\]|\\.)*(?:"|\Z))\s*(:?)|[{}\[\]]', re.DOTALL)
_YAML_KEY = re.compile(r"([\w./-]+)\s*:(?:\s|$)")


class ForeignFile(InvalidInput):
    """A file of a format that no verb reads."""


@dataclass(frozen=True, slots=True)
class ForeignFormat:
    """A row of the table: description with its article, the remedy, and how a file is known."""

    words: str
    remedy: str
    begins: tuple[bytes, ...]
    lines: re.Pattern[str]
    every: re.Pattern[str]
    distinct: re.Pattern[str]
    columns: tuple[frozenset[str], ...]
    keys: tuple[frozenset[str], ...]
    lacks: frozenset[str]


@cache
def foreign_formats() -> tuple[ForeignFormat, ...]:
    """Return the table."""
    text = files("topoopt.schema.files").joinpath("foreign_formats.toml").read_text(encoding="utf-8")
    return tuple(
        ForeignFormat(
            row["words"],
            row["remedy"],
            tuple(mark.encode("latin-1") for mark in row.get("begins", ())),
            re.compile("|".join(row.get("lines", ("(?!)",)))),
            re.compile("|".join(row.get("every", ("(?!)",)))),
            re.compile(row.get("distinct", "(?!)")),
            tuple(map(frozenset, row.get("columns", ()))),
            tuple(map(frozenset, row.get("keys", ()))),
            frozenset(row.get("lacks", ())),
        )
        for row in tomllib.loads(text)["format"]
    )


def refuse_foreign(data: bytes, place: str) -> None:
    """Refuse the content of a file in a format that no verb reads.

    Raises
    ------
    ForeignFile
        With the format and the remedy.
    """
    if (found := foreign_format(data)) is not None:
        raise ForeignFile(f"{place}: is {found.words}; {found.remedy}")


def foreign_format(data: bytes) -> ForeignFormat | None:
    """Return the first format of the table that a file's content fits, else None."""
    for one in foreign_formats():
        if one.begins and data.startswith(one.begins):
            return one
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    if b"\0" in data[:1000] and not wide:
        return None
    text = data[:LOOKED_AT].decode("utf-16" if wide else "utf-8", "replace").lstrip("\ufeff")
    lines = [line[:_LONGEST] for line in text.splitlines()[:_LINES] if line.strip()]
    keys = _keys(text, lines)
    header = next((line for line in lines if not line.startswith("#")), "")
    columns = frozenset(cell.strip().strip("\"'").lower() for cell in re.split(r"[,;\t|]", header))
    return next((one for one in foreign_formats() if _fits(one, lines, columns, keys)), None)


def _fits(one: ForeignFormat, lines: Iterable[str], columns: frozenset[str], keys: frozenset[str]) -> bool:
    said = [text for line in lines if (text := line.partition("#")[0].strip())]
    once = [found[1] for text in said if (found := one.distinct.fullmatch(text))]
    return (
        any(one.lines.match(line) for line in lines)
        or bool(said and len(set(once)) == len(once) and all(one.every.fullmatch(line) for line in said))
        or any(wanted <= columns for wanted in one.columns)
        or any(wanted <= keys and not one.lacks & keys for wanted in one.keys)
    )


def _keys(text: str, lines: Iterable[str]) -> frozenset[str]:
    """Return the keys at the top of a mapping in JSON or YAML, as far as the beginning of the file has them."""
    if not text.lstrip().startswith("{"):
        return frozenset(match[1] for line in lines if (match := _YAML_KEY.match(line)))
    depth, found = 0, set()
    for match in _JSON.finditer(text):
        mark = match[0]
        if match[1] is None:
            depth += 1 if mark in "{[" else -1
        elif depth == 1 and match[2]:
            found.add(match[1][1:-1])
    return frozenset(found)
