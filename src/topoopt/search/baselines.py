"""The fabrics a plan is compared with: each gets the job, a strategy searched for it, and its price."""

from dataclasses import dataclass, field, replace

from topoopt.base.errors import check_known
from topoopt.catalog import ClusterSpec, Sizing, networks_of
from topoopt.collectives import QUICKEST, RING
from topoopt.finder import FabricRequest, build_fabric
from topoopt.jobs import Job, job_traffic
from topoopt.plans import Baseline, Outcome
from topoopt.pricing import Pricing, known_price
from topoopt.routing import Fabric
from topoopt.search.candidates.candidate import outcome, simulated, with_rings
from topoopt.search.candidates.load_balancing import usual_routes
from topoopt.search.proposals.problem_tables import most_rings_of
from topoopt.simulation import SimulationOptions
from topoopt.workloads import ParallelStrategy


@dataclass(frozen=True, slots=True)
class Fidelity:
    """A simulator's name, its options, and gradient buckets of which sizes are tried when all else is settled."""

    simulator: str = "analytic"
    options: SimulationOptions = field(default_factory=SimulationOptions)
    bucket_sizes: tuple[int, ...] = ()

    def on(self, fabric: Fabric) -> "Fidelity":
        """Return what can follow the fabric: flows where circuits change, which ``analytic`` cannot."""
        changes = fabric.reconfiguration is not None and self.simulator == "analytic"
        return replace(self, simulator="flow") if changes else self

    @property
    def of_search(self) -> "Fidelity":
        """The same without what is settled when all else is: with rings where algorithms are chosen by message."""
        options = self.options
        if options.algorithm == QUICKEST:
            options = replace(options, algorithm=RING)
        return replace(self, options=options, bucket_sizes=())


ANALYTIC = Fidelity()


LARGEST_TO_TRY_ALL = 32
"""Servers up to which every strategy is tried on circuits that change; a simulation of DLRM takes 0.2 s of CPU on 16
of them and 60 s on 128. Beyond, the one that the search has found counts."""


def check_fabrics(fabrics: tuple[str, ...]) -> None:
    """Refuse a fabric that is not in the table.

    Raises
    ------
    InvalidInput
        With the nearest names.
    """
    for fabric in fabrics:
        check_known("fabric", fabric, networks_of("plan"))


def baseline_fabric(job: Job, rule: Sizing, prices: Pricing, seed: int, name: str | None = None) -> Fabric:
    """Return the baseline's links and routes, without rings; ``name`` is another fabric of as much bandwidth."""
    interfaces, bandwidth_bps = rule.interfaces(job.cluster, prices)
    request = fabric_request(job.cluster, interfaces * bandwidth_bps, seed)
    return usual_routes(build_fabric(name or rule.fabric, request), seed)


def fabric_request(cluster: ClusterSpec, server_bandwidth_bps: float, seed: int) -> FabricRequest:
    """Return what a fabric of the cluster is built of, each server with so much bandwidth."""
    return FabricRequest(
        cluster.servers,
        cluster.degree,
        cluster.link_bandwidth_bps,
        latency_s=cluster.link_latency_s,
        server_bandwidth_bps=server_bandwidth_bps,
        seed=seed,
    )


def baseline_row(
    job: Job,
    rule: Sizing,
    prices: Pricing,
    outcome: Outcome,
    strategy: ParallelStrategy,
    proposals: int,
    fabric: Fabric,
) -> Baseline:
    """Return one row of a comparison, priced; ``fabric`` has the routes that the job goes by."""
    interfaces, bandwidth_bps = rule.interfaces(job.cluster, prices)
    price = known_price(rule.fabric, job.cluster.servers, interfaces, bandwidth_bps, prices)
    return Baseline(
        rule.fabric,
        rule.description,
        interfaces * bandwidth_bps,
        outcome,
        strategy,
        proposals,
        rule=rule.key,
        routes="" if fabric.reconfiguration is not None else fabric.routes.method,
        variant=rule.variant,
        cost_usd=price.usd,
        power_w=price.power_w,
    )


def ringed(job: Job, strategy: ParallelStrategy, fabric: Fabric, seed: int) -> Fabric:
    """Return a fabric with rings for the groups of a strategy."""
    rings = most_rings_of(job.cluster, fabric.topology)
    return with_rings(fabric, job_traffic(job, strategy), rings, seed)


def outcome_on(job: Job, strategy: ParallelStrategy, fabric: Fabric, fidelity: Fidelity) -> Outcome:
    """Return what a strategy takes on a fabric that has rings for its groups."""
    fidelity = fidelity.on(fabric)
    return outcome(simulated(job, strategy, fabric, fidelity.simulator, fidelity.options))


def as_settled(options: SimulationOptions, outcome: Outcome) -> SimulationOptions:
    """Return the options, of an algorithm for each message those of rings where an outcome is of rings."""
    rings = options.algorithm == QUICKEST and not outcome.algorithms
    return replace(options, algorithm=RING) if rings else options
