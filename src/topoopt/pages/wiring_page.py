"""Pages of a wiring: its rings and distances, and a collective on it by every schedule."""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import accumulate, islice
from math import isinf

import numpy as np

from topoopt.base.units import format_bandwidth, format_size, format_time
from topoopt.collectives.frontier import CollectiveAnswer, Way
from topoopt.finder import RingNetwork
from topoopt.pages.chart import BarChart, CircleChart, LineChart, RingLine, Series
from topoopt.pages.page import Block, Notes, Page, Section, Table, Tile
from topoopt.pages.screen import UNROLLED_FROM
from topoopt.pages.tables import Column, bars, counted, facts, joined, number, table, text
from topoopt.topologies import DirectWiring, circulant_wiring, stride_offsets
from topoopt.topologies.wirings import WiringAnswer

SIZES = np.geomspace(1e3, 1e10, 43)
"""Bytes over which times are drawn."""
MOST_SERVERS = 1024
MOST_RINGS = 8
"""Rings that have a color of their own."""
_LONGEST = 100  # characters of a recipe
_OF_FILES = ("read_from", "bandwidth_bps", "latency_s", "names", "said")
"""Keys of the recipe of a foreign wiring besides the links."""
_SHOWN_NAMES = 3
SHOWN_DISTANCES = 12


