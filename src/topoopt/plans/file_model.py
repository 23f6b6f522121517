"""The plan file's shape: a pydantic model for each part, from which the published JSON Schema is made.

A plan file is also the output of ``topoopt plan --json``. Everything needed to simulate, price or redo the plan is in
it; nothing in it refers to other files.

The keys of a plan file for the training of a transformer: its shapes, and every layout that was tried.

Shapes, chunks, exchanges and synchronizations are written by the fields of their nouns.
"""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from topoopt.catalog import ClusterSpec
from topoopt.jobs import JobSettings
from topoopt.plans.plan import Bounds, ChosenWiring, GapParts, GradientChoice, Outcome, ServedFigures
from topoopt.pricing import Ownership, OwnershipTerms
from topoopt.schema.files import Amount, Count, EveryKey, Number, Positive, Strict
from topoopt.workloads import DeviceProfileModel, OperatorGraph, ProfileTable
from topoopt.workloads.pipelined_step import Chunk, Exchange, Synchronization
from topoopt.workloads.transformer import TransformerModel


class StepPart(Strict):
    """The fields of PipelinedStep."""

    servers: Number
    micro_batches: Number
    chunks: tuple[Chunk, ...]
    part_servers: list[list[list[Count]]] = Field(description="servers by stage, replica and part")
    exchanges: tuple[Exchange, ...] = ()
    synchronizations: tuple[Synchronization, ...] = ()
    gradient_buckets: Count = Field(
        default=0, description="in older files, for overlap: gradients leave in so many equal buckets"
    )
    optimizer_s: Amount = 0.0
    schedule: str = "1f1b"


class LayoutPart(Strict):
    """The fields of Layout, and how long it takes on a network wired for it."""

    name: str
    configuration: dict[str, bool | int | float | str]
    order: str = Field(description="which ranks are neighbors, the fastest changing first")
    estimated_time_s: Amount = Field(description="closed form, before anything is wired")
    iteration_time_s: Amount | None = Field(description="wired and simulated; null where that was not done")
    memory_bytes: dict[str, Amount] = Field(description="of the fullest accelerator, by cause")
    step: StepPart


class PublishedPart(Strict):
    """The fields of PublishedLayout, its name, and its relative slowdown against the fastest in closed form."""

    name: str
    source: str
    model: str
    accelerator: str
    accelerators: Count
    precision: str
    configuration: dict[str, bool | int | float | str]
    estimated_s: Amount
    best_s: Amount
    over_best: float
    memory_bytes: Amount
    fits: bool
    rank: Count
    compared: Count
    faster_with: dict[str, float] = Field(
        default={}, description="what the fastest does otherwise, and the share of the time that each saves"
    )


class TrainingPart(Strict):
    """A transformer, the chosen layout, and its rates."""

    model: TransformerModel
    parameters: Count
    global_batch: Number
    sequence: Number
    model_flops: Amount = Field(description="of one iteration, without recomputation")
    calibration: str
    considered: Count = Field(description="configurations that were ranked")
    capacity_bytes: Amount = Field(description="memory of an accelerator")
    chosen: Count = Field(description="index into layouts")
    tokens_per_s: Amount
    mfu: Annotated[float, Field(ge=0)] = Field(description="model FLOPs utilization, 0..1")
    layouts: list[LayoutPart] = Field(min_length=1)
    published: list[PublishedPart] = Field(default=[], description="ways of training known from publications")
    interval_share: Amount | None = Field(
        default=None,
        description="of an iteration time, within which 80% of measured runs of other stacks are",
    )
    untried: str = Field(
        default="", description="a faster configuration with a schedule that was not searched"
    )
    untried_time_s: Amount = Field(default=0.0, description="of that configuration in closed form")


SCHEMA: Final = "topoopt-plan/1"
EVERY_KEY = EveryKey("bucket_bytes", "microbatches", "collective")
"""Plans that were written before there were buckets, micro-batches or algorithms by message are without these keys."""
Small = Annotated[int, Field(ge=1, le=2**31 - 1)]
"""Positive integer that fits into 32 bits."""
ChannelDim = Literal["none", "out", "in", "rows", "columns"]


class SplitPart(Strict):
    """Split of one operator, and the cost of a part."""

    operator: str
    batch_degree: Number
    start: Count = 0
    channel_degree: Number = 1
    channel_dim: ChannelDim = "none"
    forward_s: Amount = Field(description="seconds of one part's forward pass")
    backward_s: Amount
    time_source: str = Field(description="profile, roofline or imported")


class RingPart(Strict):
    """One ring; ``walk`` is left out where it holds the members only."""

    group: Count = Field(description="index into groups")
    stride: Count
    members: list[Count]
    walk: list[Count] | None = None


