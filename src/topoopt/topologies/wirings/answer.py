"""The noun WiringAnswer: a wiring with its rings and ports, its bound, and what else was found."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from topoopt.base.answers import Frame, frame, shows_itself
from topoopt.topologies.direct_wiring import DirectWiring
from topoopt.topologies.metrics import moore_average_hops
from topoopt.topologies.wirings.file import write_wiring_file
from topoopt.topologies.wirings.ports import PortedLinks
from topoopt.topologies.wirings.ranking import JudgedWiring

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
    """A direct wiring, and how good it is.

    Attributes
    ----------
    chosen : JudgedWiring
    ports : PortedLinks
        The port of every link end.
    frontier : tuple of JudgedWiring
        What was found that is best in something; empty of a wiring that was read.
    source : str
        ``search``, or the file that was read.
    options : mapping
        What was asked: family, objective, seed and seconds of search; how many wirings were known before.
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
        """No wiring of so many interfaces has less."""
        return moore_average_hops(self.wiring.servers, self.wiring.degree, self.wiring.links)

    @property
    def hop_histogram(self) -> dict[int, int]:
        """Ordered pairs of servers by distance."""
        return {hops: pairs for hops, pairs in enumerate(self.chosen.hops.histogram) if pairs}

    @property
    def panels(self) -> int:
        """How many panels the ports are divided among."""
        return -(-self.wiring.degree // self.ports.interfaces_per_panel)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before wiring it."""
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
        """Return the answer as a mapping; the keys of a network of strides are all there."""
        wiring, hops = self.wiring, self.chosen.hops
        strides = wiring.recipe.get("strides")  # of a file, anything
        return {
            "servers": wiring.servers,
            "degree": wiring.degree,
            "links": wiring.links,
            "family": wiring.family,
            "strides": strides if isinstance(strides, list) else [],
            "diameter": hops.diameter,
            "average_hops": hops.average_hops,
            "moore_average_hops": self.moore_average_hops,
            "balanced_hops": self.chosen.balanced_hops,
            "broadcast_messages": self.chosen.broadcast_messages,
            "hop_histogram": {str(distance): pairs for distance, pairs in self.hop_histogram.items()},
            "idle_interfaces": wiring.idle_interfaces,
            "group": wiring.group,
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
    """Return how many rings that share no link the ports would do for: a cable both ways, of d ports d/2."""
    ways = 2 if wiring.links == "duplex" else 1
    return min(int(np.bincount(end, minlength=wiring.servers).min()) for end in wiring.arcs) // ways


def rings_warning(wiring: DirectWiring) -> tuple[str, ...]:
    """Return what to know where a wiring has fewer rings than its ports would do for; nothing where it has them."""
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