def topology_page(network: RingNetwork) -> Page:
    """Return strides, wiring, distances, and how coins lead to the nearest servers."""
    listed = ", ".join(str(stride) for stride in network.strides)
    reach, ports = network.table, counted(network.degree, f"{network.links} port")
    diameter, average = counted(reach.diameter, "hop"), f"{reach.average_hops:.3f} hops"
    offsets = stride_offsets(network.servers, network.strides, network.links)
    wiring = {
        "strides": f"{listed} (rule: {network.rule})",
        "wiring": wiring_words(network.servers, offsets, network.links),
        "diameter": diameter,
        "average": average,
    }
    servers, pairs = network.servers, network.hop_histogram
    distances = _distances(servers, pairs, number("servers", lambda row: row["pairs"] // servers))
    blocks: tuple[Block, ...] = (facts(wiring), distances, *_coins(network), _chart(network))
    return Page(
        "topology",
        f"{network.servers} servers, {ports} each",
        f"Rings of strides {listed} join {network.servers} servers: {average} on average, {diameter} at most.",
        (Tile("Strides", listed), Tile("Average", average), Tile("Diameter", diameter)),
        sections=(Section("rings", "Rings", "How far apart the rings leave the servers.", blocks),),
        key_numbers={"average_hops": reach.average_hops, "diameter": reach.diameter},
    )


def _coins(network: RingNetwork) -> tuple[Block, ...]:
    nearest = table(
        "By the coins",
        [
            {"distance": distance, "coins": coins}
            for distance, coins in islice(network.coins(), SHOWN_DISTANCES)
        ],
        number("to i +", "distance"),
        text("by the coins", "coins", lambda coins: " + ".join(map(str, coins))),
    )
    more = network.servers - 1 - SHOWN_DISTANCES
    return (nearest, Notes((f"… {more} more distances in JSON",))) if more > 0 else (nearest,)


def _chart(network: RingNetwork) -> BarChart:
    pairs = list(network.hop_histogram.items())
    servers = bars(pairs, lambda row: str(row[0]), {"servers": lambda row: row[1]}, network.servers)
    return BarChart("servers_by_hops", "Servers by distance", "hops", "servers", servers)


def wiring_page(answer: WiringAnswer) -> Page:
    """Return family, hops beside Moore's bound, rings, panels, distances and the frontier."""
    wiring, hops = answer.wiring, answer.chosen.hops
    ports = counted(wiring.degree, f"{wiring.links} port")
    average, moore = f"{hops.average_hops:.4f} hops", answer.moore_average_hops
    above = hops.average_hops / moore - 1
    if answer.chosen.balanced_hops is None:
        all_to_all = ""
    else:
        fuller = answer.chosen.balanced_hops / answer.chosen.hops.average_hops - 1
        all_to_all = f"fullest link {fuller:.1%} above the mean, over balanced shortest ways"
    recipe = {name: value for name, value in wiring.recipe.items() if name not in _OF_FILES}
    said = ", ".join(f"{name} {value}" for name, value in recipe.items())
    entries = {
        "wiring": family_words(wiring.family, wiring.group),
        "read from": _read_from(wiring),
        "made by": said if len(said) <= _LONGEST else f"{said[:_LONGEST]}…",
        "search": _search(answer),
        "diameter": counted(hops.diameter, "hop"),
        "average": f"{average}; Moore's bound {moore:.4f} (+{above:.1%})",
        "all-to-all": all_to_all,
        "rings": _rings(wiring),
        "panels": _panels(answer),
    }
    there = number("servers, mean", lambda row: row["pairs"] / wiring.servers, ".2f")
    distances = _distances(wiring.servers, answer.hop_histogram, there)
    blocks: tuple[Block, ...] = (facts(entries), *_frontier(answer), distances)
    if wiring.servers <= MOST_SERVERS:
        blocks = (*blocks, topology_chart(answer))
    return Page(
        "topology",
        f"{wiring.servers} servers, {ports} each",
        f"A {wiring.family} wiring joins {wiring.servers} servers: {average} on average, {hops.diameter} at most.",
        (
            Tile("Wiring", wiring.family),
            Tile("Average", average, f"{above:.1%} above Moore's bound"),
            Tile("Diameter", counted(hops.diameter, "hop")),
        ),
        answer.warnings,
        sections=(Section("wiring", "Wiring", "How far apart the wiring leaves the servers.", blocks),),
        key_numbers={
            "average_hops": hops.average_hops,
            "moore_average_hops": moore,
            "diameter": hops.diameter,
            "balanced_hops": answer.chosen.balanced_hops,
        },
    )


def _rings(wiring: DirectWiring) -> str:
    if not wiring.rings:
        return "none known"
    ways = ", each both ways" if wiring.links == "duplex" else ""
    half = sum(ring.share < 1 for ring in wiring.rings)
    shared = f"; {half} of them share links, at half rate" if half else ""
    used = round(sum(ring.share for ring in wiring.rings) * (2 if wiring.links == "duplex" else 1))
    if "read_from" in wiring.recipe and used < wiring.degree:
        shared = f"; they use {used} of {wiring.degree} ports of a server"
    return f"{counted(len(wiring.rings), 'ring')} of all servers over direct links{ways}{shared}"


def _panels(answer: WiringAnswer) -> str:
    width = answer.ports.interfaces_per_panel
    each = "1 interface" if width == 1 else f"{width} interfaces"
    why = {
        1: " (matchings)" if answer.wiring.links == "duplex" else " (fibers one way, König)",
        2: " (Petersen)",
    }
    return f"{counted(answer.panels, 'panel')} with {each} of every server{why.get(width, '')}"


def _read_from(wiring: DirectWiring) -> str:
    recipe, names = wiring.recipe, wiring.names
    parts = [str(recipe["read_from"])] if "read_from" in recipe else []
    if "said" in recipe:
        parts.append(f"which has {recipe['said']}")
    for key, written in (("bandwidth_bps", format_bandwidth), ("latency_s", format_time)):
        if isinstance(recipe.get(key), float):
            parts.append(f"{written(recipe[key])} a link")
    if names:
        first = ", ".join(names[:_SHOWN_NAMES])
        parts.append(
            f"servers 0, 1, 2 … are {first} …" if len(names) > _SHOWN_NAMES else f"servers are {first}"
        )
    return "; ".join(parts)


def _search(answer: WiringAnswer) -> str:
    options = answer.options or {}
    if not options.get("known_wirings"):
        return ""
    on = " and searched on" if options["budget_s"] else "; a budget searches on, another seed anew"
    return f"begun with {counted(options['known_wirings'], 'known wiring')} of longer searches{on}"


def _frontier(answer: WiringAnswer) -> tuple[Table, ...]:
    if not answer.frontier:
        return ()
    shown = table(
        "Best in something",
        answer.frontier,
        text("wiring", "wiring.family"),
        number("repeated", "wiring.group"),
        number("average hops", "hops.average_hops", ".4f"),
        number("diameter", "hops.diameter"),
        number("by the fullest link", "balanced_hops", ".4f"),
        number("broadcast", "broadcast_messages", ".4f"),
    )
    return (shown,)


def _distances(servers: int, pairs: Mapping[int, int], there: Column) -> Table:
    """Return the servers by distance, and the cumulative share of all pairs."""
    return table(
        "Distances",
        joined(hops=pairs, pairs=pairs.values(), within=accumulate(pairs.values())),
        number("hops"),
        there,
        number("within", lambda row: row["within"] / servers / (servers - 1), ".3f"),
    )


def topology_chart(answer: RingNetwork | WiringAnswer) -> CircleChart:
    """Return the circle; beyond 1,024 servers only the first ones and their links."""
    if isinstance(answer, RingNetwork):
        return wiring_circle(circulant_wiring(answer.servers, answer.strides, answer.links))
    return wiring_circle(answer.wiring)


def wiring_circle(wiring: DirectWiring) -> CircleChart:
    """Return every link, and each ring of all servers in its own color.

    Server (o, r) has number r·m + o, so that a rotation of the circle by 1/g maps every link to another.
    """
    shown = min(wiring.servers, MOST_SERVERS)
    topology = wiring.topology()
    ends = zip(topology.src.tolist(), topology.dst.tolist(), topology.ports.tolist(), strict=True)
    links = tuple((src, dst, ports, 0.0) for src, dst, ports in ends if src < shown and dst < shown)
    known = wiring.rings[:MOST_RINGS] if shown == wiring.servers else ()
    rings = tuple(
        RingLine(f"ring {index}", tuple(ring.walk.tolist())) for index, ring in enumerate(known, start=1)
    )
    title = f"{wiring.family.capitalize()} wiring of {wiring.servers} servers"
    # what can be done to the picture without changing it
    if wiring.group <= 1:
        symmetry = "It has no symmetry that its numbers show."
    elif shown < UNROLLED_FROM:
        symmetry = f"It looks the same when it is turned by 1/{wiring.group} of a circle."
    else:
        orbits = wiring.servers // wiring.group
        symmetry = f"It looks the same when it is moved along its diagonal by {counted(orbits, 'server')}."
    return CircleChart("topology", title, shown, shown, links, rings, note=symmetry)


def wiring_words(servers: int, offsets: Iterable[int], links: str) -> str:
    """Return the neighbors of every server, and the number of cables where there is more than one.

    Parameters
    ----------
    offsets
        The steps that every server has a link along, one entry a link; of a duplex cable both directions.

    Examples
    --------
    >>> wiring_words(16, [1, 15, 8], "duplex")
    'server i to i ± 1, i + 8 (mod 16)'
    >>> wiring_words(2, [1, 1, 1, 1], "duplex")
    'server i to i + 1 by 4 cables (mod 2)'
    """
    cables = Counter(offsets)
    if links == "duplex":
        cables = Counter({offset: count for offset, count in cables.items() if 2 * offset <= servers})
    ends = [
        f"i {_sign(servers, offset, links)} {offset}{f' by {count} cables' if count > 1 else ''}"
        for offset, count in sorted(cables.items())
    ]
    return f"server i to {', '.join(ends)} (mod {servers})"


def family_words(family: str, group: int) -> str:
    """Return the family of a wiring, and the repetitions of its links around the circle.

    Examples
    --------
    >>> family_words("lifted", 32), family_words("expander", 1)
    ('lifted, repeated 32 times', 'expander')
    """
    return f"{family}{f', repeated {group} times' if group > 1 else ''}"


def _sign(servers: int, offset: int, links: str) -> str:
    """Halfway around, both directions end at the same server."""
    return "±" if links == "duplex" and 2 * offset != servers else "+"


def collective_page(answer: CollectiveAnswer) -> Page:
    """Return the schedules beside each other, the sizes where they cross, and the bound."""
    wiring, chosen = answer.wiring, answer.chosen
    size, time = format_size(answer.size_bytes), format_time(answer.time_s(chosen))
    switches = wiring.topology.nodes - wiring.servers
    behind = " and 1 switch" if switches == 1 else f" and {switches} switches" if switches else ""
    ports = ("up to " if wiring.idle_ports else "") + counted(wiring.ports, f"{wiring.links} port")
    bound_s = answer.time_s(answer.bound)
    return Page(
        "collective",
        f"{answer.operation} of {size}, {wiring.servers} servers{behind}, {ports} each",
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
    if answer.played is None:
        played = ""
    else:
        rounds = counted(len(answer.played.fullest), "round")
        played = f"{answer.played.transfers:,} transfers in {rounds}; every shard arrives"
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
        "played": played,
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


def _schedules(answer: CollectiveAnswer) -> Section:
    best = answer.best_of_each
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
    collective_chart = LineChart(
        "collective", title, "message (MB)", "time (µs)", series, x_log=True, y_log=True
    )
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
            text("quickest", lambda row: _sizes(answer.sizes_of(row["schedule"]))),
        ),
        table("Every way", answer.rows(), text("schedule"), text("as", "detail"), number("steps"),
              number("messages", "volume", ".4f"), number("time", "time_s"), folded=True),
        collective_chart,
    ]  # fmt: skip
    if answer.left_out:
        why = "for fewer servers, or for servers without switches between them"
        blocks.append(Notes((f"Left out: {', '.join(answer.left_out)}, {why}",)))
    caption = "Messages are bytes over the fullest ports, in whole messages at all of a server's bandwidth."
    return Section("schedules", "Schedules", caption, tuple(blocks))


def _sizes(sizes: tuple[float, float] | None) -> str:
    if sizes is None:
        return "–"
    low, high = sizes
    if isinf(high):
        return f"from {format_size(low)} on" if low else "always"
    return f"{format_size(low)} to {format_size(high)}" if low else f"up to {format_size(high)}"
