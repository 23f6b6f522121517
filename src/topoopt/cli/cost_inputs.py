"""From the words of ``topoopt cost`` to the values that the library takes."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from topoopt.cli.cost_arguments import BoughtArguments, CountedArguments, NetworkArguments, OpticsArguments
from topoopt.cli.word_list import listed
from topoopt.errors import InvalidInput, unknown_name
from topoopt.units import parse_bandwidth, parse_time

if TYPE_CHECKING:
    from topoopt.cost import Accounting, FabricOptions, Running
    from topoopt.hardware import ClusterSpec
    from topoopt.plan import Plan

OWN = "topoopt"
NETWORK_FLAGS = ("servers", "degree", "bandwidth", "links")


@dataclass(frozen=True, eq=False)
class Network:
    """The servers that are joined, and the wiring that forwarding is measured on.

    Attributes
    ----------
    average_hops : float
        Links of a route over that wiring; infinite where there are no routes.
    wiring : str
        Which wiring that is, in words.
    plan : Plan or None
    interfaces_per_device : int or None
        How many interfaces of a server the plan's links need on one panel or switch.
    """

    cluster: "ClusterSpec"
    average_hops: float
    wiring: str
    plan: "Plan | None" = None
    interfaces_per_device: int | None = None


def asked_network(asked: NetworkArguments) -> Network:
    """Return the network of a plan, or that of the flags with the best rings for it.

    Raises
    ------
    InvalidInput
        If a number is out of range, or a flag contradicts the plan.
    """
    if asked.plan is not None:
        return _network_of_plan(asked)
    from topoopt.finder import select_permutations
    from topoopt.hardware import ClusterSpec
    from topoopt.job import DEFAULT_CLUSTER
    from topoopt.routing import coin_change_mod
    from topoopt.topology import stride_offsets

    said = dict(DEFAULT_CLUSTER)
    for name in ("servers", "degree", "links"):
        if getattr(asked, name) is not None:
            said[name] = getattr(asked, name)
    if asked.bandwidth is not None:
        said["link_bandwidth_bps"] = parse_bandwidth(asked.bandwidth, "--bandwidth")
    cluster = ClusterSpec(**said)
    if cluster.links == "duplex" and cluster.degree == 1 and cluster.servers > 2:
        return Network(
            cluster, float("inf"), "one duplex port joins servers in pairs: nothing is forwarded", None
        )
    strides = select_permutations(cluster.servers, cluster.degree, links=cluster.links, rule="best")
    table = coin_change_mod(cluster.servers, stride_offsets(cluster.servers, strides, cluster.links))
    return Network(cluster, table.average_hops, "the best rings")


def _network_of_plan(asked: NetworkArguments) -> Network:
    from topoopt.plan import read_plan
    from topoopt.rewiring import wire
    from topoopt.topology import hop_metrics

    assert asked.plan is not None
    given = [name for name in NETWORK_FLAGS if getattr(asked, name) is not None]
    if given:
        raise InvalidInput(
            f"--{given[0]}: {asked.plan} is a plan, whose cluster is fixed; give one or the other"
        )
    plan = read_plan(asked.plan)
    topology, cluster = plan.fabric.topology, plan.job.cluster
    on_one = None
    if plan.fabric.name == OWN:
        on_one = wire(topology, cluster.degree, cluster.links).interfaces_per_panel
    return Network(cluster, hop_metrics(topology).average_hops, "the plan's wiring", plan, on_one)


def asked_fabrics(asked: BoughtArguments) -> tuple[tuple[str, ...], bool]:
    """Return the fabrics, and whether they were named one by one.

    Raises
    ------
    InvalidInput
        For a name that is not in the table.
    """
    from topoopt.cost import PRICED_FABRICS

    names = listed(asked.fabrics)
    if names is None:
        return tuple(PRICED_FABRICS), False
    for name in names:
        if name not in PRICED_FABRICS:
            raise unknown_name("--fabrics", name, PRICED_FABRICS)
    if not names:
        raise InvalidInput("--fabrics: none leaves nothing to price; name one or more")
    return tuple(dict.fromkeys(names)), True


def asked_accounting(asked: CountedArguments) -> "Accounting":
    """Return the named accounting with the choices of the flags; changed, it is called ``custom``."""
    from topoopt.cost import ACCOUNTINGS, CUSTOM, find_accounting

    named = find_accounting(asked.accounting)
    flags: dict[str, Any] = {
        "nics": asked.nics,
        "look_ahead": asked.look_ahead,
        "look_ahead_fiber": asked.look_ahead_fiber,
        "fiber_on": asked.fiber_on,
        "fiber_length_m": asked.fiber_length,
        "tiers": asked.tiers,
    }
    changed = replace(named, **{key: value for key, value in flags.items() if value is not None})
    alike = [other for other in ACCOUNTINGS.values() if replace(changed, name=other.name) == other]
    return alike[0] if alike else replace(changed, name=CUSTOM)


def asked_options(asked: BoughtArguments, cluster: "ClusterSpec") -> "FabricOptions":
    """Return how fabrics are built where there is a choice; flags that no fabric could use are refused."""
    from topoopt.cost import FabricOptions
    from topoopt.hardware import find_optical_switch

    options = FabricOptions(asked.oversubscription, asked.ocs_interfaces, asked.electrical_interfaces)
    if asked.ocs_interfaces is not None:
        options.hybrid_ocs_interfaces(cluster.degree)
    if asked.electrical_interfaces is not None:
        options.mixnet_electrical_interfaces(cluster.degree)
    if asked.technology is not None:
        find_optical_switch(asked.technology)
    if not 1 <= asked.shards <= cluster.servers:
        raise InvalidInput(f"--shards: expected 1..{cluster.servers}, got {asked.shards}")
    return options


def asked_running(asked: CountedArguments) -> "Running | None":
    """Return how the network is run; None where no years are asked for.

    Raises
    ------
    InvalidInput
        If years or the price of electricity stand alone.
    """
    from topoopt.cost import Running

    if asked.years is None and asked.electricity_price is None:
        return None
    if asked.years is None or asked.electricity_price is None:
        missing = "--years" if asked.years is None else "--electricity-price"
        raise InvalidInput(
            f"{missing}: missing; total cost of ownership needs --years and --electricity-price"
        )
    return Running(asked.years, asked.electricity_price, asked.power_usage_effectiveness)


def change_interval_s(asked: OpticsArguments) -> float:
    """Return how long traffic stays the same; infinity where nothing was said."""
    return float("inf") if asked.change_every is None else parse_time(asked.change_every, "--change-every")
