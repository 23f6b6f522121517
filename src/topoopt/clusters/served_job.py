"""Results of a served model: transfer times of its sends and latencies, beside others and alone."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.catalog import ClusterSpec
from topoopt.clusters.job_shape import JobShape
from topoopt.clusters.pace import IterationTimes, JobPlan, PlacedJob
from topoopt.clusters.result import AnswerTime, IterationTime, ServedAnswers, ServedRecord
from topoopt.clusters.served_model import ServedModel, ServingPart, served_model
from topoopt.clusters.settings import Planning
from topoopt.clusters.shared_fabric import shared_fabric, shared_pace
from topoopt.clusters.statistics import distribution
from topoopt.finder import FabricRequest
from topoopt.inference import Objectives, Service, ServingStack, answer_times, service_on
from topoopt.jobs import traffic_job
from topoopt.routing import Fabric
from topoopt.search import make_plan
from topoopt.workloads import Traffic, Transfers

KEPT = 256
_SEED = 0
"""Random seed of arrivals: a served model gets the same requests on every fabric."""
Weights = defaultdict[float, float]
"""Number of cycles by send time; a cycle counts once, whatever is sent in it."""


class WatchedSends:
    """Sends of a served model, by kind.

    Attributes
    ----------
    requests, requests_alone : mapping from seconds to cycles
        Keys and values of single requests.
    steady, steady_alone : mapping from seconds to cycles
        Exchanges of experts, stages and split layers.
    """

    def __init__(self) -> None:
        self.requests: Weights = defaultdict(float)
        self.requests_alone: Weights = defaultdict(float)
        self.steady: Weights = defaultdict(float)
        self.steady_alone: Weights = defaultdict(float)

    def count(self, times: IterationTimes, cycles: float) -> None:
        """Count cycles at a pace, which is that of the model alone where no other job can interfere."""
        alone = times.sends_alone if times.alone_s else times.sends
        _count(self.requests, times.sends.requests.samples_s, cycles)
        _count(self.requests_alone, alone.requests.samples_s, cycles)
        _count(self.steady, times.sends.steady.samples_s, cycles)
        _count(self.steady_alone, alone.steady.samples_s, cycles)

    @property
    def beside(self) -> Weights:
        """Sends of both kinds, beside the other jobs."""
        return _both(self.requests, self.steady)

    @property
    def alone(self) -> Weights:
        """Sends of both kinds, alone."""
        return _both(self.requests_alone, self.steady_alone)


NO_LIMIT_S = 1e15
"""Default for a missing objective."""


def served_record(
    sends: WatchedSends, load: float, service: Service | None, words: ServingPart
) -> ServedRecord:
    """Return the record of a served model.

    Parameters
    ----------
    load
        The longest that its sends took of a cycle's time.
    service
        None where latencies are unknown.
    """
    answers = None if service is None else _answers(sends, service, words)
    return ServedRecord(sends_time(sends.beside), sends_time(sends.alone), load, answers)


def _answers(sends: WatchedSends, service: Service, words: ServingPart) -> ServedAnswers:
    """Return the latencies; exchanges of a step are stretched by the observed mean factor."""
    steady_s, steady_alone_s = sends_time(sends.steady).mean, sends_time(sends.steady_alone).mean
    slowness = max(steady_s / steady_alone_s, 1.0) if steady_alone_s else 1.0
    alone = answer_times(service, sends.requests_alone, 1.0)
    same = slowness == 1.0 and sends.requests == sends.requests_alone
    beside = alone if same else answer_times(service, sends.requests, slowness)
    said = words.slo_ttft is not None or words.slo_tpot is not None
    objectives = Objectives(words.slo_ttft or NO_LIMIT_S, words.slo_tpot or NO_LIMIT_S)
    met, met_alone = (float(objectives.met(*times).mean()) if said else None for times in (beside, alone))
    (ttft, tpot), (ttft_alone, tpot_alone) = (tuple(map(_spread, times)) for times in (beside, alone))
    assert ttft is not None
    assert ttft_alone is not None
    return ServedAnswers(ttft, ttft_alone, tpot, tpot_alone, met, met_alone, service.overloaded)


def _spread(times_s: Floats) -> AnswerTime | None:
    """Return mean and percentiles; None where no request has such a time."""
    known = times_s[~np.isnan(times_s)]
    if not len(known):
        return None
    return AnswerTime(float(known.mean()), *np.percentile(known, (50, 90, 99)).tolist())


def sends_time(weights: Mapping[float, float]) -> IterationTime:
    """Return mean and tail of seconds that count differently; 0 where nothing was sent."""
    if not weights:
        return IterationTime(0.0, 0.0)
    found = distribution(list(weights), list(weights.values()))
    return IterationTime(found.mean, found.p99)


def _count(weights: Weights, samples_s: Sequence[float], cycles: float) -> None:
    for sample_s in samples_s:
        weights[sample_s] += cycles / len(samples_s)


def _both(one: Weights, other: Weights) -> Weights:
    both: Weights = defaultdict(float, one)
    for time_s, cycles in other.items():
        both[time_s] += cycles
    return both


def cycle_s(shape: JobShape, planning: Planning) -> float:
    """Return the cycle time of a served model."""
    return float(_served(shape, _own_cluster(shape, planning)).graph.duration_s[0])


def dedicated_serving(shape: JobShape, planning: Planning) -> JobPlan:
    """Wire a served model's own servers for its traffic; keys and values are treated like other transfers."""
    served = _served(shape, _own_cluster(shape, planning))
    traffic = served.traffic.as_traffic()
    if (
        not len(traffic.transfers) and not traffic.allreduce
    ):  # replicas inside servers: what is wired must only be reached
        around = np.arange(shape.servers)
        ring = Transfers(around, np.roll(around, -1), np.ones(shape.servers, np.int64))
        traffic = Traffic(shape.servers, transfers=ring)
    if traffic.servers < shape.servers:
        traffic = replace(traffic, servers=shape.servers)
    job = traffic_job(f"{shape.model}, served", traffic, _own_cluster(shape, planning))
    plan = make_plan(job, planning.search, fabrics=(), weigh_routes=False)
    alone = _alone(served, plan.fabric, shape.servers)
    service = _service(served, plan.fabric, _own_cluster(shape, planning))
    return JobPlan(served.graph, alone, plan.fabric.topology, service)


