"""The part of a plan file that is known traffic: transfers, AllReduces, and a graph of no operators."""

from typing import Any

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.catalog import find_accelerator
from topoopt.jobs import TrafficWork
from topoopt.plans import model
from topoopt.plans.plan import Plan
from topoopt.workloads import AllReduceGroup, OperatorGraph, Transfers, merged_traffic

NO_MEMORY = dict.fromkeys(
    ("parameters_bytes", "gradients_bytes", "optimizer_bytes", "embedding_bytes", "activations_bytes"), 0.0
)


def traffic_to_mapping(plan: Plan) -> dict[str, Any]:
    """Return the keys of a plan of known traffic."""
    work = plan.job.work
    assert isinstance(work, TrafficWork)
    moved = work.demand.transfers
    return {
        "graph": OperatorGraph(work.name, (), 1),
        "fixed_traffic": np.stack([moved.src, moved.dst, moved.size_bytes], axis=1).tolist(),
        "fixed_allreduce": [(list(group.members), group.size_bytes) for group in work.demand.allreduce],
        "fixed_compute_s": work.compute_s,
        "fixed_hidden_share": work.hidden_share,
        "memory": {
            "server": 0,
            **NO_MEMORY,
            "total_bytes": 0.0,
            "available_bytes": find_accelerator(plan.job.cluster.accelerator).memory_bytes,
            "fits": True,
        },
    }


def traffic_from_file(file: model.PlanFile) -> TrafficWork:
    """Return the work that a plan file describes.

    Raises
    ------
    InvalidInput
        If a server is not of the cluster, or there are operators beside the traffic.
    """
    servers = file.cluster.servers
    for index, (src, dst, _) in enumerate(file.fixed_traffic):
        if max(src, dst) >= servers:
            raise InvalidInput(f"fixed_traffic[{index}]: servers are 0..{servers - 1}, got {src} and {dst}")
    for index, (members, _) in enumerate(file.fixed_allreduce):
        if max(members) >= servers or sorted(set(members)) != members:
            raise InvalidInput(
                f"fixed_allreduce[{index}]: expected servers of 0..{servers - 1} ascending, got {members!r:.60}"
            )
    if file.graph.operators:
        raise InvalidInput("fixed_traffic: is of a job without operators, and graph has some")
    rows = np.array(file.fixed_traffic, np.int64).reshape(-1, 3)
    groups = [AllReduceGroup(tuple(members), size) for members, size in file.fixed_allreduce]
    demand = merged_traffic(servers, groups, (), Transfers(*rows.T))
    return TrafficWork(
        file.graph.name, demand, compute_s=file.fixed_compute_s, hidden_share=file.fixed_hidden_share
    )
