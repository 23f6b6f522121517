"""The noun Circuit: a patch in names, what two ports of a panel are joined for."""

from collections.abc import Iterable
from dataclasses import dataclass

from topoopt.base.errors import Infeasible
from topoopt.finder.rewiring import Patch, Wiring
from topoopt.plans.inventory.inventory import Cable, Inventory


@dataclass(frozen=True, slots=True)
class Circuit:
    """Two ports of a panel that are joined, and what hangs on them.

    Of a duplex wiring it goes both ways, and ``a`` is the end at the server that comes first. Of a directed one
    server ``a`` sends and server ``b`` hears.

    Attributes
    ----------
    id : str
        The panel and its ports, such as ``panel0:5-17``: a circuit that is the same is called the same.
    duplex : bool
        Whether it goes both ways.
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
