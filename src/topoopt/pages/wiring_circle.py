"""A direct wiring on a circle: servers in order of number, so that its symmetry is one of the picture."""

from topoopt.finder import RingNetwork
from topoopt.pages.chart import CircleChart, RingLine
from topoopt.pages.screen import UNROLLED_FROM
from topoopt.pages.words import counted
from topoopt.topologies import DirectWiring, circulant_wiring
from topoopt.topologies.wirings import WiringAnswer

MOST_SERVERS = 1024
MOST_RINGS = 8
"""Rings that have a color of their own."""


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
