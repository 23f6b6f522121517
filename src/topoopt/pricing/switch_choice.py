"""Choice of switches: over all models and port splits, the network with the lowest cost."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from topoopt.base.answers import fields_of
from topoopt.base.arrays import Flags, Floats, Ints
from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.base.units import format_bandwidth
from topoopt.catalog import PacketSwitch, packet_switches
from topoopt.pricing.fabric_options import CO_PACKAGED, plugged
from topoopt.pricing.price_lists import Part, PartTable

MOST_TIERS = 3


@dataclass(frozen=True, slots=True)
class SwitchTree:
    """A tree of equal switches.

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
"""Cost of (switches, links above leaves, links above those) in dollars, elementwise; the least is chosen."""


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
    low, top, up_links = (int(counts[best]) for counts in (leaves, spines, links))
    return SwitchTree(hosts, radix, 2, low, spines=top, leaf_links=up_links)


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
    return int(np.argmin(np.where(allowed, usd, np.inf))) if allowed.any() else None


IntsT = TypeVar("IntsT", int, Ints)
SPLITS = (1, 2, 4, 8)
"""Into how many links a breakout cable splits a port."""
KEPT = 4096
"""Choices that are kept; each is a few hundred bytes."""


@dataclass(frozen=True, slots=True)
class SwitchModel:
    """A switch of the catalogue whose ports each carry ``split`` links of the requested speed.

    Attributes
    ----------
    switch_usd : float
        Price of the whole switch, with optics where these are in its package.
    plug_usd : float
        Price of the module in one of its ports.
    """

    switch: PacketSwitch
    split: int
    switch_usd: float
    plug_usd: float

    @property
    def radix(self) -> int:
        """Links that one switch ends."""
        return self.switch.ports * self.split


@dataclass(frozen=True, slots=True)
class Plane:
    """Trees of one shape: ``count`` of them, each with ``interfaces`` of every server."""

    model: SwitchModel
    tree: SwitchTree
    interfaces: int
    count: int

    @property
    def switches(self) -> int:
        """Switches of all of them."""
        return self.count * self.tree.switches

    @property
    def spare_ports(self) -> int:
        """Ports of all of them that are paid for and free."""
        return self.count * self.tree.spare_ports

    def to_json(self) -> dict[str, Any]:
        """Return the trees as a mapping."""
        tree = self.tree
        return {
            "switch": self.model.switch.name,
            "split": self.model.split,
            "interfaces": self.interfaces,
            "trees": self.count,
            "tree": {**asdict(tree), "switches": tree.switches, "spare_ports": tree.spare_ports},
            **fields_of(self, "switches", "spare_ports"),
        }


@dataclass(frozen=True, slots=True)
class Wanted:
    """Requirements of a switched network, and how it may be built.

    Attributes
    ----------
    interfaces : int
        Interfaces per server, ``bandwidth_bps`` each.
    technology : str
        Link technology, a name in :data:`topoopt.pricing.LINK_TECHNOLOGIES`.
    fiber_usd : float
        Cost of a link between switches, without the modules at its ends.
    tiers : int or None
        None for the fewest that reach.
    rails : bool
        Whether interface i of every server has to stay apart from the others beyond one switch.
    """

    servers: int
    interfaces: int
    bandwidth_bps: float
    technology: str
    fiber_usd: float
    tiers: int | None = None
    oversubscription: float = 1.0
    rails: bool = False


@lru_cache(KEPT)
def chosen_planes(wanted: Wanted, prices: PartTable) -> tuple[Plane, ...]:
    """Return the trees of the cheapest network that can be bought; of equals that of the fewest switches.

    The interfaces of a server are shared out evenly over one tree or several, each of one model of switch. Rails
    share a switch where it has ports for all of their servers; beyond, each has a tree of its own. So a network of
    any trees costs no more than one of rails.

    Raises
    ------
    Infeasible
        If no switch of the catalogue is fast enough, or none reaches in this many tiers.
    """
    models = switch_models(wanted.technology, wanted.bandwidth_bps, prices)
    speed = format_bandwidth(wanted.bandwidth_bps)
    if not models:
        kind = "co-packaged switch" if wanted.technology == CO_PACKAGED else "switch"
        raise Infeasible(
            f"no {kind} of the catalogue has ports of {speed}; use more interfaces of less bandwidth"
        )
    best: tuple[tuple[float, int], tuple[Plane, ...]] | None = None
    for trees in range(1, wanted.interfaces + 1):
        found = _shared_out(trees, wanted, models)
        if found is not None and (best is None or found[0] < best[0]):
            best = found
    if best is None:
        largest, tiers = max(model.radix for model in models), wanted.tiers or 3
        raise Infeasible(
            f"{wanted.servers:,} servers: switches of at most {largest} ports of {speed} do not reach in "
            f"{tiers} {'tier' if tiers == 1 else 'tiers'}; use more tiers"
        )
    return best[1]


