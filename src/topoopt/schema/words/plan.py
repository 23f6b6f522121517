"""The words of a plan: the job, the finder, the search; and those of the live page."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypedDict

from topoopt.schema.words.arguments import Amount, File, Rate, Switch, Time, Word, panel
from topoopt.schema.words.cost import OwnershipWords, PricingWords, YearsWords
from topoopt.schema.words.transformer import TrainingWords


@panel("The question that the page opens with")
class QuestionWords(YearsWords, total=False):
    """What a page of the studio asks; what is not given is as the page has it."""

    servers: Annotated[int, Word("N", 128)]
    """Servers of the job."""
    accelerators_per_server: int
    """Accelerators of a server; the accelerator's own, 4 for a graph of operators."""
    accelerator: Annotated[str, Word("NAME")]
    """See topoopt hardware; h100, a100 for a graph of operators."""
    degree: Annotated[int, Word("N", 8)]
    """Training ports of a server."""
    bandwidth: Annotated[Rate, Word("RATE", "400Gbps")]
    """Of one port."""
    global_batch: int
    """Sequences of an iteration of a transformer; about 4 million tokens if not given."""
    seq: int
    """Tokens of a sequence of a transformer; the model's own."""
    batch_per_accelerator: int
    """Samples per accelerator of a graph of operators; the model's own."""
    prices: Annotated[str, Word("LIST")]
    """Price list, such as 2025; 2026 if not given."""
    link_technology: Annotated[str, Word("KIND")]
    """pluggable, linear, co-packaged or copper; pluggable."""


@panel("Where it listens")
class ServingWords(TypedDict, total=False):
    """The address of the page, and who may see it."""

    host: Annotated[str, Word("ADDRESS", "127.0.0.1")]
    """Listen there; any other than this machine's own needs a token."""
    port: Annotated[int, Word("N", 8321)]
    """Listen on this port; 0 takes a free one."""
    token: Annotated[str, Word("TEXT")]
    """Whoever asks has to show it; made by chance for an address that others can reach."""
    seconds: Annotated[float, Word("S")]
    """End after so long; when it is interrupted if not given."""
    browser: Switch
    """Open the page in the browser of this machine."""


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
    """Change a hyper-parameter; may be given several times. Of a program: samples, unknown=bytes, of ONNX the sizes of
    named dimensions; of a recording: iterations."""
    batch_per_accelerator: int
    """Samples per accelerator; the model's own if not given."""


@panel("Cluster")
class MachineWords(TypedDict, total=False):
    """On which cluster."""

    cluster: Annotated[str | os.PathLike[str] | Cluster, Word("FILE")]
    """Read the cluster from a YAML file."""
    servers: int
    """Servers; 128, or those of the variant."""
    degree: int
    """Training ports of a server, a NIC per accelerator for a transformer; 4."""
    bandwidth: Rate
    """Of one port, the accelerator's NIC for a transformer; 100Gbps."""
    accelerators_per_server: int
    """Accelerators of a server, as many as the catalogue says for a transformer; 4."""
    accelerator: Annotated[str, Word("NAME")]
    """See topoopt hardware, h100 for a transformer; a100."""
    intra_server_bandwidth: Rate
    """Scale-up bandwidth of an accelerator, the catalogue's for a transformer; 200Gbps."""
    latency: Time
    """Of one hop; 1us."""
    links: Annotated[str, Word("duplex|directed")]
    """A port is a fiber pair to one neighbor, or sends to one and hears another; duplex."""


@panel("How costs are counted")
class CountingWords(TypedDict, total=False):
    """How costs are counted."""

    compute: Annotated[str, Word("profile|roofline")]
    """Operator times: measured on A100 (and the roofline where not), or the roofline; profile."""
    profile_file: File
    """Operator times of your own: from topoopt profile, or a FlexNet profile (measure_*.json)."""
    precision: Annotated[str, Word("fp32|tf32|bf16|fp16|fp8|fp4")]
    """Of the arithmetic, not of what is kept and sent: that has 4 bytes a number; fp32."""
    optimizer: Annotated[str, Word("sgd|momentum|adam")]
    """State kept per parameter; sgd."""
    memory_check: Annotated[str, Word("enforce|warn|off")]
    """A strategy that does not fit in memory is refused, mentioned or not looked at; warn."""
    embedding_factor: Annotated[int, Word("1|2")]
    """Copies of embedding activations on the wire; 1. The authors' task graphs carry 2."""
    bucket: Annotated[Amount, Word("auto|none|SIZE")]
    """Join gradients of equal replicas into AllReduces of so much, such as 25MiB, in the order of the backward pass;
    none: one for each tensor; auto: the size that is best for the job, of none, 1, 5, 25 (PyTorch's) and 100 MiB;
    auto."""


class JobWords(ModelWords, MachineWords, CountingWords, total=False):
    """Which model on which cluster, and how its costs are counted."""


@panel("Topology finder")
class FinderRuleWords(TypedDict, total=False):
    """Rules of the topology finder."""

    preset: Annotated[str, Word("default|paper|released")]
    """All rules as in the paper, or as in the authors' code (also costs and search); flags win."""
    degree_split: Annotated[str, Word("RULE")]
    """Ports for AllReduce rings: proportional to the bytes, all-to-allreduce, by-group, without a ring of all
    servers, by-group-but-one, by-group-but-two, which leave so many for tensor parallelism, or cliques, none but those
    that expert exchanges leave; proportional."""
    strides: Annotated[str, Word("best|nearest|lower-bound")]
    """Which rings get links; best."""
    damping: Annotated[str, Word("halving|c/(c+1)")]
    """What demand is left on a pair that got a link; halving."""
    routing: Annotated[str, Word("RULE")]
    """Of model-parallel traffic: coin-change, k-shortest, ecmp or single-shortest; coin-change."""
    wirings: Annotated[str, Word("strides|any")]
    """How servers are wired, all and in groups: along strides, as in the paper, or by what is the fastest; any."""
    wiring: Annotated[str | os.PathLike[str], Word("FAMILY|FILE")]
    """This one in place of the choice: lifted, kautz, torus, expander ..., or a file of topoopt topology, of which
    every cable stays where it is."""


class FinderWords(FinderRuleWords, total=False):
    """Rules of the topology finder, and its chance."""

    seed: int
    """Of all chance; 0. Equal seeds give equal answers."""


@panel("Search")
class SearchWords(TypedDict, total=False):
    """How long and in which way to search over operators."""

    search: Annotated[str, Word("alternating|released")]
    """Strategy and topology in turn, or the topology inside the chain; alternating."""
    starts: Annotated[str, Word("many|uniform")]
    """Begin at split tables and layers on several wirings each, or at uniform splits on one; many."""
    budget: int
    """Strategies to try, over all chains and rounds; 4000."""
    baseline_budget: int
    """The same for each baseline; 500."""
    chains: int
    """Independent searches; 2."""
    rounds: int
    """Most alternations of a chain; 4."""
    alpha: Annotated[float, Word("X")]
    """Slower by Δms is accepted with exp(-X·Δms); 1."""
    processes: int
    """For the chains; the answer is the same. 0 chooses."""


class TrafficWords(JobWords, TrainingWords, FinderWords, total=False):
    """All words that :func:`topoopt.traffic` takes."""


class PlanWords(JobWords, TrainingWords, FinderWords, SearchWords, PricingWords, OwnershipWords, total=False):
    """All words that :func:`topoopt.plan` takes."""