class LinksPart(Strict):
    """Directed links by columns; a bandwidth or latency that all links share is one number."""

    src: list[Count]
    dst: list[Count]
    ports: list[Small]
    bandwidth_bps: Positive | list[Positive]
    latency_s: Amount | list[Amount]


class TopologyPart(Strict):
    """The fields of Topology."""

    family: str
    servers: Number
    nodes: Small
    offsets: list[Number]
    links: LinksPart


class RoutingPart(Strict):
    """Excess of the busiest link over the best routing."""

    max_load_s: Amount
    optimal_load_s: Amount
    gap: float
    exact: bool
    method: str


_ALGORITHMS: Any = Field(default={}, description="collectives by algorithm, where not all are rings")
_FOLDED: Any = Field(default="", description="which replicas were simulated, where not all were")
RECOMMENDED: Any = Field(default=None, description="label of the network to buy; null without prices")
_ON_FRONT: Any = Field(
    default=None,
    description="whether no other fabric of the plan beats it in price and time; null: without a price",
)
_LOW: Any = Field(default=None, description="80% of the drawn prices lie between this and cost_high_usd")
_HIGH: Any = Field(default=None, description="see cost_low_usd")
_CHEAPER: Any = Field(
    default=None, description="share of the price draws in which it is cheaper than the plan's own network"
)
_FASTER: Any = Field(default=None, description="probability that it is faster than the plan's own network")
_PARTS: Any = Field(default={}, description="low, listed and high dollars of all parts of a kind")
_DOMINATED_BY: Any = Field(default=(), description="labels of the fabrics that beat it in price and time")


class OutcomePart(Strict):
    """Cost of one iteration."""

    simulator: str
    iteration_time_s: Positive
    compute_time_s: Amount
    exposed_communication_s: float
    link_bytes_max: Amount
    bandwidth_tax: Amount
    algorithms: dict[str, Count] = _ALGORITHMS
    folded: str = _FOLDED


class OnFabricPart(OutcomePart):
    """A job on a fabric."""

    fabric: str
    description: str
    server_bandwidth_bps: Positive
    relative_time: Positive = Field(description="iteration time over the plan's")
    cost_usd: Amount | None
    proposals: Count


class SearchedPart(OnFabricPart):
    """Search on a fabric."""

    strategy: list[tuple[Number, Count, Number, ChannelDim]] = Field(
        description="batch degree, start, channel degree, channel dim of each operator"
    )
    layout: Count = Field(default=0, description="of a transformer, index into training.layouts")
    layout_times_s: tuple[Amount, ...] = Field(default=(), description="of a transformer, by layout")
    rule: str = Field(default="", description="by which the fabric was dimensioned, as a sweep names it")
    left_out: tuple[Count, ...] = Field(
        default=(), description="layouts that cannot be the fastest, with what they take at least"
    )
    bucket_bytes: Count | None = Field(
        default=None, description="of gradient buckets, where chosen for this fabric; null: as the job has it"
    )
    microbatches: Number | None = Field(
        default=None, description="pieces of the batch, where chosen for this fabric; null: as the job has it"
    )
    routes: str = Field(default="", description="routing method by which the job goes there")


class PricedPart(Strict):
    """Price of a fabric, and its standing among others in price and time."""

    power_w: Amount | None = Field(default=None, description="of the network; null where a part's is unknown")
    cost_parts_usd: dict[str, tuple[Amount, Amount, Amount]] = _PARTS
    ownership: Ownership | None = Field(
        default=None, description="what network, servers and electricity cost together"
    )
    variant: str = Field(default="", description="what tells it from other fabrics of its name")
    label: str = Field(default="", description="the name with the variant")
    on_front: bool | None = _ON_FRONT
    dominated_by: tuple[str, ...] = _DOMINATED_BY
    cost_low_usd: Amount | None = _LOW
    cost_high_usd: Amount | None = _HIGH
    cheaper_share: Amount | None = _CHEAPER
    faster_share: Amount | None = _FASTER


class BaselinePart(PricedPart, SearchedPart):
    """The same job on another fabric."""


class SearchPart(Strict):
    """Record of the search; times and rates are measurements and differ between runs."""

    options: dict[str, Any]
    rules: dict[str, str] | None = Field(
        default=None, description="by which the topology finder wired this plan; null: those of the options"
    )
    seed_times_s: tuple[Amount, ...]
    convergence: tuple[tuple[Count, Amount], ...]
    cpu_s: Amount
    left_out: tuple[Count, ...] = Field(
        default=(), description="layouts that cannot be the fastest, with what they take at least"
    )


