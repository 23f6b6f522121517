"""Ways of fine-tuning as a page: what each takes side by side, on every network, and where memory and time go."""

from functools import partial

from topoopt.base.units import format_bandwidth, format_bytes, format_time
from topoopt.pages.chart import BarChart, Series
from topoopt.pages.cost_tables import cluster_sections
from topoopt.pages.number_format import dollars, duration, listed, short_number, usd
from topoopt.pages.page import Block, Notes, Page, Section, Tile
from topoopt.pages.tables import Column, Entries, facts, number, table, text
from topoopt.search import NAMES, FineTuning, TunedFabric, TunedWay

TITLES = {"lora": "LoRA fine-tuning", "qlora": "QLoRA fine-tuning", "full": "Full fine-tuning"}

HARDLY = "The network hardly matters here: twice its bandwidth would save less than 2 % of a step."


def finetuning_page(tuned: FineTuning) -> Page:
    """Return the way that was asked for, the others beside it, and both on every network."""
    way = tuned.asked
    tiles = [
        Tile("Step", format_time(way.step_s), f"{tuned.sequences:,} sequences of {tuned.sequence:,} tokens"),
        Tile("Memory", format_bytes(way.memory_total_bytes), f"of {format_bytes(way.capacity_bytes)}"),
    ]
    if way.hours is not None:
        tiles.append(
            Tile("Data set", duration(way.hours * 3600, 3), dollars(way.usd) if way.usd else "price unknown")
        )
    return Page(
        "finetune",
        f"{TITLES[way.kind]} of {tuned.model} on {tuned.accelerators} x {tuned.accelerator}",
        _sentence(tuned),
        tuple(tiles),
        sections=(
            _head(tuned),
            _side_by_side(tuned),
            *_networks(tuned),
            *cluster_sections(tuned.cluster, way.ownership),
        ),
        key_numbers={"step_s": way.step_s, "tokens_per_s": way.tokens_per_s},
    )


def _sentence(tuned: FineTuning) -> str:
    way = tuned.asked
    line = f"{short_number(tuned.tokens)} tokens take {_hours(way)}{_for(way)}."
    return f"{line} One server needs no network." if tuned.servers == 1 else line


def _matters(way: TunedWay) -> str:
    return (
        f"The network matters: {way.exposed_s / way.step_s:.1%} of a step waits for bytes between servers, which a "
        "quicker one would shorten."
    )


def _hours(way: TunedWay) -> str:
    return "an unknown time" if way.hours is None else duration(way.hours * 3600, 3)


def _for(way: TunedWay) -> str:
    return "" if way.usd is None else f" and {dollars(way.usd)}"


def _head(tuned: FineTuning) -> Section:
    way = tuned.asked
    adapted = f"adapters of rank {tuned.rank}, {tuned.adapters}" if way.kind != "full" else "all weights"
    entries: Entries = {
        "trains": f"{way.trained:,} parameters: {adapted}",
        "split": f"{way.name}, recomputing {way.split['recompute']}, ZeRO {way.split['zero']}",
        "step": f"{format_time(way.step_s)}, {way.tokens_per_s:,.0f} tokens a second",
        "waits": f"{format_time(way.exposed_s)} for bytes between servers" if tuned.servers > 1 else "",
        "memory": f"{format_bytes(way.memory_total_bytes)} of {format_bytes(way.capacity_bytes)}: "
        + listed([f"{name} {format_bytes(size)}" for name, size in way.memory_bytes.items() if size >= 1e6]),
        "data set": f"{tuned.tokens:,.0f} tokens in {tuned.steps:,.0f} steps: {_hours(way)}{_for(way)}",
    }
    return Section(
        "way", "The way", "", (facts(entries), *((Notes((_verdict(tuned),)),) if tuned.servers > 1 else ()))
    )


def _verdict(tuned: FineTuning) -> str:
    return HARDLY if tuned.asked.network_hardly_matters else _matters(tuned.asked)


def _side_by_side(tuned: FineTuning) -> Section:
    done = [way for way in tuned.ways if not way.failure]
    rows = table(
        "",
        done,
        text("way", lambda way: NAMES[way.kind]),
        number("trained", "trained", short_number),
        number("gradients", "gradient_bytes", format_bytes),
        text("split", "name"),
        number("step", "step_s"),
        number("memory", "memory_total_bytes", format_bytes),
        *_network_columns(tuned),
        number("data set", "hours", lambda hours: duration(hours * 3600, 3)),
        number("costs", "usd", dollars),
    )
    lines = [f"{NAMES[way.kind]} cannot be done here: {way.failure}" for way in tuned.ways if way.failure]
    ratio = tuned.full_over_adapters
    if ratio is not None:
        lines.append(f"Full fine-tuning reduces {ratio:,.0f} x the gradients of adapters in every step.")
    blocks: tuple[Block, ...] = (rows, *((Notes(tuple(lines)),) if lines else ()), _memory_chart(done))
    caption = "Each with the fastest split that was found for it, on the network that was wired for it."
    return Section("beside", "Side by side", caption, blocks)


def _network_columns(tuned: FineTuning) -> tuple[Column, ...]:
    if tuned.servers == 1:
        return ()
    return (
        number("sent", "network_bytes", format_bytes),
        number("waits", "exposed_s"),
        text("network matters", lambda way: "hardly" if way.network_hardly_matters else "yes"),
    )


def _memory_chart(ways: list[TunedWay]) -> BarChart:
    names = tuple(NAMES[way.kind] for way in ways)
    causes = [cause for cause in ways[0].memory_bytes if any(way.memory_bytes.get(cause, 0) for way in ways)]
    series = tuple(
        Series(cause, names, tuple(way.memory_bytes.get(cause, 0.0) / 1e9 for way in ways))
        for cause in causes
    )
    return BarChart(
        "memory", "Memory of the fullest accelerator", "", "GB", series, stacked=True, horizontal=True
    )


def _networks(tuned: FineTuning) -> list[Section]:
    done = [way for way in tuned.ways if way.fabrics]
    if not done:
        return []
    first = done[0]
    columns = [number(f"{NAMES[way.kind]} step", partial(_step_s, way), format_time) for way in done]
    rows = table(
        "",
        first.fabrics,
        text("network", "fabric"),
        number("a server", "server_bandwidth_bps", format_bandwidth),
        *columns,
        number("waits", "exposed_s"),
        number("tax", "bandwidth_tax", ".3f"),
        number("price", "network_usd", usd),
        number("data set", "hours", lambda hours: duration(hours * 3600, 3)),
        number("costs", "usd", dollars),
    )
    caption = (
        "Each with the best split for it; what waits, the bandwidth tax, hours and dollars are those of "
        f"{NAMES[first.kind]}."
    )
    return [Section("networks", "Networks", caption, (rows, Notes((_cheapest(first),))))]


def _step_s(way: TunedWay, row: TunedFabric) -> float | None:
    return next((one.step_s for one in way.fabrics if one.fabric == row.fabric), None)


def _cheapest(way: TunedWay) -> str:
    """Return which network makes the data set cheapest, and how much slower the slowest is."""
    priced = [row for row in way.fabrics if row.usd is not None]
    slowest, fastest = (pick(way.fabrics, key=lambda row: row.step_s) for pick in (max, min))
    line = f"Between {fastest.fabric} and {slowest.fabric} lie {slowest.step_s / fastest.step_s - 1:.1%} of a step."
    if not priced:
        return line
    best = min(priced, key=lambda row: row.usd or 0.0)
    return f"{line} The data set is cheapest on {best.fabric}: {dollars(best.usd)}."
