"""The fabrics that the studio estimates, what a server has on each, and what has to be relayed there."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from topoopt.base.errors import InvalidInput
from topoopt.catalog import ClusterSpec
from topoopt.finder import check_degree
from topoopt.pricing import Pricing
from topoopt.search import BASELINE_RULES, BaselineRule
from topoopt.topologies import moore_average_hops

OWN = "topoopt"

HALF = "fat-tree-half"

LABELS: Mapping[str, str] = MappingProxyType(
    {
        OWN: "TopoOpt: servers joined directly, through patch panels",
        "rail": "rails: a switch network for each port",
        "ideal-switch": "one non-blocking switch network",
        HALF: "one non-blocking switch network, half the ports",
        "oversub-fat-tree": "fat-tree, 2:1 oversubscribed",
        "expander": "expander: servers joined at random",
    }
)
"""By rule of a baseline: what people call it."""

NAMES: Mapping[str, str] = MappingProxyType(
    {
        OWN: "TopoOpt",
        "rail": "Rails",
        "ideal-switch": "Non-blocking",
        HALF: "Half the ports",
        "oversub-fat-tree": "Fat-tree 2:1",
        "expander": "Expander",
    }
)
"""The same in a word or two, for charts."""


def _half(cluster: ClusterSpec, pricing: Pricing) -> tuple[int, float]:
    if cluster.degree == 1:
        return 1, cluster.link_bandwidth_bps / 2
    return cluster.degree // 2, cluster.link_bandwidth_bps


RULES: Mapping[str, BaselineRule] = MappingProxyType(
    {
        **{key: BASELINE_RULES[key] for key in LABELS if key in BASELINE_RULES},
        HALF: BaselineRule("fat-tree", "full bisection, half of d·B a server", _half, variant="half"),
    }
)
"""How each is dimensioned, but for the plan's own."""

DIRECT = (OWN, "expander")
"""Where servers relay."""

OVERSUBSCRIPTION = 2.0


@dataclass(frozen=True, slots=True)
class FabricRule:
    """What a closed form needs to know of a fabric.

    Attributes
    ----------
    interfaces, bandwidth_bps
        Ports of a server, and the bandwidth of each.
    relays : float
        Times that a byte goes over links of servers, or of the thinnest layer, where it is not between neighbors.
    wires_rings : bool
        Whether rings and neighbors have links of their own; where not, all traffic is relayed.
    """

    key: str
    fabric: str
    label: str
    interfaces: int
    bandwidth_bps: float
    relays: float
    wires_rings: bool = True

    @property
    def server_bandwidth_bps(self) -> float:
        """All ports together."""
        return self.interfaces * self.bandwidth_bps


def fabric_rules(
    cluster: ClusterSpec, pricing: Pricing
) -> tuple[tuple[FabricRule, ...], tuple[tuple[str, str], ...]]:
    """Return the fabrics that can be built, the plan's own first, and why others cannot."""
    hops = moore_average_hops(cluster.servers, cluster.degree, cluster.links)
    rows, skipped = [], []
    for key, label in LABELS.items():
        try:
            rows.append(_rule(key, label, cluster, pricing, hops))
        except InvalidInput as error:
            skipped.append((key, str(error)))
    return tuple(rows), tuple(skipped)


def _rule(key: str, label: str, cluster: ClusterSpec, pricing: Pricing, hops: float) -> FabricRule:
    if key in DIRECT:
        check_degree(cluster.servers, cluster.degree, cluster.links)
    relays = {OWN: hops, "expander": hops, "oversub-fat-tree": OVERSUBSCRIPTION}.get(key, 1.0)
    if key == OWN:
        return FabricRule(key, OWN, label, cluster.degree, cluster.link_bandwidth_bps, relays)
    rule = RULES[key]
    return FabricRule(
        key, rule.fabric, label, *rule.interfaces(cluster, pricing), relays, wires_rings=key != "expander"
    )
