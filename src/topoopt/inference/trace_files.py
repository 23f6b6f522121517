"""Requests from trace files: lines of JSON or CSV, of the formats that services have released, and of our own."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from math import ceil
from typing import Any

import numpy as np

from topoopt.base.errors import InvalidInput, shown
from topoopt.base.units import format_time
from topoopt.inference.requests import MOST_REQUESTS, MOST_TOKENS, Requests
from topoopt.inference.trace_formats import FORMATS, TraceFormat, format_of, said_format
from topoopt.schema.files import csv_lines, headed_rows, parse_json, read_text

Row = tuple[float, int, int, list[int]]
"""Seconds, input and output tokens, names of the prompt's blocks."""
MOST_BLOCK = 2**62
LONGEST_GAP_S, SHORTEST_GAP_S = 100.0, 1e-3
"""Mean seconds between requests, beyond which a trace is likely to be in another one."""


@dataclass(frozen=True, slots=True)
class RequestTrace:
    """Requests of a file, and how it was read.

    Attributes
    ----------
    failed : int
        Requests without an answer, which are left out.
    """

    path: str
    format: TraceFormat
    requests: Requests
    failed: int = 0

    @property
    def span_s(self) -> float:
        """Seconds from the first request to the last."""
        return float(self.requests.arrival_s[-1])

    def __str__(self) -> str:
        """Return how many requests there are, and in which format, time and blocks they were read."""
        blocks = f", blocks of {self.requests.block_tokens} tokens" if len(self.requests.blocks) else ""
        failed = f", {self.failed:,} without an answer left out" if self.failed else ""
        return (
            f"{len(self.requests):,} of {self.path} ({self.format.title} format: {format_time(self.span_s)}, "
            f"{self.requests.rate_per_s:.3g}/s{blocks}{failed})"
        )

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-compatible mapping."""
        name = next((name for name, one in FORMATS.items() if one is self.format), "columns")
        return {
            "file": self.path,
            "format": name,
            "requests": len(self.requests),
            "span_s": self.span_s,
            "rate_per_s": self.requests.rate_per_s,
            "block_tokens": self.requests.block_tokens if len(self.requests.blocks) else None,
            "failed": self.failed,
        }


def read_requests(path: str, columns: str = "") -> RequestTrace:
    """Return the requests of a trace; time begins with the first.

    Parameters
    ----------
    columns
        Name of a format, or the columns to read, see ``said_format``; by default
        the file is known by its columns.

    Raises
    ------
    InvalidInput
        With the line, if one is no request of that format, comes before the line above it, or has another number of
        blocks than its prompt.
    """
    said = said_format(columns) if columns else None
    text = read_text(path)
    in_json = text.lstrip()[:1] in ("{", "[")
    form, rows = (_json_rows if in_json else _csv_rows)(text, path, said)
    times: list[float] = []
    inputs, outputs, firsts, blocks = [], [], [0], []
    failed = 0
    for line, row in rows:
        place = f"{path}: line {line}"
        if form is FORMATS["burstgpt"] and str(row[form.answer]) == "0":
            failed += 1
            continue
        time_s, prompt, answer, names = _request(row, form, place, said is not None)
        if times and time_s < times[-1]:
            raise InvalidInput(
                f"{place}: comes {times[-1] - time_s:g} s before the line above; sort the trace by time"
            )
        if len(times) == MOST_REQUESTS:
            raise InvalidInput(f"{place}: more than {MOST_REQUESTS:,} requests; cut the trace")
        times.append(time_s)
        inputs.append(prompt)
        outputs.append(answer)
        blocks += names
        firsts.append(len(blocks))
    if not times:
        raise InvalidInput(f"{path}: holds no request")
    arrival_s = np.array(times)
    gap_s = float(arrival_s[-1] - arrival_s[0]) / max(1, len(times) - 1)
    name = "" if said else next(name for name, one in FORMATS.items() if one is form)
    in_s, in_ms = name in ("bailian", "burstgpt"), name == "mooncake"
    if (in_s and gap_s > LONGEST_GAP_S) or (in_ms and 0 < gap_s < SHORTEST_GAP_S):
        units = ("milliseconds", "seconds") if in_ms else ("seconds", "milliseconds")
        option = form.option("arrival_s" if in_ms else "arrival_ms")
        raise InvalidInput(
            f"{path}: {form.time}: {' or '.join(units)}? As {units[0]}, there is one request every "
            f"{format_time(gap_s)}; if so, give columns={name}, else {option}"
        )
    requests = Requests(
        arrival_s - arrival_s[0],
        np.array(inputs, np.int64),
        np.array(outputs, np.int64),
        np.array(firsts, np.int64),
        np.array(blocks, np.int64),
        block_tokens=form.block_tokens,
    )
    return RequestTrace(path, form, requests, failed)


def _json_rows(
    text: str, path: str, said: TraceFormat | None
) -> tuple[TraceFormat, Iterator[tuple[int, Mapping[str, Any]]]]:
    lines = ((line, content) for line, content in enumerate(text.splitlines(), 1) if content.strip())

    def row_of(line: int, content: str) -> Mapping[str, Any]:
        place = f"{path}: line {line}"
        try:
            row = parse_json(content, place, "expected one request a line")
        except InvalidInput as error:
            raise InvalidInput(str(error).replace(f"{place}: line 1: ", f"{place}: ")) from None
        if not isinstance(row, dict):
            raise InvalidInput(f"{place}: expected a mapping with a request, got {shown(row)}")
        texts = [key for key in row if isinstance(row[key], str) and key in form.needed] if form else ()
        for key in texts:
            raise InvalidInput(f"{place}: {key}: expected a number, got {shown(row[key])}")
        if form and not form.is_said and not row.keys() <= set(form.known):
            other = format_of(list(row), place)
            reason = f"is in {other.title} format, not in {form.title}"
            raise InvalidInput(f"{place}: {reason}{'' if said else ', as the lines above'}")
        return row

    form = said
    first = next(lines)
    if form is None or not form.is_said:
        form = said or format_of(list(row_of(*first)), f"{path}: line {first[0]}")
    return form, ((line, row_of(line, content)) for line, content in [first, *lines])


def _csv_rows(
    text: str, path: str, said: TraceFormat | None
) -> tuple[TraceFormat, Iterator[tuple[int, Mapping[str, Any]]]]:
    begin = "\n".join(islice(text[:10_000].splitlines(), 2))
    header = [cell.strip() for cell in next((row for _, row in csv_lines(begin, path) if any(row)), [])]
    form = said or format_of(header, f"{path}: line 1")
    known = header if form.is_said else form.known
    _, rows = headed_rows(text, path, known, "a header and a row for each request", needed=form.needed)
    return form, ((line, row) for line, _, row in rows)


def _request(row: Mapping[str, Any], form: TraceFormat, place: str, is_said: bool) -> Row:
    for key in form.needed:
        if row.get(key) in (None, ""):
            raise InvalidInput(f"{place}: {key} is missing")
    time, prompt, answer = (row[key] for key in (form.time, form.prompt, form.answer))
    time_s = (
        _seconds(time, form.time, place) * form.unit_s
        if form.unit_s
        else _seconds_of_date(time, form.time, place)
    )
    tokens, answered = _tokens(prompt, form.prompt, place), _tokens(answer, form.answer, place)
    if form is FORMATS["mooncake"] and not is_said and float(time) % 1:
        raise InvalidInput(
            f"{place}: {form.time}: {form.title} are whole milliseconds, got {time}; if these are seconds, give "
            f"{_option(form, len(row.get(form.blocks) or ()), tokens, 'arrival_s')}"
        )
    total = row.get(form.total)
    if total not in (None, "") and _tokens(total, form.total, place) != tokens + answered:
        raise InvalidInput(f"{place}: {form.total}: expected {tokens + answered}, the sum, got {total}")
    return time_s, tokens, answered, _blocks(row.get(form.blocks), tokens, form, f"{place}: {form.blocks}")


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


def _blocks(given: Any, prompt: int, form: TraceFormat, place: str) -> list[int]:
    """Return the names of whole blocks; that of a last part is of no use, for only whole ones are kept."""
    values = given.split() if isinstance(given, str) else given or ()
    try:
        names = [int(value) if not isinstance(value, bool | float) else -1 for value in values]
    except (TypeError, ValueError, OverflowError):
        names = [-1]
    if names and not 0 <= min(names) <= max(names) < MOST_BLOCK:
        raise InvalidInput(f"{place}: expected integers >= 0, got {shown(values)}")
    most = ceil(prompt / form.block_tokens)
    if len(names) > most or (names and form.names_all and len(names) < most - 1):
        option = _option(form, len(names), prompt)
        remedy = f"; if blocks have another size, say {option}" if option != form.option() else ""
        seconds = ", with arrival_s for seconds" if remedy and form.unit_s == 1e-3 else ""
        raise InvalidInput(
            f"{place}: {len(names)} names for a prompt of {prompt:,} tokens, which is {most} blocks of "
            f"{form.block_tokens} tokens{remedy}{seconds}"
        )
    return names[: prompt // form.block_tokens]


def _option(form: TraceFormat, blocks: int, prompt: int, time: str = "") -> str:
    """Return the option that reads a format's columns where a prompt has that many blocks."""
    sizes = (2**power for power in range(4, 13) if ceil(prompt / 2**power) == blocks)
    return (form if blocks else replace(form, blocks="")).option(time, next(sizes, form.block_tokens))
