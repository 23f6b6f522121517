"""Requests from trace files: Mooncake's JSON lines, Azure's LLM inference CSV, and a CSV of our own."""

import csv
import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import numpy as np

from topoopt.base.errors import InvalidInput, shown
from topoopt.inference.requests import BLOCK_TOKENS, MOST_REQUESTS, MOST_TOKENS, Requests
from topoopt.schema.files import read_text

Row = tuple[float, int, int, list[int]]
"""Seconds, input and output tokens, names of the prompt's blocks."""

MOONCAKE = ("timestamp", "input_length", "output_length")
AZURE = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")
OWN = ("arrival_s", "input_tokens", "output_tokens")
MOST_BLOCK = 2**62


def read_requests(path: str) -> Requests:
    """Return the requests of a trace, whose first line gives its kind.

    Mooncake's lines have ``timestamp`` (ms), ``input_length``, ``output_length`` and ``hash_ids``, one for each 512
    tokens of the prompt. Azure's columns are ``TIMESTAMP`` (a date and time), ``ContextTokens`` and
    ``GeneratedTokens``. Our own are ``arrival_s``, ``input_tokens``, ``output_tokens`` and, if there are any,
    ``blocks``: names with blanks between them. Time begins with the first request.

    Raises
    ------
    InvalidInput
        With the line, if one is no request of that kind or comes before the line above it.

    References
    ----------
    .. [1] R. Qin et al., "Mooncake", FAST 2025, and the traces released with it.
    .. [2] P. Patel et al., "Splitwise", ISCA 2024, and the Azure LLM inference traces released with it.
    """
    text = read_text(path)
    begin = text.lstrip()[:1]
    rows = _json_rows(text, path) if begin == "{" else _csv_rows(text, path)
    times: list[float] = []
    inputs, outputs, firsts, blocks = [], [], [0], []
    for line, (time_s, prompt, answer, names) in rows:
        if times and time_s < times[-1]:
            raise InvalidInput(
                f"{path}: line {line}: comes {times[-1] - time_s:g} s before the line above; sort the trace by time"
            )
        if len(times) == MOST_REQUESTS:
            raise InvalidInput(f"{path}: line {line}: more than {MOST_REQUESTS:,} requests; cut the trace")
        times.append(time_s)
        inputs.append(prompt)
        outputs.append(answer)
        blocks += names
        firsts.append(len(blocks))
    if not times:
        raise InvalidInput(f"{path}: holds no request")
    arrival_s = np.array(times)
    return Requests(
        arrival_s - arrival_s[0],
        np.array(inputs, np.int64),
        np.array(outputs, np.int64),
        np.array(firsts, np.int64),
        np.array(blocks, np.int64),
    )


def _json_rows(text: str, path: str) -> Iterator[tuple[int, Row]]:
    for line, content in enumerate(text.splitlines(), 1):
        if not content.strip():
            continue
        place = f"{path}: line {line}"
        try:
            row = json.loads(content)
        except (ValueError, RecursionError):
            raise InvalidInput(f"{place}: not JSON; expected one request a line") from None
        if not isinstance(row, dict):
            raise InvalidInput(f"{place}: expected a mapping with {', '.join(MOONCAKE)}, got {shown(row)}")
        time, prompt, answer = (_value(row, key, place) for key in MOONCAKE)
        yield (
            line,
            (
                _seconds(time, MOONCAKE[0], place) / 1e3,
                _tokens(prompt, MOONCAKE[1], place),
                _tokens(answer, MOONCAKE[2], place),
                _blocks(row.get("hash_ids", []), prompt, f"{place}: hash_ids"),
            ),
        )


def _csv_rows(text: str, path: str) -> Iterator[tuple[int, Row]]:
    reader = csv.DictReader(text.splitlines())
    columns = [name.strip() for name in reader.fieldnames or ()]
    if set(AZURE) <= set(columns):
        names, seconds = AZURE, _seconds_of_date
    elif set(OWN) <= set(columns):
        names, seconds = OWN, _seconds
    else:
        raise InvalidInput(
            f"{path}: line 1: expected columns {', '.join(OWN)}, or {', '.join(AZURE)}, or lines of JSON with "
            f"{', '.join(MOONCAKE)}; got {shown(','.join(columns))}"
        )
    reader.fieldnames = columns
    for row in reader:
        place = f"{path}: line {reader.line_num}"
        if None in row:
            raise InvalidInput(f"{place}: more values than columns")
        time, prompt, answer = (_value(row, key, place) for key in names)
        count = _tokens(prompt, names[1], place)
        blocks = (row.get("blocks") or "").split()
        yield (
            reader.line_num,
            (
                seconds(time, names[0], place),
                count,
                _tokens(answer, names[2], place),
                _blocks(blocks, count, f"{place}: blocks"),
            ),
        )


def _value(row: Mapping[str, Any], key: str, place: str) -> Any:
    if row.get(key) is None:
        raise InvalidInput(f"{place}: {key} is missing")
    return row[key]


def _seconds(value: Any, key: str, place: str) -> float:
    try:
        number = float("nan") if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not 0 <= number < 1e15:
        raise InvalidInput(f"{place}: {key}: expected a number >= 0, got {shown(value)}")
    return number


def _seconds_of_date(value: Any, key: str, place: str) -> float:
    """Return the seconds of a date and time such as ``2023-11-16 18:17:03.9799600``; it may have a time zone."""
    try:
        moment = datetime.fromisoformat(str(value).strip())
        return moment.timestamp() if moment.tzinfo else (moment - datetime(1970, 1, 1)).total_seconds()
    except (ValueError, OverflowError):
        raise InvalidInput(
            f"{place}: {key}: expected a date and time such as 2023-11-16 18:17:03.97, got {shown(value)}"
        ) from None


def _tokens(value: Any, key: str, place: str) -> int:
    try:
        number = 0.0 if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = 0.0
    if not 1 <= number <= MOST_TOKENS or number != int(number):
        raise InvalidInput(f"{place}: {key}: expected tokens from 1 to {MOST_TOKENS:,}, got {shown(value)}")
    return int(number)


def _blocks(values: Any, prompt: Any, place: str) -> list[int]:
    """Return the names of whole blocks; that of a last part is of no use, for only whole ones are kept."""
    try:
        names = [int(value) for value in values]
    except (TypeError, ValueError, OverflowError):
        names = [-1]
    if names and not 0 <= min(names) <= max(names) < MOST_BLOCK:
        raise InvalidInput(f"{place}: expected integers >= 0, got {shown(values)}")
    return names[: int(prompt) // BLOCK_TOKENS]
