"""A direct wiring, its bound, its rings and panels, and what else was found, as a page."""

from itertools import accumulate

from topoopt.base.units import format_bandwidth, format_time
from topoopt.finder import RingNetwork
from topoopt.pages.chart import CircleChart, RingLine
from topoopt.pages.page import Block, Page, Section, Table, Tile
from topoopt.pages.rows import facts, joined, number, table, text
from topoopt.pages.screen import UNROLLED_FROM
from topoopt.pages.wiring_words import family_words
from topoopt.pages.words import counted
from topoopt.topologies import DirectWiring, circulant_wiring
from topoopt.topologies.wirings import JudgedWiring, WiringAnswer

MOST_SERVERS = 1024
MOST_RINGS = 8
"""Rings that have a color of their own."""
_LONGEST = 100  # characters of a recipe
_OF_FILES = ("read_from", "bandwidth_bps", "latency_s", "names", "said")
"""What the recipe of a wiring that others wrote holds, beside the links."""
_SHOWN_NAMES = 3


def wiring_page(answer: WiringAnswer) -> Page:
    """Return family, hops beside Moore's bound, rings, panels, distances and the frontier."""
    wiring, hops = answer.wiring, answer.chosen.hops
    ports = counted(wiring.degree, f"{wiring.links} port")
    average, moore = f"{hops.average_hops:.4f} hops", answer.moore_average_hops
    above = hops.average_hops / moore - 1
    entries = {
        "wiring": family_words(wiring.family, wiring.group),
        "read from": _read_from(wiring),
        "made by": _recipe(wiring),
        "search": _search(answer),
        "diameter": counted(hops.diameter, "hop"),
        "average": f"{average}; Moore's bound {moore:.4f} (+{above:.1%})",
        "all-to-all": _all_to_all(answer.chosen),
        "rings": _rings(wiring),
        "panels": _panels(answer),
    }
    blocks: tuple[Block, ...] = (facts(entries), *_frontier(answer), _distances(answer))
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


def _all_to_all(chosen: JudgedWiring) -> str:
    if chosen.balanced_hops is None:
        return ""
    fuller = chosen.balanced_hops / chosen.hops.average_hops - 1
    return f"fullest link {fuller:.1%} above the mean, over balanced shortest ways"


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


def _recipe(wiring: DirectWiring) -> str:
    recipe = {name: value for name, value in wiring.recipe.items() if name not in _OF_FILES}
    said = ", ".join(f"{name} {value}" for name, value in recipe.items())
    return said if len(said) <= _LONGEST else f"{said[:_LONGEST]}…"


def _read_from(wiring: DirectWiring) -> str:
    """Return syntax, bandwidth, latency and names of a file that others wrote."""
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


def _distances(answer: WiringAnswer) -> Table:
    servers, pairs = answer.wiring.servers, answer.hop_histogram
    return table(
        "Distances",
        joined(hops=pairs, pairs=pairs.values(), within=accumulate(pairs.values())),
        number("hops"),
        number("servers, mean", lambda row: row["pairs"] / servers, ".2f"),
        number("within", lambda row: row["within"] / servers / (servers - 1), ".3f"),
    )


def topology_chart(answer: RingNetwork | WiringAnswer) -> CircleChart:
    """Return the circle; of more than 1,024 servers the first so many, with what joins them."""
    if isinstance(answer, RingNetwork):
        return wiring_circle(circulant_wiring(answer.servers, answer.strides, answer.links))
    return wiring_circle(answer.wiring)


def wiring_circle(wiring: DirectWiring) -> CircleChart:
    """Return every link, and each ring of all servers in a color of its own.

    Server (o, r) has number r·m + o, so that turning the circle by 1/g of its way lays every link on another.
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
    return CircleChart("topology", title, shown, shown, links, rings, note=_symmetry(wiring, shown))


def _symmetry(wiring: DirectWiring, shown: int) -> str:
    """Return what can be done to the picture without changing it."""
    if wiring.group <= 1:
        return "It has no symmetry that its numbers show."
    if shown < UNROLLED_FROM:
        return f"It looks the same when it is turned by 1/{wiring.group} of a circle."
    orbits = wiring.servers // wiring.group
    return f"It looks the same when it is moved along its diagonal by {counted(orbits, 'server')}."
