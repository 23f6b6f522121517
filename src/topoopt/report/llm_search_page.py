"""A search for ways of training a transformer as a page: the fastest, and where their time goes."""

from collections.abc import Mapping, Sequence
from typing import Any

from topoopt.llm import SPLIT, ConfigurationSearch
from topoopt.report.page import Block, Facts, Notes, Page, Section, Table
from topoopt.units import format_memory, format_time

WAITS = {
    "compute": "compute_s",
    "bubble": "bubble_s",
    "tp": "tp_s",
    "cp": "cp_s",
    "ep": "ep_s",
    "pp": "pp_s",
    "dp": "dp_s",
}
"""Where the time goes: heading and column."""

TIGHT = 0.95
"""Of the memory: what needs more may not run, since estimates of memory are good to some GiB."""

HEADINGS = {"micro_batch": "mb", "sequence_parallel": "sp"}

Row = Mapping[str, Any]


def llm_search_page(search: ConfigurationSearch) -> Page:
    """Return what was searched, the best configurations, and where their time goes."""
    request, rows = search.request, search.shown()
    remark = "estimated; memory on the fullest accelerator"
    return Page(
        "search",
        f"{request.model.name} on {request.accelerators:,} {search.accelerator}",
        "",
        (),
        (),
        (
            Section("searched", "What was searched", "", (_facts(search),)),
            Section("fastest", f"The fastest {len(rows)}", "", _fastest(search, rows), remark),
            Section("time", "Where the time goes", "", (_shares(rows),)),
        ),
        remark=f"{request.global_batch:,} sequences of {request.sequence:,} tokens, {request.precision}",
    )


def _facts(search: ConfigurationSearch) -> Facts:
    request = search.request
    over = [f"{count:,} {reason.replace(', ', ' ')}" for reason, count in search.too_large.items() if count]
    return Facts(
        "",
        (
            ("valid", f"{search.valid:,} configurations in {format_time(search.cpu_s)} of CPU time"),
            ("fit", f"{search.feasible:,} into {format_memory(search.memory.capacity_bytes)}"),
            ("too large", ", ".join(over)),
            ("fixed", ", ".join(f"{name} {_word(value)}" for name, value in request.fixed.items())),
            ("times", f"calibration {search.calibration.name}, {request.attention} attention"),
            ("memory", f"{request.framework}, {request.attention} attention"),
        ),
    )


def _fastest(search: ConfigurationSearch, rows: Sequence[Row]) -> tuple[Block, ...]:
    hidden = {name for name in ("cp", "ep", "etp") if all(row[name] == 1 for row in rows)}
    split = [name for name in (*SPLIT, "zero", "recompute", "sequence_parallel") if name not in hidden]
    columns = (*(HEADINGS.get(name, name) for name in split), "iteration", "MFU", "tokens/s", "memory")
    cells = tuple(
        (
            *(_word(row[name]) for name in split),
            format_time(row["iteration_time_s"]),
            f"{row['mfu']:.1%}",
            f"{row['tokens_per_s']:,.0f}",
            format_memory(row["memory_bytes"]["total"]),
        )
        for row in rows
    )
    numbers = tuple(name for name in columns if name not in ("recompute", "sp"))
    full = TIGHT * search.memory.capacity_bytes
    tight = sum(row["memory_bytes"]["total"] > full for row in rows)
    warning = f"{tight} of these leave less than {1 - TIGHT:.0%} of the memory free: try them first"
    return Table("", columns, cells, numbers), Notes((warning,) if tight else (), warn=True)


def _shares(rows: Sequence[Row]) -> Table:
    """Return the shares of the time of each configuration."""
    used = {word: name for word, name in WAITS.items() if any(row[name] > 0 for row in rows)}
    cells = tuple(
        (_in_short(row), *(f"{row[name] / row['iteration_time_s']:.1%}" for name in used.values()))
        for row in rows
    )
    return Table("", ("configuration", *used), cells, tuple(used))


def _in_short(row: Row) -> str:
    degrees = [f"{name}{row[name]}" for name in SPLIT[:-1] if row[name] > 1]
    return " ".join([*degrees, f"mb{row['micro_batch']}"])


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
