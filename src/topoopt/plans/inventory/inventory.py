"""Inventory: servers with their interfaces, panels with their ports, and the cables between them.

A cable joins an interface of a server to a port of a panel permanently. A plan changes which two ports of a panel
are joined: by a patch cord on its front, or by a circuit inside an optical switch.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from topoopt.base.errors import Infeasible, InvalidInput, check_known, hint
from topoopt.finder.rewiring import Patch, Wiring

PANEL_KINDS = ("manual", "polatis", "calient", "sonic-ocs")
"""Kinds of panels: patch panels, or optical switches by their control interface."""
SIDES = ("both", "out", "in")
"""Directions that a cable carries: both; for single fibers, out of the server's interface or into it."""


@dataclass(frozen=True, slots=True)
class Interface:
    """A port of a network card.

    Attributes
    ----------
    name : str
        Name in the server's operating system, such as ``ens1f0``.
    nic : str
        The card that it is on.
    port : int
        Port of that card, from 0.
    mac, rdma_device : str
        MAC address and RDMA device name; empty where unknown.
    """

    name: str
    nic: str
    port: int
    mac: str = ""
    rdma_device: str = ""


@dataclass(frozen=True, slots=True)
class Server:
    """A server; its number, and the rank on it, is its place in the inventory.

    Attributes
    ----------
    position : int
        Position in the rack, in rack units from the bottom.
    interfaces : tuple of Interface
        Interface i of the wiring is the i-th.
    """

    name: str
    rack: str
    position: int
    interfaces: tuple[Interface, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """A patch panel or optical switch.

    Attributes
    ----------
    kind : str
        One of :data:`PANEL_KINDS`.
    ports : int
        Numbered from 1. A port has room for a fiber into the panel and one out of it, as a duplex plug has.
    port_names : tuple of str
        Port names of the device, where they do not follow the rule of its kind.
    """

    name: str
    kind: str
    ports: int
    rack: str
    position: int
    port_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cable:
    """A permanent cable between an interface of a server and a port of a panel.

    Attributes
    ----------
    side : str
        ``both``: a duplex cable. ``out``: the fiber on which the interface sends. ``in``: the one on which it
        receives.
    """

    id: str
    server: str
    interface: str
    panel: str
    port: int
    side: str = "both"


@dataclass(frozen=True)
class Inventory:
    """Equipment of a room, by name.

    Raises
    ------
    InvalidInput
        If a name, a cable or a port occurs twice, or a cable ends at something that is not there; the message begins
        with the key, such as ``cables[3].port``.
    """

    servers: tuple[Server, ...]
    panels: tuple[Panel, ...]
    cables: tuple[Cable, ...]

    def __post_init__(self) -> None:
        _refuse_twice("servers", "name", (server.name for server in self.servers))
        _refuse_twice("panels", "name", (panel.name for panel in self.panels))
        _refuse_twice("cables", "id", (cable.id for cable in self.cables))
        for index, server in enumerate(self.servers):
            _refuse_twice(f"servers[{index}].interfaces", "name", (one.name for one in server.interfaces))
        for index, panel in enumerate(self.panels):
            check_known(f"panels[{index}].kind", panel.kind, PANEL_KINDS)
            if len(set(panel.port_names)) < len(panel.port_names):
                raise InvalidInput(f"panels[{index}].port_names: a name of {panel.name} stands twice")
            if panel.port_names and len(panel.port_names) != panel.ports:
                what = f"{panel.name} has {panel.ports} ports, got {len(panel.port_names)} names"
                raise InvalidInput(f"panels[{index}].port_names: {what}")
        self._check_cables()

    @cached_property
    def panel_of_name(self) -> Mapping[str, Panel]:
        """The panels by name."""
        return {panel.name: panel for panel in self.panels}

    @cached_property
    def server_of_name(self) -> Mapping[str, Server]:
        """The servers by name."""
        return {server.name: server for server in self.servers}

    def cable(self, server: int, interface: int, side: str) -> Cable:
        """Return the cable at an interface; of a duplex one each side is the cable itself.

        Raises
        ------
        InvalidInput
            If there is no such server, interface or cable.
        """
        if server >= len(self.servers):
            raise InvalidInput(f"servers: {len(self.servers)} are listed, there is no server {server}")
        there = self.servers[server]
        if interface >= len(there.interfaces):
            raise InvalidInput(
                f"servers[{server}].interfaces: {there.name} has {len(there.interfaces)}, there is no {interface}"
            )
        name = there.interfaces[interface].name
        cables = self._cable_at
        found = cables.get((there.name, name, side)) or cables.get((there.name, name, "both"))
        if found is None:
            one_way = any((there.name, name, half) in cables for half in ("out", "in"))
            what = "that goes both ways" if one_way else "at all" if side == "both" else f"of side {side}"
            raise InvalidInput(f"cables: {there.name} {name} has none {what}; add one")
        return found

    @cached_property
    def _cable_at(self) -> dict[tuple[str, str, str], Cable]:
        return {(cable.server, cable.interface, cable.side): cable for cable in self.cables}

    def _check_cables(self) -> None:
        interfaces = {server.name: {one.name for one in server.interfaces} for server in self.servers}
        ends: dict[tuple[str, str, str], str] = {}
        ports: dict[tuple[str, int, str], str] = {}
        for index, cable in enumerate(self.cables):
            key = f"cables[{index}]"
            check_known(f"{key}.side", cable.side, SIDES)
            _check_end(f"{key}.server", cable.server, interfaces)
            _check_end(f"{key}.interface: {cable.server}", cable.interface, interfaces[cable.server])
            _check_end(f"{key}.panel", cable.panel, self.panel_of_name)
            most = self.panel_of_name[cable.panel].ports
            if not 1 <= cable.port <= most:
                raise InvalidInput(f"{key}.port: {cable.panel} has ports 1..{most}, got {cable.port}")
            for side in ("out", "in") if cable.side == "both" else (cable.side,):
                at_server, at_panel = ((cable.server, cable.interface, side), (cable.panel, cable.port, side))
                if at_server in ends:
                    where = f"{cable.server} {cable.interface}"
                    raise InvalidInput(f"{key}.interface: {where} has cable {ends[at_server]} already")
                if at_panel in ports:
                    where = f"port {cable.port} of {cable.panel}"
                    raise InvalidInput(f"{key}.port: {where} is taken by cable {ports[at_panel]}")
                ends[at_server] = ports[at_panel] = cable.id


def _refuse_twice(where: str, key: str, names: Iterable[str]) -> None:
    first: dict[str, int] = {}
    for index, name in enumerate(names):
        if name in first:
            raise InvalidInput(
                f"{where}[{index}].{key}: {name} stands twice, first in {where}[{first[name]}]"
            )
        first[name] = index


def _check_end(key: str, name: str, known: Iterable[str]) -> None:
    if name not in known:
        raise InvalidInput(f'{key}: there is no "{name}"; {hint(name, known)}')


@dataclass(frozen=True, slots=True)
class Circuit:
    """Two ports of a panel that are joined, and the cables in them.

    In a duplex wiring it carries both directions, and ``a`` is the end at the server that comes first. In a directed
    one, server ``a`` sends and server ``b`` receives.

    Attributes
    ----------
    id : str
        The panel and its ports, such as ``panel0:5-17``: a circuit that is the same is called the same.
    duplex : bool
        Whether it is bidirectional.
    cable_a, cable_b : Cable
        The cables in ``port_a`` and ``port_b``.
    """

    id: str
    panel: str
    duplex: bool
    cable_a: Cable
    cable_b: Cable

    @property
    def port_a(self) -> int:
        """The port of the panel on the side of ``a``."""
        return self.cable_a.port

    @property
    def port_b(self) -> int:
        """The port of the panel on the side of ``b``."""
        return self.cable_b.port


def circuits(inventory: Inventory, wiring: Wiring, patches: Iterable[Patch]) -> tuple[Circuit, ...]:
    """Return patches of a wiring in the names of an inventory, in the same order.

    Raises
    ------
    InvalidInput
        If the inventory lacks a server, an interface or a cable.
    Infeasible
        If two interfaces are to be joined whose cables go to different panels.
    """
    sides = ("both", "both") if wiring.links == "duplex" else ("out", "in")
    return tuple(_circuit(inventory, wiring.links, patch, sides) for patch in patches)


def _circuit(inventory: Inventory, links: str, patch: Patch, sides: tuple[str, str]) -> Circuit:
    a, b = (
        inventory.cable(server, interface, side)
        for (server, interface), side in zip(patch.ends, sides, strict=True)
    )
    if a.panel != b.panel:
        raise Infeasible(
            f"cables[{inventory.cables.index(b)}].panel: {b.server} {b.interface} goes to {b.panel} and {a.server} "
            f"{a.interface} to {a.panel}, but the plan joins them; lead them to one panel"
        )
    sign = "-" if links == "duplex" else ">"
    return Circuit(f"{a.panel}:{a.port}{sign}{b.port}", a.panel, links == "duplex", a, b)
