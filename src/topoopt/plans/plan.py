"""Plan: the result of a search, read by every simulator, export and report."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib import import_module
from typing import Annotated, Any

from pydantic import AliasChoices, Field

from topoopt.base.answers import Frame, Provenance, ask, shows_itself
from topoopt.catalog import NetworkRow
from topoopt.finder import USUAL_RULES, FinderRules
from topoopt.jobs import Job, job_traffic
from topoopt.pricing import OwnershipTerms
from topoopt.routing import Fabric
from topoopt.schema.files import Amount, Count, Name, Number, Positive
from topoopt.workloads import ParallelStrategy, Traffic


@dataclass(frozen=True, slots=True)
class ServedOnFabric:
    """A fabric with the deployment that is best on it, simulated request by request.

    Attributes
    ----------
    attainment : float
        Share of the requests that meet both objectives.
    goodput_per_s : float
        Requests a second at which enough do.
    ttft_mean_s, ttft_p50_s, ttft_p90_s, ttft_p99_s : float or None
        Time to first token; None where unknown.
    tpot_mean_s, tpot_p50_s, tpot_p90_s, tpot_p99_s : float or None
        Time per output token after the first.
    cost_usd : float or None
        Price of the network; earlier plan files call it ``network_usd``.
    """

    fabric: str
    deployment: str
    wiring: str
    pairing: str | None
    goodput_per_s: float
    attainment: float
    ttft_mean_s: float | None
    ttft_p50_s: float | None
    ttft_p90_s: float | None
    ttft_p99_s: float | None
    tpot_mean_s: float | None
    tpot_p50_s: float | None
    tpot_p90_s: float | None
    tpot_p99_s: float | None
    output_tokens_per_s: float
    usd_per_million_tokens: float | None
    cost_usd: Annotated[float | None, Field(validation_alias=AliasChoices("cost_usd", "network_usd"))]
    bandwidth_tax: float
    busiest_link: float
    binds: str
    binds_because: str


@dataclass(frozen=True, slots=True)
class ServedFigures:
    """Serving figures of a plan.

    Attributes
    ----------
    requests_per_s : float
        Request rate of all figures except the goodput: the requested rate, or the goodput of the plan.
    slo_ttft_s, slo_tpot_s, slo_share : float
        Objectives, and the share of the requests that has to meet both.
    winner : str
        The fabric that meets them for the least money.
    network_matters : bool
        Whether a first token or a token is 5 % longer on any fabric than on a network that takes no time.
    fabrics : tuple of ServedOnFabric
        The plan's own fabric first.
    """

    model: str
    requests_per_s: float
    slo_ttft_s: float
    slo_tpot_s: float
    slo_share: float
    winner: str
    network_matters: bool
    fabrics: tuple[ServedOnFabric, ...]


@dataclass(frozen=True, slots=True)
class GradientChoice:
    """Iteration times of the plan's strategy with other buckets, micro-batches and algorithms, all else as it is.

    Attributes
    ----------
    bucket_times_s : tuple of (int, float)
        Bytes of a bucket (0: an AllReduce for every tensor) and the time, by rings; empty where the size was given.
    rings_s : float, optional
        Time with rings in place of an algorithm per message; None where these were not requested.
    by_message_s : float, optional
        Time with an algorithm per message, which the plan uses if that is a percent faster than rings.
    microbatch_times_s : tuple of (int, float)
        Micro-batches and the time, by rings; empty where their number was given.
    """

    bucket_times_s: tuple[tuple[Count, Amount], ...] = ()
    rings_s: Amount | None = None
    by_message_s: Amount | None = None
    microbatch_times_s: tuple[tuple[Number, Amount], ...] = ()


@dataclass(frozen=True, slots=True)
class ChosenWiring:
    """Wiring of all servers of a plan.

    Attributes
    ----------
    family : str
        ``strides``, a name of the table of families, ``group rings``: each group of replicas for itself, or
        ``cliques``: the servers of each expert exchange joined with each other.
    group : int
        Repetitions of every link, rotated by servers/group; the number of servers for strides, 1 without symmetry.
    recipe : mapping
        Construction: strides, orbits and voltages …; where ranks were placed, the ``vertex`` of each server.
    strides_time_s : float, optional
        The least iteration time on strides that the same search has found.
    over_strides : float, optional
        Time of strides relative to the plan's, minus 1.
    """

    family: Name
    group: Number = 1
    recipe: Mapping[str, Any] = field(default_factory=dict)
    strides_time_s: Positive | None = None
    over_strides: float | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the servers, where a wiring file of others gave them; empty where servers are numbers."""
        names = self.recipe.get("names")
        listed = names if isinstance(names, list) else []
        return tuple(listed) if all(isinstance(name, str) for name in listed) else ()


