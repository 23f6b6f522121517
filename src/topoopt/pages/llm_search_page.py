"""A search for ways of training a transformer as a page: the fastest, and where their time goes."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from topoopt.base.units import format_memory, format_time
from topoopt.catalog import find_accelerator
from topoopt.jobs import TIGHT
from topoopt.pages.ownership_section import cluster_sections
from topoopt.pages.page import Block, Notes, Page, Section, Table
from topoopt.pages.published_layouts import published_sections
from topoopt.pages.rows import Entries, facts, number, table, text
from topoopt.pages.words import dollars, yes_or_no
from topoopt.transformers import SPLIT, ConfigurationSearch, NotSearched

SPENT = ("compute", "bubble", "tp", "cp", "ep", "pp", "dp")
"""Where the time goes."""
HEADINGS = {"micro_batch": "mb"}
Row = Mapping[str, Any]


def llm_search_page(search: ConfigurationSearch) -> Page:
    """Return what was searched, the best configurations, and where their time goes."""
    request, rows = search.request, search.shown()
    remark = "estimated; memory on the fullest accelerator"
    return Page(
        "search",
        f"{request.model.name} on {request.accelerators:,} {search.accelerator}",
        sections=(
            Section("searched", "What was searched", "", (facts(_entries(search)),)),
            Section("fastest", f"The fastest {len(rows)}", "", _fastest(search, rows), remark),
            Section("time", "Where the time goes", "", (_shares(rows),)),
            *cluster_sections(search.cluster, search.ownership(0) if rows else None),
            *published_sections(request.model.name, search.published),
            *not_searched_sections(search.not_searched),
        ),
        remark=f"{request.global_batch:,} sequences of {request.sequence:,} tokens, {request.precision}",
    )


def _entries(search: ConfigurationSearch) -> Entries:
    request = search.request
    over = [f"{count:,} {reason.replace(', ', ' ')}" for reason, count in search.too_large.items() if count]
    return {
        "valid": f"{search.valid:,} configurations in {format_time(search.cpu_s)} of CPU time",
        "fit": f"{search.feasible:,} into {format_memory(search.memory.capacity_bytes)}",
        "too large": ", ".join(over),
        "fixed": ", ".join(f"{name} {_word(value)}" for name, value in request.fixed.items()),
        "times": f"calibration {search.calibration.name}{_of_another(search)}, {request.attention} attention",
        "memory": f"{request.framework}, {request.attention} attention",
    }


def _of_another(search: ConfigurationSearch) -> str:
    """Return whose runs a calibration was fitted to, if not those of the accelerator that is asked for."""
    fitted = search.calibration.accelerator
    same = fitted == find_accelerator(search.request.system.accelerator).name
    return "" if same else f" (of {fitted}, not of this accelerator)"


def _fastest(search: ConfigurationSearch, rows: Sequence[Row]) -> tuple[Block, ...]:
    hidden = {name for name in ("cp", "ep", "etp") if all(row[name] == 1 for row in rows)}
    fastest = table(
        "",
        rows,
        *(number(HEADINGS.get(name, name), name) for name in (*SPLIT, "zero") if name not in hidden),
        text("recompute", "recompute", _word),
        text("sp", "sequence_parallel", _word),
        *((text("schedule", _schedule),) if search.request.limits.any_schedule else ()),
        number("iteration", "iteration_time_s"),
        number("MFU", "mfu", ".1%"),
        number("tokens/s", "tokens_per_s", ",.0f"),
        *([number("$/1 M tokens", _usd_a_million)] if search.cluster else []),
        number("memory", "memory_bytes.total", format_memory),
    )
    full = TIGHT * search.memory.capacity_bytes
    tight = sum(row["memory_bytes"]["total"] > full for row in rows)
    leave = "leaves" if tight == 1 else "leave"
    warning = f"{tight} of these {leave} less than {1 - TIGHT:.0%} of the memory free: try them first"
    return fastest, Notes((warning,) if tight else (), warn=True)


def _usd_a_million(row: Row) -> str:
    each = row["usd_per_token"]
    return dollars(None if each is None else 1e6 * each)


def _shares(rows: Sequence[Row]) -> Table:
    """Return the shares of the time of each configuration."""
    spent = [name for name in SPENT if any(row[f"{name}_s"] > 0 for row in rows)]
    return table(
        "",
        rows,
        text("configuration", _in_short),
        *(number(name, partial(_share, name), ".1%") for name in spent),
    )


def _share(name: str, row: Row) -> float:
    return float(row[f"{name}_s"] / row["iteration_time_s"])


def _in_short(row: Row) -> str:
    degrees = [f"{name}{row[name]}" for name in SPLIT[:-1] if row[name] > 1]
    return " ".join([*degrees, f"mb{row['micro_batch']}"])


def _schedule(row: Row) -> str:
    return str(row["schedule"]) + (", overlap" if row["overlap_experts"] else "")


def _word(value: Any) -> str:
    return yes_or_no(value) if isinstance(value, bool) else str(value)


def not_searched_sections(left_out: Sequence[NotSearched]) -> tuple[Section, ...]:
    """Return the section of what was left out; none where nothing was."""
    if not left_out:
        return ()
    lines = {one.name: f"{_origin(one)}: {'; '.join(one.because.values())}{_remedy(one)}" for one in left_out}
    remark = "published for this model, and not among the configurations above"
    return (Section("not_searched", "Not searched", "", (facts(lines),), remark),)


def _origin(one: NotSearched) -> str:
    return f"{one.source} ({one.accelerators:,} {one.accelerator}, {one.precision})"


def _remedy(one: NotSearched) -> str:
    if not one.give:
        return ""
    return "; to have it, give " + " ".join(f"{name}={value}" for name, value in one.give.items())
