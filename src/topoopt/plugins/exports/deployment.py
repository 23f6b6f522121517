"""Deployment, ExportFormat and ServerNetwork: input and output of export formats."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.finder.rewiring import Joined, MoveOrder, Wiring, order_moves, rewire, wire, wired_in_room
from topoopt.plans import Plan
from topoopt.plans.inventory import Circuit, GivenInventory, Inventory, circuits, completed, fitting
from topoopt.routing.forwarding import (
    IDENTITY_PREFIX,
    LINK_PREFIX,
    Addressing,
    ForwardingTables,
    NextHops,
    Route,
    Split,
    addressed,
    forwarding_tables,
    next_hops,
    server_tables,
)

MTU_BYTES = 9000
"""MTU of every interface: the largest frame of common cards."""
FIRST_TABLE = 1000
"""The table of the source with the lowest number."""
LONGEST_NAME = 15
"""Longest name of an interface in Linux."""
_HOST_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_INTERFACE_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._+-]{{0,{LONGEST_NAME - 1}}}")


@dataclass(frozen=True, slots=True)
class Neighbor:
    """Server at the far end of a fiber, whose MAC cannot be resolved over it."""

    address: str
    mac: str


@dataclass(frozen=True, slots=True)
class ServerInterface:
    """An interface with a cable.

    Attributes
    ----------
    addresses : tuple of str
        Addresses with ``/31``: one per cable, two for two fibers.
    neighbors : tuple of Neighbor
        Only of directed links.
    mac : str
        MAC to set, for static neighbors; empty where none is needed, or where the inventory gives it.
    """

    name: str
    addresses: tuple[str, ...]
    neighbors: tuple[Neighbor, ...]
    mac: str


@dataclass(frozen=True, slots=True)
class SourceTable:
    """Routes for packets from one source only.

    Attributes
    ----------
    source : str
        The prefix of the source's addresses.
    """

    number: int
    source: str
    routes: tuple[Route, ...]


@dataclass(frozen=True, slots=True)
class ServerNetwork:
    """Addresses and routes of one server.

    Attributes
    ----------
    identities : tuple of str
        Own addresses, without ``/32``; the first is the source address.
    """

    name: str
    identities: tuple[str, ...]
    interfaces: tuple[ServerInterface, ...]
    main: tuple[Route, ...]
    tables: tuple[SourceTable, ...]


@dataclass(frozen=True, eq=False)
class Deployment:
    """A plan to be deployed; make it with :func:`deployment`.

    Attributes
    ----------
    plan : Plan
        Rank r of it is on server r of the inventory.
    inventory : Inventory
        Nothing is missing in it.
    wiring : Wiring
        Interfaces that every link joins, and its panel; includes the servers of ``present``.
    present : Wiring, optional
        Present wiring; None: nothing is wired.
    order : MoveOrder, optional
        Steps from the present wiring.
    paths : ``hashed`` or ``pinned``
        Assignment of a pair's bytes to its paths, see :func:`topoopt.routing.forwarding.forwarding_tables`.
    prefixes : pair of str
        Prefixes of the addresses of servers, and of links.
    """

    plan: Plan
    inventory: Inventory
    wiring: Wiring
    present: Wiring | None = None
    order: MoveOrder | None = None
    paths: Split = "hashed"
    prefixes: tuple[str, str] = (IDENTITY_PREFIX, LINK_PREFIX)

    @cached_property
    def tables(self) -> ForwardingTables:
        """Forwarding of every pair's bytes by the servers."""
        return forwarding_tables(self.plan.fabric.topology, self.plan.fabric.routes, self.paths)

    @cached_property
    def addressing(self) -> Addressing:
        """The addresses of servers and cables, in the inventory's names."""
        servers = self.inventory.servers[: self.plan.fabric.topology.servers]
        return addressed(
            [server.name for server in servers],
            self.wiring.patches,
            duplex=self.wiring.links == "duplex",
            identities=self.tables.identities,
            prefixes=self.prefixes,
            interface_names=[[one.name for one in server.interfaces] for server in servers],
            macs=[[one.mac for one in server.interfaces] for server in servers],
        )

    @cached_property
    def next_hops(self) -> NextHops:
        """The tables with weights as Linux takes them."""
        return next_hops(self.tables, self.addressing)

    @cached_property
    def networks(self) -> tuple[ServerNetwork, ...]:
        """Network configuration of every server."""
        return tuple(server_networks(self.tables, self.addressing, self.next_hops, self.inventory))

    @property
    def splits(self) -> bool:
        """Whether some routes have several next hops."""
        return len(self.next_hops.end) > len(self.tables)

    def networks_of(self, largest: int) -> Iterable[ServerNetwork]:
        """Return the network configuration of every server where weights are limited to ``largest``."""
        if self.next_hops.weight.max(initial=0) <= largest:
            return self.networks
        hops = next_hops(self.tables, self.addressing, largest)
        return server_networks(self.tables, self.addressing, hops, self.inventory)

    @cached_property
    def circuits(self) -> tuple[Circuit, ...]:
        """The patches of the wiring in the inventory's names, in their order."""
        return circuits(self.inventory, self.wiring, self.wiring.patches)


