"""The noun JudgedWiring: a wiring with what counts against it, and which of several are best in something."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from topoopt.topologies.broadcast import broadcast_steps
from topoopt.topologies.direct_wiring import DirectWiring
from topoopt.topologies.metrics import HopMetrics, wiring_hops
from topoopt.topologies.wirings.ranking_kernel import Rooms, fullest_link

_MOST_ROUNDS, _LEAST_ROUNDS = 200, 8
_LINKS_LOOKED_AT = 60_000_000  # 0.3 s or so
_LARGEST = 1 << 26  # entries of the tables of hops


def balanced_hops(wiring: DirectWiring) -> float | None:
    """Return the mean hops that a wiring without a fuller link would need to be as slow for a uniform all-to-all.

    With L the pairs whose bytes cross the fullest link, over shortest ways and split as evenly as was found, that is
    L · d / (n - 1): never below the mean of hops, and equal to it where all links are equally full. The split is one
    that can be made, not proven to be the best. None where the wiring is too large to say in a second or so.
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
        As the fullest link of a uniform all-to-all has them, see ``all_to_all.py``; None where that takes too long.
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
            "family": self.wiring.family,
            "group": self.wiring.group,
            "average_hops": self.hops.average_hops,
            "diameter": self.hops.diameter,
            "balanced_hops": self.balanced_hops,
            "broadcast_messages": self.broadcast_messages,
            "idle_interfaces": self.wiring.idle_interfaces,
        }


def judged(wiring: DirectWiring) -> JudgedWiring:
    """Return the wiring with its figures."""
    return JudgedWiring(wiring, wiring_hops(wiring), balanced_hops(wiring), _messages(wiring))


def _messages(wiring: DirectWiring) -> float | None:
    if wiring.servers * len(wiring.arcs[0]) > _LARGEST_BROADCAST or wiring.degree > _MOST_PORTS:
        return None
    return float(broadcast_steps(wiring.topology(), wiring.degree).volume)


def frontier(rows: Iterable[JudgedWiring]) -> tuple[JudgedWiring, ...]:
    """Return those that no other is as good as in every figure, by hops; of equal ones the first."""
    kept: list[JudgedWiring] = []
    for row in sorted(rows, key=lambda row: row.figures):
        if not any(_as_good(better.figures, row.figures) for better in kept):
            kept.append(row)
    return tuple(kept)


def best_of(rows: Sequence[JudgedWiring], objective: str) -> JudgedWiring:
    """Return the one of least hops, or of least balanced hops."""
    first = 0 if objective == "hops" else 2
    return min(rows, key=lambda row: (row.figures[first], *row.figures))


def _as_good(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return all(a <= b + _ALIKE for a, b in zip(one, other, strict=True))
