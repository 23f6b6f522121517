"""What of a switched fabric can fail: links of servers, and switches, each with the bandwidth that it takes along."""

from dataclasses import dataclass

from topoopt.cost import realize


@dataclass(frozen=True, slots=True)
class SwitchTier:
    """Switches of one tier, over all trees.

    Attributes
    ----------
    count : int
        Switches of this tier.
    servers : int
        How many servers lose bandwidth with one of them.
    lost : float
        The share of its bandwidth that each of these loses.
    """

    name: str
    count: int
    servers: int
    lost: float


@dataclass(frozen=True, slots=True)
class LostBandwidth:
    """A part of a switched fabric that is dead, and what that takes from servers."""

    part: str
    servers: int
    lost: float

    def __str__(self) -> str:
        whom = "a server" if self.servers == 1 else f"each of {self.servers} servers"
        return f"{self.part}: {self.lost:.0%} of the bandwidth of {whom}"


def switch_tiers(fabric: str, servers: int, interfaces: int, bandwidth_bps: float) -> tuple[SwitchTier, ...]:
    """Return the switches of a fabric by tier; none where it has none.

    Every interface of a server has a tree of its own, so that a first switch takes one interface from the servers
    below it, and one above it its share of that tree. A path around it is taken at once, as routing has it.

    Raises
    ------
    InvalidInput
        If the fabric cannot be built so.

    Examples
    --------
    >>> [(tier.name, tier.servers, tier.lost) for tier in switch_tiers("rail", 16, 4, 100e9)]
    [('edge', 16, 0.25)]
    """
    built = realize(fabric, servers, interfaces, bandwidth_bps)
    tree, trees = built.tree, built.trees
    if tree is None or not trees:
        return ()
    behind = -(-servers // tree.edge)
    tiers = [SwitchTier("edge", tree.edge * trees, behind, 1 / interfaces)]
    if tree.aggregation:
        pods = max(-(-tree.edge // max(tree.radix // 2, 1)), 1)
        lost = pods / tree.aggregation / interfaces
        tiers.append(SwitchTier("aggregation", tree.aggregation * trees, -(-servers // pods), min(lost, 1.0)))
    if tree.core:
        tiers.append(SwitchTier("core", tree.core * trees, servers, 1 / tree.core / interfaces))
    return tuple(tiers)