@lru_cache(KEPT)
def switch_models(technology: str, bandwidth_bps: float, prices: PartTable) -> tuple[SwitchModel, ...]:
    """Return every switch and split that is fast enough; those with all prices, or all where none has them."""
    known, unknown = list[SwitchModel](), list[SwitchModel]()
    for switch in packet_switches():
        if (switch.optics == CO_PACKAGED) != (technology == CO_PACKAGED):
            continue
        for split in SPLITS:
            few_enough = split == 1 or switch.ports * split <= switch.most_ports
            if not few_enough or switch.port_bandwidth_bps / split < bandwidth_bps * (1 - 1e-12):
                continue
            whole = [(price_of(prices, part), count) for part, count in bought_as(switch, prices).items()]
            plugs = [price_of(prices, part) for part in plugged(technology, switch, split, bandwidth_bps)]
            model = SwitchModel(
                switch,
                split,
                sum((usd or 0.0) * count for usd, count in whole),
                sum(usd or 0.0 for usd in plugs),
            )
            open_parts = None in plugs or any(usd is None for usd, _ in whole)
            (unknown if open_parts else known).append(model)
    return tuple(known or unknown)


def bought_as(switch: PacketSwitch, prices: PartTable) -> dict[Part, int]:
    """Return the parts of a whole switch: a row of its own name, or its ports; and co-packaged optics."""
    whole = Part("switch", None, switch.name)
    if price_of(prices, whole) is not None:
        return {whole: 1}
    parts = {Part("electrical_port", switch.port_bandwidth_bps, switch.name): switch.ports}
    if switch.optics == CO_PACKAGED:
        parts[Part("co_packaged_port", switch.port_bandwidth_bps, switch.name)] = switch.ports
    return parts


def ports_for(links: IntsT, split: int) -> IntsT:
    """Return the ports for these links; a port is not split between links of two tiers."""
    return -(-links // split)


def price_of(prices: PartTable, part: Part) -> float | None:
    """Return the price of a part as it is sold, None where the list has none."""
    return prices.known_value(part.item, part.bandwidth_bps, part.name, sold=True)


def _shared_out(
    trees: int, wanted: Wanted, models: tuple[SwitchModel, ...]
) -> tuple[tuple[float, int], tuple[Plane, ...]] | None:
    """Return cost, switches and planes where the interfaces of a server are split over this many trees."""
    few, more = divmod(wanted.interfaces, trees)
    usd, planes = 0.0, list[Plane]()
    for interfaces, count in ((few + 1, more), (few, trees - more)):
        if count:
            found = _cheapest_tree(interfaces, wanted, models)
            if found is None:
                return None
            usd += count * found[0]
            planes.append(Plane(found[1], found[2], interfaces, count))
    return (usd, sum(plane.switches for plane in planes)), tuple(planes)


def _cheapest_tree(
    interfaces: int, wanted: Wanted, models: tuple[SwitchModel, ...]
) -> tuple[float, SwitchModel, SwitchTree] | None:
    """Return price, model and tree for this many interfaces per server, None where no tree is large enough."""
    tiers, hosts = wanted.tiers, wanted.servers * interfaces
    if wanted.rails and interfaces > 1:
        if tiers not in (None, 1):
            return None
        tiers = 1
    best: tuple[tuple[float, int], SwitchModel, SwitchTree] | None = None
    for model in sorted(models, key=lambda model: _least_usd(model, hosts, wanted)):
        if best is not None and _least_usd(model, hosts, wanted) > best[0][0]:
            break
        cost = _cost_rule(model, wanted.fiber_usd)
        tree = switch_tree(hosts, model.radix, cost, tiers=tiers, oversubscription=wanted.oversubscription)
        if tree is None:
            continue
        inside = cost(*(np.array([count]) for count in (tree.switches, tree.leaf_links, tree.upper_links)))
        usd = float(inside[0]) + ports_for(hosts, model.split) * model.plug_usd
        if best is None or (usd, tree.switches) < best[0]:
            best = (usd, tree.switches), model, tree
    return None if best is None else (best[0][0], best[1], best[2])


def _least_usd(model: SwitchModel, hosts: int, wanted: Wanted) -> float:
    """Return a lower bound on the cost of switches: beyond one switch, uplinks have a port at both ends."""
    ports = hosts if hosts <= model.radix else hosts * (1 + 2 / wanted.oversubscription)
    return ports / model.radix * model.switch_usd


def _cost_rule(model: SwitchModel, fiber_usd: float) -> CostRule:
    """Return the cost of switches of a model and their links: two ends and a fiber each."""

    def cost(switches: Ints, leaf_links: Ints, upper_links: Ints) -> Floats:
        ports = 2 * (ports_for(leaf_links, model.split) + ports_for(upper_links, model.split))
        usd: Floats = (
            switches * model.switch_usd + ports * model.plug_usd + (leaf_links + upper_links) * fiber_usd
        )
        return usd

    return cost


def switch_tree(
    hosts: int, radix: int, cost: CostRule, *, tiers: int | None = None, oversubscription: float = 1.0
) -> SwitchTree | None:
    """Return the cheapest tree of switches that joins the hosts, None if there is none.

    A leaf with h ports of servers has as many links up, or h/r of them at r:1; they go to all spines alike, so that
    whatever leaves and spines carry is spread evenly: at r = 1 nothing blocks. A spine has ⌊radix/leaves⌋ ports for
    each leaf. In three tiers leaves and aggregation switches make pods, which are trees of two tiers themselves, and
    each aggregation switch has as many links to its own group of spines as it has to its leaves.

    Parameters
    ----------
    tiers
        None for the fewest that reach; two or more where links are oversubscribed, since one switch never is.

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
    for count in (tiers,) if tiers else range(1 if oversubscription == 1 else 2, MOST_TIERS + 1):
        tree = _OF_TIERS[count](hosts, radix, cost, oversubscription)
        if tree is not None:
            return tree
    return None