class BillLinePart(Strict):
    """One kind of part of the network; watts and speed are null where unknown."""

    item: str
    count: Amount
    unit_usd: Amount | None
    total_usd: Amount | None
    bandwidth_bps: Amount | None = None
    basis: str = ""
    unit_w: Amount | None = None
    total_w: Amount | None = None
    name: str = Field(default="", description="switch that a port is of")
    unit_low_usd: Amount | None = None
    unit_high_usd: Amount | None = None


class PricePart(Strict):
    """Cost of the network; the note gives the reason where there is no price."""

    cost_usd: Amount | None = None
    cost_per_server_usd: Amount | None = None
    power_w: Amount | None = None
    cost_parts_usd: dict[str, tuple[Amount, Amount, Amount]] = _PARTS
    prices: str = ""
    accounting: dict[str, Any] = Field(default={})
    link_technology: str = ""
    fiber_length_m: Amount | None = Field(default=None, description="mean length of a link")
    bill: list[BillLinePart] = Field(default=[])
    note: str = ""


class MemoryPart(Strict):
    """The fullest accelerator of the cluster, by cause."""

    server: int
    parameters_bytes: float
    gradients_bytes: float
    optimizer_bytes: float
    embedding_bytes: float
    activations_bytes: float
    other_bytes: float = 0.0
    total_bytes: float
    available_bytes: float
    fits: bool
    tight: bool = Field(default=False, description="fits, but leaves less than 5% free")


class ProvenancePart(Strict):
    """Provenance of the plan or comparison."""

    version: str
    seed: Count
    inputs: dict[str, str]


class PlanFile(Strict):
    """A plan as a JSON document."""

    schema_: Literal["topoopt-plan/1"] = Field(default=SCHEMA, alias="schema")
    fabric: str
    model: str
    servers: int
    degree: int
    bandwidth_bps: float
    strategy: list[SplitPart]
    strides: list[int]
    wiring: ChosenWiring | None = None
    rings: list[RingPart]
    groups: list[list[Count]]
    diameter: Count
    average_hops: Amount
    hop_histogram: dict[int, Count] = Field(description="ordered pairs of servers by distance")
    iteration_time_s: Positive
    compute_time_s: Amount
    exposed_communication_s: float
    simulator: str
    algorithms: dict[str, Count] = _ALGORITHMS
    folded: str = _FOLDED
    data_parallel: Outcome
    allreduce_bytes: Count
    mp_bytes: Count
    link_bytes_max: Amount
    bandwidth_tax: Amount
    lower_bound_s: Amount
    gap: float
    bounds: Bounds
    gap_parts: GapParts | None = Field(
        default=None, description="null in plans that were made before there were parts"
    )
    routing: RoutingPart
    memory: MemoryPart
    proposals: Count
    proposals_per_s: Amount
    stopped_because: str
    search: SearchPart
    baselines: list[BaselinePart]
    skipped_fabrics: tuple[tuple[str, str], ...] = Field(
        default=(), description="baselines that could not be built, and why"
    )
    recommended: str | None = RECOMMENDED
    cost_usd: Amount | None
    on_front: bool | None = _ON_FRONT
    dominated_by: tuple[str, ...] = _DOMINATED_BY
    cost_low_usd: Amount | None = _LOW
    cost_high_usd: Amount | None = _HIGH
    cheaper_share: Amount | None = _CHEAPER
    faster_share: Amount | None = _FASTER
    price: PricePart
    terms: OwnershipTerms | None = Field(default=None, description="by which ownership is priced")
    served: ServedFigures | None = Field(default=None, description="what users of a served model meet")
    ownership: Ownership | None = Field(
        default=None, description="what network, servers and electricity cost together"
    )
    cluster: Annotated[ClusterSpec, EVERY_KEY]
    settings: Annotated[JobSettings, EVERY_KEY]
    graph: OperatorGraph
    profiles: list[ProfileTable]
    device_profiles: list[DeviceProfileModel] = Field(
        default=[], description="operator times of the user's own, from topoopt profile"
    )
    fixed_traffic: list[tuple[Count, Count, Count]] = Field(
        default=[], description="source, destination and bytes of a job known by its traffic matrix"
    )
    fixed_allreduce: list[tuple[Annotated[list[Count], Field(min_length=2)], Count]] = Field(
        default=[], description="servers and bytes of the AllReduces of a job known by its traffic"
    )
    fixed_compute_s: Annotated[float, Field(ge=0)] = Field(
        default=0.0, description="what an iteration of such a job takes on every server beside the network"
    )
    fixed_hidden_share: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.0, description="of its bytes: what may move during that time"
    )
    gradients: GradientChoice = Field(
        default=GradientChoice(), description="iteration times with other buckets and other algorithms"
    )
    training: TrainingPart | None = Field(default=None, description="of a transformer in pipeline stages")
    topology: TopologyPart
    routes: dict[str, Any]
    provenance: ProvenancePart
