"""Replicas that are left out take as long as those that are simulated: the unfolded run is the oracle."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulation.pipeline.steps import BANDWIDTH_BPS, equal_chunks, own_links, pipeline
from topoopt.catalog import ClusterSpec
from topoopt.finder import build_fabric, lay_rings
from topoopt.routing import Fabric, make_routes
from topoopt.search.baselines import fabric_request
from topoopt.simulation import SimResult, analytic_step, pipeline_task_graph, simulate
from topoopt.simulation.pipeline import steady
from topoopt.simulation.pipeline.folding import fold
from topoopt.workloads.pipelined_step import Chunk, Exchange, PipelinedStep, Synchronization

MB = 1_000_000
FABRICS = ("full-mesh", "broken", "ideal-switch", "fat-tree", "rail", "expander")
FIGURES = (
    "iteration_time_s",
    "compute_time_s",
    "busy_s",
    "link_bytes_max",
    "demanded_bytes",
    "bandwidth_tax",
)


def random_step(rng: np.random.Generator) -> PipelinedStep:
    """Return a step of random stages, replicas, servers, exchanges and synchronizations."""
    stages, replicas, parts = int(rng.integers(1, 4)), int(rng.integers(2, 7)), int(rng.integers(1, 3))
    count = stages * (int(rng.integers(1, 3)) if stages > 1 else 1)
    place = np.arange(stages * replicas * parts) // int(rng.integers(1, 3))
    if rng.random() < 0.3:
        place = rng.permutation(place)
    servers = place.reshape(stages, replicas, parts)
    if rng.random() < 0.3:
        servers = np.moveaxis(place.reshape(replicas, stages, parts), 0, 1)
    chunks = [
        Chunk(
            float(rng.integers(1, 5)),
            float(rng.integers(5, 9)),
            int(rng.integers(0, 3)) * 50 * MB,
            1e-3,
            rng.random() < 0.3,
        )
        for _ in range(count)
    ]
    chunks[-1] = replace(chunks[-1], output_bytes=0)
    group = int(rng.choice([size for size in range(1, replicas + 1) if replicas % size == 0]))
    exchanges = [
        Exchange(
            chunk, direction, moment, tuple(range(first, first + group)), members,
            ("allreduce", "all-to-all")[chunk % 2], (chunk % 3 + 1) * 40 * MB, 2, 1e-3, nic_s=1e-3 * (chunk % 2),
        )
        for chunk in range(count if rng.random() < 0.7 else 0)
        for first in range(0, replicas, group)
        for direction, moment in (("forward", "inside"), ("backward", ("inside", "after", "before")[chunk % 3]))
        if len(members := _members(servers[chunk % stages, first : first + group])) > 1
    ]  # fmt: skip
    synchronizations = [
        Synchronization(
            tuple(range(stage, count, stages)), who, _members(servers[stage, list(who)]),
            str(rng.choice(["allreduce", "reduce-scatter"])), int(rng.integers(1, 5)) * 100 * MB, 0.01,
            gather_bytes=50 * MB, turn=turn, overlap=float(rng.choice([0, 0.3, 0.6])),
        )
        for stage in range(stages)
        for turn, who in enumerate((tuple(range(replicas)), tuple(range(0, replicas, 2))))
        if turn == 0 or rng.random() < 0.3
    ]  # fmt: skip
    batches, last = stages * int(rng.integers(1, 4)), int(servers.max()) + 1
    return PipelinedStep(
        last, batches, tuple(chunks), servers, tuple(exchanges), tuple(synchronizations), 0.1
    )


def _members(servers: np.ndarray) -> tuple[int, ...]:
    return tuple(np.unique(servers).tolist())


def fabric_of(name: str, step: PipelinedStep, rng: np.random.Generator) -> Fabric:
    """Return a fabric with rings for a step; of a broken one a link has a third of the bandwidth."""
    servers = max(step.servers, 2)
    if name in ("full-mesh", "broken") or servers < 4:
        fabric = own_links(servers)
        topology = fabric.topology
        if name == "broken":
            bandwidth_bps = topology.bandwidth_bps.copy()
            bandwidth_bps[int(rng.integers(len(bandwidth_bps)))] /= 3
            topology = replace(topology, bandwidth_bps=bandwidth_bps)
        fabric = replace(fabric, topology=topology, routes=make_routes("ecmp", topology))
    else:
        cluster = ClusterSpec(servers, 4, BANDWIDTH_BPS)
        fabric = build_fabric(name, fabric_request(cluster, 4 * BANDWIDTH_BPS, 0))
    groups = [group.members for group in step.traffic.allreduce]
    return replace(
        fabric, rings={each: lay_rings(fabric.topology, fabric.routes, each, 4, 0) for each in groups}
    )


def check(step: PipelinedStep, fabric: Fabric) -> int:
    """Compare a step that can be folded with itself, and return the replicas that were simulated."""
    few = fold(step, fabric, exactly=True)
    if few is None:
        return step.replicas
    whole = simulate("analytic", pipeline_task_graph(step), fabric)
    found = few.of_all(few.simulated(pipeline_task_graph(few.step), fabric), fabric)
    for figure in FIGURES:
        assert getattr(found, figure) == pytest.approx(getattr(whole, figure), rel=1e-9), figure
    assert found.link_bytes == pytest.approx(whole.link_bytes, rel=1e-7)
    return few.folded.simulated


@settings(max_examples=200)
@given(st.integers(0, 2**31), st.sampled_from(FABRICS))
def test_a_folded_step_takes_as_long_as_all_of_it(seed: int, name: str) -> None:
    rng = np.random.default_rng(seed)
    step = random_step(rng)
    check(step, fabric_of(name, step, rng))


def plain_step(stages: int, replicas: int, batches: int) -> PipelinedStep:
    """Return equal stages on servers of their own whose replicas sum their gradients."""
    of_stage = np.arange(stages * replicas).reshape(stages, replicas).tolist()
    syncs = tuple(
        Synchronization((stage,), tuple(range(replicas)), tuple(members), "allreduce", 500 * MB)
        for stage, members in enumerate(of_stage)
    )
    return pipeline(stages, replicas, batches, equal_chunks(stages, 1.0, 2.0, 5 * MB), synchronizations=syncs)


@pytest.mark.parametrize(
    ("name", "simulated"),
    [("full-mesh", 1), ("broken", 2), ("ideal-switch", 1), ("rail", 1), ("fat-tree", 4)],
)
def test_one_replica_of_each_kind_is_simulated(name: str, simulated: int) -> None:
    step = plain_step(3, 4, 6)
    fabric = fabric_of("full-mesh" if name == "broken" else name, step, np.random.default_rng(0))
    if name == "broken":  # from the first stage of a replica to its second
        topology = fabric.topology
        slow = topology.link_ids(np.array([1]), np.array([5]))
        bandwidth_bps = topology.bandwidth_bps.copy()
        bandwidth_bps[slow] /= 3
        fabric = replace(fabric, topology=replace(topology, bandwidth_bps=bandwidth_bps))
    assert check(step, fabric) == simulated


def test_many_tasks_on_shared_links_are_those_of_one_block_and_not_exact(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    step = plain_step(4, 8, 40)
    fabric = fabric_of("fat-tree", step, np.random.default_rng(0))
    whole = simulate("analytic", pipeline_task_graph(step), fabric)
    monkeypatch.setattr(steady, "MANY_FLOWS", 100)
    monkeypatch.setattr(steady, "MOST_TASKS", 200)
    few = analytic_step(step, fabric)
    assert isinstance(few, SimResult)
    assert few.folded is not None
    assert (few.folded.simulated, few.folded.replicas, few.folded.exact) == (1, 8, False)
    assert few.iteration_time_s == pytest.approx(whole.iteration_time_s, rel=1e-3)
    assert few.link_bytes == pytest.approx(whole.link_bytes)
