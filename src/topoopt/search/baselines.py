"""The fabrics a plan is compared with: each gets the job, a strategy searched for it, and its price."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from topoopt.base.errors import check_known
from topoopt.catalog import ClusterSpec
from topoopt.collectives import QUICKEST, RING
from topoopt.finder import FABRICS, FabricBuilder, FabricRequest
from topoopt.jobs import Job, job_traffic
from topoopt.plans import Baseline, Outcome, labeled
from topoopt.pricing import Pricing, equivalent_fat_tree, known_bill, published_equivalent_bandwidth
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


@dataclass(frozen=True, slots=True)
class BaselineRule:
    """How a baseline is dimensioned.

    Attributes
    ----------
    fabric : str
        Name in the table of fabrics.
    description : str
        What it is and where its bandwidth comes from.
    interfaces : function of (cluster, prices) to (interfaces, bandwidth of one in bits per second)
    variant : str
        What tells the fabric by this rule from that by another, in words.
    suffix : str
        The same in the names of :data:`BASELINE_RULES`; nothing for the first rule of a fabric.
    searched_on : str
        Fabric of the same bandwidth that the strategy is searched on, empty for the baseline itself. Circuits that
        change have no fixed links for the search to fill: their strategy is searched on an ideal switch, which they
        come near where they follow the traffic closely, and every strategy found on the other fabrics is tried.
    """

    fabric: str
    description: str
    interfaces: Callable[[ClusterSpec, Pricing], tuple[int, float]]
    searched_on: str = ""
    variant: str = ""
    suffix: str = ""

    @property
    def key(self) -> str:
        """Name in :data:`BASELINE_RULES`."""
        return f"{self.fabric}-{self.suffix}" if self.suffix else self.fabric

    @property
    def label(self) -> str:
        """The fabric, and what tells it from that by another rule."""
        return labeled(self.fabric, self.variant)


def _same(cluster: ClusterSpec, prices: Pricing) -> tuple[int, float]:
    return cluster.degree, cluster.link_bandwidth_bps


def _published(cluster: ClusterSpec, prices: Pricing) -> tuple[int, float]:
    return 1, published_equivalent_bandwidth(cluster.degree, cluster.link_bandwidth_bps)


def _priced(cluster: ClusterSpec, prices: Pricing) -> tuple[int, float]:
    size = cluster.servers, cluster.degree, cluster.link_bandwidth_bps
    tree = equivalent_fat_tree(*size, prices.prices, prices.accounting, prices.options)
    return tree.interfaces, tree.interface_bandwidth_bps


CHANGING = {
    "sip-ml": "d wavelengths of B a server, changed in 25 µs, no forwarding",
    "ocs-reconfig": "d circuits of B a server, changed in 10 ms, forwarding",
    "mixnet": "a quarter of d·B a server on a fat-tree, else circuits in regions of 8 servers",
}
"""Fabrics whose circuits change under way."""
BASELINES: Mapping[str, tuple[BaselineRule, ...]] = {
    **{
        name: (BaselineRule(name, builder.description, _same),)
        for name, builder in FABRICS.items()
        if isinstance(builder, FabricBuilder)
    },
    "fat-tree": (
        BaselineRule(
            "fat-tree",
            "full bisection, the paper's equal cost",
            _published,
            variant="d·B/3.2",
        ),
        BaselineRule(
            "fat-tree",
            "full bisection, what TopoOpt's price buys",
            _priced,
            variant="priced",
            suffix="priced",
        ),
    ),
    **{
        name: (BaselineRule(name, description, _same, "ideal-switch"),)
        for name, description in CHANGING.items()
    },
}
"""Rules by fabric; ``fat-tree`` has two, since the published bandwidth is not what the price table gives."""
BASELINE_RULES: Mapping[str, BaselineRule] = {
    rule.key: rule for rules in BASELINES.values() for rule in rules
}
"""The same by names of their own: ``fat-tree`` has the paper's bandwidth, ``fat-tree-priced`` that which the price of
TopoOpt buys."""
LARGEST_TO_TRY_ALL = 32
"""Servers up to which every strategy is tried on circuits that change; a simulation of DLRM takes 0.2 s of CPU on 16
of them and 60 s on 128. Beyond, the one that the search has found counts."""
DEFAULT_BASELINES = ("ideal-switch", "fat-tree", "oversub-fat-tree", "rail", "expander", "torus")
"""What a job is compared with if nothing else is said: those of the paper, and rails, which most buy."""


def check_fabrics(fabrics: tuple[str, ...]) -> None:
    """Refuse a fabric that is not in the table.

    Raises
    ------
    InvalidInput
        With the nearest names.
    """
    for fabric in fabrics:
        check_known("fabric", fabric, BASELINES)


def baseline_fabric(
    job: Job, rule: BaselineRule, prices: Pricing, seed: int, name: str | None = None
) -> Fabric:
    """Return the baseline's links and routes, without rings; ``name`` is another fabric of as much bandwidth."""
    interfaces, bandwidth_bps = rule.interfaces(job.cluster, prices)
    request = fabric_request(job.cluster, interfaces * bandwidth_bps, seed)
    return usual_routes(FABRICS[name or rule.fabric](request), seed)


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
    rule: BaselineRule,
    prices: Pricing,
    outcome: Outcome,
    strategy: ParallelStrategy,
    proposals: int,
    fabric: Fabric,
) -> Baseline:
    """Return one row of a comparison, priced; ``fabric`` has the routes that the job goes by."""
    interfaces, bandwidth_bps = rule.interfaces(job.cluster, prices)
    bill = known_bill(rule.fabric, job.cluster.servers, interfaces, bandwidth_bps, prices)
    return Baseline(
        rule.fabric,
        rule.description,
        interfaces * bandwidth_bps,
        outcome,
        None if bill is None else bill.cost_usd,
        strategy,
        proposals,
        rule=rule.key,
        variant=rule.variant,
        routes="" if fabric.reconfiguration is not None else fabric.routes.method,
        power_w=None if bill is None else bill.power_w,
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
