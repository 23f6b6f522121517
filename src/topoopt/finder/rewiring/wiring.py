"""Patch and Wiring: pairs of server ports that are joined on each panel."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from topoopt.base.errors import Infeasible, InvalidInput, check_known
from topoopt.finder.rewiring.panels import (
    DivisionProblem,
    Pair,
    Panels,
    divide_among_panels,
    improved_division,
)
from topoopt.topologies import LINK_MODELS, DirectWiring, Topology
from topoopt.topologies.wirings import PortedLinks, ports_by_rings, ports_in_order

End = tuple[int, int]
"""Server and interface."""
Port = tuple[str, int, int]
"""Side of the port (``both`` of a cable, else ``out`` or ``in``), server, interface."""


@dataclass(frozen=True, slots=True, order=True)
class Patch:
    """A connection through a panel: a cable (duplex), or a fiber from ``src`` to ``dst`` (directed)."""

    src: int
    src_interface: int
    dst: int
    dst_interface: int

    @property
    def ends(self) -> tuple[End, End]:
        """Both ends, that at ``src`` first."""
        return (self.src, self.src_interface), (self.dst, self.dst_interface)


@dataclass(frozen=True)
class Wiring:
    """Patches through the panels of a room; panels may be optical switches.

    Panel k takes the interfaces ``k·w .. k·w + w - 1`` of every server, where w is ``interfaces_per_panel``, and joins
    ports of its own only. The paper's fabric has w = 1: interface i of every server goes to switch i of d. Where cables
    cannot be divided among panels like that, as around an odd number of servers, two interfaces have to share a panel.

    Attributes
    ----------
    links : str
        ``duplex``: a patch is a cable and takes one port at either end. ``directed``: a patch is a fiber and takes
        the outgoing side of one port and the incoming side of another.
    degree : int
        Interfaces of a server.
    patches : tuple of Patch
        Sorted; of a cable the lower server is ``src``.
    dead : frozenset of ports
        Ports that do not work: nothing can be plugged in.

    Raises
    ------
    InvalidInput
        If a port is taken twice, is dead or does not exist, or a patch would leave its panel.
    """

    links: str
    degree: int
    interfaces_per_panel: int = 1
    patches: tuple[Patch, ...] = ()
    dead: frozenset[Port] = frozenset()

    def __post_init__(self) -> None:
        check_known("links", self.links, LINK_MODELS)
        if not 1 <= self.interfaces_per_panel <= self.degree:
            raise InvalidInput(
                f"interfaces per panel: must be in 1..{self.degree}, got {self.interfaces_per_panel}"
            )
        taken: set[Port] = set()
        for patch in self.patches:
            self._check(patch)
            for port in self.ports(patch):
                if port in taken or port in self.dead:
                    what = "is dead" if port in self.dead else "is taken twice"
                    raise InvalidInput(f"wiring: port {port[2]} of server {port[1]} {what} ({port[0]})")
                taken.add(port)

    @property
    def panels(self) -> int:
        """Number of panels."""
        return -(-self.degree // self.interfaces_per_panel)

    @cached_property
    def taken(self) -> dict[Port, Patch]:
        """The patch in each port that is in use."""
        return {port: patch for patch in self.patches for port in self.ports(patch)}

    def panel_of(self, patch: Patch) -> int:
        """Return the panel through which a patch goes."""
        return patch.src_interface // self.interfaces_per_panel

    def ports(self, patch: Patch) -> tuple[Port, Port]:
        """Return the two ports that a patch takes."""
        out, into = ("both", "both") if self.links == "duplex" else ("out", "in")
        return (out, patch.src, patch.src_interface), (into, patch.dst, patch.dst_interface)

    def joined(self, one: End, other: End) -> Patch:
        """Return the patch from one end to another; of a cable the lower one first."""
        return Patch(*min(one, other), *max(one, other)) if self.links == "duplex" else Patch(*one, *other)

    def interfaces_of(self, panel: int) -> range:
        """Return the interfaces of every server that go to a panel."""
        first = panel * self.interfaces_per_panel
        return range(first, min(first + self.interfaces_per_panel, self.degree))

    def touching(self, servers: Iterable[int]) -> tuple[Patch, ...]:
        """Return the patches that end at one of the servers."""
        ends = set(servers)
        return tuple(patch for patch in self.patches if patch.src in ends or patch.dst in ends)

    def changed(self, removed: Iterable[Patch], made: Iterable[Patch]) -> "Wiring":
        """Return the wiring without some patches and with others.

        Raises
        ------
        InvalidInput
            If a patch to be removed is not there, or a port is not free.
        """
        gone = set(removed)
        missing = gone - set(self.patches)
        if missing:
            raise InvalidInput(f"wiring: there is no {min(missing)} to remove")
        kept = [patch for patch in self.patches if patch not in gone]
        return replace(self, patches=tuple(sorted([*kept, *made])))

    def _check(self, patch: Patch) -> None:
        for interface in (patch.src_interface, patch.dst_interface):
            if not 0 <= interface < self.degree:
                raise InvalidInput(f"wiring: interfaces are 0..{self.degree - 1}, {patch} names {interface}")
        if (
            patch.src_interface // self.interfaces_per_panel
            != patch.dst_interface // self.interfaces_per_panel
        ):
            raise InvalidInput(f"wiring: {patch} joins ports of two panels")
        if patch.src == patch.dst or (self.links == "duplex" and patch.src > patch.dst):
            raise InvalidInput(f"wiring: {patch}: expected two servers, of a cable the lower one first")


Links = dict[Pair, int]
"""Number of links from the first to the second server; for duplex cables, the lower server is the first."""


def wire(topology: Topology, degree: int, links: str, interfaces_per_panel: int | None = None) -> Wiring:
    """Return the patches of a topology in an empty room.

    Parameters
    ----------
    degree : int
        Interfaces of a server.
    links : str
        ``duplex`` or ``directed``.
    interfaces_per_panel : int, optional
        Interfaces of a server that share a panel; by default the fewest with which the links can be divided: one, two,
        or all.

    Raises
    ------
    InvalidInput
        If the topology is not one of direct links of that kind, or has more of them than interfaces.
    Infeasible
        If the links cannot be divided among panels with this many interfaces.
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
        If there are switches, a server has more links than interfaces, or cables are not bidirectional.
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
    """Return the map of a fiber's receiving server s to the port -1 - s, and back; identity for duplex cables."""
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
    """Assign every link its interfaces: its current ones, else the lowest free ones of its panel."""
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


