"""``topoopt.cost``: price of the network on every fabric."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Unpack

from topoopt.base.errors import InvalidInput
from topoopt.base.units import parse_bandwidth, parse_time
from topoopt.catalog import OWN, ClusterSpec, find_optical_switch
from topoopt.finder import select_permutations
from topoopt.finder.rewiring import ported, wire
from topoopt.frontends.verbs.input_sources import PlanSource, plan_and_name, wiring_of_file
from topoopt.frontends.verbs.pricing import ownership_terms
from topoopt.jobs import DEFAULT_CLUSTER
from topoopt.plans import Plan, iterations_by_fabric
from topoopt.pricing import (
    CostComparison,
    FabricOptions,
    OwnershipTerms,
    PricedNetwork,
    Purchase,
    changed_accounting,
    compare_costs,
    find_power,
    find_prices,
)
from topoopt.routing import coin_change_mod
from topoopt.schema.words import (
    CostWords,
    NetworkWords,
    amount,
    checked_arguments,
    checked_words,
    pick,
)
from topoopt.topologies import hop_metrics, stride_offsets, wiring_hops

_COUNTED = ("nics", "look_ahead", "look_ahead_fiber", "fiber_on", "fiber_length", "tiers")
_OPTIONS = ("oversubscription", "ocs_interfaces", "electrical_interfaces", "link_technology")


@checked_arguments
def cost(
    plan: PlanSource | None = None, *, ratios: bool = False, **words: Unpack[CostWords]
) -> CostComparison:
    """Price every network: bill of materials, power, switches and optical technologies.

    Parameters
    ----------
    plan
        A plan or its file, whose servers, ports, wiring and traffic are used; without one, the options give them.
    ratios
        Also the two published cost ratios under every counting method.
    **words
        The flags of ``topoopt cost`` with underscores: ``servers``, ``degree``, ``fabrics``, ``prices`` …

    Returns
    -------
    CostComparison

    Raises
    ------
    InvalidInput
        For an unknown option or name, a number out of range, or an option that contradicts the plan.
    Infeasible
        If the optical devices of a fabric are too small.

    Examples
    --------
    >>> import topoopt
    >>> priced = topoopt.cost(servers=128, degree=4, bandwidth="100Gbps", fabrics=["topoopt", "fat-tree"])
    >>> [(offer.bill.fabric, round(offer.bill.cost_usd)) for offer in priced.offers]
    [('topoopt', 379479), ('fat-tree', 564951)]
    """
    settings = checked_words(words, CostWords)
    whole = None if plan is None else _planned(plan, pick(settings, NetworkWords))
    network = _network(settings) if whole is None else _network_of_plan(whole)
    if whole is None and "wiring" not in settings:
        assumed = [word for word in ("servers", "degree", "bandwidth") if word not in settings]
        network = replace(network, assumed=tuple(assumed))
    return compare_costs(
        network,
        _purchase(settings, network.cluster, None if whole is None else whole.terms),
        settings.get("fabrics"),
        change_interval_s=amount(parse_time, settings.get("change_every", float("inf")), "change_every"),
        overhead=settings["overhead"],
        ratios=ratios,
    )


def _network(words: Mapping[str, Any]) -> PricedNetwork:
    """Return the network of the options with the best rings for it."""
    settings = {**DEFAULT_CLUSTER, **pick(words, NetworkWords)}
    if "bandwidth" in settings:
        settings["link_bandwidth_bps"] = amount(parse_bandwidth, settings.pop("bandwidth"), "bandwidth")
    if "wiring" in settings:
        return _network_of_wiring(os.fspath(settings.pop("wiring")), words, settings)
    cluster = ClusterSpec(**settings)
    if cluster.links == "duplex" and cluster.degree == 1 and cluster.servers > 2:
        return PricedNetwork(
            cluster, float("inf"), "one duplex port joins servers in pairs: nothing is forwarded"
        )
    strides = select_permutations(cluster.servers, cluster.degree, links=cluster.links, rule="best")
    table = coin_change_mod(cluster.servers, stride_offsets(cluster.servers, strides, cluster.links))
    return PricedNetwork(cluster, table.average_hops, "the best rings")


def _network_of_wiring(path: str, words: Mapping[str, Any], settings: Mapping[str, Any]) -> PricedNetwork:
    """Return the network of a wiring file; options override its bandwidth and latency."""
    if not path:
        raise InvalidInput('wiring: expected a wiring file, got ""')
    if "servers" in words:
        raise InvalidInput(f"servers: {path} says it; leave it out")
    made, ports = wiring_of_file(path, words.get("links"), words.get("degree"))
    said = made.recipe.get("bandwidth_bps")
    bandwidth_bps = (
        said if isinstance(said, float) and "bandwidth" not in words else settings["link_bandwidth_bps"]
    )
    cluster = ClusterSpec(made.servers, made.degree, bandwidth_bps, links=made.links)
    width = (ports or ported(made)).interfaces_per_panel
    return PricedNetwork(cluster, wiring_hops(made).average_hops, f"the wiring of {path}", width)


def _planned(plan: PlanSource, contradictions: Mapping[str, Any]) -> Plan:
    if contradictions:
        named = "this" if isinstance(plan, Plan) else plan
        raise InvalidInput(
            f"{next(iter(contradictions))}: {named} is a plan, whose cluster is fixed; give one or the other"
        )
    return plan_and_name(plan)[0]


def _network_of_plan(whole: Plan) -> PricedNetwork:
    topology, cluster = whole.fabric.topology, whole.job.cluster
    on_one = None
    if whole.fabric.name == OWN:
        on_one = wire(topology, cluster.degree, cluster.links).interfaces_per_panel
    largest = float(whole.traffic().mp_matrix().max(initial=0.0))
    return PricedNetwork(
        cluster,
        hop_metrics(topology).average_hops,
        "the plan's wiring",
        on_one,
        largest,
        iterations_by_fabric(whole),
    )


def _purchase(words: Mapping[str, Any], cluster: ClusterSpec, before: OwnershipTerms | None) -> Purchase:
    """Return the purchase; a plan's terms of ownership are used where no option overrides them.

    Words that no fabric could use are refused.
    """
    options = FabricOptions(**pick(words, _OPTIONS))
    if options.ocs_interfaces is not None:
        options.hybrid_ocs_interfaces(cluster.degree)
    if options.electrical_interfaces is not None:
        options.mixnet_electrical_interfaces(cluster.degree)
    technology, shards = words.get("technology"), words["shards"]
    if technology is not None:
        find_optical_switch(technology)
    if not 1 <= shards <= cluster.servers:
        raise InvalidInput(f"shards: expected 1..{cluster.servers}, got {shards}")
    counted = pick(words, _COUNTED)
    if "fiber_length" in counted:
        counted["fiber_length_m"] = counted.pop("fiber_length")
    return Purchase(
        changed_accounting(words["accounting"], **counted),
        find_prices(words["prices"]),
        find_power(words["power"]),
        options,
        shards,
        technology,
        ownership_terms(words, cluster.accelerator, cluster.accelerators_per_server, before),
    )
