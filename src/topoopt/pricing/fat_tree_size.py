"""How large the switches of a fat-tree must be, and how many of them it takes."""

from dataclasses import dataclass

from topoopt.base.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class FatTreeSize:
    """One tree of switches of equal size for one interface of every server.

    Attributes
    ----------
    radix : int
        Ports of every switch: the paper's k.
    edge, aggregation, core : int
        Whole switches of each tier, from the servers up; 0 where there is no such tier.
    """

    servers: int
    radix: int
    edge: int
    aggregation: int
    core: int

    @property
    def switches(self) -> int:
        """All switches together."""
        return self.edge + self.aggregation + self.core

    @property
    def ports(self) -> int:
        """Ports of all switches, used or not."""
        return self.switches * self.radix


def fat_tree_size(servers: int, tiers: int = 3, oversubscription: float = 1.0) -> FatTreeSize:
    """Return the tree of the smallest switches that joins the servers.

    A first switch of k ports has as many for servers as leave one uplink for ``oversubscription`` of them. In
    three tiers k/2 of them make a pod with one aggregation switch for each of their uplinks, and k pods meet in the
    core: k³/4 servers at full bisection, k³/3 at 2:1. In two tiers k first switches meet in the core.

    Examples
    --------
    >>> fat_tree_size(128)
    FatTreeSize(servers=128, radix=8, edge=32, aggregation=32, core=16)
    >>> fat_tree_size(128, tiers=2), fat_tree_size(128, tiers=1).radix
    (FatTreeSize(servers=128, radix=16, edge=16, aggregation=0, core=8), 128)
    """
    if servers < 1:
        raise InvalidInput(f"fat-tree: servers must be at least 1, got {servers}")
    radix = 2
    while _most_servers(radix, tiers, oversubscription) < servers:
        radix += 2
    if tiers == 1:
        return FatTreeSize(servers, radix, 1, 0, 0)
    below = _below(radix, oversubscription)
    above = radix - below
    edge = -(-servers // below)
    if edge == 1:
        return FatTreeSize(servers, radix, 1, 0, 0)
    if tiers == 2:
        return FatTreeSize(servers, radix, edge, 0, -(-edge * above // radix))
    pods = -(-edge // (radix // 2))
    core = 0 if pods == 1 else -(-pods * above // 2)
    return FatTreeSize(servers, radix, edge, pods * above, core)


def _most_servers(radix: int, tiers: int, oversubscription: float) -> int:
    below = _below(radix, oversubscription)
    return {1: radix, 2: radix * below, 3: radix * (radix // 2) * below}[tiers]


def _below(radix: int, oversubscription: float) -> int:
    """Return how many ports of a first switch are for servers; at least one is left to go up."""
    return min(int(radix * oversubscription / (1 + oversubscription) + 1e-9), radix - 1)
