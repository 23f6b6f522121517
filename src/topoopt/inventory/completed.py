"""Names where none are given: the rule by which an inventory is made up.

- Servers are ``srv000``, ``srv001``, … with as many digits as they need, and at least three; sixteen to a rack
  ``rack01``, ``rack02``, …, every second unit from the bottom.
- Interfaces are ``ens1f0``, ``ens1f1``, ``ens2f0``, …: two ports to a card.
- Panels are ``panel1``, ``panel2``, …, one for each panel of the wiring, with just the ports that are needed, in a
  rack ``panels``.
- Interface ``i`` of a server goes to panel ``i // w``, where ``w`` interfaces of a server share a panel; server 0 has
  its first ports, server 1 the next ones, and so on.
- Cables are ``C0001``, ``C0002``, … in the order of servers and their interfaces. Of directed links each interface has
  two, the one on which it sends first, in the two halves of one port.
"""

from topoopt.inventory.inventory import Cable, Interface, Inventory, Panel, Server
from topoopt.rewiring import Wiring

SERVERS_OF_A_RACK = 16
PORTS_OF_A_CARD = 2


def completed(wiring: Wiring, servers: int, kind: str = "manual") -> Inventory:
    """Return the inventory that the rule makes for a wiring.

    Parameters
    ----------
    servers : int
        Servers of the room.
    kind : str
        What panels are, see :data:`~topoopt.inventory.PANEL_KINDS`.
    """
    names = _numbered("srv", servers, 3, first=0)
    listed = tuple(
        Server(
            name,
            f"rack{1 + number // SERVERS_OF_A_RACK:02}",
            1 + 2 * (number % SERVERS_OF_A_RACK),
            _interfaces(wiring.degree),
        )
        for number, name in enumerate(names)
    )
    panels = tuple(
        Panel(f"panel{1 + index}", kind, servers * len(wiring.interfaces_of(index)), "panels", 1 + 4 * index)
        for index in range(wiring.panels)
    )
    return Inventory(listed, panels, _cables(wiring, listed, panels))


def _interfaces(degree: int) -> tuple[Interface, ...]:
    cards = (divmod(interface, PORTS_OF_A_CARD) for interface in range(degree))
    return tuple(Interface(f"ens{1 + card}f{port}", f"ens{1 + card}", port) for card, port in cards)


def _cables(wiring: Wiring, servers: tuple[Server, ...], panels: tuple[Panel, ...]) -> tuple[Cable, ...]:
    sides = ("both",) if wiring.links == "duplex" else ("out", "in")
    ids = iter(_numbered("C", len(servers) * wiring.degree * len(sides), 4, first=1))
    cables = []
    for number, server in enumerate(servers):
        for interface, there in enumerate(server.interfaces):
            panel, place = divmod(interface, wiring.interfaces_per_panel)
            port = number * len(wiring.interfaces_of(panel)) + place + 1
            for side in sides:
                cables.append(Cable(next(ids), server.name, there.name, panels[panel].name, port, side))
    return tuple(cables)


def _numbered(prefix: str, count: int, digits: int, first: int) -> list[str]:
    width = max(digits, len(str(first + count - 1)))
    return [f"{prefix}{number:0{width}}" for number in range(first, first + count)]
