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
    """Requests per second (default: those of the trace, or the highest rate that meets the objectives)."""
    isl: Annotated[Amount, Word("TOKENS|uniform:LOW:HIGH|lognormal:MEAN:SPREAD", "1024")]
    """Input length in tokens; SPREAD is the standard deviation over the mean."""
    osl: Annotated[Amount, Word("TOKENS|uniform:LOW:HIGH|lognormal:MEAN:SPREAD", "256")]
    """Output length in tokens."""
    arrivals: Annotated[str, Word("poisson|gamma:CV|closed:CLIENTS", "poisson")]
    """Arrival process: Poisson, bursts with a coefficient of variation (gamma), or a fixed number of clients that
    each wait for their answer (closed)."""
    duration: Annotated[Amount, Word("TIME", "10min")]
    """Length of the simulated traffic, where there is a rate."""
    trace: Annotated[str | os.PathLike[str], Word("FILE")]
    """Trace of requests: Mooncake's or Bailian's JSON lines, Azure's or BurstGPT's CSV, or CSV with arrival_s,
    input_tokens, output_tokens and, for prefixes, blocks. It is known by its columns."""
    columns: Annotated[str, Word("FORMAT|NAME=COLUMN,…")]
    """How the trace is read: mooncake, bailian, azure, burstgpt or topoopt; or its columns, as in
    arrival_s=time,input_tokens=prompt,output_tokens=answer, with arrival_ms or arrival_date for other times, blocks and
    block_tokens for prefixes."""


@panel("Objectives")
class ObjectiveWords(TypedDict, total=False):
    """What users were promised."""

    slo_ttft: Time
    """Time-to-first-token objective (default 2s)."""
    slo_tpot: Time
    """Time-per-output-token objective, as the mean over an answer (default 50ms)."""
    slo_share: Annotated[float, Word("SHARE")]
    """Share of requests that must meet both objectives (default 0.9)."""
    slo_preset: Annotated[str, Word("NAME")]
    """MLPerf's objectives: llama2-70b-server, llama2-70b-interactive, llama3.1-405b-server."""


@panel("Machines")
class ServingMachineWords(TypedDict, total=False):
    """The machines; what is not given is that of the accelerator's row of the catalogue."""

    accelerators: int
    """Number of accelerators of all replicas (default: those of ``servers`` or ``deployment``)."""
    servers: int
    """Number of servers, instead of ``accelerators``."""
    accelerator: Annotated[str, Word("NAME", "h100")]
    """Accelerator, as topoopt hardware lists it."""
    accelerators_per_server: int
    """Accelerators per server, or per scale-up domain (default: the catalogue's)."""
    engine: Annotated[str, Word("NAME", "vllm")]
    """Serving engine, such as vllm, sglang or trtllm; it determines step times and memory."""


@panel("Network between servers")
class ServingNetworkWords(TypedDict, total=False):
    """Ports, fabrics, and who sends what to whom."""

    degree: int
    """Ports per server (default: one per accelerator, or as many as so few servers can use)."""
    bandwidth: Rate
    """Bandwidth per port, each way (default: that of the accelerator's reference system)."""
    latency: Annotated[Amount, Word("TIME", "1us")]
    """Latency per link; each server that forwards adds one."""
    fabrics: Annotated[Sequence[str], Word("LIST")]
    """Networks to compare, with commas: {networks of serving}. Default: {compared by serving}."""
    pairing: Annotated[str, Word("free|any|network-aware|neighbors", "free")]
    """Which decode replicas receive the KV caches of a prefill replica: the best of all rules; any of them, as
    routers do that do not know the network; those with free links; or only neighbors in the wiring."""
    dispatch: Annotated[str, Word("fp8|bf16", "fp8")]
    """Precision of tokens that are dispatched to experts; they return in 16 bits."""


