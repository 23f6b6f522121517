"""The words of a served model on several fabrics: what users ask and want, machines, how the model is split."""

from collections.abc import Sequence
from typing import Annotated, TypedDict

from topoopt.words.ownership import OwnershipWords
from topoopt.words.pricing import PricingWords
from topoopt.words.transformer import ShapeWords
from topoopt.words.word import Amount, Switch, Word, panel


@panel("What users ask, and what they were promised")
class AskedWords(TypedDict, total=False):
    """Requests, and how soon they are answered."""

    isl: Annotated[int, Word("TOKENS", 4096)]
    """Tokens of a prompt."""
    osl: Annotated[int, Word("TOKENS", 512)]
    """Tokens of an answer."""
    rate: Annotated[float, Word("PER_S")]
    """Requests a second; as many as are answered in time if not given."""
    slo_ttft: Annotated[Amount, Word("TIME", "2s")]
    """Of the first token of nine of ten requests."""
    slo_tpot: Annotated[Amount, Word("TIME", "50ms")]
    """Of each further token."""


@panel("Machines and network")
class ServingMachineWords(TypedDict, total=False):
    """Servers, their ports, and which fabrics are compared."""

    servers: Annotated[int, Word("N", 8)]
    """Servers."""
    accelerators_per_server: Annotated[int, Word("N", 8)]
    """Accelerators of a server."""
    accelerator: Annotated[str, Word("NAME", "h100")]
    """See topoopt hardware."""
    degree: int
    """Ports of a server; 8, or as many as so few servers can use."""
    bandwidth: Annotated[Amount, Word("RATE", "400Gbps")]
    """Of one port."""
    latency: Annotated[Amount, Word("TIME", "1us")]
    """Of one link; each server that forwards adds one."""
    fabrics: Annotated[Sequence[str], Word("LIST")]
    """With commas: topoopt, ideal-switch, fat-tree, rail, full-mesh, expander, torus. All if not given."""
    pairing: Annotated[str, Word("free|any|network-aware|neighbors", "free")]
    """Who sends keys and values to whom: whatever is best; anywhere, as routers do that know no network; where links
    are free; to servers that are wired to one's own, only."""


@panel("How the model is served")
class ServedWords(TypedDict, total=False):
    """Formats, and pools that are not searched where they are given."""

    decode: Annotated[str, Word("NxtpTppPepEdpD")]
    """Replicas that answer, and how each is split: 4xtp8, 2xep16dp16. Searched if not given."""
    prefill: Annotated[str, Word("NxtpTppPepEdpD")]
    """Replicas that read prompts; those that answer do so, too, if only these are given."""
    weight_precision: Annotated[str, Word("bf16|fp8|fp4|int8|int4", "fp8")]
    """Format of the weights."""
    kv_precision: Annotated[str, Word("bf16|fp8|fp4", "bf16")]
    """Format of keys and values."""
    max_batch: Annotated[int, Word("N", 256)]
    """Requests that a copy of attention answers at once, at most."""
    engine: Annotated[str, Word("NAME", "vllm")]
    """Whose times are taken, such as vllm; those of vllm if not given."""
    dispatch: Annotated[str, Word("fp8|bf16", "fp8")]
    """Format of tokens on their way to experts; back they have 16 bits."""
    by_layer: Switch
    """Keys and values move while later layers are still computed, and not after the prompt."""


class ServingFabricsWords(
    ShapeWords, AskedWords, ServingMachineWords, ServedWords, PricingWords, OwnershipWords, total=False
):
    """All words that :func:`topoopt.serving_fabrics` takes."""