@dataclass(frozen=True, slots=True)
class Bounds:
    """Iteration times that no topology of the same degree and bandwidth can beat with this strategy, in seconds.

    Attributes
    ----------
    compute_s : float
        Communication is free.
    injection_s : float
        Every server sends its bytes at d·B from the moment at which the earliest of them can exist.
    average_hop_s : float
        The whole fabric carries bytes × hops, where no degree-d graph has fewer hops than Moore's tree.
    critical_path_s : float
        The longest chain of computation and communication, each as if it had the network alone; 0 in plans that were
        made before it was known.
    any_strategy_s : float
        The same for every strategy that there is on any network of these ports; 0 where it is not known.
    """

    compute_s: Amount
    injection_s: Amount
    average_hop_s: Amount
    critical_path_s: Amount = 0.0
    any_strategy_s: Amount = 0.0

    @property
    def lower_bound_s(self) -> float:
        """The largest of those for this strategy."""
        return max(self.compute_s, self.injection_s, self.average_hop_s, self.critical_path_s)


@dataclass(frozen=True, slots=True)
class GapParts:
    """Causes of the gap between an iteration and its lower bound, seconds; they add up to the gap.

    Constraints are removed one after the other, from the last attribute to the first, and each part is the gain of
    one; in another order the parts would differ.

    Attributes
    ----------
    wiring_s : float
        This wiring: its hops and rings, against those of the best that there could be.
    routing_s : float
        These routes, against the best on this wiring; where those are unknown, against shortest paths on even links.
    schedule_s : float
        Waiting for order and dependencies: idle links although something is still to be sent.
    rounds_s : float
        Latency, new connections and packets that are not full: the cost of many small messages beyond their bytes.
    """

    wiring_s: Amount
    routing_s: Amount
    schedule_s: Amount
    rounds_s: Amount


@dataclass(frozen=True, slots=True)
class Outcome:
    """Cost of one iteration on one fabric.

    Attributes
    ----------
    algorithms : mapping
        Number of collectives by algorithm, where others than the ring were requested; else empty.
    folded : str
        Which replicas were simulated, where not all were; else empty.
    """

    simulator: str
    iteration_time_s: Positive
    compute_time_s: Amount
    exposed_communication_s: float
    link_bytes_max: Amount
    bandwidth_tax: Amount
    algorithms: Mapping[str, Count] = field(default_factory=dict)
    folded: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the figures, without algorithms and words that are empty."""
        return {
            key: value for key, value in asdict(self).items() if key not in ("algorithms", "folded") or value
        }


@dataclass(frozen=True, slots=True)
class SearchRecord:
    """Record of the search; ``cpu_s`` and rates are measurements, not part of the reproducible bytes.

    ``left_out`` are layouts of a transformer that could not become the fastest; for these, ``seed_times_s`` holds
    lower bounds.
    """

    proposals: int
    stopped_because: str
    seed_times_s: tuple[float, ...]
    convergence: tuple[tuple[int, float], ...]
    cpu_s: float
    left_out: tuple[int, ...] = ()

    @property
    def proposals_per_s(self) -> float:
        """Proposals per second of search time, 0 where none was made."""
        return self.proposals / self.cpu_s if self.cpu_s > 0 else 0.0


@dataclass(frozen=True, slots=True)
class RoutingGap:
    """Excess of the plan's busiest link over the best routing of the same demands, in seconds of link time."""

    max_load_s: float
    optimal_load_s: float
    exact: bool
    method: str

    @property
    def gap(self) -> float:
        """Relative excess of the busiest link; an upper bound where the optimum is only bounded."""
        return self.max_load_s / self.optimal_load_s - 1 if self.optimal_load_s > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Baseline(NetworkRow):
    """The same job on another fabric, with a strategy searched for it.

    ``layout_times_s`` are the iteration times by layout of a transformer, empty for other jobs. For ``left_out``
    layouts, which could not be the fastest, they are lower bounds. ``rule`` is the rule by which the fabric was
    dimensioned, see :class:`topoopt.catalog.Sizing`. ``bucket_bytes`` and ``microbatches`` are those chosen for
    this fabric; None: the job's. ``routes`` is the routing method; empty where circuits change, and in plans from
    before it was recorded.
    """

    outcome: Outcome
    strategy: ParallelStrategy
    proposals: int
    layout_times_s: tuple[float, ...] = ()
    rule: str = ""
    left_out: tuple[int, ...] = ()
    bucket_bytes: int | None = None
    microbatches: int | None = None
    routes: str = ""


