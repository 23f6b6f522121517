"""An estimate of a transformer's training as a page."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from topoopt.base.answers import fields_of
from topoopt.base.units import format_memory, format_time, time_within
from topoopt.catalog import find_accelerator
from topoopt.jobs import TIGHT
from topoopt.pages.chart import BarChart, Series
from topoopt.pages.cost_tables import cluster_sections, of_many
from topoopt.pages.page import Block, Notes, Page, Section, Tile
from topoopt.pages.tables import Entries, facts, joined, number, table, text, yes_or_no
from topoopt.pages.training_layout import memory_limit, published_sections, with_words
from topoopt.schema.words import as_flags
from topoopt.transformers import (
    SPLIT,
    STEP_PARTS,
    ConfigurationSearch,
    Estimate,
    NotSearched,
    calibration_quality,
    untried_words,
)

SPENT = ("compute", "bubble", "tp", "cp", "ep", "pp", "dp")
"""Parts of the iteration time."""
HEADINGS = {"micro_batch": "mb"}
Row = Mapping[str, Any]
PART_WORDS = {
    "compute_s": "computing and the optimizer",
    "tp_s": "waiting for tensor parallel ranks",
    "cp_s": "waiting for context parallel ranks",
    "ep_s": "waiting for experts",
    "pp_s": "waiting for transfers between stages",
    "dp_s": "waiting for replicas",
    "bubble_s": "idle while the pipeline fills and drains",
}


def llm_estimate_page(estimate: Estimate) -> Page:
    """Return time, rates and memory of one training configuration."""
    one, seconds = estimate.configuration, estimate.iteration_time_s
    total = float(estimate.memory.total[0])
    parts = [name for name in STEP_PARTS if estimate.parts_s[name] > 0]
    again = (
        {"compute_s": "computing, with recomputation and the optimizer"} if one.recompute != "none" else {}
    )
    times = table(
        "",
        joined(part=parts, seconds=(estimate.parts_s[name] for name in parts)),
        text("part", form={**PART_WORDS, **again}.__getitem__),
        number("seconds", form=".4g"),
        number("%", lambda row: 100 * row["seconds"] / estimate.iteration_time_s, ".1f"),
    )
    causes = {cause: size for cause, size in estimate.memory_bytes.items() if size > 0}
    series = tuple(Series(cause, ("fullest accelerator",), (size / 2**30,)) for cause, size in causes.items())
    limits = memory_limit(estimate.memory.capacity_bytes)
    memory_chart = BarChart(
        "memory", "Memory, by cause", "", "memory (GiB)", series, stacked=True, horizontal=True, limits=limits
    )
    return Page(
        "estimate",
        f"{estimate.model.name} on {one.accelerators:,} x {estimate.accelerator}",
        f"One iteration takes {_time(estimate)}, at {estimate.mfu:.1%} of the peak.",
        (
            Tile("Iteration time", format_time(seconds), f"{one.global_batch:,} sequences"),
            Tile("Model FLOP/s", f"{estimate.mfu:.1%}", "of the peak"),
            Tile("Memory", format_memory(total), f"of {format_memory(estimate.memory.capacity_bytes)}"),
        ),
        sections=(
            Section("answer", "Estimate", "", (facts(_entries(estimate)),)),
            Section("time", "Time", "Where an iteration's time goes.", (times,)),
            *_windows(estimate),
            Section("memory", "Memory of the fullest accelerator", "", (*_memory(estimate), memory_chart)),
            *cluster_sections(estimate.cluster, estimate.ownership),
        ),
        key_numbers={"iteration_time_s": seconds, "mfu": estimate.mfu, "memory_bytes": total},
    )


def _windows(estimate: Estimate) -> tuple[Section, ...]:
    """Return the times of communication, and the computation that hides it."""
    if not estimate.communication:
        return ()
    columns = (
        text("communication"),
        number("takes", "alone_s", format_time),
        number("waited for", "exposed_s", format_time),
        number("hidden", lambda row: 1 - row["exposed_s"] / row["alone_s"], ".0%"),
        text("behind"),
    )
    rows = table("", estimate.communication, *columns)
    return (Section("communication", "Communication", "What hides, and behind what.", (rows,)),)


def _entries(estimate: Estimate) -> Entries:
    one, calibration = estimate.configuration, estimate.calibration
    degrees = fields_of(one, "tp", "pp", "dp", "cp", "ep", "vpp")
    rate = estimate.flops_per_accelerator / 1e12
    return {
        "split": " ".join(f"{key} {size}" for key, size in degrees.items() if size > 1 or key == "dp"),
        "with": with_words(one.unusual),
        "assumed": estimate.assumed,
        "documents": _documents(estimate),
        "batch": f"{one.global_batch:,} sequences of {one.sequence:,} tokens, {one.micro_batch} at a time",
        "iteration": _time(estimate),
        "tokens": f"{estimate.tokens_per_s:,.0f} a second",
        "model FLOP/s": f"{rate:.0f} T on each, {100 * estimate.mfu:.1f}% of the peak",
        "estimator": "apnet24" if calibration is None else calibration.name,
        "calibration": "" if estimate.quality is None else str(estimate.quality),
        "attention": estimate.attention,
    }


def _time(estimate: Estimate) -> str:
    share = estimate.quality.interval_share if estimate.quality else None
    return time_within(estimate.iteration_time_s, share)


def _documents(estimate: Estimate) -> str:
    """Return the imbalance of packed sequences; empty where documents have equal lengths."""
    if not estimate.imbalance:
        return ""
    return f"attention takes {estimate.imbalance:.0%} longer than the average, waiting for the heaviest sequences"


def _memory(estimate: Estimate) -> tuple[Block, ...]:
    sizes = {**estimate.memory_bytes, "capacity": estimate.memory.capacity_bytes}
    held = {cause: size for cause, size in sizes.items() if size > 0}
    memory = table(
        "",
        joined(cause=held, size=held.values()),
        text("cause"),
        number("GiB", lambda row: row["size"] / 2**30, ".2f"),
    )
    warnings = [] if estimate.fits else [_too_large(estimate)]
    if estimate.tight:
        warnings.append(f"It leaves less than {1 - TIGHT:.0%} of the memory free: try it first.")
    calibration = estimate.calibration
    if calibration is not None and calibration.accelerator != estimate.accelerator:
        warnings.append(f"The calibration is of {calibration.accelerator}, not of {estimate.accelerator}.")
    if calibration is not None and estimate.transferred_from:
        warnings.append(
            f"No runs of {calibration.accelerator} were fitted: its numbers are carried over from "
            f"{estimate.transferred_from}. Fit your own with topoopt llm calibrate."
        )
    return memory, Notes(tuple(warnings), warn=True)


def _too_large(estimate: Estimate) -> str:
    """Return the missing memory, the largest cause, and the cheapest change."""
    cause, remedy = estimate.largest_cause, estimate.remedy
    text = (
        f"It does not fit into memory: {format_memory(estimate.missing_bytes)} too much, with "
        f"{format_memory(estimate.memory_bytes[cause])} of {cause}."
    )
    if remedy is None:
        return (
            f"{text} No single change of ZeRO, recomputation, micro-batch or split is enough: try llm search."
        )
    more_s = remedy.iteration_time_s / estimate.iteration_time_s - 1
    return f"{text} Cheapest change that fits: {remedy} ({more_s:+z.1%} time)."


def llm_search_page(search: ConfigurationSearch) -> Page:
    """Return the search, the best configurations, and their time breakdown."""
    request, rows = search.request, search.shown()
    remark = "estimated; memory on the fullest accelerator"
    spent = [name for name in SPENT if any(row[f"{name}_s"] > 0 for row in rows)]
    shares = table(
        "",
        rows,
        text("configuration", _in_short),
        *(number(name, partial(_share, name), ".1%") for name in spent),
    )
    return Page(
        "search",
        f"{request.model.name} on {request.accelerators:,} {search.accelerator}",
        sections=(
            Section("searched", "What was searched", "", (facts(_llm_search_page_entries(search)),)),
            Section("fastest", f"The fastest {len(rows)}", "", _fastest(search, rows), remark),
            Section("time", "Where the time goes", "", (shares,)),
            *cluster_sections(search.cluster, search.ownership(0) if rows else None),
            *published_sections(request.model.name, search.published),
            *not_searched_sections(search.not_searched),
        ),
        remark=f"{request.global_batch:,} sequences of {request.sequence:,} tokens, {request.precision}",
    )


def _llm_search_page_entries(search: ConfigurationSearch) -> Entries:
    request = search.request
    over = [f"{count:,} {reason.replace(', ', ' ')}" for reason, count in search.too_large.items() if count]
    return {
        "valid": f"{search.valid:,} configurations in {format_time(search.cpu_s)} of CPU time",
        "fit": f"{search.feasible:,} into {format_memory(search.memory.capacity_bytes)}",
        "too large": ", ".join(over),
        "fixed": ", ".join(f"{name} {_word(value)}" for name, value in request.fixed.items()),
        "assumed": search.assumed,
        "not tried": untried_words(
            search.untried, search.untried_time_s, search.times.iteration_time_s.min()
        ),
        "times": f"calibration {search.calibration.name}{_of_another(search)}, {request.attention} attention; 80% of "
        f"measured runs of other stacks are within {calibration_quality(search.calibration).interval_share:.0%}",
        "memory": f"{request.framework}, {request.attention} attention",
    }


def _of_another(search: ConfigurationSearch) -> str:
    """Return the accelerator whose runs a calibration was fitted to, if it is another one."""
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
        *([number("$/1 M tokens", lambda row: of_many(1e6, row["usd_per_token"]))] if search.cluster else []),
        number("memory", "memory_bytes.total", format_memory),
    )
    full = TIGHT * search.memory.capacity_bytes
    tight = sum(row["memory_bytes"]["total"] > full for row in rows)
    leave = "leaves" if tight == 1 else "leave"
    warning = f"{tight} of these {leave} less than {1 - TIGHT:.0%} of the memory free: try them first"
    return fastest, Notes((warning,) if tight else (), warn=True)


def _in_short(row: Row) -> str:
    degrees = [f"{name}{row[name]}" for name in SPLIT[:-1] if row[name] > 1]
    return " ".join([*degrees, f"mb{row['micro_batch']}"])


def _schedule(row: Row) -> str:
    return str(row["schedule"]) + (", overlap" if row["overlap_experts"] else "")


def _origin(one: NotSearched) -> str:
    return f"{one.source} ({one.accelerators:,} {one.accelerator}, {one.precision})"


def _share(name: str, row: Row) -> float:
    return float(row[f"{name}_s"] / row["iteration_time_s"])


def _word(value: Any) -> str:
    return yes_or_no(value) if isinstance(value, bool) else str(value)


def not_searched_sections(left_out: Sequence[NotSearched]) -> tuple[Section, ...]:
    """Return the section on excluded configurations; none where there are none."""
    if not left_out:
        return ()
    lines = {one.name: f"{_origin(one)}: {'; '.join(one.because.values())}{_remedy(one)}" for one in left_out}
    remark = "published for this model, and not among the configurations above"
    return (Section("not_searched", "Not searched", "", (facts(lines),), remark),)


def _remedy(one: NotSearched) -> str:
    return f"; to have it, give {as_flags(one.give)}" if one.give else ""
