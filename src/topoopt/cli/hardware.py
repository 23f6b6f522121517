"""``topoopt hardware``: what can be bought, with the source of every row."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Annotated, Any

import typer


def hardware(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="TABLE",
            help="accelerators, nics, transceivers, switches, optical-switches or efficiency; all if not named.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with sources.")] = False,
) -> None:
    """List accelerators, network parts and efficiencies, each with its source."""
    from topoopt.cli.render import print_json, print_title, terminal
    from topoopt.hardware import CATALOGUES, catalogue

    names = tuple(CATALOGUES) if name is None else (name,)
    tables = {key: [asdict(row) for row in catalogue(key)] for key in names}
    if as_json:
        print_json(tables)
        return
    console = terminal()
    for key, rows in tables.items():
        print_title(console, key)
        _print_rows(console, rows, with_sources=name is not None)
    if name is None:
        console.print(
            "\nPeaks in TFLOP/s, dense. Sources and notes: topoopt hardware accelerators (or another table), or --json"
        )


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
"""Columns that only ``--json`` has room for."""


def _print_rows(console: Any, rows: list[dict[str, Any]], with_sources: bool) -> None:
    from topoopt.cli.render import print_table

    flat = [_with_peaks(row, rows) for row in rows]
    columns = [key for key in flat[0] if key not in HIDDEN]
    numbers = [key for key in columns if any(isinstance(row[key], int | float) for row in flat)]
    print_table(
        console,
        [_heading(key) for key in columns],
        [[_cell(key, row[key], row) for key in columns] for row in flat],
        numbers=[_heading(key) for key in numbers],
    )
    for row in rows if with_sources else ():
        label = row.get("name") or " ".join(
            str(row[key]) for key in ("quantity", "kind", "precision", "accelerator")
        )
        short = f" (also {', '.join(row['aliases'])})" if row.get("aliases") else ""
        note = f" {row['note']}" if row.get("note") else ""
        console.print(f"\n{label}{short}: {row['source']}.{note}", markup=False)


def _with_peaks(row: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Give every precision that any accelerator has a column of its own."""
    if "peaks" not in row:
        return row
    precisions = {precision: None for other in rows for precision in other["peaks"]}
    plain = {key: value for key, value in row.items() if key != "peaks"}
    head = {key: plain.pop(key) for key in ("name", "memory_bytes", "memory_bandwidth_bytes_per_s")}
    return {**head, **{f"{name}_tflops": row["peaks"].get(name) for name in precisions}, **plain}


def _heading(key: str) -> str:
    """Units are printed with the values, so a heading does not repeat them."""
    for unit in ("_tflops", "_bytes_per_s", "_bps", "_bytes", "_db", "_w", "_m"):
        key = key.removesuffix(unit)
    return key.removesuffix("_s").replace("_", " ")


def _cell(key: str, value: Any, row: Mapping[str, Any]) -> str:
    from topoopt.units import format_bandwidth, format_bytes, format_time

    if value is None:
        return "–"
    if isinstance(value, tuple):
        return "–".join(f"{item:g}" for item in dict.fromkeys(value)) + " dB"
    if key == "value" and row["quantity"].endswith("_s"):
        return format_time(value)
    by_unit: dict[str, Callable[[float], str]] = {
        "_tflops": lambda rate: f"{rate / 1e12:g}",
        "_bytes_per_s": lambda rate: f"{format_bytes(rate)}/s",
        "_bps": format_bandwidth,
        "_bytes": format_bytes,
        "_db": lambda loss: f"{loss:g} dB",
        "_w": lambda power: f"{power:g} W",
        "_m": lambda length: f"{length:g} m",
        "_s": format_time,
    }
    for unit, shown in by_unit.items():
        if key.endswith(unit) and isinstance(value, int | float):
            return shown(value)
    return f"{value:g}" if isinstance(value, float) else str(value)
