"""The optical ports of all servers over time: whose turn it is, how they are wired, when the wiring is ready.

All-to-alls that share a server take turns, in the order in which they become ready. At its turn an all-to-all gets
the ports of its servers, and circuits for its bytes; those that are wired so already take no time.
"""

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.finder import improved_circuits, regional_circuits
from topoopt.routing import RegionalReconfiguration
from topoopt.simulation.regional.exchanges import Exchange


@dataclass(eq=False)
class Ports:
    """What the ports do now.

    Attributes
    ----------
    circuits : int64 array, shape (servers, region_servers)
        Circuits from each server to each of its region.
    changes : int
        Times that ports were wired anew after the start.
    """

    rule: RegionalReconfiguration
    servers: int
    circuits: Ints = field(init=False)
    changes: int = 0
    _user: Ints = field(init=False)
    _idle_since_s: Floats = field(init=False)
    _served: Ints = field(init=False)
    _queue: deque[tuple[Exchange, float]] = field(default_factory=deque)
    _known: dict[tuple[bytes, bytes], Ints] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.circuits = np.zeros((self.servers, self.rule.region_servers), np.int64)
        self._user = np.full(self.servers, -1)
        self._idle_since_s = np.zeros(self.servers)
        self._served = np.full(self.servers, -1)

    def wire(self, members: Ints, demand_bytes: Floats) -> bool:
        """Give all ports of some servers to their demand; return whether anything changes.

        Parameters
        ----------
        demand_bytes : float64 array, shape (members, members)
        """
        circuits = self._circuits_for(members, demand_bytes)
        if (circuits == self.circuits[members]).all():
            return False
        size = self.rule.region_servers
        left, slot = np.nonzero(self.circuits[members])  # the other ends of what is taken apart
        self.circuits[members[left] // size * size + slot, members[left] % size] = 0
        self.circuits[members] = circuits
        return True

    def _circuits_for(self, members: Ints, demand_bytes: Floats) -> Ints:
        key = members.tobytes(), demand_bytes.tobytes()
        if key not in self._known:
            rule = self.rule
            circuits = np.zeros((len(members), rule.region_servers), np.int64)
            region = members // rule.region_servers
            for here in np.unique(region).tolist():
                rows = np.flatnonzero(region == here)
                of_region = _chosen(demand_bytes[np.ix_(rows, rows)], rule)
                circuits[np.ix_(rows, members[rows] % rule.region_servers)] = of_region
            self._known[key] = circuits
        return self._known[key]

    def ask(self, exchange: Exchange, now_s: float) -> None:
        """Put an all-to-all that has become ready into the queue."""
        self._queue.append((exchange, now_s))

    def give_back(self, exchange: Exchange, now_s: float) -> None:
        """Take the ports of an all-to-all that is done; its circuits stay."""
        self._user[exchange.members] = -1
        self._idle_since_s[exchange.members] = now_s

    def next_turns(self, now_s: float) -> list[tuple[Exchange, float]]:
        """Return the all-to-alls whose turn it is now, and when each may send."""
        begun, waiting, blocked = [], deque[tuple[Exchange, float]](), self._user >= 0
        for exchange, ready_s in self._queue:
            if blocked[exchange.members].any():
                waiting.append((exchange, ready_s))
            else:
                begun.append((exchange, self._begin(exchange, max(ready_s, now_s))))
            blocked[exchange.members] = True
        self._queue = waiting
        return begun

    def _begin(self, exchange: Exchange, now_s: float) -> float:
        """Wire the ports for an all-to-all; return when it may send."""
        members, delay_s = exchange.members, self.rule.delay_s
        first = bool((self._served[members] < exchange.iteration).all())
        self._served[members] = exchange.iteration
        self._user[members] = exchange.begin
        if not self.wire(members, exchange.demand_bytes):
            return now_s
        self.changes += 1
        if self.rule.hiding == "overlapped":
            return max(now_s, float(self._idle_since_s[members].max()) + delay_s)
        waits = first or self.rule.hiding == "none"
        return now_s + delay_s if waits else now_s


def _chosen(demand_bytes: Floats, rule: RegionalReconfiguration) -> Ints:
    """Return the circuits of one region by the rule."""
    if rule.circuits == "improved":
        return improved_circuits(demand_bytes, rule.degree, rule.bandwidth_bps, rule.electrical_bps)
    return regional_circuits(demand_bytes, rule.degree, rule.circuits)
