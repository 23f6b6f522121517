"""Trees of whole switches of one radix: how many of them join so many ports in one, two or three tiers."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Flags, Floats, Ints
from topoopt.base.errors import InvalidInput

MOST_TIERS = 3


@dataclass(frozen=True, slots=True)
class SwitchTree:
    """One tree of equal switches.

    Attributes
    ----------
    hosts : int
        Ports of servers that it joins.
    radix : int
        Ports of every switch at the speed of the links.
    tiers : int
    leaves, aggregation, spines : int
        Switches of each tier, from the servers up; 0 where there is no such tier.
    leaf_links, upper_links : int
        Links out of all leaves, and from aggregation to spines; each has a port at both its ends.
    """

    hosts: int
    radix: int
    tiers: int
    leaves: int
    aggregation: int = 0
    spines: int = 0
    leaf_links: int = 0
    upper_links: int = 0

    @property
    def switches(self) -> int:
        """All switches together."""
        return self.leaves + self.aggregation + self.spines

    @property
    def links(self) -> int:
        """All links between switches."""
        return self.leaf_links + self.upper_links

    @property
    def used_ports(self) -> int:
        """Ports that something is plugged into."""
        return self.hosts + 2 * self.links

    @property
    def spare_ports(self) -> int:
        """Ports that are paid for and free."""
        return self.switches * self.radix - self.used_ports


CostRule = Callable[[Ints, Ints, Ints], Floats]
"""From switches, links out of leaves and links above those, elementwise, to dollars: the cheapest tree is chosen."""


def switch_tree(
    hosts: int, radix: int, cost: CostRule, *, tiers: int | None = None, oversubscription: float = 1.0
) -> SwitchTree | None:
    """Return the cheapest tree of switches that joins so many ports, None where none reaches.

    A leaf with h ports of servers has as many links up, or h/r of them at r:1; they go to all spines alike, so that
    whatever leaves and spines carry is spread evenly: at r = 1 nothing blocks. A spine has ⌊radix/leaves⌋ ports for
    each leaf. In three tiers leaves and aggregation switches make pods, which are trees of two tiers themselves, and
    each aggregation switch has as many links to its own group of spines as it has to its leaves.

    Parameters
    ----------
    tiers
        None for the fewest that reach. One switch is what several tiers need where it reaches: it is never
        oversubscribed.

    Raises
    ------
    InvalidInput
        If a number is out of range.

    Examples
    --------
    At 64 ports a switch: 64 ports need one, 65 need three leaves of 22 and a spine for each 32 of their 66 links.

    >>> dear = lambda switches, leaf_links, upper_links: 1e6 * switches + leaf_links
    >>> switch_tree(64, 64, dear)
    SwitchTree(hosts=64, radix=64, tiers=1, leaves=1, aggregation=0, spines=0, leaf_links=0, upper_links=0)
    >>> switch_tree(65, 64, dear)
    SwitchTree(hosts=65, radix=64, tiers=2, leaves=3, aggregation=0, spines=2, leaf_links=66, upper_links=0)
    """
    if hosts < 1 or radix < 2 or not oversubscription >= 1:
        raise InvalidInput(
            f"switch tree: hosts must be >= 1, radix >= 2 and oversubscription >= 1, got {hosts}, {radix} and "
            f"{oversubscription}"
        )
    for count in (tiers,) if tiers else range(1, MOST_TIERS + 1):
        tree = _OF_TIERS[count](hosts, radix, cost, oversubscription)
        if tree is not None:
            return tree
    return None


def _one(hosts: int, radix: int, cost: CostRule, oversubscription: float) -> SwitchTree | None:
    return SwitchTree(hosts, radix, 1, 1) if hosts <= radix else None


def _two(hosts: int, radix: int, cost: CostRule, oversubscription: float) -> SwitchTree | None:
    leaves = np.arange(2, radix + 1)
    below, up = _of_leaf(hosts, leaves, oversubscription)
    spines = -(-up // (radix // leaves))
    links = leaves * up
    best = _cheapest(below + up <= radix, cost(leaves + spines, links, np.zeros_like(links)))
    if best is None:
        return None
    return SwitchTree(
        hosts, radix, 2, int(leaves[best]), spines=int(spines[best]), leaf_links=int(links[best])
    )


def _three(hosts: int, radix: int, cost: CostRule, oversubscription: float) -> SwitchTree | None:
    half = radix // 2
    pods, in_pod = (axis.ravel() for axis in np.meshgrid(np.arange(2, radix + 1), np.arange(1, half + 1)))
    leaves = pods * in_pod
    below, up = _of_leaf(hosts, leaves, oversubscription)
    in_pod_above = -(-up // (half // in_pod))
    up_of_aggregation = in_pod * -(-up // in_pod_above)
    in_group = -(-up_of_aggregation // (radix // pods))
    aggregation, spines = pods * in_pod_above, in_pod_above * in_group
    leaf_links, upper_links = leaves * up, aggregation * up_of_aggregation
    usd = cost(leaves + aggregation + spines, leaf_links, upper_links)
    best = _cheapest(below + up <= radix, usd)
    if best is None:
        return None
    counts = (leaves, aggregation, spines, leaf_links, upper_links)
    return SwitchTree(hosts, radix, 3, *(int(count[best]) for count in counts))


_OF_TIERS = {1: _one, 2: _two, 3: _three}


def _of_leaf(hosts: int, leaves: Ints, oversubscription: float) -> tuple[Ints, Ints]:
    """Return the ports of a leaf for servers, and its links up."""
    below = -(-hosts // leaves)
    return below, np.ceil(below / oversubscription - 1e-9).astype(np.int64)


def _cheapest(allowed: Flags, usd: Floats) -> int | None:
    """Return the place of the least price that is allowed, the first of equals."""
    if not allowed.any():
        return None
    return int(np.argmin(np.where(allowed, usd, np.inf)))
