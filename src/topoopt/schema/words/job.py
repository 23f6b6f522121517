"""The words of a job: which model on which cluster, and how its costs are counted."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypedDict

from topoopt.schema.words.word import Amount, File, Rate, Time, Word, panel

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
    """Training ports of a server; 4."""
    bandwidth: Rate
    """Of one port; 100Gbps."""
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
