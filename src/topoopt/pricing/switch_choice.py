"""Which switches are bought: of every model and every way to split its ports, the network that costs least."""

from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import Infeasible
from topoopt.base.units import format_bandwidth
from topoopt.catalog import PacketSwitch, packet_switches
from topoopt.pricing.link_technology import CO_PACKAGED, plugged
from topoopt.pricing.part_table import Part, PartTable
from topoopt.pricing.switch_tree import CostRule, SwitchTree, switch_tree

IntsT = TypeVar("IntsT", int, Ints)

SPLITS = (1, 2, 4, 8)
"""Into how many links a breakout cable splits a port."""
KEPT = 4096
"""Choices that are kept; each is a few hundred bytes."""


@dataclass(frozen=True, slots=True)
class SwitchModel:
    """A switch of the catalogue whose ports each carry ``split`` links of the speed that is asked for.

    Attributes
    ----------
    switch_usd : float
        Price of the whole switch, with optics where these are in its package.
    plug_usd : float
        Price of what is plugged into one of its ports.
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
        return {
            "switch": self.model.switch.name,
            "split": self.model.split,
            "interfaces": self.interfaces,
            "trees": self.count,
            "tree": {
                **asdict(self.tree),
                "switches": self.tree.switches,
                "spare_ports": self.tree.spare_ports,
            },
            "switches": self.switches,
            "spare_ports": self.spare_ports,
        }


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a switched network is to join, and how it may be built.

    Attributes
    ----------
    interfaces : int
        Of every server, ``bandwidth_bps`` each.
    technology : str
        Of its links, a name in :data:`topoopt.pricing.LINK_TECHNOLOGIES`.
    fiber_usd : float
        What a link between switches costs beside what is plugged in at its ends.
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
        If no switch of the catalogue is so fast, or none reaches in so many tiers.
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
            whole = {
                part: (price_of(prices, part), count) for part, count in bought_as(switch, prices).items()
            }
            plugs = [price_of(prices, part) for part in plugged(technology, switch, split, bandwidth_bps)]
            model = SwitchModel(
                switch,
                split,
                sum((usd or 0.0) * count for usd, count in whole.values()),
                sum(usd or 0.0 for usd in plugs),
            )
            open_parts = None in plugs or any(usd is None for usd, _ in whole.values())
            (unknown if open_parts else known).append(model)
    return tuple(known or unknown)


def bought_as(switch: PacketSwitch, prices: PartTable) -> dict[Part, int]:
    """Return what a whole switch is bought as: a row of its own name, or its ports; and optics in its package."""
    whole = Part("switch", None, switch.name)
    if price_of(prices, whole) is not None:
        return {whole: 1}
    parts = {Part("electrical_port", switch.port_bandwidth_bps, switch.name): switch.ports}
    if switch.optics == CO_PACKAGED:
        parts[Part("co_packaged_port", switch.port_bandwidth_bps, switch.name)] = switch.ports
    return parts


def ports_for(links: IntsT, split: int) -> IntsT:
    """Return how many ports carry so many links: one is not split for the links of two tiers."""
    return -(-links // split)


def price_of(prices: PartTable, part: Part) -> float | None:
    """Return the price of a part, None where the list does not say it."""
    return prices.known_value(part.item, part.bandwidth_bps, part.name)


def _shared_out(
    trees: int, wanted: Wanted, models: tuple[SwitchModel, ...]
) -> tuple[tuple[float, int], tuple[Plane, ...]] | None:
    """Return dollars, switches and the planes where the interfaces of a server go to so many trees."""
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
    """Return price, model and tree for so many interfaces of every server, None where none reaches."""
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
    """Return what switches for so many ports cost at least: beyond one of them, links up have a port at both ends."""
    ports = hosts if hosts <= model.radix else hosts * (1 + 2 / wanted.oversubscription)
    return ports / model.radix * model.switch_usd


def _cost_rule(model: SwitchModel, fiber_usd: float) -> CostRule:
    """Return what switches of a model and links between them cost: two ends and a fiber each."""

    def cost(switches: Ints, leaf_links: Ints, upper_links: Ints) -> Floats:
        ports = 2 * (ports_for(leaf_links, model.split) + ports_for(upper_links, model.split))
        usd: Floats = (
            switches * model.switch_usd + ports * model.plug_usd + (leaf_links + upper_links) * fiber_usd
        )
        return usd

    return cost
