"""How many of each part a fabric takes."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from topoopt.cost.accounting import Accounting
from topoopt.cost.fabric_options import RAIL_LEAF_PORTS, FabricOptions
from topoopt.cost.part_table import Item

Counts = dict[Item, float]


@dataclass(frozen=True, slots=True)
class Interfaces:
    """The interfaces of all servers: ``degree`` of ``bandwidth_bps`` at each of ``servers``."""

    servers: int
    degree: int
    bandwidth_bps: float

    @property
    def total(self) -> int:
        """Interfaces of all servers together."""
        return self.servers * self.degree


CountRule = Callable[[Interfaces, Accounting, FabricOptions], Counts]


def bought_interfaces(fabric: str, interfaces: Interfaces) -> Interfaces:
    """Return the interfaces that a fabric needs for the bandwidth of these.

    A full mesh has a link to every other server, which share the bandwidth of all interfaces asked for; where there
    are fewer servers than interfaces, some are joined by several.
    """
    others = interfaces.servers - 1
    if fabric != "full-mesh" or others <= interfaces.degree:
        return interfaces
    return Interfaces(interfaces.servers, others, interfaces.degree * interfaces.bandwidth_bps / others)


def _patch_panel(interfaces: Interfaces, rule: Accounting, options: FabricOptions) -> Counts:
    return {**_server_side(interfaces.total, rule), **_panels(interfaces.total, rule)}


def _optical_switch(interfaces: Interfaces, rule: Accounting, options: FabricOptions) -> Counts:
    count = interfaces.total
    return {**_server_side(count, rule), "ocs_port": count, "fiber_m": _fiber_m(count, rule)}


def _hybrid(interfaces: Interfaces, rule: Accounting, options: FabricOptions) -> Counts:
    switched = interfaces.servers * options.hybrid_ocs_interfaces(interfaces.degree)
    panels = _panels(interfaces.total - switched, rule)
    fiber_m = panels.pop("fiber_m") + _fiber_m(switched, rule)
    return {**_server_side(interfaces.total, rule), **panels, "ocs_port": switched, "fiber_m": fiber_m}


def _direct(interfaces: Interfaces, rule: Accounting, options: FabricOptions) -> Counts:
    # The paper counts a fiber for every interface, although two interfaces share a cable.
    return {**_server_side(interfaces.total, rule), "fiber_m": _fiber_m(interfaces.total, rule)}


def _full_bisection(interfaces: Interfaces, rule: Accounting, options: FabricOptions) -> Counts:
    return _switched(interfaces.total, (rule.tiers - 1) * interfaces.total, rule)


def _mixnet(interfaces: Interfaces, rule: Accounting, options: FabricOptions) -> Counts:
    electrical = interfaces.servers * options.mixnet_electrical_interfaces(interfaces.degree)
    tree = _switched(electrical, (rule.tiers - 1) * electrical, rule)
    optical = interfaces.total - electrical
    circuits = {**_server_side(optical, rule), "ocs_port": optical, "fiber_m": _fiber_m(optical, rule)}
    return {item: tree.get(item, 0) + circuits.get(item, 0) for item in (*tree, "ocs_port")}


def _oversubscribed(interfaces: Interfaces, rule: Accounting, options: FabricOptions) -> Counts:
    upper = math.ceil(interfaces.total / options.oversubscription)
    return _switched(interfaces.total, (rule.tiers - 1) * upper, rule)


def _rail(interfaces: Interfaces, rule: Accounting, options: FabricOptions) -> Counts:
    # A rail of one leaf needs no spine; beyond, every server link has an uplink of its own.
    one_leaf = interfaces.servers <= RAIL_LEAF_PORTS // 2
    return _switched(interfaces.total, 0 if one_leaf else interfaces.total, rule)


def _switched(interfaces: int, upper_links: int, rule: Accounting) -> Counts:
    links = interfaces + upper_links
    return {
        "nic": interfaces if rule.nics else 0,
        "transceiver": 2 * links,
        "electrical_port": interfaces + 2 * upper_links,
        "fiber_m": links * rule.fiber_length_m if rule.fiber_on != "none" else 0,
    }


def _server_side(interfaces: int, rule: Accounting) -> Counts:
    return {"nic": interfaces if rule.nics else 0, "transceiver": interfaces}


def _panels(interfaces: int, rule: Accounting) -> Counts:
    panels = 2 if rule.look_ahead else 1
    fibers = 2 if rule.look_ahead and rule.look_ahead_fiber else 1
    return {
        "patch_panel_port": panels * interfaces,
        "optical_switch_1x2": interfaces if rule.look_ahead else 0,
        "fiber_m": _fiber_m(fibers * interfaces, rule),
    }


def _fiber_m(fibers: int, rule: Accounting) -> float:
    return fibers * rule.fiber_length_m if rule.fiber_on == "every-fabric" else 0


PRICED_FABRICS: Mapping[str, CountRule] = {
    "topoopt": _patch_panel,
    "topoopt-ocs": _optical_switch,
    "topoopt-hybrid": _hybrid,
    "ideal-switch": _full_bisection,
    "fat-tree": _full_bisection,
    "oversub-fat-tree": _oversubscribed,
    "rail": _rail,
    "expander": _direct,
    "torus": _direct,
    "full-mesh": _direct,
    "sip-ml": _optical_switch,
    "ocs-reconfig": _optical_switch,
    "mixnet": _mixnet,
}
"""How many of each part a fabric takes, by name."""

CABLED_FABRICS = frozenset(name for name, rule in PRICED_FABRICS.items() if rule is _direct)
"""Fabrics whose servers are cabled to each other, once."""
