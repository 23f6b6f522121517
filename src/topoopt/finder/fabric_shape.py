"""The noun FabricShape: what some fabrics can be told, beyond the numbers that all of them need."""

from dataclasses import dataclass, fields

from topoopt.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class FabricShape:
    """Settings of a fabric; what is left at its default is the fabric's own choice.

    Attributes
    ----------
    switches : bool
        Every switch is a node, as the packet simulator needs it; else parallel switches are merged into
        trunks, which is faster and, where traffic is spread over all paths, the same. Any fabric takes it.
    routing : str, optional
        Name in the table of routing methods, for all fabrics of fixed links.
    arity : int, optional
        The k of a k-ary fat-tree.
    oversubscription : float, optional
        Bandwidth into the first switch over bandwidth out of it; for fat-trees and rails.
    leaf_ports : int, optional
        Ports of a switch of a rail.
    strides : tuple of int
        Of the circulant that is called ``topoopt``.
    twisted : bool
        For a torus.
    delay_s : float, optional
        How long a change of circuits takes; for reconfigurable fabrics.
    host_forwarding : bool, optional
        Whether servers relay between changes of circuits; for reconfigurable fabrics.
    electrical_ports, region_servers : int, optional
        Ports of a server on the electrical fabric, and servers that circuits can join; for regional circuits.
    circuits, hiding : str, optional
        How regional circuits are chosen, and how much of a change is waited for; see
        :class:`topoopt.routing.RegionalReconfiguration`.
    """

    switches: bool = False
    routing: str | None = None
    arity: int | None = None
    oversubscription: float | None = None
    leaf_ports: int | None = None
    strides: tuple[int, ...] = ()
    twisted: bool = False
    delay_s: float | None = None
    host_forwarding: bool | None = None
    electrical_ports: int | None = None
    region_servers: int | None = None
    circuits: str | None = None
    hiding: str | None = None

    def refuse_all_but(self, fabric: str, known: frozenset[str]) -> None:
        """Refuse what the named fabric knows nothing of.

        Raises
        ------
        InvalidInput
            Naming the first such setting.
        """
        for one in fields(self):
            value = getattr(self, one.name)
            if value != one.default and one.name not in known | {"switches"}:
                takes = ", ".join(sorted(known)) or "none"
                raise InvalidInput(
                    f"fabric {fabric}: has no {one.name} to set, got {value}; what can be set here: {takes}"
                )


AS_USUAL = FabricShape()
"""Everything the fabric's own choice, switches merged into trunks."""
