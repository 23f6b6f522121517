"""A row of the comparison run by the simulator: what requests meet one by one, beside the closed form."""

from dataclasses import replace

import numpy as np

from topoopt.arrays import Floats
from topoopt.hardware import find_accelerator
from topoopt.serving.arrivals import Arrivals, draw_requests
from topoopt.serving.deployment import Pool
from topoopt.serving.fabrics.compared import Confirmed, ServedFabric
from topoopt.serving.fabrics.on_fabric import FabricQuestion
from topoopt.serving.kv_cache import cache_bytes_per_token, cache_capacity
from topoopt.serving.lengths import Lengths
from topoopt.serving.network.reach import StepReach
from topoopt.serving.objectives import Objectives
from topoopt.serving.simulator.fleet import Fleet, Replicas, Transfer, TransferRoutes
from topoopt.serving.simulator.run import simulate_serving
from topoopt.serving.step_table import StepTable

REQUESTS = 1000, 6000
"""Of a run, at least and at most: as many as come in so long as it takes to answer one, six times over."""

SMALLEST_SHARE = 1e-9
"""Of requests, from which a pairing joins two replicas."""

INSIDE_BYTES_PER_S = 1e15
"""Of a cache that crosses no link: both replicas are on one server, as in closed form."""


def confirmed(row: ServedFabric, question: FabricQuestion) -> Confirmed | None:
    """Return what the simulator says of a row, None where no request is answered in time.

    Transfers take the routes of the fabric, whose links they share max-min fairly; what experts and stages send leaves
    them the less of each. A router that knows the network gives caches to who has them first, of those that the pairing
    joins; others take turns.
    """
    load = row.on.load
    if not load.requests_per_s or not np.isfinite(row.on.expected.ttft_s):
        return None
    fleet = _fleet(row, question)
    lasting = 6 * row.on.request_s * load.requests_per_s
    requests = int(min(max(lasting, REQUESTS[0]), REQUESTS[1]))
    drawn = draw_requests(
        Arrivals(),
        requests,
        load.requests_per_s,
        Lengths(load.prompt_tokens),
        Lengths(load.answer_tokens),
        question.seed,
    )
    run = simulate_serving(fleet, drawn)
    kept = slice(requests // 3, -(requests // 6))  # the first find an empty fleet, the last leave one
    ttft_s, tpot_s = run.ttft_s[kept], run.tpot_s[kept]
    objectives = Objectives(min(question.ttft_s, 1e9), min(question.tpot_s, 1e9))
    return Confirmed(
        float(ttft_s.mean()),
        float(np.nanmean(tpot_s)),
        float(np.percentile(ttft_s, 90)),
        float(np.nanpercentile(tpot_s, 90)),
        float(objectives.met(ttft_s, tpot_s).mean()),
    )


def _fleet(row: ServedFabric, question: FabricQuestion) -> Fleet:
    deployment, load, way = row.deployment, row.on.load, row.on.reach
    busy = np.minimum(load.requests_per_s * way.kv_busy, 1.0)
    decode = _replicas(
        row,
        question,
        deployment.decode,
        with_network(row.laws.decode, way.decode, way.decode if deployment.prefill is None else None, busy),
    )
    if deployment.prefill is None:
        return Fleet(deployment.mode, decode, settings=deployment.settings)
    prefill = _replicas(
        row, question, deployment.prefill, with_network(row.laws.prefill, None, way.prefill, busy)
    )
    router = "round-robin" if row.on.pairing.name == "any" else "network-aware"
    return Fleet(deployment.mode, decode, prefill, deployment.settings, router, _transfer(row))


def with_network(
    table: StepTable, decoding: StepReach | None, reading: StepReach | None, busy: Floats
) -> StepTable:
    """Return a table of steps with what the network adds to those that decode and to those that read prompts."""

    def added(step: StepReach | None) -> Floats:
        if step is None:
            return np.zeros(len(table.tokens))
        return np.array([step.step_s(float(one), busy) for one in table.tokens])

    return replace(
        table, base_s=table.base_s + added(decoding), prefill_base_s=table.prefill_base_s + added(reading)
    )


def _replicas(row: ServedFabric, question: FabricQuestion, pool: Pool, table: StepTable) -> Replicas:
    settings, load = row.deployment.settings, row.on.load
    part = find_accelerator(question.cluster.accelerator)
    length = round(load.prompt_tokens + load.answer_tokens)
    room = cache_capacity(row.served.model, part, pool.parallelism, settings, length)
    budget = max(pool.token_budget, round(load.prompt_tokens) * pool.parallelism.attention_data)
    pages = max(int(room.request_tokens) // settings.page_tokens, 1)
    return Replicas(replace(pool, token_budget=budget), table, pages)


def _transfer(row: ServedFabric) -> Transfer:
    """Return the transfers over the links of the fabric, of which experts and stages use a share meanwhile."""
    way, laws, load = row.on.reach, row.laws, row.on.load
    readers, answerers = way.shares.shape
    count = readers + answerers
    each = cache_bytes_per_token(row.served.model, row.deployment.settings.kv_precision)
    link_bytes_per_s = row.on.fabric.topology.bandwidth_bps / 8
    others = np.minimum(load.requests_per_s * np.maximum(way.busy - way.kv_busy, 0.0), 1 - 1e-9)
    used = np.zeros((count, count, len(link_bytes_per_s)))
    used[:readers, readers:] = way.kv_link_s * link_bytes_per_s / (each * round(load.prompt_tokens))
    pair, link = np.nonzero(used.reshape(count * count, -1))
    routes = TransferRoutes(
        np.searchsorted(pair, np.arange(count * count + 1)),
        link,
        used.reshape(count * count, -1)[pair, link],
        link_bytes_per_s * laws.transfer.efficiency * (1 - others),
    )
    allowed = np.ones((count, count), np.bool_)
    allowed[:readers, readers:] = way.shares > SMALLEST_SHARE
    return Transfer(
        np.full((count, count), laws.transfer.start_s),
        np.full((count, count), INSIDE_BYTES_PER_S),
        each,
        row.served.model.layers if laws.by_layer else 1,
        routes,
        allowed,
    )
