"""The words of a service: requests and objectives, machines and networks, how it is split, how that is found."""

import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypedDict

from topoopt.schema.words.arguments import Amount, Rate, Switch, Time, Word, panel
from topoopt.schema.words.cost import OwnershipWords, PricingWords
from topoopt.schema.words.transformer import ShapeWords


@panel("Requests")
class RequestWords(TypedDict, total=False):
    """What comes: by rate and lengths, or as a trace has it."""

    rate: Annotated[float, Word("N")]
    """Requests a second; those of the trace, or as many as are answered in time."""
    isl: Annotated[Amount, Word("TOKENS|uniform:LOW:HIGH|lognormal:MEAN:SPREAD", "1024")]
    """Tokens of prompts; a spread is a standard deviation over the mean."""
    osl: Annotated[Amount, Word("TOKENS|uniform:LOW:HIGH|lognormal:MEAN:SPREAD", "256")]
    """Tokens of answers."""
    arrivals: Annotated[str, Word("poisson|gamma:CV|closed:CLIENTS", "poisson")]
    """When they come: at random, in bursts of a coefficient of variation, or from clients that wait for answers."""
    duration: Annotated[Amount, Word("TIME", "10min")]
    """Of the traffic that is simulated, if there is a rate."""
    trace: Annotated[str | os.PathLike[str], Word("FILE")]
    """Requests instead: Mooncake's JSON lines, Azure's CSV (TIMESTAMP, ContextTokens, GeneratedTokens), or CSV with
    arrival_s, input_tokens, output_tokens and, of prefixes, blocks."""


@panel("Objectives")
class ObjectiveWords(TypedDict, total=False):
    """What users were promised."""

    slo_ttft: Time
    """To the first token, at most; 2s."""
    slo_tpot: Time
    """For each token after it, on average over an answer, at most; 50ms."""
    slo_share: Annotated[float, Word("SHARE")]
    """Of the requests that have to meet both; 0.9."""
    slo_preset: Annotated[str, Word("NAME")]
    """Those of MLPerf: llama2-70b-server, llama2-70b-interactive, llama3.1-405b-server."""


@panel("Machines")
class ServingMachineWords(TypedDict, total=False):
    """The machines; what is not given is that of the accelerator's row of the catalogue."""

    accelerators: int
    """Accelerators, of all replicas; those of the servers, or of a deployment that is given."""
    servers: int
    """Servers, instead: all of their accelerators."""
    accelerator: Annotated[str, Word("NAME", "h100")]
    """See topoopt hardware."""
    accelerators_per_server: int
    """Joined by scale-up links; the accelerator's own."""
    engine: Annotated[str, Word("NAME", "vllm")]
    """Whose step times are taken, such as vllm, sglang or trtllm."""


@panel("Network, of several servers")
class ServingNetworkWords(TypedDict, total=False):
    """Ports, fabrics, and who sends what to whom."""

    degree: int
    """Ports of a server; one for each accelerator, or as many as so few servers can use."""
    bandwidth: Rate
    """Of one port, each way; that of the accelerator's reference system."""
    latency: Annotated[Amount, Word("TIME", "1us")]
    """Of one link; each server that forwards adds one."""
    fabrics: Annotated[Sequence[str], Word("LIST")]
    """Networks, with commas: {networks of serving}. Default: {compared by serving}."""
    pairing: Annotated[str, Word("free|any|network-aware|neighbors", "free")]
    """Who sends keys and values to whom: whatever is best; anywhere, as routers do that know no network; where links
    are free; to servers that are wired to one's own, only."""
    dispatch: Annotated[str, Word("fp8|bf16", "fp8")]
    """Format of tokens on their way to experts; back they have 16 bits."""


@panel("How it is split (what is not given is searched)")
class ServingSplitWords(TypedDict, total=False):
    """What is given of a deployment."""

    preset: Annotated[str, Word("NAME")]
    """A deployment that its owner has described, such as deepseek-v3-2025: all words of it that are not given."""
    mode: Annotated[str, Word("prefill-first|chunked|disaggregated")]
    """Prompts before answers, in pieces beside them, or by replicas of their own."""
    decode: Annotated[str, Word("[Nx]tpTppPepEdpD")]
    """Replicas that answer, or do everything, and how each is split: 4xtp8, 2xep16dp16, or tp8 for as many as suit."""
    prefill: Annotated[str, Word("[Nx]tpTppPepEdpD")]
    """Replicas that read prompts alone, in the same way."""
    prefill_accelerators: int
    """Accelerators of all replicas that read prompts alone."""
    deployment: Annotated[str | os.PathLike[str] | Mapping[str, Any], Word("FILE")]
    """All of this from a file (YAML, JSON), or the JSON of an answer."""