@shows_itself
@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """Strategy, topology, rings and routes for a job, with their evaluation.

    A baseline is a plan like any other: its fabric has another name and no strides. ``data_parallel`` is the
    result of data parallelism with round-robin tables by the same finder, which shows the search's gain.
    ``skipped_fabrics`` are baselines that could not be built, each with the reason. ``rules`` are the finder's
    rules for the fabric. ``wiring`` describes the wiring of all servers; older plan files have none. ``origin`` is
    the origin of the job, as facts; a plan read from a file has none. ``gap_parts`` are unknown in older plans.
    ``gradients`` are the times with other buckets and collective algorithms; the job's settings have the chosen
    ones. ``terms`` are the terms of ownership; older plans have none. ``served`` are the serving figures of a plan
    for a served model.
    """

    job: Job
    strategy: ParallelStrategy
    fabric: Fabric
    outcome: Outcome
    bounds: Bounds
    routing_gap: RoutingGap
    search: SearchRecord
    provenance: Provenance
    data_parallel: Outcome
    options: Mapping[str, Any] = field(default_factory=dict)
    baselines: tuple[Baseline, ...] = ()
    price: Mapping[str, Any] = field(default_factory=dict)
    skipped_fabrics: tuple[tuple[str, str], ...] = ()
    rules: FinderRules = USUAL_RULES
    origin: tuple[tuple[str, str], ...] = ()
    wiring: ChosenWiring | None = None
    gap_parts: GapParts | None = None
    gradients: GradientChoice = field(default_factory=GradientChoice)
    terms: OwnershipTerms | None = None
    served: ServedFigures | None = None

    @property
    def iteration_time_s(self) -> float:
        """Iteration time on the plan's own network, seconds."""
        return self.outcome.iteration_time_s

    @property
    def gap(self) -> float:
        """Iteration time over its lower bound, minus 1."""
        return self.iteration_time_s / self.bounds.lower_bound_s - 1

    @property
    def server_names(self) -> tuple[str, ...]:
        """Server names in a user's wiring; empty where they are numbers."""
        names = () if self.wiring is None else self.wiring.names
        return names if len(names) == self.fabric.topology.servers else ()

    @property
    def strides(self) -> tuple[int, ...]:
        """Strides of the largest group's rings, each once; of the +p and -p of a duplex ring the smaller.

        On a circulant whose rings take several strides by turns, these.
        """
        largest = max(self.fabric.rings, key=len, default=())
        strides = {ring.stride for ring in self.fabric.rings.get(largest, ()) if ring.stride}
        if not strides and len(largest) == self.fabric.topology.servers:
            strides = set(self.fabric.topology.offsets)
        if self.job.cluster.links == "duplex":
            strides = {min(stride, len(largest) - stride) for stride in strides}
        return tuple(sorted(strides))

    def traffic(self) -> Traffic:
        """Return the traffic of one iteration."""
        return job_traffic(self.job, self.strategy)

    def simulate(self, simulator: str = "auto", **words: Any) -> Any:
        """Simulate the plan; see :func:`topoopt.simulate`."""
        return ask("simulate", self, simulator=simulator, **words)

    def compare(self, **words: Any) -> Any:
        """Compare the plan's job on other fabrics; see :func:`topoopt.compare`."""
        return ask("compare", self, **words)

    def report(self, out: str, **words: Any) -> Any:
        """Write the plan as one HTML page; see :func:`topoopt.report`."""
        return ask("report", self, out=out, **words)

    def to_frame(self) -> Frame:
        """Return a row for each network that the plan was compared with, its own first; needs pandas."""
        comparison = import_module("topoopt.plans.comparison")  # which imports this file
        frame: Frame = comparison.frame_of(comparison.compared_fabrics(self))
        return frame

    def to_json(self) -> dict[str, Any]:
        """Return the document of a plan file."""
        document: dict[str, Any] = ask("plan_to_mapping", self)
        return document
