"""Parts of a network of packet switches: whole switches that can be bought, or the ports in use that the paper has."""

from collections.abc import Mapping

from topoopt.pricing.buying import Buying, Counted
from topoopt.pricing.link_technology import COPPER, in_copper, plugged, server_module
from topoopt.pricing.part_table import Item, Part
from topoopt.pricing.switch_choice import Plane, Wanted, bought_as, chosen_planes, ports_for


def switched(buying: Buying, *, oversubscription: float = 1.0, rails: bool = False) -> Counted:
    """Return the parts of trees of switches that join all interfaces, cables and network cards included.

    Raises
    ------
    Infeasible
        If no switches of the catalogue can do it.
    """
    if buying.rule.switches == "ports":
        return ports_in_use(buying, (buying.rule.tiers or 3) - 1, oversubscription)
    size = buying.interfaces
    fiber_usd = (buying.prices.known_value("fiber_m") or 0.0) * buying.fiber_m(1, switched=True)
    wanted = Wanted(
        size.servers,
        size.degree,
        size.bandwidth_bps,
        buying.technology,
        fiber_usd,
        buying.rule.tiers,
        oversubscription,
        rails,
    )
    planes = chosen_planes(wanted, buying.prices)
    copper = in_copper(buying.lengths_m, size.bandwidth_bps) if buying.technology == COPPER else {}
    counted = Counted({Part("nic", size.bandwidth_bps): size.total if buying.rule.nics else 0}, planes)
    for plane in planes:
        reached = {item: servers * plane.interfaces for item, servers in copper.items()}
        counted = counted.plus(_of_plane(plane, reached, buying))
    return counted


def ports_in_use(buying: Buying, tiers_above: int, oversubscription: float = 1.0) -> Counted:
    """Return the parts of a k-ary fat-tree by the port: so many tiers of links above the first switch.

    Every link has a transceiver at both ends, and a port at each end that is a switch.
    """
    size, rule = buying.interfaces, buying.rule
    upper_links = tiers_above * _up(size.total, oversubscription)
    links = size.total + upper_links
    return Counted(
        {
            Part("nic", size.bandwidth_bps): size.total if rule.nics else 0,
            Part(server_module(buying.technology), size.bandwidth_bps): 2 * links,
            Part("electrical_port", size.bandwidth_bps): size.total + 2 * upper_links,
            Part("fiber_m"): buying.fiber_m(links, switched=True),
        }
    )


def _of_plane(plane: Plane, copper: Mapping[Item, int], buying: Buying) -> Counted:
    """Return the parts of equal trees: switches, what is plugged in at both ends of each link, and the cables."""
    tree, model, speed_bps = plane.tree, plane.model, buying.interfaces.bandwidth_bps
    optical = tree.hosts - sum(copper.values())
    ends = ports_for(optical, model.split) + 2 * (
        ports_for(tree.leaf_links, model.split) + ports_for(tree.upper_links, model.split)
    )
    parts: dict[Part, float] = {
        part: count * tree.switches for part, count in bought_as(model.switch, buying.prices).items()
    }
    parts[Part(server_module(buying.technology), speed_bps)] = optical
    for part in plugged(buying.technology, model.switch, model.split, speed_bps):
        parts[part] = parts.get(part, 0) + ends
    for item, count in copper.items():
        parts[Part(item, speed_bps)] = count
    parts[Part("fiber_m")] = buying.fiber_m(optical + tree.links, switched=True)
    return Counted({part: count * plane.count for part, count in parts.items()})


def _up(links: int, oversubscription: float) -> int:
    """Return the links out of first switches: one for ``oversubscription`` links of servers."""
    whole = links / oversubscription
    return int(whole) if whole == int(whole) else int(whole) + 1
