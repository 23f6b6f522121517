"""Pages of answers that exist as JSON only: key numbers, charts of their rows, and all else as tables.

Plans, comparisons, clusters and sweeps are read back whole. The JSON of other answers lacks details of their own pages,
such as the requests of a simulation.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any, Final

from topoopt.pages.chart import Bar, BarChart, Chart, LineChart, Series, TimelineChart
from topoopt.pages.page import Page, Section, Table, Tile
from topoopt.pages.pareto_chart import ParetoPoint, pareto_front, pareto_series
from topoopt.pages.tables import cell, dollars, heading, nested_facts, number, table, text, time_unit

Json = Mapping[str, Any]
MOST_ROWS: Final = 20
"""Rows of a table that is not folded."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of answer, identified by keys of its JSON.

    Attributes
    ----------
    title : str
        Format of the title, of keys of the document.
    tiles : mapping
        Key of each key number; dots lead into mappings.
    priced : tuple of str
        Keys of rows, and in a row of name, cost and time.
    parts : str
        Key of a mapping from parts of a time to seconds.
    spans : tuple of str
        Keys of rows, and in a row of its lane and kind.
    """

    name: str
    keys: frozenset[str]
    title: str
    tiles: Mapping[str, str]
    priced: tuple[str, str, str, str] | None = None
    parts: str = ""
    spans: tuple[str, str, str] | None = None


_KINDS: Final = (
    _Kind(
        "choice",
        frozenset({"choice", "decision", "networks"}),
        "{choice[network]} for {machines}",
        {
            "Price of the network": "choice.network_usd",
            "Over all years": "choice.total_usd",
            "Relative time": "choice.relative_time",
            "A year of work": "choice.usd_per_year_of_work",
        },
        ("networks", "network", "total_usd", "relative_time"),
    ),
    _Kind(
        "serving",
        frozenset({"deployments", "objectives", "best"}),
        "{model} on {accelerators} {accelerator}",
        {
            "Goodput (requests/s)": "best.goodput_per_s",
            "Time to first token, p90": "best.ttft_p90_s",
            "Time per output token, p90": "best.tpot_p90_s",
            "$ per 1M tokens": "best.usd_per_million_tokens_at_goodput",
            "Bottleneck": "best.binds",
        },
        ("fabrics", "fabric", "cost_usd", "ttft_p50_s"),
    ),
    _Kind(
        "rl",
        frozenset({"phases_s", "rollout", "training"}),
        "{model}, {algorithm} on {accelerators} {accelerator}",
        {
            "Step": "step_s",
            "Tokens per second": "tokens_per_s",
            "$ per step": "usd_per_step",
            "Bottleneck": "bound_by",
        },
        ("fabrics", "label", "cost_usd", "step_s"),
        "phases_s",
        ("spans", "pool", "phase"),
    ),
    _Kind(
        "finetune",
        frozenset({"ways", "adapters", "tokens"}),
        "{model} on {accelerators} {accelerator}",
        {"Servers": "servers", "Rank": "rank", "Steps": "steps"},
        ("ways", "kind", "usd", "step_s"),
    ),
    _Kind(
        "failure",
        frozenset({"failure", "before", "repairs"}),
        "{model} on {servers} servers, {failure}",
        {
            "Before": "before.iteration_time_s",
            "During the failure": "during.iteration_time_s",
            "Repaired": "repaired.iteration_time_s",
        },
    ),
    _Kind(
        "availability",
        frozenset({"full_speed", "degraded", "goodput", "fabrics"}),
        "{model} on {servers} servers over {days} days",
        {
            "At full speed": "full_speed.mean",
            "Degraded": "degraded.mean",
            "Down": "down.mean",
            "Goodput": "goodput.mean",
        },
        ("fabrics", "label", "cost_usd", "effective_iteration_time_s"),
    ),
)


def json_page(document: Json) -> Page | None:
    """Return the page of a document; None for an unknown kind, or without the keys of its title."""
    kind = next((one for one in _KINDS if one.keys <= document.keys()), None)
    if kind is None:
        return None
    try:
        title = kind.title.format_map(document)
    except (KeyError, TypeError, IndexError):
        return None
    found = {name: _at(document, key) for name, key in kind.tiles.items()}
    shown = {name: value for name, value in found.items() if _is_plain(value) and value is not None}
    tiles = tuple(Tile(name, _text(kind.tiles[name], value)) for name, value in shown.items())
    pictures = tuple(_charts(kind, document))
    others = {key: value for key, value in document.items() if key != kind.parts and not _rows(document, key)}
    sections = (
        *((Section("pictures", "Overview", "", pictures),) if pictures else ()),
        *(Section(key, _words(key), "", (block,)) for key, block in _tables(document)),
        Section("settings", "All other figures", "", nested_facts("", others)),
    )
    numbers: dict[str, float | None] = {
        kind.tiles[name].replace(".", "_"): value for name, value in shown.items() if _is_number(value)
    }
    return Page(kind.name, title, "", tiles, (), sections, numbers)


def _charts(kind: _Kind, document: Json) -> Iterator[Chart]:
    if kind.priced:
        key, name, cost, time = kind.priced
        points = [
            ParetoPoint(str(row.get(name)), row[cost], row[time], str(row.get(name)))
            for row in _rows(document, key)
            if _is_number(row.get(cost)) and _is_number(row.get(time))
        ]
        if len(points) > 1:
            axes = f"{_words(cost)} ($)", f"{_words(time)} (s)" if time.endswith("_s") else _words(time)
            series = pareto_series(points, pareto_front(points), {}, name_all=len(points) <= MOST_ROWS)
            yield LineChart("cost_against_time", "Cost against time", *axes, series)
    parts = {name: value for name, value in _mapping(document, kind.parts).items() if _is_number(value)}
    if len(parts) > 1:
        unit, scale = time_unit(max(parts.values()))
        words = tuple(map(_words, parts))
        values = Series("time", words, tuple(value / scale for value in parts.values()))
        yield BarChart("parts", _words(kind.parts), "", f"time ({unit})", (values,), horizontal=True)
    if kind.spans:
        key, lane, what = kind.spans
        rows = [
            row
            for row in _rows(document, key)
            if _is_number(row.get("start_s")) and _is_number(row.get("time_s"))
        ]
        lanes = tuple(dict.fromkeys(str(row.get(lane)) for row in rows))
        bars = tuple(
            Bar(
                lanes.index(str(row.get(lane))),
                row["start_s"],
                row["start_s"] + row["time_s"],
                str(row.get(what)),
            )
            for row in rows
        )
        if bars:
            yield TimelineChart("spans", "Over time", lane, lanes, bars)


def _tables(document: Json) -> Iterator[tuple[str, Table]]:
    """Yield every list of mappings as a table of their plain values."""
    for key in document:
        rows = _rows(document, key)
        columns = (
            [name for name in rows[0] if all(_is_plain(row.get(name, row)) for row in rows)] if rows else []
        )
        if columns:
            described = [
                (number if any(_is_number(row.get(name)) for row in rows) else text)(
                    heading(name), itemgetter(name), partial(_text, name)
                )
                for name in columns
            ]
            yield key, table("", rows, *described, folded=len(rows) > MOST_ROWS)


def _text(key: str, value: Any) -> str:
    return dollars(value) if "usd_per_" in key and _is_number(value) else cell(key, value)


def _at(document: Json, key: str) -> Any:
    """Return the value at a key with dots."""
    value: Any = document
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _rows(document: Json, key: str) -> Sequence[Json]:
    rows = document.get(key)
    return rows if isinstance(rows, list) and all(isinstance(row, Mapping) for row in rows) else ()


def _mapping(document: Json, key: str) -> Json:
    value = document.get(key)
    return value if isinstance(value, Mapping) else {}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


def _words(key: str) -> str:
    return heading(key).capitalize()
