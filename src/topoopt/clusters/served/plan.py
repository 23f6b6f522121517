"""The plan of a served model: the wiring for what it sends, and how long its sends take where nobody disturbs them."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from topoopt.catalog import ClusterSpec, largest_degree
from topoopt.clusters.job_plan import JobPlan
from topoopt.clusters.job_shape import JobShape
from topoopt.clusters.pace import IterationTimes, PlacedJob
from topoopt.clusters.served.model import ServedModel, served_model
from topoopt.clusters.settings import Planning
from topoopt.clusters.shared import shared_fabric, shared_pace
from topoopt.finder import FabricRequest
from topoopt.inference import Service, ServingStack, service_on
from topoopt.jobs import Job, traffic_job
from topoopt.routing import Fabric
from topoopt.search import make_plan
from topoopt.workloads import Traffic, Transfers

KEPT = 256
_SEED = 0
"""Of arrivals: the same requests come to a served model on every fabric."""


def cycle_s(shape: JobShape, planning: Planning) -> float:
    """Return how long a cycle of a served model is."""
    return float(_served(shape, _own_cluster(shape, planning)).graph.duration_s[0])


def dedicated_serving(shape: JobShape, planning: Planning) -> JobPlan:
    """Wire a served model's own servers for what it sends: keys and values as any transfers."""
    served = _served(shape, _own_cluster(shape, planning))
    plan = make_plan(_job(shape, served, planning), planning.search, fabrics=(), weigh_routes=False)
    alone = _alone(served, plan.fabric, shape.servers)
    service = _service(served, plan.fabric, _own_cluster(shape, planning))
    return JobPlan(served.graph, alone, plan.fabric.topology, service)


def sharing_serving(shape: JobShape, fabric: str, server_bandwidth_bps: float, planning: Planning) -> JobPlan:
    """Return a served model on a fabric of its own size."""
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
    """Return what says how long answers take."""
    words = served.words
    stack = ServingStack(words.engine)
    return service_on(
        fabric,
        served.model,
        served.deployment,
        cluster,
        served.load,
        stack=stack,
        spread=words.spread,
        seed=_SEED,
    )


def _own_cluster(shape: JobShape, planning: Planning) -> ClusterSpec:
    degree = min(planning.cluster.degree, largest_degree(shape.servers))
    return replace(planning.cluster, servers=shape.servers, degree=degree)


@lru_cache(KEPT)
def _served(shape: JobShape, cluster: ClusterSpec) -> ServedModel:
    return served_model(shape.model, shape.serving, cluster, _SEED)


def _job(shape: JobShape, served: ServedModel, planning: Planning) -> Job:
    traffic = served.traffic.as_traffic()
    if (
        not len(traffic.transfers) and not traffic.allreduce
    ):  # replicas inside servers: what is wired must only be reached
        around = np.arange(shape.servers)
        ring = Transfers(around, np.roll(around, -1), np.ones(shape.servers, np.int64))
        traffic = Traffic(shape.servers, transfers=ring)
    if traffic.servers < shape.servers:
        traffic = replace(traffic, servers=shape.servers)
    return traffic_job(f"{shape.model}, served", traffic, _own_cluster(shape, planning))


def _alone(served: ServedModel, fabric: Fabric, servers: int) -> IterationTimes:
    (times,) = shared_pace(fabric)([PlacedJob("alone", served.graph, tuple(range(servers)), spread=True)])
    return times
