"""What can be bought, as a page: tables, and where each row comes from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

from topoopt.base.units import format_bandwidth, format_bytes, format_time
from topoopt.catalog import HardwareTables
from topoopt.pages.cells import cell, heading
from topoopt.pages.page import Notes, Page, Section
from topoopt.pages.rows import number, table, text

HIDDEN = {
    "note",
    "source",
    "aliases",
    "architecture",
    "scale_up_link",
    "nic_bandwidth_bps",
    "host_interface",
    "chip",
}
"""Columns that only JSON has room for."""

_BY_UNIT: Mapping[str, Callable[[float], str]] = MappingProxyType(
    {
        "_tflops": lambda rate: f"{rate / 1e12:g}",
        "_bytes_per_s": lambda rate: f"{format_bytes(rate)}/s",
        "_bps": format_bandwidth,
        "_bytes": format_bytes,
        "_db": lambda loss: f"{loss:g} dB",
        "_w": lambda power: f"{power:g} W",
        "_m": lambda length: f"{length:g} m",
        "_s": format_time,
    }
)

UNITS = (
    "Peaks in TFLOP/s, dense. Sources and notes: topoopt hardware accelerators (or another table), or in JSON"
)

Row = Mapping[str, Any]


def hardware_page(hardware: HardwareTables) -> Page:
    """Return a section for each table; of one table alone with the sources of its rows."""
    document = hardware.to_json()
    sections = [_section(name, rows, sources=hardware.named) for name, rows in document.items()]
    if not hardware.named:
        last = sections[-1]
        sections[-1] = replace(last, blocks=(*last.blocks, Notes((UNITS,), apart=True)))
    parts = sum(len(rows) for rows in document.values())
    return Page("hardware", "", f"{parts} parts, each with its source.", sections=tuple(sections))


def _section(name: str, rows: Sequence[Row], sources: bool) -> Section:
    flat = [_with_peaks(row, rows) for row in rows]
    columns = [
        (number if any(isinstance(row[key], int | float) for row in flat) else text)(
            heading(key, _BY_UNIT), partial(_cell, key)
        )
        for key in flat[0]
        if key not in HIDDEN
    ]
    notes = [Notes((_source(row),), apart=True) for row in rows] if sources else []
    return Section(name, name, "", (table(name, flat, *columns), *notes))


def _source(row: Row) -> str:
    label = row.get("name") or " ".join(
        str(row[key]) for key in ("quantity", "kind", "precision", "accelerator")
    )
    short = f" (also {', '.join(row['aliases'])})" if row.get("aliases") else ""
    note = f" {row['note']}" if row.get("note") else ""
    return f"{label}{short}: {row['source']}.{note}"


def _with_peaks(row: Row, rows: Sequence[Row]) -> Row:
    """Give every precision that any accelerator has a column of its own."""
    if "peaks" not in row:
        return row
    precisions = {precision: None for other in rows for precision in other["peaks"]}
    plain = {key: value for key, value in row.items() if key != "peaks"}
    head = {key: plain.pop(key) for key in ("name", "memory_bytes", "memory_bandwidth_bytes_per_s")}
    return {**head, **{f"{name}_tflops": row["peaks"].get(name) for name in precisions}, **plain}


def _cell(key: str, row: Row) -> str:
    value = row[key]
    if isinstance(value, tuple):
        return "–".join(f"{item:g}" for item in dict.fromkeys(value)) + " dB"
    if key == "value" and row["quantity"].endswith("_s"):
        return format_time(value)
    return cell(key, value, _BY_UNIT)
