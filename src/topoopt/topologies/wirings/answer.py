"""The answer of the search for a wiring: judged wirings, the best of each kind, rings, ports and the bound."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from topoopt.base.answers import Frame, fields_of, frame, shows_itself
from topoopt.topologies.broadcast import broadcast_steps
from topoopt.topologies.direct_wiring import DirectWiring
from topoopt.topologies.metrics import HopMetrics, moore_average_hops, wiring_hops
from topoopt.topologies.wirings.file import write_wiring_file
from topoopt.topologies.wirings.file_model import PortedLinks
from topoopt.topologies.wirings.ranking_kernel import Rooms, fullest_link

_MOST_ROUNDS, _LEAST_ROUNDS = 200, 8
_LINKS_LOOKED_AT = 60_000_000  # 0.3 s or so
_LARGEST = 1 << 26  # entries of the tables of hops


def balanced_hops(wiring: DirectWiring) -> float | None:
    """Return the mean hops that a wiring without a fuller link would need to be as slow for a uniform all-to-all.

    With L the pairs whose bytes cross the fullest link, over shortest paths with the most even split found, it is
    L · d / (n - 1): never below the mean of hops, and equal to it where all links are equally full. The split is one
    that can be made, not proven to be the best. None where the wiring is too large to compute it in about a second.
    """
    orbits, servers, degree = wiring.orbits, wiring.servers, wiring.degree
    links = orbits * servers * degree
    if orbits * servers > _LARGEST or links * _LEAST_ROUNDS > _LINKS_LOOKED_AT:
        return None
    rounds = max(_LEAST_ROUNDS, min(_MOST_ROUNDS, _LINKS_LOOKED_AT // links))
    hops, order = np.empty((2, orbits, servers), np.int32)
    loads, aside, price = np.empty((3, orbits, degree))
    cost, flow = np.empty((2, servers))
    rooms = Rooms(hops, order, loads, aside, price, cost, flow, np.empty((servers, 2), np.int32))
    most = fullest_link(wiring.near, wiring.shift, wiring.group, rooms, rounds)
    return float(most) * degree / (servers - 1)


_ALIKE = 1e-9
_LARGEST_BROADCAST = 1_100_000  # servers × links: up to 512 servers of 4 ports; 0.1 s or so
_MOST_PORTS = 10  # above, sets of links are too many to look at


@dataclass(frozen=True, eq=False)
class JudgedWiring:
    """A wiring and its figures.

    Attributes
    ----------
    balanced_hops : float or None
        Mean hops weighted by the fullest link of a uniform all-to-all, see ``ranking_kernel.py``; None if too
        slow to compute.
    broadcast_messages : float or None
        Time of a breadth-first all-gather in whole messages at a server's bandwidth, at least (n - 1)/n: T_B. None
        where that takes too long.
    """

    wiring: DirectWiring
    hops: HopMetrics
    balanced_hops: float | None
    broadcast_messages: float | None

    @property
    def figures(self) -> tuple[float, float, float, float]:
        """Hops, diameter, balanced hops and messages; of the third the hops, of the last 0 where it is not known."""
        known = self.balanced_hops if self.balanced_hops is not None else self.hops.average_hops
        return self.hops.average_hops, float(self.hops.diameter), known, self.broadcast_messages or 0.0

    def to_json(self) -> dict[str, Any]:
        """Return a row of the frontier."""
        return {
            **fields_of(self.wiring, "family", "group"),
            **fields_of(self.hops, "average_hops", "diameter"),
            **fields_of(self, "balanced_hops", "broadcast_messages"),
            "idle_interfaces": self.wiring.idle_interfaces,
        }


def frontier(rows: Iterable[JudgedWiring]) -> tuple[JudgedWiring, ...]:
    """Return the wirings not dominated in all figures, by hops; the first of equal ones."""
    kept: list[JudgedWiring] = []
    for row in sorted(rows, key=lambda row: row.figures):
        if not any(
            all(a <= b + _ALIKE for a, b in zip(better.figures, row.figures, strict=True)) for better in kept
        ):
            kept.append(row)
    return tuple(kept)


MOST_LINKS_OF_RINGS = 150_000
"""Fibers of a wiring up to which rings are looked for: 16,384 servers of 8 ports take 5 CPU-seconds."""
_SHOWN_RINGS = 1 << 16
"""Servers of all rings together up to which JSON spells them out; a wiring file always does."""
DIRECTED_WARNING = (
    "Directed links send to one server and hear another: transmit and receive fibers must be patched apart, and link "
    "training and acknowledgments need another way back."
)


@shows_itself
@dataclass(frozen=True, eq=False)
class WiringAnswer:
    """A direct wiring and its figures of merit.

    Attributes
    ----------
    chosen : JudgedWiring
    ports : PortedLinks
        The port of every link end.
    frontier : tuple of JudgedWiring
        Wirings that are best in some figure; empty for a wiring that was read.
    source : str
        ``search``, or the file that was read.
    options : mapping
        Search options: family, objective, seed and seconds of search; number of wirings already known.
    looked_at : tuple of str
        Names of the families.
    interrupted : bool
        Whether the search was ended by a Ctrl-C.
    """

    chosen: JudgedWiring
    ports: PortedLinks
    frontier: tuple[JudgedWiring, ...] = ()
    source: str = "search"
    options: Mapping[str, Any] | None = None
    looked_at: tuple[str, ...] = ()
    interrupted: bool = False

    @property
    def wiring(self) -> DirectWiring:
        """The links."""
        return self.chosen.wiring

    @property
    def moore_average_hops(self) -> float:
        """Moore bound: no wiring with these interfaces has less."""
        return moore_average_hops(self.wiring.servers, self.wiring.degree, self.wiring.links)

    @property
    def hop_histogram(self) -> dict[int, int]:
        """Ordered pairs of servers by distance."""
        return {hops: pairs for hops, pairs in enumerate(self.chosen.hops.histogram) if pairs}

    @property
    def panels(self) -> int:
        """Number of panels that the ports are divided among."""
        return -(-self.wiring.degree // self.ports.interfaces_per_panel)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Caveats before wiring it."""
        wiring, lines = self.wiring, list[str]()
        if wiring.links == "directed":
            lines.append(DIRECTED_WARNING)
        if wiring.idle_interfaces:
            servers = "an odd number of servers" if wiring.servers % 2 else f"{wiring.servers} servers"
            lines.append(f"{wiring.idle_interfaces} interfaces of {servers} are idle in this wiring.")
        lines += rings_warning(wiring)
        if self.interrupted:
            lines.append("The search was interrupted: this is the best so far.")
        return tuple(lines)

    def to_json(self) -> dict[str, Any]:
        """Return the answer as a mapping, including all keys of a network of strides."""
        wiring, hops = self.wiring, self.chosen.hops
        strides = wiring.recipe.get("strides")  # of a file, anything
        return {
            **fields_of(wiring, "servers", "degree", "links", "family"),
            "strides": strides if isinstance(strides, list) else [],
            **fields_of(hops, "diameter", "average_hops"),
            "moore_average_hops": self.moore_average_hops,
            **fields_of(self.chosen, "balanced_hops", "broadcast_messages"),
            "hop_histogram": {str(distance): pairs for distance, pairs in self.hop_histogram.items()},
            **fields_of(wiring, "idle_interfaces", "group"),
            "names": list(wiring.names),
            "recipe": dict(wiring.recipe),
            "rings": self._rings(),
            "panels": self.panels,
            "interfaces_per_panel": self.ports.interfaces_per_panel,
            "frontier": [row.to_json() for row in self.frontier],
            "families": list(self.looked_at),
            "source": self.source,
            "options": dict(self.options or {}),
            "interrupted": self.interrupted,
            "warnings": list(self.warnings),
        }

    def to_frame(self) -> Frame:
        """Return a row for each wiring of the frontier, or for this one, as pandas has it."""
        return frame(row.to_json() for row in self.frontier or (self.chosen,))

    def write(self, path: str) -> None:
        """Write the wiring file."""
        write_wiring_file(path, self.wiring, self.ports)

    def _rings(self) -> list[dict[str, Any]]:
        wiring = self.wiring
        spelled = len(wiring.rings) * wiring.servers <= _SHOWN_RINGS
        return [
            {
                "both_ways": wiring.links == "duplex",
                "share": ring.share,
                "walk": ring.walk.tolist() if spelled else None,
            }
            for ring in wiring.rings
        ]