@panel("Engine")
class EngineWords(TypedDict, total=False):
    """What the serving engine is told."""

    max_batch: Annotated[int, Word("N", 1024)]
    """Requests that a copy of attention answers at once, at most."""
    token_budget: Annotated[int, Word("TOKENS", 8192)]
    """Of a step of a copy of attention: answers, and pieces of prompts."""
    weight_precision: Annotated[str, Word("bf16|fp8|fp4|int8|int4", "fp8")]
    """Of the weights, and of arithmetic where the accelerator has it."""
    kv_precision: Annotated[str, Word("bf16|fp8|fp4", "bf16")]
    """Of keys and values."""
    page_tokens: Annotated[int, Word("TOKENS", 16)]
    """Of a page of keys and values."""
    memory_share: Annotated[float, Word("SHARE")]
    """Memory share of the engine (default: the engine's own): of all memory (vllm, gpu_memory_utilization, 0.92), of
    weights and caches (sglang, mem_fraction_static, 0.874), of what weights leave free (trtllm, 0.9)."""
    prefix_cache: Switch
    """Keep what prompts of a trace have in common, in blocks of 512 tokens."""
    two_batch_overlap: Switch
    """Half a batch computes while the other half communicates."""
    accepted_tokens: Annotated[float, Word("N", 1.0)]
    """Of a step, for a request: 1, or 1 + acceptances of speculative decoding."""
    drafted_tokens: Annotated[int, Word("N", 0)]
    """Proposed and looked at in a step, for a request; 0 without speculative decoding."""
    lora_adapters: Annotated[int, Word("N", 0)]
    """LoRA adapters that are served together, each asked for as often."""
    lora_rank: Annotated[int, Word("N", 0)]
    """Their rank."""


@panel("Routers and pools")
class RouterWords(TypedDict, total=False):
    """Who gets a request, and what happens to replicas."""

    router: Annotated[str, Word("round-robin|least-loaded|prefix-aware|network-aware")]
    """Who gets a request: the next; who has the fewest tokens; the fewest to read after what it has cached; of those
    that answer, who gets the cache first. least-loaded, and network-aware where pairs are chosen with the wiring."""
    transfer_bandwidth: Rate
    """Of one accelerator, for caches on their way within one server; that of its scale-up links."""
    transfer_setup: Time
    """Of each transfer; as measured with Mooncake, 1.85ms."""
    transfer_share: Annotated[float, Word("SHARE")]
    """Of its bandwidth that a transfer reaches; as measured with Mooncake, 0.863."""
    whole_caches: Switch
    """Send caches when prompts are read, not layer by layer meanwhile."""
    replica_failures: Annotated[str, Word("REPLICA:FROM:TO,...")]
    """Replicas, from 0, that are down between two times, such as 0:60s:120s; those that read come first."""
    server_failures: Annotated[str, Word("SERVER:FROM:TO,...")]
    """The same of servers, with every replica that has an accelerator on one; those that read are on the first."""
    autoscale: Annotated[str, Word("EVERY:TURN:TOKENS")]
    """Look at both pools so often; a replica takes so long to change its pool; it reads if more tokens wait for each
    that does, such as 10s:30s:20000, and those that answer have room."""


@panel("How it is found")
class ServingEffortWords(TypedDict, total=False):
    """How much is simulated."""

    top: Annotated[int, Word("K", 3)]
    """Deployments of each mode that are simulated."""
    seed: Annotated[int, Word("N", 0)]
    """Of arrivals and lengths."""


class ServingWords(
    RequestWords,
    ObjectiveWords,
    ServingMachineWords,
    ServingNetworkWords,
    ServingSplitWords,
    EngineWords,
    RouterWords,
    ServingEffortWords,
    ShapeWords,
    PricingWords,
    OwnershipWords,
    total=False,
):
    """All words that :func:`topoopt.serving` takes."""
