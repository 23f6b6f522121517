"""``topoopt.cost`` and ``topoopt.choose``: price of the network on every fabric, and the best one to buy."""

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, Unpack

from topoopt.base.answers import Progress, silent
from topoopt.base.errors import InvalidInput, check_known
from topoopt.base.limits import whole
from topoopt.base.units import parse_bandwidth, parse_time
from topoopt.catalog import DEFAULT_ACCELERATOR, OWN, ClusterSpec, compared_by, find_optical_switch
from topoopt.finder import select_permutations
from topoopt.finder.rewiring import ported, wire
from topoopt.frontends.verbs.input_sources import PlanSource, plan_and_name, wiring_of_file
from topoopt.frontends.verbs.pricing import ownership_terms, pricing
from topoopt.frontends.verbs.sweep import kept_crew
from topoopt.jobs import DEFAULT_CLUSTER
from topoopt.plans import Plan, iterations_by_fabric
from topoopt.pricing import (
    LINK_TECHNOLOGIES,
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
    ChooseWords,
    CostWords,
    NetworkWords,
    amount,
    checked_arguments,
    checked_words,
    pick,
)
from topoopt.search import SearchOptions, is_transformer
from topoopt.studies.choice import (
    Choice,
    Machines,
    Mix,
    Owner,
    Question,
    Store,
    network_grid,
    read_mix,
    write_choice,
)
from topoopt.studies.choice import choose as choose_network
from topoopt.studies.sweep import request_of
from topoopt.topologies import hop_metrics, stride_offsets, wiring_hops
from topoopt.transformers import usual_system

_COUNTED = ("nics", "look_ahead", "look_ahead_fiber", "fiber_on", "fiber_length", "tiers")
_OPTIONS = ("oversubscription", "ocs_interfaces", "electrical_interfaces", "link_technology")
SERVERS = 64
STORE = "plans.duckdb"
"""File in the folder of an answer with all its plans, for ``topoopt.results`` and the next call."""
T = TypeVar("T")


@checked_arguments
def choose(
    jobs: str | os.PathLike[str] | Sequence[str],
    *,
    out: str | os.PathLike[str] | None = None,
    on_progress: Progress = silent,
    **words: Unpack[ChooseWords],
) -> Choice:
    """Choose the network to buy for a mix of jobs: every degree, bandwidth and fabric, cost against time.

    Networks are priced first. Candidates for the front of cost and time are planned for every job of the mix, until no
    other can be on it. The choice is the network of the front on which a year of work costs least, or the best within
    a limit; the answer also gives the changes that would alter it.

    Parameters
    ----------
    jobs
        ``MODEL``, ``MODEL:SHARE`` or ``MODEL@SERVERS:SHARE`` of each job, a model being a name or a job file and a
        share one of the year; or a mix file.
    out
        A folder for the answer, a table of all networks, and the plans: the next call with it plans only missing
        networks.
    on_progress
        Progress callback: stage, items done, and total.
    **words
        The flags of ``topoopt choose`` with underscores: ``servers``, ``degrees``, ``bandwidths``, ``budget_usd`` …

    Returns
    -------
    Choice
        Answer with ``to_frame()`` and ``to_json()``.

    Raises
    ------
    InvalidInput
        For an unknown option or name, or an invalid value.
    Infeasible
        If no network carries every job and has a price, or none meets the limit.

    Examples
    --------
    >>> import topoopt
    >>> asked = {"servers": 4, "degrees": [2], "bandwidths": ["100Gbps"], "fabrics": ["topoopt", "rail"]}
    >>> found = topoopt.choose(["vgg16:0.7", "dlrm:0.3"], **asked, proposals=10, processes=1)
    >>> found.decision.point.network.name
    'topoopt 2 × 100 Gb/s'
    """
    settings = checked_words(words, ChooseWords)
    question = _question(jobs, settings)
    with kept_crew(settings["processes"], settings.get("ray")) as crew:
        if out is None:
            with tempfile.TemporaryDirectory() as place:
                return choose_network(question, Store(str(Path(place) / STORE), crew), on_progress)
        folder = Path(os.fspath(out))
        folder.mkdir(parents=True, exist_ok=True)
        store = Store(str(folder / STORE), crew, mix_versions=settings["mix_versions"])
        answer = choose_network(question, store, on_progress)
    write_choice(str(folder), answer)
    return answer


