"""Replica: data held and moved by one accelerator in a step, as columns of configurations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np

from topoopt.base.answers import fields_of
from topoopt.base.arrays import Floats
from topoopt.catalog import Accelerator, ClusterSpec, find_accelerator
from topoopt.inference.deployment import EngineSettings, Parallelism
from topoopt.inference.memory import (
    adapter_shape,
    attention_element_bytes,
    cache_element_bytes,
    cache_shape,
    compute_rate,
    other_element_bytes,
    weight_format,
    weight_shape,
)
from topoopt.transformers import Links, System, expected_places, find_calibration, machine_of, usual_system
from topoopt.workloads.transformer import TransformerModel

UNKNOWN_LINK_BPS = 256e9
SERVER = 8
"""Accelerators of a server where the catalogue's scale-up domain is no number."""


@dataclass(frozen=True, slots=True)
class Replica:
    """Data held and moved by one accelerator of a replica, all layers together: columns, arrays (n,) of float.

    With pipeline stages a token meets all of them one after the other; sums are over all stages.

    Attributes
    ----------
    layers, moe_layers, hidden : of the model
    tensor, pipeline, expert_ranks, attention_data, stage : degrees; ``stage`` accelerators share a layer
    attention_weights, mlp_weights, head_weights : weights in the products of every token
    attention_bytes, mlp_bytes : bytes of these; the output layer is in 16 bits
    expert_weights : weights of one routed expert over all layers, on one accelerator
    expert_bytes : bytes per such weight
    experts, experts_per_token, experts_held : experts per layer, per token, and per accelerator
    cache_bytes_per_token : bytes read per cached token of the requests of an accelerator
    window_bytes_per_token, window : the same in layers of sliding windows, and tokens in a window
    state_bytes : bytes read and written per request in recurrent layers
    cached_flops : FLOP per cached token, of latent attention with its small cache and many heads
    pair_flops, window_pair_flops : FLOP per pair of tokens in prefill
    dense_flops, expert_flops, plain_flops : peak rates in FLOP/s: of weights, of experts, of 16 bits
    memory_bytes_per_s, network_bytes_per_s : nominal rates of an accelerator, per direction
    domain : accelerators in a scale-up domain
    link_s_per_byte : time per byte of collectives on scale-up links
    reduce_latency_s, reduce_s_per_byte, direct_step_s, direct_s_per_byte : of tensor-parallel AllReduces,
        see :func:`~topoopt.transformers.allreduce_s`
    handoff_s, handoff_s_per_byte : start, and time per byte, of a transfer from one pipeline stage to the next
    reduce_fabric_s_per_byte : part of the time per byte on the fabric, which its model adds itself
    domains_visited : domains with experts of a token in a layer, on average
    hosts : servers of the copies of attention
    adapters : LoRA adapters, one per request; 0 for none
    adapter_weights : weights of one adapter, outside of experts
    adapter_expert_weights : weights of one adapter of one routed expert
    overlaps : 1 where one half of a batch computes while the other sends
    """

    layers: Floats
    moe_layers: Floats
    hidden: Floats
    tensor: Floats
    pipeline: Floats
    expert_ranks: Floats
    attention_data: Floats
    stage: Floats
    attention_weights: Floats
    mlp_weights: Floats
    head_weights: Floats
    attention_bytes: Floats
    mlp_bytes: Floats
    expert_weights: Floats
    expert_bytes: Floats
    experts: Floats
    experts_per_token: Floats
    experts_held: Floats
    cache_bytes_per_token: Floats
    window_bytes_per_token: Floats
    window: Floats
    state_bytes: Floats
    cached_flops: Floats
    pair_flops: Floats
    window_pair_flops: Floats
    dense_flops: Floats
    expert_flops: Floats
    plain_flops: Floats
    memory_bytes_per_s: Floats
    network_bytes_per_s: Floats
    domain: Floats
    link_s_per_byte: Floats
    reduce_latency_s: Floats
    reduce_s_per_byte: Floats
    direct_step_s: Floats
    direct_s_per_byte: Floats
    handoff_s: Floats
    handoff_s_per_byte: Floats
    reduce_fabric_s_per_byte: Floats
    domains_visited: Floats
    hosts: Floats
    adapters: Floats
    adapter_weights: Floats
    adapter_expert_weights: Floats
    overlaps: Floats


