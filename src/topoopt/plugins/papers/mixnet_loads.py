"""All-to-alls of experts whose loads change from layer to layer and over training, on circuits that follow or stay."""

from collections.abc import Iterator
from itertools import islice

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.finder import exchange_time_s, improved_circuits, regional_circuits
from topoopt.plugins.papers.figure import Row
from topoopt.plugins.papers.mixnet_jobs import JOBS, PER_SERVER, MoeJob
from topoopt.transformers import (
    ExpertLoads,
    loads_over_iterations,
    predict_loads,
    token_matrix,
    uniform_loads,
    zipf_loads,
)
from topoopt.workloads.transformer import TransformerModel, find_transformer

ZIPF = 1.0
"""Exponent of the loads at the start of training; an assumption."""

OPTICAL = 6
FOLLOWED, PREDICTED = "follow the loads", "predicted from the layer before"
LAYER_BEFORE, WIRED_ONCE = "loads of the layer before", "wired once, at iteration 0"
EVEN, IMPROVED, TREE = "even", "follow, improved by exchanges", "fat-tree"
"""What circuits are chosen for; a fat-tree has none."""

SEEN = 20
"""Iterations from which the transitions between layers are fitted."""


def loads_rows(
    name: str, bandwidth_bps: float, iterations: tuple[int, ...], every: int, seed: int
) -> Iterator[Row]:
    """Yield the mean time of an all-to-all on circuits chosen in several ways, every ``every``-th layer taken.

    Members of an all-to-all are servers, each with an equal share of the experts. Circuits are chosen greedily from
    the loads of the layer itself, from those predicted by the layer before, from those of the last layer, from those
    of the layer in iteration 0 (wired once), or from even loads; and by exchanges from the layer's own.
    """
    job = JOBS[name]
    model = find_transformer(job.model)
    first = zipf_loads(model, ZIPF, seed)
    course = list(islice(loads_over_iterations(first, seed), max(iterations) + 1))
    for iteration in iterations:
        now, before = course[iteration], course[max(iteration - SEEN, 0) : iteration] or [course[0]]
        shifted = ExpertLoads(now.layers, np.roll(now.shares, 1, axis=0))
        guesses = {
            FOLLOWED: now,
            PREDICTED: predict_loads(before, now),
            LAYER_BEFORE: shifted,
            WIRED_ONCE: first,
            EVEN: uniform_loads(model),
        }
        layers = range(0, len(now.layers), every)
        actual = [_demand(job, model, now, layer) for layer in layers]
        times_s = {}
        for circuits, guess in guesses.items():
            planned = [_demand(job, model, guess, layer) for layer in layers]
            chosen = [regional_circuits(demand, OPTICAL, "break") for demand in planned]
            times_s[circuits] = _mean_s(actual, chosen, bandwidth_bps)
        chosen = [improved_circuits(demand, OPTICAL, 1.0, float(PER_SERVER - OPTICAL)) for demand in actual]
        times_s[IMPROVED] = _mean_s(actual, chosen, bandwidth_bps)
        times_s[TREE] = _tree_s(actual, bandwidth_bps)
        for circuits, time_s in times_s.items():
            yield {
                "model": name,
                "bandwidth_bps": bandwidth_bps,
                "fabric": TREE if circuits == TREE else "mixnet",
                "circuits": circuits,
                "training_iteration": iteration,
                "exchange_time_s": time_s,
            }


def _demand(job: MoeJob, model: TransformerModel, loads: ExpertLoads, layer: int) -> Floats:
    """Return the bytes that the servers of an expert group send each other in one dispatch."""
    assert model.experts is not None
    one = job.configuration
    tokens = one.micro_batch * one.sequence / job.tp
    ranks = token_matrix(loads.shares[layer], job.ep, tokens, model.experts.per_token)
    per_server = max(PER_SERVER // job.etp, 1)  # expert ranks of a server
    servers = job.ep // per_server
    blocks = ranks.reshape(servers, per_server, servers, per_server).sum(axis=(1, 3))
    demand: Floats = blocks * model.hidden * 2.0 * job.etp
    np.fill_diagonal(demand, 0.0)
    return demand


def _mean_s(demands: list[Floats], circuits: list[Ints], bandwidth_bps: float) -> float:
    electrical_bps = (PER_SERVER - OPTICAL) * bandwidth_bps
    pairs = zip(demands, circuits, strict=True)
    return float(np.mean([exchange_time_s(d, c, bandwidth_bps, electrical_bps) for d, c in pairs]))


def _tree_s(demands: list[Floats], bandwidth_bps: float) -> float:
    busiest = [max(demand.sum(axis=0).max(), demand.sum(axis=1).max()) for demand in demands]
    return float(np.mean(busiest)) * 8.0 / (PER_SERVER * bandwidth_bps)
