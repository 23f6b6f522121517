"""The servers of a cluster over time: which are idle, which are wired for a job, and when the wiring is done.

The optical planes of a dedicated fabric: the patches, their owners, and a check that no two jobs own one port.

A plane is one set of panels or switches. With look-ahead there are two, and a 1×2 switch in front of each
interface selects the one of a server. A job runs on one plane; the other one can be wired for the next.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from topoopt.base.errors import Infeasible
from topoopt.catalog import find_optical_switch
from topoopt.clusters.settings import ClusterSettings, choose_servers
from topoopt.finder.rewiring import Patch, Rewiring, Wiring, rewire
from topoopt.topologies import Topology

PANEL = "patch-panel"


@dataclass(frozen=True, slots=True)
class Switching:
    """Switching technology of a dedicated fabric's links.

    Attributes
    ----------
    technology : str
        Technology of the panels or switches, as in ``topoopt hardware optical-switches``.
    planes : int
        Sets of panels or switches: 2 with look-ahead, where each port of a server is behind a 1×2 switch.
    move_s : float
        Time in which one pair of hands moves one fiber; wirings are made one after another. 0: all at once.
    hands : int
        Hands (people or robots) per plane, at each set of panels.
    change_s : float
        Fixed wait of a job: a change of 1×2 switches, or of optical circuit switches.
    elastic : bool
        Whether jobs may change their size while they run.
    """

    technology: str
    planes: int
    move_s: float
    hands: int
    change_s: float
    elastic: bool

    def work_s(self, moves: int) -> float:
        """Return the time of the hands for this many fibers.

        Examples
        --------
        >>> Switching("patch-panel", 2, 30.0, 8, 0.01, elastic=False).work_s(64)
        240.0
        """
        return -(-moves // self.hands) * self.move_s


@dataclass(frozen=True, slots=True)
class HeldWiring:
    """Ports and links of a job, from the start of its wiring until it leaves them.

    Attributes
    ----------
    patches : tuple of Patch
        Links of the job, all of them between its servers.
    from_s, active_s, to_s : float
        Times at which its ports were reserved, its servers were switched to them, and it left; -1 for not yet.
    """

    job: str
    plane: int
    servers: tuple[int, ...]
    patches: tuple[Patch, ...]
    from_s: float
    active_s: float = -1.0
    to_s: float = -1.0


class Planes:
    """The planes over time.

    Ports belong to a job from :meth:`wire` to :meth:`release`; in between :meth:`activate` switches its servers to
    its plane. Nothing is unplugged when a job leaves: its fibers stay for the next until they are in the way.

    Attributes
    ----------
    together : int
        Servers that share panels, in consecutive groups; the servers of a job are in one group.
    """

    def __init__(
        self, planes: int, degree: int, links: str, interfaces_per_panel: int, together: int
    ) -> None:
        self.together = together
        self._nothing = Wiring(links, degree, interfaces_per_panel)
        self._patches: list[defaultdict[int, set[Patch]]] = [defaultdict(set) for _ in range(planes)]
        self._owner: list[dict[int, str]] = [{} for _ in range(planes)]
        self._known: dict[tuple[tuple[int, ...], tuple[Patch, ...], Topology], Rewiring] = {}
        self._active: dict[int, str] = {}
        self._held: dict[str, HeldWiring] = {}
        self.log: list[HeldWiring] = []

    def unowned(self, server: int) -> tuple[int, ...]:
        """Return the planes on which a server's ports belong to no job."""
        return tuple(plane for plane, owner in enumerate(self._owner) if server not in owner)

    def fibers(self, topology: Topology) -> int:
        """Return the fibers of a topology; a cable has two links."""
        links = int(topology.ports.sum())
        return links // 2 if self._nothing.links == "duplex" else links

    def wire(
        self, job: str, servers: Sequence[int], plane: int, topology: Topology, now_s: float
    ) -> tuple[tuple[int, ...], int]:
        """Reserve the ports for a job and patch its links; return its servers by rank, and the fibers moved.

        Which server takes which rank is chosen such that the fewest fibers move.
        """
        owner = self._owner[plane]
        assert not any(server in owner for server in servers), "a port is given to one job at a time"
        made = self._rewired(tuple(servers), plane, topology)
        assert not any(patch.src in owner or patch.dst in owner for patch in made.removed), (
            "not of a job's links"
        )
        for patch in made.removed:
            self._patches[plane][patch.src].remove(patch)
            self._patches[plane][patch.dst].remove(patch)
        for patch in made.made:
            self._patches[plane][patch.src].add(patch)
            self._patches[plane][patch.dst].add(patch)
        patches = self._touching(servers, plane)
        inside = set(servers)
        assert all(patch.src in inside and patch.dst in inside for patch in patches), (
            "links stay in the shard"
        )
        owner.update(dict.fromkeys(servers, job))
        self._held[job] = HeldWiring(job, plane, made.servers, patches, now_s)
        return made.servers, len(made.made)

    def activate(self, job: str, now_s: float) -> None:
        """Switch the servers of a job to its plane."""
        held = self._held[job]
        assert not any(server in self._active for server in held.servers), "a server runs one job at a time"
        assert all(self._owner[held.plane].get(server) == job for server in held.servers)
        self._active.update(dict.fromkeys(held.servers, job))
        self._held[job] = replace(held, active_s=now_s)

    def release(self, job: str, now_s: float) -> None:
        """Release the ports of a job that leaves, or that gives up its wiring before its start."""
        held = self._held.pop(job)
        for server in held.servers:
            assert self._owner[held.plane].pop(server) == job
            if held.active_s >= 0:
                assert self._active.pop(server) == job
        self.log.append(replace(held, to_s=now_s))

    def _touching(self, servers: Sequence[int], plane: int) -> tuple[Patch, ...]:
        return tuple(sorted(set().union(*(self._patches[plane][server] for server in servers))))

    def _rewired(self, servers: tuple[int, ...], plane: int, topology: Topology) -> Rewiring:
        """Return the change with the fewest moves; patches elsewhere do not matter, so equal cases are known."""
        before = self._touching(servers, plane)
        case = servers, before, topology
        if case not in self._known:
            self._known[case] = rewire(replace(self._nothing, patches=before), topology, servers=servers)
        return self._known[case]


