"""The servers of a cluster over time: which are idle, which are wired for whom, and when the wiring is done."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from topoopt.clusters.free_servers import choose_servers
from topoopt.clusters.planes import HeldWiring, Planes
from topoopt.clusters.switching import Switching
from topoopt.topologies import Topology


@dataclass(frozen=True, slots=True)
class Shard:
    """Servers for a job, and their wiring.

    Attributes
    ----------
    servers : tuple of int
        In the order of the job's own.
    wired_s : float
        When the last fiber is in place; the servers still have to be switched to it.
    moves : int
        Fibers plugged in.
    """

    servers: tuple[int, ...]
    wired_s: float
    moves: int


class Shards:
    """Idle servers, planes and the hands that wire them.

    Without planes (on links that jobs share) a shard is ready at once.
    """

    def __init__(
        self, servers: int, planes: Planes | None, switching: tuple[Switching, ...], how: str, seed: int
    ) -> None:
        self.idle = set(range(servers))
        self._planes = planes
        self._rules = switching[0] if switching else Switching("", 1, 0.0, 1, 0.0, elastic=True)
        self._how = how
        self._rng = np.random.default_rng(seed)
        self._hands_free_s: defaultdict[tuple[int, int], float] = defaultdict(float)
        self._plugged_s: dict[tuple[int, int], float] = {}

    @property
    def look_ahead(self) -> bool:
        """Whether a shard can be wired while other jobs run on its servers."""
        return self._rules.planes > 1

    @property
    def elastic(self) -> bool:
        """Whether jobs may change their size while they run."""
        return self._rules.elastic

    @property
    def change_s(self) -> float:
        """What a job waits for in any case after its servers are wired."""
        return self._rules.change_s

    @property
    def wirings(self) -> tuple[HeldWiring, ...]:
        """Everything that was ever wired, in order of release."""
        return tuple(self._planes.log) if self._planes is not None else ()

    def choose(self, usable: Iterable[int], size: int) -> tuple[tuple[int, ...], int] | None:
        """Return servers of those usable now, and a plane on which all their ports are free; None if too few."""
        for plane, servers in self._by_plane(sorted(usable)):
            parts = [part for part in self._parts(servers) if len(part) >= size]
            if parts:  # the fullest part that has room leaves the others for larger jobs
                return choose_servers(min(parts, key=len), size, self._how, self._rng), plane
        return None

    def idle_beside(self, servers: Sequence[int]) -> set[int]:
        """Return the idle servers that share panels with some others."""
        part = self._part(servers[0])
        return {server for server in self.idle if self._part(server) == part}

    def earliest(
        self, free_s: Sequence[float], size: int, taken: Iterable[int]
    ) -> tuple[tuple[int, ...], int, float] | None:
        """Return the servers that are free first, their plane and when; None if there are too few.

        With look-ahead these can be wired now: nobody owns their ports on that plane.

        Parameters
        ----------
        free_s : of each server, when its job will have left
        taken : servers that are promised to others
        """
        promised = set(taken)
        best: tuple[tuple[int, ...], int, float] | None = None
        others = [server for server in range(len(free_s)) if server not in promised]
        planes = self._by_plane(others) if self.look_ahead else [(0, others)]
        for plane, servers in ((plane, part) for plane, row in planes for part in self._parts(row)):
            first = sorted(servers, key=lambda server: (free_s[server], server))[:size]
            if len(first) == size:
                when_s = max(free_s[server] for server in first)
                if best is None or when_s < best[2]:
                    best = tuple(sorted(first)), plane, when_s
        return best

    def wire(self, job: str, servers: tuple[int, ...], plane: int, topology: Topology, now_s: float) -> Shard:
        """Give the ports of some servers to a job and have its links made."""
        if self._planes is None:
            return Shard(servers, now_s, 0)
        order, moves = self._planes.wire(job, servers, plane, topology, now_s)
        # fibers that are there may be part of a wiring that was given up while hands still make it
        wired_s = max(now_s, *(self._plugged_s.get((plane, server), 0.0) for server in servers))
        if self._rules.move_s and moves:
            free_s, hands = self._hands_free_s, (plane, self._part(servers[0]))
            free_s[hands] = max(now_s, free_s[hands]) + self._rules.work_s(moves)
            wired_s = max(wired_s, free_s[hands])
        self._plugged_s.update(dict.fromkeys(((plane, server) for server in servers), wired_s))
        return Shard(order, wired_s, moves)

    def longest_wait_s(self, topology: Topology, now_s: float) -> float:
        """Return how long a job waits at most if all its links were to be made from now on."""
        fibers = 0 if self._planes is None else self._planes.fibers(topology)
        return (
            max(max(self._hands_free_s.values(), default=0.0) - now_s, 0.0)
            + self._rules.work_s(fibers)
            + self._rules.change_s
        )

    def activate(self, job: str, now_s: float) -> None:
        """Switch the servers of a job to its links."""
        if self._planes is not None:
            self._planes.activate(job, now_s)

    def release(self, job: str, now_s: float) -> None:
        """Take the ports from a job."""
        if self._planes is not None:
            self._planes.release(job, now_s)

    def _part(self, server: int) -> int:
        """Return which servers share panels with a server."""
        return 0 if self._planes is None else server // self._planes.together

    def _parts(self, servers: Sequence[int]) -> list[Sequence[int]]:
        """Return servers in order as parts that share panels."""
        if self._planes is None:
            return [servers]
        return [tuple(part) for _, part in groupby(servers, key=self._part)]

    def _by_plane(self, servers: Sequence[int]) -> list[tuple[int, Sequence[int]]]:
        if self._planes is None:
            return [(0, servers)]
        unowned = [(server, self._planes.unowned(server)) for server in servers]
        return [
            (plane, [server for server, planes in unowned if plane in planes])
            for plane in range(self._rules.planes)
        ]
