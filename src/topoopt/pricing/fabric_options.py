"""What can be chosen of a fabric that is bought, beyond servers, degree and bandwidth."""

from dataclasses import dataclass

from topoopt.base.errors import InvalidInput
from topoopt.pricing.link_technology import PLUGGABLE, check_link_technology

RAIL_LEAF_PORTS = 64
"""Ports of a rail's leaf, half of them for servers, where ports are counted and not whole switches: as the topology
has it."""

REGION_SERVERS = 8
"""Servers of a region of mixnet, joined by one optical circuit switch: as the fabric has it."""


@dataclass(frozen=True, slots=True)
class FabricOptions:
    """Choices that change what is bought.

    Attributes
    ----------
    oversubscription : float
        Of the oversubscribed fat-tree: bandwidth into a first switch over bandwidth out of it.
    ocs_interfaces : int or None
        Of the hybrid: how many of a server's interfaces are behind optical circuit switches, the others behind
        patch panels; by default half of them, and at least one.
    electrical_interfaces : int or None
        Of mixnet: how many of a server's interfaces are on the electrical fat-tree, the others on optical circuit
        switches; by default a quarter of them, and at least one.
    link_technology : str
        A name in :data:`topoopt.pricing.LINK_TECHNOLOGIES`.
    technology : str or None
        Optical technology of circuit switches, where the price list has one for its ports.
    """

    oversubscription: float = 2.0
    ocs_interfaces: int | None = None
    electrical_interfaces: int | None = None
    link_technology: str = PLUGGABLE
    technology: str | None = None

    def __post_init__(self) -> None:
        check_link_technology(self.link_technology)
        if not 1 <= self.oversubscription < float("inf"):
            raise InvalidInput(f"oversubscription: expected a ratio >= 1, got {self.oversubscription:g}")

    def hybrid_ocs_interfaces(self, degree: int) -> int:
        """Return how many of ``degree`` interfaces the hybrid has behind optical circuit switches.

        Raises
        ------
        InvalidInput
            If none would be left behind a panel, or none behind a switch.

        Examples
        --------
        >>> [FabricOptions().hybrid_ocs_interfaces(degree) for degree in (2, 3, 4, 8)]
        [1, 1, 2, 4]
        """
        chosen = max(degree // 2, 1) if self.ocs_interfaces is None else self.ocs_interfaces
        instead = "topoopt or topoopt-ocs", "topoopt-ocs or topoopt"
        return _some("topoopt-hybrid", "ocs_interfaces", chosen, degree, instead)

    def mixnet_electrical_interfaces(self, degree: int) -> int:
        """Return how many of ``degree`` interfaces mixnet has on its electrical fat-tree.

        Raises
        ------
        InvalidInput
            If none would be left for circuits, or none for the fat-tree.

        Examples
        --------
        >>> [FabricOptions().mixnet_electrical_interfaces(degree) for degree in (2, 4, 8)]
        [1, 1, 2]
        """
        chosen = max(degree // 4, 1) if self.electrical_interfaces is None else self.electrical_interfaces
        instead = "fat-tree", "fat-tree or ocs-reconfig"
        return _some("mixnet", "electrical_interfaces", chosen, degree, instead)


def _some(fabric: str, option: str, chosen: int, degree: int, instead: tuple[str, str]) -> int:
    """Return the chosen interfaces, which must be some but not all; else ``instead`` names what to take."""
    if degree < 2:
        raise InvalidInput(
            f"{fabric}: a server needs 2 interfaces or more, one of each kind; use {instead[0]}"
        )
    if not 1 <= chosen < degree:
        raise InvalidInput(
            f"{fabric}: {option} must be 1..{degree - 1} of {degree} interfaces, got {chosen}; "
            f"for all or none use {instead[1]}"
        )
    return chosen
