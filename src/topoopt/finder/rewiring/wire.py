"""From a topology to patches: which interface carries which link, as few as possible of them moved."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.finder.rewiring.panels import (
    DivisionProblem,
    Pair,
    Panels,
    divide_among_panels,
    improved_division,
)
from topoopt.finder.rewiring.wiring import Patch, Port, Wiring
from topoopt.topologies import Topology

Links = dict[Pair, int]
"""How many links go from the first to the second server; of cables the lower server is the first."""


def wire(
    topology: Topology,
    degree: int,
    links: str,
    interfaces_per_panel: int | None = None,
) -> Wiring:
    """Return the patches of a topology in an empty room.

    Parameters
    ----------
    degree : int
        Interfaces of a server.
    links : str
        ``duplex`` or ``directed``.
    interfaces_per_panel : int, optional
        How many interfaces of a server share a panel; by default the fewest with which the links can be divided:
        one, two, or all.

    Raises
    ------
    InvalidInput
        If the topology is not one of direct links of that kind, or has more of them than interfaces.
    Infeasible
        If the links cannot be divided among panels of so many interfaces.
    """
    width, placed = interfaces_per_panel, placed_links(topology, degree, links)
    for tried in (1, 2, degree) if width is None else (width,):
        wired = patched(placed, Wiring(links, degree, min(tried, degree)))
        if wired is not None:
            return wired[0]
    raise Infeasible(
        f"wiring: the {links} links cannot be divided among panels with {width} of each server's interfaces; "
        f"use {min(2 * (width or 1), degree)} interfaces per panel"
    )


def placed_links(topology: Topology, degree: int, links: str) -> Links:
    """Return the links of a topology, of cables one of each.

    Raises
    ------
    InvalidInput
        If there are switches, a server has more links than interfaces, or cables are not there both ways.
    """
    if topology.nodes > topology.servers:
        raise InvalidInput(
            f"wiring: the servers of a {topology.family} hang on switches; expected links from server to server"
        )
    placed: Links = {}
    ends = zip(topology.src.tolist(), topology.dst.tolist(), topology.ports.tolist(), strict=True)
    # Rings of one stride are kept together, so that a fabric of rings comes out as one panel a ring.
    for src, dst, ports in sorted(ends, key=lambda row: ((row[1] - row[0]) % topology.servers, row[0])):
        if links == "duplex":
            back = topology.link_id(dst, src)
            if back < 0 or topology.ports[back] != ports:
                raise InvalidInput(f"wiring: link {src}->{dst} has no link back, as a duplex cable must")
            placed[min(src, dst), max(src, dst)] = ports
        else:
            placed[src, dst] = ports
    _check_degree(placed, degree, links)
    return placed


def patched(links: Mapping[Pair, int], now: Wiring, largest_exact: int = 256) -> tuple[Wiring, bool] | None:
    """Return a wiring of the same kind as ``now``, and whether it provably keeps as much of it as any.

    None if the links cannot be divided among its panels.
    """
    far = _other_side(now)
    divided = divide_among_panels(_problem(links, now), largest_exact)
    if divided is None:
        return None
    panels = {(src, far(dst)): counts for (src, dst), counts in divided[0].items()}
    return _plugged(panels, now), divided[1]


def repatched(patches: Sequence[Patch], now: Wiring) -> Wiring:
    """Return a wiring of the same kind as ``now`` whose links go through the panels of these patches, or better ones.

    No port of ``now`` may be dead.
    """
    far = _other_side(now)
    panels: Panels = {}
    for patch in patches:
        panels.setdefault((patch.src, far(patch.dst)), [0] * now.panels)[now.panel_of(patch)] += 1
    links = {(src, far(dst)): sum(counts) for (src, dst), counts in panels.items()}
    better = improved_division(_problem(links, now), panels)
    return _plugged({(src, far(dst)): counts for (src, dst), counts in better.items()}, now)


def _other_side(now: Wiring) -> Callable[[int], int]:
    """Return the two sides of a fiber as different ports: -1 - s is where server s hears; it undoes itself."""
    return (lambda server: server) if now.links == "duplex" else (lambda server: -1 - server)


def _problem(links: Mapping[Pair, int], now: Wiring) -> DivisionProblem:
    far, before = _other_side(now), dict[Pair, list[int]]()
    for patch in now.patches:
        before.setdefault((patch.src, far(patch.dst)), [0] * now.panels)[now.panel_of(patch)] += 1
    return DivisionProblem(
        {(src, far(dst)): count for (src, dst), count in links.items()},
        [len(now.interfaces_of(panel)) for panel in range(now.panels)],
        before,
        Counter(
            (far(server) if side == "in" else server, interface // now.interfaces_per_panel)
            for side, server, interface in now.dead
        ),
    )


def _plugged(panels: Panels, now: Wiring) -> Wiring:
    """Give every link its interfaces: those that it has, else the lowest free ones of its panel."""
    stay: dict[tuple[int, int, int], list[Patch]] = {}
    for patch in now.patches:
        stay.setdefault((patch.src, patch.dst, now.panel_of(patch)), []).append(patch)
    kept = {
        (*pair, panel): list(stay.get((*pair, panel), ())[:count])
        for pair, counts in panels.items()
        for panel, count in enumerate(counts)
    }
    patches = [patch for some in kept.values() for patch in some]
    taken: set[Port] = {*now.dead, *(port for patch in patches for port in now.ports(patch))}
    out, into = ("both", "both") if now.links == "duplex" else ("out", "in")
    for (src, dst), counts in panels.items():
        for panel, count in enumerate(counts):
            for _ in range(count - len(kept[src, dst, panel])):
                ends = []
                for side, server in ((out, src), (into, dst)):
                    free = (i for i in now.interfaces_of(panel) if (side, server, i) not in taken)
                    ends.append(next(free))
                    taken.add((side, server, ends[-1]))
                patches.append(Patch(src, ends[0], dst, ends[1]))
    return replace(now, patches=tuple(sorted(patches)))


def _check_degree(links: Links, degree: int, model: str) -> None:
    used: Counter[tuple[str, int]] = Counter()
    for (src, dst), count in links.items():
        used["out", src] += count
        used["out" if model == "duplex" else "in", dst] += count
    (_, server), most = max(used.items(), key=lambda item: item[1], default=(("out", 0), 0))
    if most > degree:
        raise InvalidInput(f"wiring: server {server} has {most} links and {degree} interfaces")