@dataclass(frozen=True, slots=True)
class Shard:
    """Servers for a job, and their wiring.

    Attributes
    ----------
    servers : tuple of int
        Servers in the job's order.
    wired_s : float
        Time at which the last fiber is in place; the servers still have to be switched to it.
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
        """Fixed wait of a job after its servers are wired."""
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

        With look-ahead these can be wired now: no job owns their ports on that plane.

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
        """Reserve the ports of some servers for a job and have its links made."""
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
        """Return the longest wait of a job if all its links were made from now on."""
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
        """Release the ports of a job."""
        if self._planes is not None:
            self._planes.release(job, now_s)

    def _part(self, server: int) -> int:
        """Return the group of servers that share panels with this one."""
        return 0 if self._planes is None else server // self._planes.together

    def _parts(self, servers: Sequence[int]) -> list[Sequence[int]]:
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


def panel_switching(settings: ClusterSettings) -> Switching:
    """Return the rules of patch panels; jobs on them keep the size that they started with."""
    panels = settings.panels
    hands = panels.hands or settings.logical.degree
    planes = 2 if panels.look_ahead else 1
    flip_s = panels.flip_s if panels.look_ahead else 0.0
    return Switching(PANEL, planes, panels.move_s, hands, flip_s, elastic=False)


def ocs_switching(settings: ClusterSettings) -> Switching:
    """Return the rules of optical circuit switches: one plane, rewired at once."""
    return Switching(settings.ocs, 1, 0.0, 1, find_optical_switch(settings.ocs).outage_s, elastic=True)


def servers_of_panels(technology: str, servers: int, largest: int, interfaces_per_panel: int = 1) -> int:
    """Return the number of servers per set of panels or switches: all, or an equal part of a larger cluster.

    Sets of panels are joined by nothing, so that the servers of a job are those of one.

    Parameters
    ----------
    servers, largest : int
        Servers of the cluster, and of the largest job.

    Raises
    ------
    Infeasible
        If a job needs more ports than the largest device of a technology has.

    Examples
    --------
    >>> servers_of_panels("patch-panel", 432, 64), servers_of_panels("patch-panel", 4096, 256)
    (432, 820)
    """
    part = find_optical_switch(technology)
    most = part.ports // interfaces_per_panel
    parts = -(-servers // max(most, 1))
    each = -(-servers // parts)
    if most and largest <= each:
        return each
    goes = f"interface i of all {largest} servers of a job goes to switch i"
    if interfaces_per_panel > 1:
        goes = (
            f"{interfaces_per_panel} interfaces of all {largest} servers of a job go to one switch, as links around an "
            "odd number of servers need"
        )
    shared = "" if parts == 1 else f", and {parts} sets of switches join {each} servers each"
    raise Infeasible(
        f"optical switches: {goes}, but {technology} has {part.ports} ports{shared}; "
        "take a larger technology (topoopt hardware optical-switches) or smaller jobs"
    )
