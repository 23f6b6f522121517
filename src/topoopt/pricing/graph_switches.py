"""Parts of a network that is given as a graph: for each switch the cheapest model with ports for all of its cables."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import floor

from topoopt.base.errors import Infeasible
from topoopt.base.units import format_bandwidth
from topoopt.pricing.fabric_options import COPPER, in_copper, plugged, server_module
from topoopt.pricing.part_counts import Buying, Counted, network_cards
from topoopt.pricing.price_lists import Part
from topoopt.pricing.switch_choice import SwitchModel, bought_as, ports_for, switch_models


@dataclass(frozen=True, slots=True)
class GraphPorts:
    """Cables of a graph of servers and switches; a faster one counts as several of a server's.

    Attributes
    ----------
    switches : mapping of (int, int) to int
        Number of switches by the cables at each, and how many of these go to servers.
    server_ports : int
        Cable ends at all servers.
    bandwidth_bps : float
        Bandwidth of the slowest cable of a server.
    """

    switches: Mapping[tuple[int, int], int]
    server_ports: int
    bandwidth_bps: float

    @property
    def switch_ports(self) -> int:
        """Cable ends at all switches."""
        return sum(ports * count for (ports, _), count in self.switches.items())

    @property
    def cables(self) -> int:
        """Cables of the graph."""
        return (self.switch_ports + self.server_ports) // 2


def parts_of_graph(buying: Buying, ports: GraphPorts) -> Counted:
    """Return switches, modules at both ends of each cable, fiber, and network cards.

    Raises
    ------
    Infeasible
        If no switch of the catalogue has ports for the cables of a switch.
    """
    rule, technology, speed_bps = buying.rule, buying.technology, ports.bandwidth_bps
    module = Part(server_module(technology), speed_bps)
    parts: dict[Part, float] = dict(network_cards(buying))
    in_fiber = ports.cables
    if rule.switches == "ports":
        parts[module] = 2 * ports.cables
        parts[Part("electrical_port", speed_bps)] = ports.switch_ports
    else:
        copper = in_copper(buying.lengths_m, speed_bps) if technology == COPPER else {}
        per_server = ports.server_ports // buying.interfaces.servers
        reached = {item: count * per_server for item, count in copper.items()}
        parts |= {Part(item, speed_bps): count for item, count in reached.items()}
        parts[module] = parts.get(module, 0) + ports.server_ports - sum(reached.values())
        in_copper_share = sum(reached.values()) / max(ports.server_ports, 1)
        for (ends, of_servers), model, count in models_of_graph(buying, ports):
            for part, each in bought_as(model.switch, buying.prices).items():
                parts[part] = parts.get(part, 0) + each * count
            optical = ends - floor(of_servers * in_copper_share)
            for part in plugged(technology, model.switch, model.split, speed_bps):
                parts[part] = parts.get(part, 0) + ports_for(optical, model.split) * count
        in_fiber -= sum(reached.values())
    parts[Part("fiber_m")] = buying.fiber_m(in_fiber, switched=True)
    return Counted(parts)


def models_of_graph(buying: Buying, ports: GraphPorts) -> list[tuple[tuple[int, int], SwitchModel, int]]:
    """Return the cables at a switch, in all and to servers, its model, and the number of such switches.

    Raises
    ------
    Infeasible
        If no switch of the catalogue has that many ports of this bandwidth.
    """
    speed_bps = ports.bandwidth_bps
    models = switch_models(buying.technology, speed_bps, buying.prices)
    chosen = []
    for (cables, of_servers), count in sorted(ports.switches.items(), reverse=True):
        large = [model for model in models if model.radix >= cables]
        if not large:
            most = max((model.radix for model in models), default=0)
            raise Infeasible(
                f"a switch with {cables} cables of {format_bandwidth(speed_bps)}: the largest of the catalogue has "
                f"{most} such ports; use switches of fewer ports"
            )
        best = min(large, key=lambda one: one.switch_usd + ports_for(cables, one.split) * one.plug_usd)
        chosen.append(((cables, of_servers), best, count))
    return chosen
