"""An estimate of a transformer's training as a page."""

from topoopt.base.units import format_memory, format_time
from topoopt.jobs import TIGHT
from topoopt.pages.chart import BarChart, Series
from topoopt.pages.layout_words import with_words
from topoopt.pages.ownership_section import cluster_sections
from topoopt.pages.page import Block, Notes, Page, Section, Table, Tile
from topoopt.pages.plan_layout import memory_limit
from topoopt.pages.rows import Entries, facts, joined, number, table, text
from topoopt.transformers import STEP_PARTS, Estimate

PART_WORDS = {
    "compute_s": "computing, with recomputation and the optimizer",
    "tp_s": "waiting for tensor parallel ranks",
    "cp_s": "waiting for context parallel ranks",
    "ep_s": "waiting for experts",
    "pp_s": "waiting for transfers between stages",
    "dp_s": "waiting for replicas",
    "bubble_s": "idle while the pipeline fills and drains",
}


def llm_estimate_page(estimate: Estimate) -> Page:
    """Return time, rates and memory of one way of training."""
    one, seconds = estimate.configuration, estimate.iteration_time_s
    total = float(estimate.memory.total[0])
    return Page(
        "estimate",
        f"{estimate.model.name} on {one.accelerators:,} x {estimate.accelerator}",
        f"One iteration takes {format_time(seconds)}, at {estimate.mfu:.1%} of the peak.",
        (
            Tile("Iteration time", format_time(seconds), f"{one.global_batch:,} sequences"),
            Tile("Model FLOP/s", f"{estimate.mfu:.1%}", "of the peak"),
            Tile("Memory", format_memory(total), f"of {format_memory(estimate.memory.capacity_bytes)}"),
        ),
        sections=(
            Section("answer", "Estimate", "", (facts(_entries(estimate)),)),
            Section("time", "Time", "Where an iteration's time goes.", (_times(estimate),)),
            Section(
                "memory",
                "Memory of the fullest accelerator",
                "",
                (*_memory(estimate), _memory_chart(estimate)),
            ),
            *cluster_sections(estimate.cluster, estimate.ownership),
        ),
        key_numbers={"iteration_time_s": seconds, "mfu": estimate.mfu, "memory_bytes": total},
    )


def _entries(estimate: Estimate) -> Entries:
    one, calibration = estimate.configuration, estimate.calibration
    degrees = {key: getattr(one, key) for key in ("tp", "pp", "dp", "cp", "ep", "vpp")}
    rate = estimate.flops_per_accelerator / 1e12
    return {
        "split": " ".join(f"{key} {size}" for key, size in degrees.items() if size > 1 or key == "dp"),
        "with": with_words(one.unusual),
        "documents": _documents(estimate),
        "batch": f"{one.global_batch:,} sequences of {one.sequence:,} tokens, {one.micro_batch} at a time",
        "iteration": f"{estimate.iteration_time_s:.4g} s",
        "tokens": f"{estimate.tokens_per_s:,.0f} a second",
        "model FLOP/s": f"{rate:.0f} T on each, {100 * estimate.mfu:.1f} % of the peak",
        "estimator": "apnet24" if calibration is None else calibration.name,
        "calibration": "" if estimate.quality is None else str(estimate.quality),
        "attention": estimate.attention,
    }


def _documents(estimate: Estimate) -> str:
    """Return how uneven packed sequences are; nothing where documents are all alike."""
    if not estimate.imbalance:
        return ""
    return f"attention takes {estimate.imbalance:.0%} longer than the average, waiting for the heaviest sequences"


def _times(estimate: Estimate) -> Table:
    parts = [name for name in STEP_PARTS if estimate.parts_s[name] > 0]
    return table(
        "",
        joined(part=parts, seconds=(estimate.parts_s[name] for name in parts)),
        text("part", form=PART_WORDS.__getitem__),
        number("seconds", form=".4g"),
        number("%", lambda row: 100 * row["seconds"] / estimate.iteration_time_s, ".1f"),
    )


def _memory(estimate: Estimate) -> tuple[Block, ...]:
    """Return what memory goes to, and what makes the numbers doubtful."""
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


def _memory_chart(estimate: Estimate) -> BarChart:
    causes = {cause: size for cause, size in estimate.memory_bytes.items() if size > 0}
    series = tuple(Series(cause, ("fullest accelerator",), (size / 2**30,)) for cause, size in causes.items())
    limits = memory_limit(estimate.memory.capacity_bytes)
    return BarChart(
        "memory", "Memory, by cause", "", "memory (GiB)", series, stacked=True, horizontal=True, limits=limits
    )


def _too_large(estimate: Estimate) -> str:
    """Return by how much it does not fit, what takes most, and the cheapest change."""
    cause, remedy = estimate.largest_cause, estimate.remedy
    text = (
        f"It does not fit into memory: {format_memory(estimate.missing_bytes)} too much, with "
        f"{format_memory(estimate.memory_bytes[cause])} of {cause}."
    )
    if remedy is None:
        return f"{text} No change of ZeRO, recomputation, micro-batch or split is enough; take more accelerators."
    more_s = remedy.iteration_time_s / estimate.iteration_time_s - 1
    return f"{text} Cheapest change that fits: {remedy} ({more_s:+z.1%} time)."
