"""A collective on a wiring as a page: schedules, which is the quickest for which size, and what was played."""

import numpy as np

from topoopt.base.units import format_bandwidth, format_bytes, format_time
from topoopt.collectives.frontier import CollectiveAnswer, Way
from topoopt.pages.chart import LineChart, Series
from topoopt.pages.number_format import counted
from topoopt.pages.page import Block, Notes, Page, Section, Tile
from topoopt.pages.tables import facts, number, table, text

SIZES = np.geomspace(1e3, 1e10, 43)
"""Bytes over which times are drawn."""


def collective_page(answer: CollectiveAnswer) -> Page:
    """Return the schedules beside each other, the sizes where they cross, and the bound."""
    wiring, chosen = answer.wiring, answer.chosen
    size, time = format_bytes(answer.size_bytes), format_time(answer.time_s(chosen))
    ports = counted(wiring.ports, f"{wiring.links} port")
    bound_s = answer.time_s(answer.bound)
    return Page(
        "collective",
        f"{answer.operation} of {size}, {wiring.servers} servers, {ports} each",
        f"The {answer.operation} takes {time} by {chosen.schedule}; none takes less than {format_time(bound_s)}.",
        (
            Tile("Schedule", chosen.schedule, chosen.detail),
            Tile("Time", time),
            Tile("Bound", format_time(bound_s)),
        ),
        sections=(_choice(answer), _schedules(answer)),
        key_numbers={"time_s": answer.time_s(chosen), "bound_s": bound_s},
    )


def _choice(answer: CollectiveAnswer) -> Section:
    wiring, chosen, bound = answer.wiring, answer.chosen, answer.bound
    over = answer.time_s(chosen) / answer.time_s(bound) - 1
    entries = {
        "schedule": f"{chosen.schedule}, {chosen.detail}",
        "time": f"{format_time(answer.time_s(chosen))}: {_parts(answer, chosen)}",
        "bound": (
            f"{format_time(answer.time_s(bound))}: {counted(bound.steps, 'step')} and {bound.volume:.4f} messages; "
            f"this takes {over:.1%} more",
            bound.why,
        ),
        "wiring": f"{wiring.name}, diameter {answer.hops.diameter}, {answer.hops.average_hops:.3f} hops on average",
        "a step": f"{format_time(answer.alpha_s)} beside its bytes",
        "a server has": f"{format_bandwidth(answer.server_bps)} over {wiring.ports} ports{_idle(answer)}",
        "played": _played(answer),
    }
    return Section(
        "choice",
        "The schedule",
        "What the quickest schedule takes, and what none undercuts.",
        (facts(entries),),
    )


def _parts(answer: CollectiveAnswer, way: Way) -> str:
    return f"{counted(way.steps, 'step')} and {way.volume:.4f} messages at the bandwidth of a server"


def _idle(answer: CollectiveAnswer) -> str:
    idle = answer.wiring.idle_ports
    return f"; {counted(idle, 'port')} of all idle" if idle else ""


def _played(answer: CollectiveAnswer) -> str:
    if answer.played is None:
        return ""
    rounds = counted(len(answer.played.fullest), "round")
    return f"{answer.played.transfers:,} transfers in {rounds}; every shard arrives"


def _schedules(answer: CollectiveAnswer) -> Section:
    best = answer.best_of_each
    blocks: list[Block] = [
        table(
            "",
            answer.rows(best),
            text("schedule"),
            text("as", "detail"),
            number("steps"),
            number("messages", "volume", ".4f"),
            number("time", "time_s"),
            number("over bound", "over_bound", ".1%"),
            text("quickest", lambda row: _sizes(row["quickest_from_bytes"], row["quickest_to_bytes"])),
        ),
        table("Every way", answer.rows(), text("schedule"), text("as", "detail"), number("steps"),
              number("messages", "volume", ".4f"), number("time", "time_s"), folded=True),
        _chart(answer),
    ]  # fmt: skip
    if answer.left_out:
        blocks.append(Notes((f"{', '.join(answer.left_out)}: left out, for there are too many servers",)))
    caption = "Messages are bytes over the fullest ports, in whole messages at all of a server's bandwidth."
    return Section("schedules", "Schedules", caption, tuple(blocks))


def _sizes(low: float | None, high: float | None) -> str:
    if low is None:
        return "–"
    if high is None:
        return f"from {format_bytes(low)} on" if low else "always"
    return f"{format_bytes(low)} to {format_bytes(high)}" if low else f"up to {format_bytes(high)}"


def _chart(answer: CollectiveAnswer) -> LineChart:
    series = tuple(
        Series(
            way.schedule,
            tuple((SIZES / 1e6).tolist()),
            tuple(1e6 * answer.time_s(way, size) for size in SIZES.tolist()),
            marked=False,
        )
        for way in (answer.quickest(name) for name in sorted({way.schedule for way in answer.ways}))
    )
    title = f"{answer.operation} on {answer.wiring.servers} servers"
    return LineChart("collective", title, "message (MB)", "time (µs)", series, x_log=True, y_log=True)
