"""The words of a plan: the job, the finder, the search; and those of the live page."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypedDict

from topoopt.schema.words.arguments import Amount, File, Rate, Switch, Time, Word, panel
from topoopt.schema.words.cost import OwnershipWords, PricingWords, YearsWords
from topoopt.schema.words.transformer import TrainingWords


@panel("Initial question")
class QuestionWords(YearsWords, total=False):
    """What a page of the studio asks; what is not given is as the page has it."""

    servers: Annotated[int, Word("N", 128)]
    """Number of servers."""
    accelerators_per_server: int
    """Accelerators per server (default: the catalogue's for the accelerator; 4 for a graph of operators)."""
    accelerator: Annotated[str, Word("NAME")]
    """Accelerator, as topoopt hardware lists it (default: h100; a100 for a graph of operators)."""
    degree: Annotated[int, Word("N", 8)]
    """Training ports per server."""
    bandwidth: Annotated[Rate, Word("RATE", "400Gbps")]
    """Bandwidth per port."""
    global_batch: int
    """Sequences per iteration of a transformer (default: about 4 million tokens)."""
    seq: int
    """Sequence length of a transformer in tokens (default: the model's)."""
    batch_per_accelerator: int
    """Samples per accelerator of a graph of operators (default: the model's)."""
    prices: Annotated[str, Word("LIST")]
    """Price list, such as 2025 (default 2026)."""
    link_technology: Annotated[str, Word("KIND")]
    """Link technology: pluggable, linear, co-packaged or copper (default pluggable)."""


@panel("Address")
class ServingWords(TypedDict, total=False):
    """The address of the page, and who may see it."""

    host: Annotated[str, Word("ADDRESS", "127.0.0.1")]
    """Address to listen on; any other than this machine's own requires a token."""
    port: Annotated[int, Word("N", 8321)]
    """TCP port to listen on; 0 takes a free one."""
    token: Annotated[str, Word("TEXT")]
    """Access token that clients must present (default: a random one where other machines can reach the
    address)."""
    seconds: Annotated[float, Word("S")]
    """Stop after this many seconds (default: run until interrupted)."""
    browser: Switch
    """Open the page in this machine's browser."""


class StudioWords(QuestionWords, ServingWords, total=False):
    """All words that :func:`topoopt.studio` takes."""


if TYPE_CHECKING:

    class Cluster(Protocol):
        """A cluster in memory: ``topoopt.ClusterSpec``, which a layer above defines."""

        @property
        def servers(self) -> int:  # noqa: D102
            ...

        @property
        def degree(self) -> int:  # noqa: D102
            ...

else:
    Cluster = Any


class ModelWords(TypedDict, total=False):
    """Which model."""

    variant: str
    """Published variant of the model, such as 16 or dlrm-16."""
    set: Annotated[Mapping[str, Any], Word("KEY=VALUE")]
    """Change a hyperparameter; can be repeated. For a program: samples, unknown=bytes, and the sizes of named ONNX
    dimensions; for a recording: iterations."""
    batch_per_accelerator: int
    """Samples per accelerator (default: the model's)."""


@panel("Cluster")
class MachineWords(TypedDict, total=False):
    """On which cluster."""

    cluster: Annotated[str | os.PathLike[str] | Cluster, Word("FILE")]
    """Read the cluster from a YAML file."""
    servers: int
    """Number of servers (default 128, or those of the variant)."""
    degree: int
    """Training ports per server (default 4; a transformer's servers have one NIC per accelerator)."""
    bandwidth: Rate
    """Bandwidth per port (default 100Gbps; for a transformer, the rate of the accelerator's NIC)."""
    accelerators_per_server: int
    """Accelerators per server (default 4; for a transformer, the catalogue's)."""
    accelerator: Annotated[str, Word("NAME")]
    """Accelerator, as topoopt hardware lists it (default a100; h100 for a transformer)."""
    intra_server_bandwidth: Rate
    """Scale-up bandwidth per accelerator (default 200Gbps; for a transformer, the catalogue's)."""
    latency: Time
    """Latency per hop (default 1us)."""
    links: Annotated[str, Word("duplex|directed")]
    """duplex: a port is a fiber pair to one neighbor; directed: it sends to one and receives from another (default
    duplex)."""


@panel("Cost model")
class CountingWords(TypedDict, total=False):
    """Costs of operators, and limits of memory."""

    compute: Annotated[str, Word("profile|roofline")]
    """Operator times: profile takes those measured on A100 and the roofline for the rest, roofline takes no
    measurements (default profile)."""
    profile_file: File
    """Measured operator times, from topoopt profile or a FlexNet profile (measure_*.json)."""
    precision: Annotated[str, Word("fp32|tf32|bf16|fp16|fp8|fp4")]
    """Precision of the arithmetic (default fp32). Tensors that are stored and sent have 4 bytes per number at any
    precision."""
    optimizer: Annotated[str, Word("sgd|momentum|adam")]
    """Optimizer, which determines the state per parameter (default sgd)."""
    memory_check: Annotated[str, Word("enforce|warn|off")]
    """Whether a strategy that does not fit into memory is refused, reported or ignored (default warn)."""
    embedding_factor: Annotated[int, Word("1|2")]
    """Copies of embedding activations on the wire (default 1). The authors' task graphs have 2."""
    bucket: Annotated[Amount, Word("auto|none|SIZE")]
    """Size of gradient buckets, such as 25MiB: gradients of equal replicas are joined in the order of the backward
    pass. none: one AllReduce per tensor; auto: the fastest of none, 1, 5, 25 (PyTorch's) and 100 MiB (default
    auto)."""
    microbatches: Annotated[str | int, Word("auto|N")]
    """Equal pieces of an iteration's batch: operators send one piece while they compute the next. auto: the fastest of
    1, 2, 4 and 8; several only if they save 1% (default auto)."""


class JobWords(ModelWords, MachineWords, CountingWords, total=False):
    """Which model on which cluster, and how its costs are counted."""


@panel("Topology finder")
class FinderRuleWords(TypedDict, total=False):
    """Rules of the topology finder."""

    preset: Annotated[str, Word("default|paper|released")]
    """Preset for all rules, costs and the search: the paper's, or those of the authors' code (default: default).
    Flags override it."""
    degree_split: Annotated[str, Word("RULE")]
    """Split of ports between AllReduce rings and other traffic: proportional to bytes, all-to-allreduce,
    by-group (no ring of all servers), by-group-but-one and by-group-but-two (the same, keeping that many ports for
    tensor parallelism), or cliques (only the ports that expert exchanges leave) (default proportional)."""
    strides: Annotated[str, Word("best|nearest|lower-bound")]
    """Rule that selects the strides of AllReduce rings (default best)."""
    damping: Annotated[str, Word("halving|c/(c+1)")]
    """Factor by which the demand of a pair shrinks when it gets a link (default halving)."""
    routing: Annotated[str, Word("RULE")]
    """Routing of model-parallel traffic: coin-change, k-shortest, ecmp or single-shortest (default
    coin-change)."""
    wirings: Annotated[str, Word("strides|any")]
    """strides: wire AllReduce groups along strides, as in the paper; any: take the fastest wiring of any family
    (default any)."""
    wiring: Annotated[str | os.PathLike[str], Word("FAMILY|FILE")]
    """Use this wiring: a family such as lifted, kautz, torus or expander, or a file from topoopt topology, whose
    cables are kept."""


class FinderWords(FinderRuleWords, total=False):
    """Rules of the topology finder, and its chance."""

    seed: int
    """Random seed (default 0); the same seed gives the same answer."""


@panel("Search")
class SearchWords(TypedDict, total=False):
    """How long and in which way to search over operators."""

    search: Annotated[str, Word("alternating|released")]
    """alternating: optimize the strategy and the topology in turn; released: find a topology for every proposal,
    as the authors' code does (default alternating)."""
    starts: Annotated[str, Word("many|uniform")]
    """many: start from split tables and layers on several wirings; uniform: start from uniform splits on one
    wiring (default many)."""
    budget: int
    """Strategies to try, over all chains and rounds (default 4000)."""
    baseline_budget: int
    """Strategies to try for each baseline network (default 500)."""
    chains: int
    """Independent search chains (default 2)."""
    rounds: int
    """Alternations per chain in 4000 strategies to try; a larger budget has more (default 4)."""
    alpha: Annotated[float, Word("X")]
    """Acceptance rate of the Markov chain: a strategy slower by Δ ms is accepted with probability exp(-X·Δ)
    (default 1)."""
    processes: int
    """Worker processes for the chains; 0 chooses. The answer does not depend on it."""


class TrafficWords(JobWords, TrainingWords, FinderWords, total=False):
    """All words that :func:`topoopt.traffic` takes."""

    conflicts: Annotated[str, Word("FABRIC")]
    """Also hash the job's connections to the paths of this network of switches ({networks of simulate}), and show how
    much fuller its fullest link becomes than with traffic split equally."""


class PlanWords(JobWords, TrainingWords, FinderWords, SearchWords, PricingWords, OwnershipWords, total=False):
    """All words that :func:`topoopt.plan` takes."""
