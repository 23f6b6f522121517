"""A valid file, spoiled: by its structure where it has one, by cells, by bytes."""

import csv
import io
import json
import zipfile
import zlib
from collections.abc import Callable
from pathlib import PurePath
from random import Random
from typing import Any

import yaml

from fuzz.values import DIGITS, TEXTS, any_value, deep

csv.field_size_limit(1 << 30)

Mutation = Callable[[bytes, Random], bytes]


def mutated(name: str, data: bytes, rng: Random) -> bytes:
    """Return a file with one to three mistakes in it; three in four keep its form."""
    by_form = _BY_SUFFIX.get(PurePath(name).suffix.lower())
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        mutate = by_form if by_form is not None and rng.random() < 0.75 else spoil_bytes
        data = mutate(data, rng)
    return data


def spoil_bytes(data: bytes, rng: Random) -> bytes:
    """Flip, cut, insert or repeat bytes."""
    place = rng.randrange(len(data) + 1)
    match rng.randrange(6):
        case 0:
            return data[:place]
        case 1:
            flipped = bytearray(data or b"\0")
            for _ in range(rng.choice((1, 1, 4, 32))):
                flipped[rng.randrange(len(flipped))] = rng.randrange(256)
            return bytes(flipped)
        case 2:
            return (
                data[:place]
                + rng.choice((b"\0", b"\xff", b"\r", b"\xef\xbb\xbf", b"{", b'"', b"&a *a", b"<<: *a"))
                + data[place:]
            )
        case 3:
            end = min(len(data), place + rng.randrange(1, 200))
            return data[:place] + data[place:end] * rng.choice((2, 50)) + data[end:]
        case 4:
            return data[:place] + data[place + rng.randrange(1, 100) :]
        case _:
            return rng.choice(
                (
                    b"",
                    b"\n",
                    b"[]",
                    b"{}",
                    b"null",
                    b"1",
                    DIGITS.encode(),
                    deep().encode(),
                    b"a: &a [*a]\n",
                    BOMB,
                )
            )


BOMB = (
    "a0: &a0 [1, 1]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
).encode()


def spoil_document(data: bytes, rng: Random) -> bytes:
    """Change one value, key or level of a JSON or YAML document."""
    if b"&a" in data or len(data) > 5_000_000:  # spoiled already, such that it grows without end
        return spoil_bytes(data, rng)
    try:
        document = yaml.safe_load(data) if data[:1] not in b"{[" else json.loads(data)
    except (ValueError, yaml.YAMLError, RecursionError):
        return spoil_bytes(data, rng)
    places = list(_places(document))
    if not places:
        return json.dumps(any_value(rng)).encode()
    holder, key = rng.choice(places)
    marker = "@@spoiled@@"
    match rng.randrange(8):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[str(key) + rng.choice(("", "s", "_", "x" * 500))] = holder.pop(key)
        case 2 if isinstance(holder, dict):
            holder[rng.choice(TEXTS)] = any_value(rng)
        case 3 if isinstance(holder, list):
            holder.extend([holder[key]] * rng.choice((1, 20)))
        case 4:
            other, at = rng.choice(places)
            holder[key], other[at] = other[at], holder[key]
        case 5:
            holder[key] = marker
        case _:
            holder[key] = _near(holder[key], rng)
    try:
        text = json.dumps(document, default=str)
    except ValueError:  # a value swapped into itself
        return spoil_bytes(data, rng)
    return text.replace(
        f'"{marker}"', rng.choice((DIGITS, deep(), "-" + DIGITS, "1e999", "NaN", '"\\ud800"'))
    ).encode()


def spoil_lines(data: bytes, rng: Random) -> bytes:
    """Change one line of JSON among lines of them."""
    lines = data.splitlines(keepends=True)
    if not lines or len(data) > 5_000_000:
        return spoil_bytes(data, rng)
    place = rng.randrange(len(lines))
    lines[place] = spoil_document(lines[place].strip() or b"{}", rng) + b"\n"
    return b"".join(lines)


def spoil_cells(data: bytes, rng: Random) -> bytes:
    """Change cells, rows or columns of a CSV table."""
    if len(data) > 5_000_000:
        return spoil_bytes(data, rng)
    rows = list(csv.reader(io.StringIO(data.decode("utf-8", "replace"), newline="")))
    if not rows:
        return spoil_bytes(data, rng)
    row = rng.choice(rows)
    match rng.randrange(7):
        case 0:
            rows.remove(row)
        case 1:
            rows.extend([row] * rng.choice((1, 30)))
        case 2:
            for cells in rows:
                del cells[-1:]
        case 3:
            row.append(str(any_value(rng)))
        case 4 if row:
            row[rng.randrange(len(row))] = "x" * 200_000
        case _ if row:
            row[rng.randrange(len(row))] = str(any_value(rng))
    text = io.StringIO()
    csv.writer(text, lineterminator=rng.choice(("\n", "\n", "\r\n"))).writerows(rows)
    return text.getvalue().encode("utf-8", "surrogatepass")


def spoil_archive(data: bytes, rng: Random) -> bytes:
    """Change the JSON document in a zip file, which stays one."""
    made = io.BytesIO()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(made, "w") as spoiled:
            for name in archive.namelist():
                content = archive.read(name)
                spoiled.writestr(name, spoil_document(content, rng) if name.endswith(".json") else content)
    except (
        zipfile.BadZipFile,
        OSError,
        ValueError,
        EOFError,
        NotImplementedError,
        zlib.error,
    ):  # it is none any more
        return spoil_bytes(data, rng)
    return made.getvalue()


_BY_SUFFIX: dict[str, Mutation] = {
    ".pt2": spoil_archive,
    ".json": spoil_document,
    ".jsonl": spoil_lines,
    ".yaml": spoil_document,
    ".csv": spoil_cells,
}


def _places(document: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    pending = [document]
    while pending:
        here = pending.pop()
        keys = list(here) if isinstance(here, dict) else range(len(here)) if isinstance(here, list) else ()
        for key in keys:
            found.append((here, key))
            pending.append(here[key])
    return found


def _near(value: Any, rng: Random) -> Any:
    """Return another value, often one of the same kind."""
    if isinstance(value, bool) or rng.random() < 0.5:
        return any_value(rng)
    if isinstance(value, int | float):
        return rng.choice((-value, value * 10**6, value + 1, value - 1, value * 1e-9, 0))
    if isinstance(value, str):
        return rng.choice(
            (value[:-1], value * 50, value.upper(), value.replace("0", "-"), f" {value}", value[::-1])
        )
    return any_value(rng)