_MOST_LINKS_DIVIDED = 4_096  # a division among panels of links that are no rings; 3 s or so


def ported(wiring: DirectWiring) -> PortedLinks:
    """Return the port of every link end, such that as few interfaces as possible share a panel."""
    known = ports_by_rings(wiring)
    if known is not None or len(wiring.arcs[0]) > _MOST_LINKS_DIVIDED:
        return known or ports_in_order(wiring)
    wired = wire(wiring.topology(), wiring.degree, wiring.links)
    rows = [(one.src, one.src_interface, one.dst, one.dst_interface) for one in wired.patches]
    table = np.array(rows, np.int64).reshape(-1, 4)
    return PortedLinks(table[:, 0], table[:, 1], table[:, 2], table[:, 3], wired.interfaces_per_panel)


@dataclass(frozen=True, eq=False)
class Joined:
    """Servers joined by links of one kind, of a plan or of a wiring file.

    Attributes
    ----------
    degree : int
        Interfaces of a server.
    patched : Wiring, optional
        Ports that the links take, where known.
    names : tuple of str
        Names of the servers, if a file gave them.
    """

    topology: Topology
    degree: int
    links: str
    patched: Wiring | None = None
    names: tuple[str, ...] = ()

    @property
    def servers(self) -> int:
        """Number of servers."""
        return self.topology.servers


def joined_by(wiring: DirectWiring, ports: PortedLinks | None) -> Joined:
    """Return the links of a direct wiring, at their ports."""
    patched = None
    if ports is not None:
        columns = (ports.src, ports.src_port, ports.dst, ports.dst_port)
        room = Wiring(wiring.links, wiring.degree, min(ports.interfaces_per_panel, wiring.degree))
        ends = zip(*(column.tolist() for column in columns), strict=True)
        patched = room.changed((), (room.joined((a, p), (b, q)) for a, p, b, q in ends))
    return Joined(wiring.topology(), wiring.degree, wiring.links, patched, wiring.names)


def wired_in_room(old: Joined, new: Joined, interfaces_per_panel: int | None) -> tuple[Wiring, Topology, int]:
    """Return the wiring of the old topology, the new one in the same room, and the room's servers.

    Known ports of the old links are kept if as many interfaces share a panel, or whole panels do.

    Raises
    ------
    InvalidInput
        If a panel would have more interfaces than a server.
    """
    room, degree = max(old.servers, new.servers), max(old.degree, new.degree)
    before, after = _in_room(old.topology, room), _in_room(new.topology, room)
    if interfaces_per_panel is not None and not 1 <= interfaces_per_panel <= degree:
        raise InvalidInput(f"interfaces_per_panel: must be in 1..{degree}, got {interfaces_per_panel}")
    first = old.patched or wire(before, old.degree, old.links, interfaces_per_panel=interfaces_per_panel)
    shared = max(
        interfaces_per_panel or first.interfaces_per_panel,
        wire(after, new.degree, old.links, interfaces_per_panel=interfaces_per_panel).interfaces_per_panel,
    )
    # What is wired now takes only the interfaces that the old plan has, of however many the new one brings.
    wired = first
    if shared % first.interfaces_per_panel and shared < degree:
        wired = wire(before, old.degree, old.links, interfaces_per_panel=shared)
    return replace(wired, degree=degree, interfaces_per_panel=shared), after, room


def _in_room(topology: Topology, servers: int) -> Topology:
    return replace(topology, servers=servers, nodes=servers, offsets=(), rings=())