@panel("Parallelism (degrees that are not given are searched)")
class ServingSplitWords(TypedDict, total=False):
    """What is given of a deployment."""

    preset: Annotated[str, Word("NAME")]
    """Published deployment, such as deepseek-v3-2025, for all options that are not given."""
    mode: Annotated[str, Word("prefill-first|chunked|disaggregated")]
    """Prefill before decode, chunked prefill beside decode, or separate replicas for prefill (disaggregated)."""
    decode: Annotated[str, Word("[Nx]tpTppPepEdpD")]
    """Decode replicas (or replicas for everything) and how each is split, such as 4xtp8 or 2xep16dp16; tp8 for as
    many as fit."""
    prefill: Annotated[str, Word("[Nx]tpTppPepEdpD")]
    """Prefill replicas of a disaggregated deployment, in the same form."""
    prefill_accelerators: int
    """Accelerators of all prefill replicas."""
    deployment: Annotated[str | os.PathLike[str] | Mapping[str, Any], Word("FILE")]
    """Deployment file (YAML, JSON), or the JSON of an answer."""


@panel("Engine")
class EngineWords(TypedDict, total=False):
    """What the serving engine is told."""

    max_batch: Annotated[int, Word("N", 1024)]
    """Maximum number of requests decoded at once per attention data-parallel rank."""
    token_budget: Annotated[int, Word("TOKENS", 8192)]
    """Maximum tokens per step and attention data-parallel rank, of decode and prefill chunks together."""
    weight_precision: Annotated[str, Word("bf16|fp8|fp4|int8|int4", "fp8")]
    """Precision of weights, and of arithmetic where the accelerator has it."""
    kv_precision: Annotated[str, Word("bf16|fp8|fp4", "bf16")]
    """Precision of keys and values."""
    page_tokens: Annotated[int, Word("TOKENS", 16)]
    """Tokens per page of the KV cache."""
    memory_share: Annotated[float, Word("SHARE")]
    """Memory share of the engine (default: the engine's own): of all memory (vllm, gpu_memory_utilization, 0.92),
    of weights and caches (sglang, mem_fraction_static, 0.874), of what weights leave free (trtllm, 0.9)."""
    prefix_cache: Switch
    """Cache the shared prefixes of a trace's prompts, in the blocks that it names."""
    two_batch_overlap: Switch
    """Overlap the computation of half a batch with the communication of the other half."""
    accepted_tokens: Annotated[float, Word("N", 1.0)]
    """Tokens per request and step: 1, or 1 + the accepted tokens of speculative decoding."""
    drafted_tokens: Annotated[int, Word("N", 0)]
    """Drafted tokens per request and step; 0 without speculative decoding."""
    lora_adapters: Annotated[int, Word("N", 0)]
    """LoRA adapters that are served together, with equal shares of the requests."""
    lora_rank: Annotated[int, Word("N", 0)]
    """Rank of the LoRA adapters."""


@panel("Routers and pools")
class RouterWords(TypedDict, total=False):
    """Who gets a request, and what happens to replicas."""

    router: Annotated[str, Word("round-robin|least-loaded|prefix-aware|network-aware")]
    """Routing policy: round-robin; the fewest queued tokens; the fewest uncached tokens to prefill; or the decode
    replica that can receive the KV cache first (default: least-loaded, and network-aware where pairs are chosen
    with the wiring)."""
    transfer_bandwidth: Rate
    """Bandwidth per accelerator for KV caches within one server (default: that of its scale-up links)."""
    transfer_setup: Time
    """Setup time per KV transfer (default 1.85ms, measured with Mooncake)."""
    transfer_share: Annotated[float, Word("SHARE")]
    """Share of the bandwidth that a KV transfer reaches (default 0.863, measured with Mooncake)."""
    whole_caches: Switch
    """Send KV caches after prefill, instead of layer by layer during it."""
    replica_failures: Annotated[str, Word("REPLICA:FROM:TO,...")]
    """Replicas, numbered from 0 with prefill replicas first, that are down between two times, such as
    0:60s:120s."""
    server_failures: Annotated[str, Word("SERVER:FROM:TO,...")]
    """Servers that are down between two times, with every replica that has an accelerator there; prefill replicas
    are on the first servers."""
    autoscale: Annotated[str, Word("EVERY:TURN:TOKENS")]
    """Move replicas between pools: check every EVERY; a change takes TURN; a decode replica moves to prefill when
    more than TOKENS wait per prefill replica, such as 10s:30s:20000, and decode has capacity left."""


@panel("Search effort")
class ServingEffortWords(TypedDict, total=False):
    """How much is simulated."""

    top: Annotated[int, Word("K", 3)]
    """Deployments per mode that are simulated."""
    seed: Annotated[int, Word("N", 0)]
    """Random seed of arrivals and lengths."""


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