def most_rings(wiring: DirectWiring) -> int:
    """Return the number of link-disjoint rings that the ports allow: with duplex cables, d ports allow d/2."""
    ways = 2 if wiring.links == "duplex" else 1
    return min(int(np.bincount(end, minlength=wiring.servers).min()) for end in wiring.arcs) // ways


def rings_warning(wiring: DirectWiring) -> tuple[str, ...]:
    """Return a warning where a wiring has fewer rings than its ports allow; else an empty tuple."""
    most, found = most_rings(wiring), sum(ring.share for ring in wiring.rings)
    if found >= most and wiring.rings:
        return ()
    if not wiring.rings and len(wiring.arcs[0]) > MOST_LINKS_OF_RINGS:
        return (
            f"Rings were not looked for in more than {MOST_LINKS_OF_RINGS:,} links: an AllReduce on this wiring goes "
            "around one ring in order of the servers, with relays, or by another algorithm.",
        )
    if not wiring.rings:
        return (
            "No ring of all servers over direct links was found: an AllReduce goes around rings with relays, or by "
            "another algorithm, such as a breadth-first broadcast; topoopt collective compares them.",
        )
    ways = 2 if wiring.links == "duplex" else 1
    return (
        f"Of {most} rings of all servers that share no link {len(wiring.rings)} found: an AllReduce around them uses "
        f"{round(found * ways)} of {wiring.degree} ports of a server; topoopt collective compares other algorithms.",
    )


def judged(wiring: DirectWiring) -> JudgedWiring:
    """Return the wiring with its figures."""
    if wiring.servers * len(wiring.arcs[0]) > _LARGEST_BROADCAST or wiring.degree > _MOST_PORTS:
        messages = None
    else:
        messages = float(broadcast_steps(wiring.topology(), wiring.degree).volume)
    return JudgedWiring(wiring, wiring_hops(wiring), balanced_hops(wiring), messages)


def best_of(rows: Sequence[JudgedWiring], objective: str) -> JudgedWiring:
    """Return the one of least hops, or of least balanced hops."""
    first = 0 if objective == "hops" else 2
    return min(rows, key=lambda row: (row.figures[first], *row.figures))