def replica(
    model: TransformerModel,
    accelerator: Accelerator,
    split: Parallelism,
    settings: EngineSettings,
    fabric: System | None = None,
) -> Replica:
    """Return the data held and moved by an accelerator, one row; on several servers without the network time."""
    weights, cache, adapter = weight_shape(model), cache_shape(model), adapter_shape(model)
    stored = weight_format(settings.weight_precision)
    element = cache_element_bytes(settings.kv_precision)
    tensor, stage = np.full(1, float(split.tensor)), np.full(1, float(split.stage_accelerators))
    held = np.minimum(tensor, cache.shares)
    expert_parts = stage / split.expert
    index = model.indexer.head_dim * model.attention_layers if model.indexer else 0
    sparse = cache.whole_values - index if model.indexer else 0
    rate = compute_rate(accelerator, settings.weight_precision)
    plain = compute_rate(accelerator, "bf16")
    latent_attention = plain if attention_element_bytes(model, settings.weight_precision) == 2 else rate
    rates = accelerator.scale_up_bandwidth_bps or UNKNOWN_LINK_BPS, accelerator.nic_bandwidth_bps or 100e9
    usual = accelerator.name, scale_up_ranks(accelerator), *rates
    columns = {
        **fields_of(model, "layers", "moe_layers", "hidden"),
        "tensor": tensor,
        "pipeline": split.pipeline,
        "expert_ranks": split.expert,
        "attention_data": split.attention_data,
        "stage": stage,
        "attention_weights": weights.attention_split / tensor + weights.attention_whole,
        "mlp_weights": weights.mlp / tensor + weights.whole,
        "head_weights": weights.output / tensor,
        "attention_bytes": attention_element_bytes(model, settings.weight_precision),
        "mlp_bytes": other_element_bytes(model, settings.weight_precision),
        "expert_weights": weights.one_expert / expert_parts,
        "expert_bytes": stored.expert_bytes,
        "experts": max(weights.experts, 1),
        "experts_per_token": weights.experts_per_token,
        "experts_held": weights.experts / split.expert,
        "cache_bytes_per_token": (cache.whole_values - sparse) * element / held,
        "window_bytes_per_token": (cache.window_values + sparse) * element / held,
        "window": model.window if model.window_layers else 2**31,
        "state_bytes": 2 * 4.0 * cache.state_values / tensor,
        "cached_flops": _cached_flops(model) / tensor,
        **_pair_flops(model, tensor),
        "dense_flops": latent_attention,
        "expert_flops": rate,
        "plain_flops": plain,
        "memory_bytes_per_s": accelerator.memory_bandwidth_bytes_per_s,
        **(links := _links(fabric or usual_system(*usual), split, fabric is not None)),
        "domains_visited": _domains_visited(model, stage, float(links["domain"])),
        "hosts": np.where(split.attention_data > 1, np.maximum(stage / SERVER, 1.0), 1.0),
        "adapters": settings.adapters,
        "adapter_weights": settings.adapter_rank * (adapter.whole + adapter.split / tensor),
        "adapter_expert_weights": settings.adapter_rank
        * (adapter.one_expert_whole + adapter.one_expert_split / expert_parts),
        "overlaps": float(settings.two_batch_overlap),
    }
    return Replica(**{name: np.broadcast_to(np.asarray(value, float), 1) for name, value in columns.items()})


def stacked(replicas: Sequence[Replica]) -> Replica:
    """Return the rows of several one under the other."""
    return Replica(
        **{
            one.name: np.concatenate([getattr(part, one.name) for part in replicas])
            for one in fields(Replica)
        }
    )


def _cached_flops(model: TransformerModel) -> float:
    latent = model.latent
    if latent is None or model.indexer is not None:
        return 0.0
    return 2.0 * model.heads * (2 * latent.key_value_rank + latent.rope_head_dim) * model.attention_layers


def _pair_flops(model: TransformerModel, tensor: Floats) -> dict[str, Floats]:
    """Return FLOP of a pair of tokens in layers that look at all, and in those of windows or sparse attention."""
    value_dim = model.head_dim if model.latent is None else model.latent.value_head_dim
    one = 2.0 * model.heads * (model.head_dim + value_dim)
    looked_at = 2.0 * model.indexer.heads * model.indexer.head_dim if model.indexer else 0.0
    whole = (model.attention_layers - model.window_layers) * one + model.attention_layers * looked_at
    return {"pair_flops": whole / tensor, "window_pair_flops": model.window_layers * one / tensor}


def _domains_visited(model: TransformerModel, stage: Floats, domain: float) -> Floats:
    experts = model.experts
    if experts is None:
        return np.ones(np.shape(stage))
    groups = experts.route_groups, experts.groups_per_token
    counts, place = np.unique(np.maximum(stage / domain, 1.0), return_inverse=True)
    visited = [expected_places(experts.count, experts.per_token, one, *groups) for one in counts.tolist()]
    return np.asarray(np.array(visited)[place].reshape(np.shape(stage)))


def scale_up_ranks(accelerator: Accelerator) -> int:
    """Return the number of accelerators joined by the scale-up links."""
    domain = accelerator.scale_up_domain
    return int(domain) if domain.isdigit() and int(domain) > 1 else SERVER


def served_system(cluster: ClusterSpec) -> System:
    """Return the servers of a cluster, with the scale-up links of the catalogue."""
    inside_bps = find_accelerator(cluster.accelerator).scale_up_bandwidth_bps or UNKNOWN_LINK_BPS
    per_server = cluster.accelerators_per_server
    each_bps = cluster.server_bandwidth_bps / per_server
    return usual_system(cluster.accelerator, per_server, inside_bps, each_bps, cluster.link_latency_s)


@lru_cache(maxsize=4096)
def _links(system: System, split: Parallelism, on_fabric: bool) -> Mapping[str, Floats | float]:
    """Return the times of collectives, by the law of training; see :class:`Replica`."""
    links = Links(machine_of(system), find_calibration(system.accelerator))
    domain, ranks = system.accelerators_per_server, np.full(1, float(split.tensor))
    names = ("reduce_latency_s", "reduce_s_per_byte", "direct_step_s", "direct_s_per_byte")
    inside = links.spread(ranks, np.ones(1))[1]
    away = split.accelerators > domain
    stride = np.full(1, float(domain if away else 1))
    handoff_s = links.transfer_s(stride, np.zeros(1))
    nic_s_per_byte = 8 / system.network_bandwidth_bps if on_fabric else 0.0
    return {
        "network_bytes_per_s": np.inf if on_fabric else system.network_bandwidth_bps / 8,
        "domain": domain,
        "link_s_per_byte": links.scale_up_s_per_byte,
        **dict(zip(names, links.allreduce_terms(ranks, np.ones(1)), strict=True)),
        "handoff_s": handoff_s,
        "handoff_s_per_byte": links.transfer_s(stride, np.ones(1)) - handoff_s - away * nic_s_per_byte,
        "reduce_fabric_s_per_byte": 2 * (1 / inside - 1 / ranks) * nic_s_per_byte,
    }
