"""Names where none are given: the rule by which an inventory is completed, or made up as a whole.

- Servers are ``srv000``, ``srv001``, … with as many digits as they need, and at least three; sixteen to a rack
  ``rack01``, ``rack02``, …, every second unit from the bottom.
- Interfaces are ``ens1f0``, ``ens1f1``, ``ens2f0``, …: two ports to a card.
- Panels are ``panel0``, ``panel1``, …, one for each panel of the wiring, with just the ports that are needed, in a
  rack ``panels``, every fourth unit.
- Interface ``i`` of a server goes to panel ``i // w``, where ``w`` is how many interfaces of a server share a panel:
  those of the wiring, or more of them where fewer panels are given. It takes the lowest port that is free, servers and
  their interfaces one after the other.
- Cables are ``C0001``, ``C0002``, … in the order of servers and their interfaces. Of directed links each interface has
  two, the one on which it sends first, in the two halves of one port.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from topoopt.base.errors import InvalidInput
from topoopt.base.limits import LARGEST
from topoopt.finder.rewiring import Wiring
from topoopt.plans.inventory.file import CablePart, GivenInventory, InterfacePart, PanelPart, ServerPart
from topoopt.plans.inventory.inventory import Cable, Interface, Inventory, Panel, Server

SERVERS_OF_A_RACK = 16
PORTS_OF_A_CARD = 2
_PANEL_RACK = "panels"
_NOTHING = GivenInventory()


def completed(
    wiring: Wiring, servers: int, given: GivenInventory = _NOTHING, kind: str = "manual"
) -> Inventory:
    """Return the inventory of a room, completed by the rule where something is not given.

    Parameters
    ----------
    wiring : Wiring
        Kind of links, interfaces of a server, and how many of them share a panel.
    servers : int
        Servers of the room; the given inventory may have more.
    kind : str
        Kind of generated panels, see :data:`~topoopt.plans.inventory.PANEL_KINDS`.

    Raises
    ------
    InvalidInput
        If a server, an interface or a port is missing, or something occurs twice; with file and line.
    """
    content = given.content
    with given.placed():
        listed = _servers(content.servers, servers, wiring.degree)
        width = _width(wiring, len(content.panels))
        parts = content.panels or [PanelPart(name=f"panel{index}") for index in range(wiring.panels)]
        there = tuple(Panel(one.name, one.kind, one.ports or LARGEST, "", 0) for one in parts)
        Inventory(
            listed,
            there,
            tuple(
                Cable(one.id or f"cables[{index}]", one.server, one.interface, one.panel, one.port, one.side)
                for index, one in enumerate(content.cables)
            ),
        )
        cables = _cables(wiring, listed, parts, content.cables, width)
        panels = _panels(parts, cables, None if content.panels else kind)
        return Inventory(listed, panels, cables)


def _servers(given: Sequence[ServerPart], servers: int, degree: int) -> tuple[Server, ...]:
    if given and len(given) < servers:
        raise InvalidInput(f"servers: {len(given)} are listed, the plan has {servers}; add the others")
    parts = given or [ServerPart(name=name) for name in _numbered("srv", servers, 3, first=0)]
    racks = [part.rack or f"rack{1 + index // SERVERS_OF_A_RACK:02}" for index, part in enumerate(parts)]
    places = _positions(racks, [part.position for part in parts], 2)
    rows = enumerate(zip(parts, racks, places, strict=True))
    return tuple(_server(index, part, (rack, place), degree) for index, (part, rack, place) in rows)


def _positions(racks: Sequence[str], given: Sequence[int | None], step: int) -> list[int]:
    """Return the rack units of servers without one: every ``step`` units from the bottom, where free."""
    taken = {(rack, place) for rack, place in zip(racks, given, strict=True) if place is not None}
    found = []
    last = dict.fromkeys(racks, 1 - step)
    for rack, place in zip(racks, given, strict=True):
        if place is None:
            last[rack] += step
            while (rack, last[rack]) in taken:
                last[rack] += step
        found.append(place or last[rack])
    return found


def _server(index: int, part: ServerPart, where: tuple[str, int], degree: int) -> Server:
    names = part.interfaces
    if names is None:
        cards = (divmod(interface, PORTS_OF_A_CARD) for interface in range(degree))
        names = [InterfacePart(name=f"ens{1 + card}f{port}") for card, port in cards]
    if len(names) < degree:
        raise InvalidInput(
            f"servers[{index}].interfaces: {part.name} has {len(names)}, the plan needs {degree}; add the others"
        )
    return Server(part.name, *where, tuple(map(_interface, names)))


def _interface(part: InterfacePart) -> Interface:
    found = re.fullmatch(r"(.+?)f(\d{1,9})(?:np\d+)?", part.name)
    card, port = (found[1], int(found[2])) if found else (part.name, 0)
    return Interface(
        part.name,
        part.nic or card,
        port if part.port is None else part.port,
        part.mac or "",
        part.rdma_device or "",
    )


def _width(wiring: Wiring, panels: int) -> int:
    """Return the interfaces per server on a panel: whole panels of the wiring, on this many panels."""
    least = -(-wiring.degree // panels) if panels else 1
    return wiring.interfaces_per_panel * -(-least // wiring.interfaces_per_panel)


def _cables(
    wiring: Wiring,
    servers: Sequence[Server],
    panels: Sequence[PanelPart],
    given: Sequence[CablePart],
    width: int,
) -> tuple[Cable, ...]:
    """Return the given names, and one or two for every interface without."""
    sides = ("both",) if wiring.links == "duplex" else ("out", "in")
    there = {(one.server, one.interface, side) for one in given for side in _halves(one.side)}
    taken = {(one.panel, one.port, side) for one in given for side in _halves(one.side)}
    ids = _free_ids({one.id for one in given if one.id}, len(servers) * wiring.degree * len(sides))
    cables = [
        Cable(one.id or next(ids), one.server, one.interface, one.panel, one.port, one.side) for one in given
    ]
    next_port = dict.fromkeys(((panel.name, side) for panel in panels for side in sides), 1)
    for server in servers:
        for number, interface in enumerate(server.interfaces[: wiring.degree]):
            name = panels[number // width].name
            for side in sides:
                if any((server.name, interface.name, half) in there for half in _halves(side)):
                    continue
                port = next_port[name, side]
                while any((name, port, half) in taken for half in _halves(side)):
                    port += 1
                next_port[name, side] = port + 1
                cables.append(Cable(next(ids), server.name, interface.name, name, port, side))
    return tuple(cables)


def _panels(parts: Sequence[PanelPart], cables: Iterable[Cable], kind: str | None) -> tuple[Panel, ...]:
    needed: dict[str, int] = {}
    for cable in cables:
        needed[cable.panel] = max(needed.get(cable.panel, 1), cable.port)
    for index, part in enumerate(parts):
        most = needed.get(part.name, 1)
        if part.ports is not None and part.ports < most:
            raise InvalidInput(f"panels[{index}].ports: {part.name} has {part.ports}, its cables need {most}")
    racks = [part.rack or _PANEL_RACK for part in parts]
    places = _positions(racks, [part.position for part in parts], 4)
    return tuple(
        Panel(
            part.name,
            kind or part.kind,
            part.ports or len(part.port_names) or needed.get(part.name, 1),
            rack,
            place,
            tuple(part.port_names),
        )
        for part, rack, place in zip(parts, racks, places, strict=True)
    )


def _halves(side: str) -> tuple[str, ...]:
    return ("out", "in") if side == "both" else (side,)


def _free_ids(taken: set[str], count: int) -> Iterator[str]:
    return (name for name in _numbered("C", count + len(taken), 4, first=1) if name not in taken)


def _numbered(prefix: str, count: int, digits: int, first: int) -> list[str]:
    width = max(digits, len(str(first + count - 1)))
    return [f"{prefix}{number:0{width}}" for number in range(first, first + count)]
