"""How many rings of all servers a wiring has, of as many as it could have, and what an AllReduce does without them."""

import numpy as np

from topoopt.topologies.direct_wiring import DirectWiring

MOST_LINKS_OF_RINGS = 150_000
"""Fibers of a wiring up to which rings are looked for: 16,384 servers of 8 ports take 5 CPU-seconds."""


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