def sharing_serving(shape: JobShape, fabric: str, server_bandwidth_bps: float, planning: Planning) -> JobPlan:
    """Return the plan of a served model on a fabric of its own size."""
    cluster = _own_cluster(shape, planning)
    served = _served(shape, cluster)
    request = FabricRequest(
        shape.servers,
        cluster.degree,
        cluster.link_bandwidth_bps,
        tuple(group.members for group in served.traffic.reduces),
        server_bandwidth_bps=server_bandwidth_bps,
        latency_s=cluster.link_latency_s,
    )
    own = shared_fabric(fabric, request)
    alone = _alone(served, own, shape.servers)
    return JobPlan(served.graph, alone, own.topology, _service(served, own, cluster))


def _service(served: ServedModel, fabric: Fabric, cluster: ClusterSpec) -> Service:
    words = served.words
    return service_on(
        fabric,
        served.model,
        served.deployment,
        cluster,
        served.load,
        stack=ServingStack(),
        spread=words.spread,
        seed=_SEED,
    )


def _own_cluster(shape: JobShape, planning: Planning) -> ClusterSpec:
    return replace(planning.cluster, servers=shape.servers)


@lru_cache(KEPT)
def _served(shape: JobShape, cluster: ClusterSpec) -> ServedModel:
    return served_model(shape.model, shape.serving, cluster, _SEED)


def _alone(served: ServedModel, fabric: Fabric, servers: int) -> IterationTimes:
    (times,) = shared_pace(fabric)([PlacedJob("alone", served.graph, tuple(range(servers)), spread=True)])
    return times
