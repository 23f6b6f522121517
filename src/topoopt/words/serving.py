"""The words of a service: its requests and objectives, how a model is split to answer them, and how that is found."""

import os
from typing import Annotated, TypedDict

from topoopt.words.ownership import OwnershipWords
from topoopt.words.pricing import PricingWords
from topoopt.words.word import Amount, Rate, Switch, Time, Word, panel


@panel("Requests")
class RequestWords(TypedDict, total=False):
    """What comes: by rate and lengths, or as a trace has it."""

    rate: Annotated[float, Word("N")]
    """Requests a second; those of the trace."""
    isl: Annotated[Amount, Word("TOKENS|uniform:LOW:HIGH|lognormal:MEAN:SPREAD", "1024")]
    """Tokens of prompts; a spread is a standard deviation over the mean."""
    osl: Annotated[Amount, Word("TOKENS|uniform:LOW:HIGH|lognormal:MEAN:SPREAD", "256")]
    """Tokens of answers."""
    arrivals: Annotated[str, Word("poisson|gamma:CV|closed:CLIENTS", "poisson")]
    """When they come: at random, in bursts of a coefficient of variation, or from clients that wait for answers."""
    duration: Annotated[Amount, Word("TIME", "10min")]
    """Of the traffic that is simulated."""
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
    """Accelerators, of all replicas."""
    accelerator: Annotated[str, Word("NAME", "h100")]
    """See topoopt hardware."""
    accelerators_per_server: int
    """Joined by scale-up links; the accelerator's own."""
    bandwidth: Rate
    """Network bandwidth of one accelerator, each way; the accelerator's reference system's."""
    engine: Annotated[str, Word("NAME")]
    """Whose step times are taken, such as vllm, sglang or trtllm; what all have in common."""


@panel("How it is split (what is not given is searched)")
class ServingSplitWords(TypedDict, total=False):
    """What is given of a deployment."""

    mode: Annotated[str, Word("prefill-first|chunked|disaggregated")]
    """Prompts before answers, in pieces beside them, or by replicas of their own."""
    tensor: int
    """Accelerators that share every layer of a replica."""
    pipeline: int
    """Stages of a replica."""
    expert: int
    """Accelerators that the experts of a layer are spread over."""
    attention_data: int
    """Copies of attention in a replica, each with requests of its own."""
    prefill_tensor: int
    """The same of replicas that read prompts alone; as of those that answer, if those are given."""
    prefill_pipeline: int
    """Their stages."""
    prefill_expert: int
    """Their accelerators for experts."""
    prefill_attention_data: int
    """Their copies of attention."""
    prefill_accelerators: int
    """Accelerators of all replicas that read prompts alone."""


@panel("Engine")
class EngineWords(TypedDict, total=False):
    """What the serving engine is told."""

    max_batch: Annotated[int, Word("N", 1024)]
    """Requests that a replica answers at once, at most."""
    token_budget: Annotated[int, Word("TOKENS", 8192)]
    """Of a step: answers, and pieces of prompts."""
    weight_precision: Annotated[str, Word("bf16|fp8|fp4", "bf16")]
    """Of the weights, and of arithmetic where the accelerator has it."""
    kv_precision: Annotated[str, Word("bf16|fp8", "bf16")]
    """Of keys and values."""
    page_tokens: Annotated[int, Word("TOKENS", 16)]
    """Of a page of keys and values."""
    memory_share: Annotated[float, Word("SHARE", 0.9)]
    """Of an accelerator's memory that the engine takes."""
    prefix_cache: Switch
    """Keep what prompts of a trace have in common, in blocks of 512 tokens."""
    two_batch_overlap: Switch
    """Half a batch computes while the other half communicates."""
    accepted_tokens: Annotated[float, Word("N", 1.0)]
    """Of a step, for a request: 1, or 1 + acceptances of speculative decoding."""
    drafted_tokens: Annotated[int, Word("N", 0)]
    """Proposed and looked at in a step, for a request; 0 without speculative decoding."""
    lora_adapters: Annotated[int, Word("N", 0)]
    """Adapters that are held in memory together."""
    lora_rank: Annotated[int, Word("N", 0)]
    """Their rank."""


@panel("Routers and pools")
class RouterWords(TypedDict, total=False):
    """Who gets a request, and what happens to replicas."""

    router: Annotated[str, Word("round-robin|least-loaded|prefix-aware|network-aware", "least-loaded")]
    """Who gets a request: the next; who has the fewest tokens; the fewest to read after what it has cached; of those
    that answer, who gets the cache first."""
    transfer_bandwidth: Rate
    """Of one accelerator, for caches on their way; ``bandwidth``, or scale-up links within one server."""
    transfer_setup: Annotated[Amount, Word("TIME", "1.84ms")]
    """Of each transfer; as measured with Mooncake."""
    transfer_share: Annotated[float, Word("SHARE", 0.855)]
    """Of its bandwidth that a transfer reaches; as measured with Mooncake."""
    whole_caches: Switch
    """Send caches when prompts are read, not layer by layer meanwhile."""
    replica_failures: Annotated[str, Word("REPLICA:FROM:TO,...")]
    """Replicas, from 0, that are down between two times, such as 0:60s:120s; those that read come first."""
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
    ServingSplitWords,
    EngineWords,
    RouterWords,
    ServingEffortWords,
    PricingWords,
    OwnershipWords,
    total=False,
):
    """All words that :func:`topoopt.serving` takes."""
