"""The plan file's shape: a pydantic model for each part, from which the published JSON Schema is made.

A plan file is also what ``topoopt plan --json`` prints. Everything needed to simulate, price or redo the plan is in
it; nothing in it refers to other files.
"""

from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA: Final = "topoopt-plan/1"


class Strict(BaseModel):
    """A part of the file; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid")


class ClusterPart(Strict):
    """The fields of ClusterSpec."""

    servers: int
    degree: int
    link_bandwidth_bps: float
    accelerators_per_server: int
    accelerator: str
    intra_server_bandwidth_bps: float
    link_latency_s: float
    links: Literal["duplex", "directed"]


class SettingsPart(Strict):
    """The fields of JobSettings."""

    compute: str
    precision: str
    embedding_bytes_factor: int
    memory_check: str
    optimizer: str
    bucket_bytes: int = 0


class WeightPart(Strict):
    """One parameter tensor."""

    name: str
    size_bytes: int


class OperatorPart(Strict):
    """The fields of Operator."""

    name: str
    kind: str
    inputs: list[int]
    weights: list[WeightPart]
    output_bytes_per_sample: int
    forward_flops_per_sample: float = 0.0
    memory_traffic_bytes_per_sample: float = 0.0
    splits: list[str]
    profile_key: str = ""
    forward_time_s: float | None = None
    backward_time_s: float | None = None
    timed_samples: int = 0


class GraphPart(Strict):
    """The fields of OperatorGraph."""

    name: str
    batch_per_accelerator: int
    operators: list[OperatorPart]


class MeasurementPart(Strict):
    """One measurement of a user's profile."""

    samples: float
    forward_s: float
    backward_s: float
    memory_bytes: int


class ProfilePart(Strict):
    """A user's own profile."""

    model: str
    servers: int
    global_batch: int
    measurements: dict[str, list[MeasurementPart]]


class SplitPart(Strict):
    """How one operator is split, and what a part of it costs."""

    operator: str
    batch_degree: int
    start: int = 0
    channel_degree: int = 1
    channel_dim: str = "none"
    forward_s: float = Field(description="seconds of one part's forward pass")
    backward_s: float
    time_source: str = Field(description="profile, roofline or imported")


class RingPart(Strict):
    """One ring; ``walk`` is left out where it holds the members only."""

    group: int = Field(description="index into groups")
    stride: int
    members: list[int]
    walk: list[int] | None = None


class LinksPart(Strict):
    """Directed links by columns; a bandwidth or latency that all links share is one number."""

    src: list[int]
    dst: list[int]
    ports: list[int]
    bandwidth_bps: float | list[float]
    latency_s: float | list[float]


class TopologyPart(Strict):
    """The fields of Topology."""

    family: str
    servers: int
    nodes: int
    offsets: list[int]
    links: LinksPart


class BoundsPart(Strict):
    """Lower bounds of the iteration time."""

    compute_s: float
    injection_s: float
    average_hop_s: float


class RoutingPart(Strict):
    """How far the busiest link is from the best routing."""

    max_load_s: float
    optimal_load_s: float
    gap: float
    exact: bool
    method: str


class OutcomePart(Strict):
    """What one iteration costs."""

    simulator: str
    iteration_time_s: float
    compute_time_s: float
    exposed_communication_s: float
    link_bytes_max: float
    bandwidth_tax: float


class BaselinePart(OutcomePart):
    """The same job on another fabric."""

    fabric: str
    description: str
    server_bandwidth_bps: float
    relative_time: float = Field(description="iteration time over the plan's")
    cost_usd: float | None
    proposals: int
    strategy: list[tuple[int, int, int, str]] = Field(
        description="batch degree, start, channel degree, channel dim of each operator"
    )


class SearchPart(Strict):
    """How the search went; times and rates are measurements and differ between runs."""

    options: dict[str, Any]
    seed_times_s: list[float]
    convergence: list[tuple[int, float]]
    cpu_s: float


class MemoryPart(Strict):
    """The fullest accelerator of the cluster, by cause."""

    server: int
    parameters_bytes: float
    gradients_bytes: float
    optimizer_bytes: float
    embedding_bytes: float
    activations_bytes: float
    total_bytes: float
    available_bytes: float
    fits: bool


class ProvenancePart(Strict):
    """What made the plan."""

    version: str
    seed: int
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
    rings: list[RingPart]
    groups: list[list[int]]
    diameter: int
    average_hops: float
    hop_histogram: dict[int, int] = Field(description="ordered pairs of servers by distance")
    iteration_time_s: float
    compute_time_s: float
    exposed_communication_s: float
    simulator: str
    data_parallel: OutcomePart
    allreduce_bytes: int
    mp_bytes: int
    link_bytes_max: float
    bandwidth_tax: float
    lower_bound_s: float
    gap: float
    bounds: BoundsPart
    routing: RoutingPart
    memory: MemoryPart
    proposals: int
    proposals_per_s: float
    stopped_because: str
    search: SearchPart
    baselines: list[BaselinePart]
    cost_usd: float | None
    price: dict[str, Any]
    cluster: ClusterPart
    settings: SettingsPart
    graph: GraphPart
    profiles: list[ProfilePart]
    fixed_traffic: list[tuple[int, int, int]] = Field(
        default=[], description="source, destination and bytes of a job known by its traffic matrix"
    )
    topology: TopologyPart
    routes: dict[str, Any]
    provenance: ProvenancePart