def _question(jobs: str | os.PathLike[str] | Sequence[str], words: Mapping[str, Any]) -> Question:
    named = [os.fspath(jobs)] if isinstance(jobs, str | os.PathLike) else [str(job) for job in jobs]
    mix = read_mix(named, _listed(words.get("weights", ()), "weights", str))
    machines = _machines(words, mix)
    links = tuple(words.get("link_technologies", ("pluggable",)))
    for name in links:
        check_known("link_technologies", name, LINK_TECHNOLOGIES)
    networks = network_grid(
        machines.servers,
        _listed(words["degrees"], "degrees", lambda value: int(str(value))),
        _listed(words["bandwidths"], "bandwidths", lambda rate: amount(parse_bandwidth, rate, "bandwidths")),
        tuple(words.get("fabrics", compared_by("choose"))),
        links,
    )
    search = {"budget": words.get("proposals", SearchOptions().budget), "seeds": words["seed"]}
    deadline = words.get("deadline")
    owner = Owner(
        machines.servers,
        pricing(words),
        ownership_terms(words, machines.accelerator, machines.accelerators_per_server),
        not words["network_only"],
    )
    return Question(
        mix,
        networks,
        machines,
        owner,
        words.get("budget_usd"),
        None if deadline is None else amount(parse_time, deadline, "deadline"),
        search,
        words["exact"],
    )


def _machines(words: Mapping[str, Any], mix: Mix) -> Machines:
    """Return the servers, by default those of ``topoopt plan`` for such jobs; enough for the accelerators."""
    accelerators, servers = words.get("accelerators"), words.get("servers")
    given = {word: words[word] for word in ("accelerator", "accelerators_per_server") if word in words}
    if "intra_server_bandwidth" in words:
        rate = amount(parse_bandwidth, words["intra_server_bandwidth"], "intra_server_bandwidth")
        given["intra_server_bandwidth_bps"] = rate
    if any(is_transformer(request_of(one.job, one.folder)) for one in mix):
        system = usual_system(
            given.get("accelerator", DEFAULT_ACCELERATOR),
            given.get("accelerators_per_server"),
            given.get("intra_server_bandwidth_bps"),
            1.0,
            accelerators=accelerators,
        )
        each, scale_up_bps = system.accelerators_per_server, system.scale_up_bandwidth_bps
        accelerator = system.accelerator
    else:
        usual = ClusterSpec(2, 1, 1.0, **given)
        each, scale_up_bps = usual.accelerators_per_server, usual.intra_server_bandwidth_bps
        accelerator = usual.accelerator
    if accelerators is not None:
        if servers is not None:
            raise InvalidInput("accelerators: servers are given, too; leave one of them out")
        servers, rest = divmod(accelerators, each)
        if rest or servers < 2:
            raise InvalidInput(
                f"accelerators {accelerators}: must be two or more servers of {each}; give accelerators_per_server, too"
            )
    servers = whole("servers", SERVERS if servers is None else servers, 2)
    return Machines(servers, accelerator, each, scale_up_bps)


def _listed(values: Any, word: str, read: Callable[[Any], T]) -> tuple[T, ...]:
    """Return the values of a list, also of a text with commas."""
    parts = [part.strip() for part in values.split(",")] if isinstance(values, str) else list(values)
    try:
        return tuple(read(part) for part in parts)
    except ValueError:
        raise InvalidInput(f'{word}: expected numbers with commas, got "{values}"') from None


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