Contents = Mapping[str, str | bytes]
"""Contents of each file, by its name; a name may have a folder before a slash."""


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A format for exporting a plan.

    Attributes
    ----------
    name : str
        Name of the format and of its folder.
    text : str
        One-line description.
    files : str
        Names of its files, such as ``patch-list.csv``.
    consumer : str
        Programs or people that read it.
    write : function from a deployment to files
        Raises Infeasible, with the reason, where the format cannot express the plan.
    """

    name: str
    text: str
    files: str
    consumer: str
    write: Callable[[Deployment], Contents]


def deployment(
    plan: Plan,
    given: GivenInventory | None = None,
    *,
    present: Joined | None = None,
    kind: str = "manual",
    keep_running: bool = False,
) -> Deployment:
    """Return a plan deployed on named hosts.

    Parameters
    ----------
    given : GivenInventory, optional
        Known part of the inventory; the rest is generated.
    present : Joined, optional
        Present wiring; as many of its patches as possible stay.
    kind : str
        Kind of panels, where the inventory does not give it.
    keep_running : bool
        Whether a job runs on the wiring meanwhile, and must not be cut.

    Raises
    ------
    InvalidInput
        If the servers of the plan are connected to switches, or its circuits change; if ``present`` has other links;
        if the inventory lacks something or has something twice, with file and line.
    Infeasible
        If the plan joins interfaces that the inventory leads to different panels.
    """
    topology, cluster = plan.fabric.topology, plan.job.cluster
    if topology.nodes > topology.servers or plan.fabric.reconfiguration is not None:
        raise InvalidInput(
            f"export: the plan's fabric is {plan.fabric.name}; expected one of fixed links from server to server"
        )
    if present is not None and present.links != cluster.links:
        raise InvalidInput(f"present: links are {present.links}, those of the plan {cluster.links}")
    given = (given or GivenInventory()).named(plan.server_names)
    joined = Joined(topology, cluster.degree, cluster.links)
    return fitting(
        given,
        cluster.degree,
        lambda width: _deployed(plan, joined, given, present, (width, kind, keep_running)),
    )


def _deployed(
    plan: Plan,
    joined: Joined,
    given: GivenInventory,
    present: Joined | None,
    how: tuple[int | None, str, bool],
) -> Deployment:
    """Return the deployment with ``joined`` interfaces of a server on one panel; None: the fewest that fit."""
    width, kind, keep_running = how
    if present is None:
        wiring = wire(joined.topology, joined.degree, joined.links, width)
        made = Deployment(plan, completed(wiring, joined.servers, given, kind), wiring)
    else:
        now, after, room = wired_in_room(present, joined, width)
        moves = rewire(now, after, relabel=False)
        inventory = completed(now, room, given, kind)
        circuits(inventory, now, now.patches)
        made = Deployment(plan, inventory, moves.new, now, order_moves(moves, keep_running))
    if len(made.circuits) != len(
        made.wiring.patches
    ):  # looked at here, where a mistake in the inventory has a line
        raise AssertionError
    return made


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as the text of a CSV file."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def server_networks(
    tables: ForwardingTables, addressing: Addressing, hops: NextHops, inventory: Inventory
) -> Iterator[ServerNetwork]:
    """Yield the network configuration of every server, in order; ``hops`` are those of the tables.

    Raises
    ------
    Infeasible
        If a server or an interface has a name that a system cannot have.
    """
    _check_names(addressing)
    for told in server_tables(tables, addressing, hops):
        server = told.server
        yield ServerNetwork(
            addressing.server_names[server],
            tuple(addressing.identity(server, identity) for identity in range(tables.identities)),
            tuple(_interfaces(addressing, inventory, server)),
            told.main,
            tuple(
                SourceTable(FIRST_TABLE + source, addressing.block(source), routes)
                for source, routes in sorted(told.by_source.items())
            ),
        )


def _check_names(addressing: Addressing) -> None:
    for server in addressing.server_names:
        if not _HOST_NAME.fullmatch(server):
            raise Infeasible(
                f'inventory: server "{server}": no host name; expected letters, digits and ._- only'
            )
    for server, names in zip(addressing.server_names, addressing.interface_names, strict=True):
        for name in names:
            if not _INTERFACE_NAME.fullmatch(name):
                raise Infeasible(
                    f'inventory: {server}: interface "{name}": no name that Linux takes; expected {LONGEST_NAME} '
                    "characters at most, no blank, colon or slash"
                )


def _interfaces(addressing: Addressing, inventory: Inventory, server: int) -> Iterator[ServerInterface]:
    ends: dict[int, list[int]] = {}
    for end in addressing.ends_of_servers[server]:
        ends.setdefault(addressing.end(end).interface, []).append(end)
    for interface, here in ends.items():
        known = inventory.servers[server].interfaces[interface].mac
        yield ServerInterface(
            addressing.interface_name(here[0]),
            tuple(f"{addressing.link_address(end)}/31" for end in here),
            tuple(
                Neighbor(addressing.link_address(end ^ 1), addressing.mac(end ^ 1))
                for end in here
                if not addressing.duplex and end % 2 == 0
            ),
            "" if addressing.duplex or known else addressing.mac(here[0]),
        )
