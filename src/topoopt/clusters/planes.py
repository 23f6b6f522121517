"""The optical planes of a dedicated fabric: what is patched, whose it is, and that no two jobs own one port.

A plane is one set of panels or switches. With look-ahead there are two, and a 1×2 switch in front of each
interface says which of them a server is on. A job runs on one plane; the other one can be wired for the next.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from topoopt.finder.rewiring import Patch, Rewiring, Wiring, rewire
from topoopt.topologies import Topology


@dataclass(frozen=True, slots=True)
class HeldWiring:
    """The ports and links of a job, from when its wiring is begun until it leaves them.

    Attributes
    ----------
    patches : tuple of Patch
        Its links, all of them between its servers.
    from_s, active_s, to_s : float
        When its ports became its own, when its servers were switched to them, when it left; -1 for not yet.
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
        Servers that share panels, the first so many, the next ...: the servers of a job are of one such part.
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
        """Return the planes on which the ports of a server are nobody's."""
        return tuple(plane for plane, owner in enumerate(self._owner) if server not in owner)

    def fibers(self, topology: Topology) -> int:
        """Return how many fibers a topology takes: a cable has two links."""
        links = int(topology.ports.sum())
        return links // 2 if self._nothing.links == "duplex" else links

    def wire(
        self, job: str, servers: Sequence[int], plane: int, topology: Topology, now_s: float
    ) -> tuple[tuple[int, ...], int]:
        """Give the ports to a job and patch its links; return its servers by rank, and the fibers moved.

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
        """Take the ports from a job that leaves, or that gives up its wiring before it began."""
        held = self._held.pop(job)
        for server in held.servers:
            assert self._owner[held.plane].pop(server) == job
            if held.active_s >= 0:
                assert self._active.pop(server) == job
        self.log.append(replace(held, to_s=now_s))

    def _touching(self, servers: Sequence[int], plane: int) -> tuple[Patch, ...]:
        """Return what is patched to some servers, sorted."""
        return tuple(sorted(set().union(*(self._patches[plane][server] for server in servers))))

    def _rewired(self, servers: tuple[int, ...], plane: int, topology: Topology) -> Rewiring:
        """Return the change with the fewest moves; patches elsewhere do not matter, so equal cases are known."""
        before = self._touching(servers, plane)
        case = servers, before, topology
        if case not in self._known:
            self._known[case] = rewire(replace(self._nothing, patches=before), topology, servers=servers)
        return self._known[case]
