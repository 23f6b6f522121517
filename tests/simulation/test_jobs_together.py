"""Several jobs on one fabric: alone where they share nothing, slowed as arithmetic says where they do."""

import numpy as np
import pytest

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.collectives import occupancy_bytes, path_overhead
from topoopt.routing import Fabric, make_routes
from topoopt.simulation import (
    COLLECTIVE,
    COMPUTE,
    TRANSFER,
    SimulationOptions,
    TaskGraph,
    TaskRows,
    merge_jobs,
    place_jobs,
    placed_groups,
    simulate,
    simulate_together,
    task_graph_from_edges,
)
from topoopt.topologies import Link, Ring, Topology, circulant, ideal_switch, topology_from_links

NONE = np.zeros(0, np.int64)
MEGABYTE = 10**6


def one_transfer(size_bytes: int, compute_s: float = 0.0) -> TaskGraph:
    """Server 0 computes, then sends to server 1."""
    rows = [
        TaskRows(COMPUTE, 1, compute_s, server=0),
        TaskRows(TRANSFER, 1, src=0, dst=1, size_bytes=size_bytes),
    ]
    return task_graph_from_edges(2, rows, np.array([0]), np.array([1]))


def training(servers: int, size_bytes: int) -> TaskGraph:
    """Every server computes, hands something on, and all reduce."""
    computes = TaskRows(COMPUTE, servers, 1e-3, server=np.arange(servers))
    sends = TaskRows(TRANSFER, 1, src=0, dst=servers - 1, size_bytes=MEGABYTE)
    reduces = TaskRows(COLLECTIVE, 1, size_bytes=size_bytes, collective=0, members=(tuple(range(servers)),))
    before = [*range(servers), 0]
    after = [servers + 1] * servers + [servers]
    return task_graph_from_edges(servers, [computes, sends, reduces], np.array(before), np.array(after))


def on(topology: Topology, rings: dict[tuple[int, ...], tuple[Ring, ...]] | None = None) -> Fabric:
    return Fabric("test", topology, make_routes("single-shortest", topology), rings or {})


def two_shards() -> Topology:
    """Two circulants of six with nothing between them."""
    links = [
        Link(shard + link.src, shard + link.dst, link.bandwidth_bps, link.latency_s)
        for shard in (0, 6)
        for link in circulant(6, [1, 2], 100e9)
    ]
    return topology_from_links("shards", 12, links)


simulators = pytest.mark.parametrize("simulator", ["analytic", "flow"])


@simulators
def test_jobs_on_shards_of_their_own_run_as_if_alone(simulator: str) -> None:
    jobs = [training(6, 30 * MEGABYTE), training(6, 100 * MEGABYTE)]
    alone = [simulate(simulator, job, on(circulant(6, [1, 2], 100e9))).iteration_time_s for job in jobs]
    together = simulate_together(simulator, jobs, on(two_shards()))
    assert together.first_s == pytest.approx(alone, rel=1e-9)
    assert together.mean_s == pytest.approx(alone, rel=1e-9)
    # the short job goes on until the long one is done once
    assert together.iterations == (int(alone[1] / alone[0]), 1)


def test_two_jobs_that_send_to_one_port_take_as_long_as_both_together() -> None:
    fabric = on(ideal_switch(4, 100e9))
    jobs = [one_transfer(50 * MEGABYTE), one_transfer(50 * MEGABYTE)]
    # alone, the same job over and over takes its own time
    alone_s = simulate_together("flow", jobs[:1], fabric).first_s[0]
    byte_s, overhead = 8 / 100e9, path_overhead([100e9, 100e9], [1e-6, 1e-6])
    assert alone_s == pytest.approx(overhead.total_s + int(occupancy_bytes(50 * MEGABYTE)) * byte_s, rel=1e-9)
    # both receivers behind one narrow link of 100 Gb/s
    links = [Link(a, 4, 100e9) for a in (0, 2)] + [Link(4, 5, 100e9)] + [Link(5, b, 100e9) for b in (1, 3)]
    narrow = on(topology_from_links("dumbbell", 4, links, 6))
    together = simulate_together("flow", jobs, narrow)
    overhead = path_overhead([100e9] * 3, [1e-6] * 3)
    both_s = overhead.total_s + 2 * int(occupancy_bytes(50 * MEGABYTE)) * byte_s
    assert together.first_s == pytest.approx([both_s, both_s], rel=1e-9)
    assert together.iterations == (1, 1)


def test_a_short_job_slows_a_long_one_down_again_and_again() -> None:
    links = [Link(a, 4, 100e9) for a in (0, 2)] + [Link(4, 5, 100e9)] + [Link(5, b, 100e9) for b in (1, 3)]
    links = [Link(link.src, link.dst, link.bandwidth_bps, 0.0) for link in links]
    narrow = on(topology_from_links("dumbbell", 4, links, 6))
    long, short = one_transfer(400 * MEGABYTE), one_transfer(10 * MEGABYTE)
    together = simulate_together("flow", [long, short], narrow)
    # the link is shared in halves all the time, but for the short job's overhead
    assert together.first_s[0] == pytest.approx(2 * 400e6 * 8 / 100e9, rel=5e-3)
    assert together.mean_s[1] == pytest.approx(2 * 10e6 * 8 / 100e9, rel=5e-3)
    assert together.iterations == (1, 39)


@simulators
def test_repetitions_run_one_after_the_other(simulator: str) -> None:
    job, fabric = training(4, 10 * MEGABYTE), on(ideal_switch(4, 100e9))
    merged = merge_jobs([job], ((0, 1, 2, 3),), [3], 4)
    assert len(merged.graph) == 3 * len(job) + 2
    assert merged.graph.iterations == 3
    alone_s = simulate(simulator, job, fabric).iteration_time_s
    ends_s = merged.ends_s(0, simulate(simulator, merged.graph, fabric).finish_s)
    assert ends_s.tolist() == pytest.approx([alone_s, 2 * alone_s, 3 * alone_s], rel=1e-9)


def test_a_placement_moves_a_job_and_its_groups() -> None:
    job = training(3, MEGABYTE)
    merged = merge_jobs([job, job], ((5, 1, 3), (0, 2, 4)), [1, 2], 6)
    assert merged.graph.members(4) == (5, 1, 3)
    assert (merged.graph.src[3], merged.graph.dst[3]) == (5, 3)
    assert merged.first_task == (0, len(job))
    assert placed_groups([job, job], ((5, 1, 3), (0, 2, 4))) == ((0, 2, 4), (1, 3, 5))


def test_the_rings_of_a_placed_group_are_used() -> None:
    job = training(6, 60 * MEGABYTE)
    groups = placed_groups([job, job], place_jobs([6, 6], 12))
    rings = {group: tuple(Ring(stride, walk, walk) for stride, walk in both_ways(group)) for group in groups}
    one_ring = simulate_together("flow", [job, job], on(two_shards()))
    two_rings = simulate_together("flow", [job, job], on(two_shards(), rings))
    # 60 MB over six servers: 10/6 of it on every edge, on two rings half as much; but the second one meets the
    # transfer of 1 MB
    saved_s = (10 / 6 * 60e6 / 2 - 1e6) * 8 / 100e9
    assert one_ring.first_s[0] - two_rings.first_s[0] == pytest.approx(saved_s, rel=0.01)
    assert two_rings.first_s[0] == two_rings.first_s[1]


def both_ways(group: tuple[int, ...]) -> list[tuple[int, tuple[int, ...]]]:
    return [(1, group), (len(group) - 1, (group[0], *reversed(group[1:])))]


@pytest.mark.parametrize(
    ("how", "expected"), [("contiguous", ((0, 1, 2), (3, 4))), ("strided", ((0, 2, 4), (1, 3)))]
)
def test_placements_are_as_named(how: str, expected: tuple[tuple[int, ...], ...]) -> None:
    assert place_jobs([3, 2], 6, how) == expected


def test_random_placements_come_from_the_seed_and_overlap_nowhere() -> None:
    first, again, other = (place_jobs([5, 6], 40, "random", seed) for seed in (1, 1, 2))
    assert first == again != other
    assert len({server for row in first for server in row}) == 11


def test_mistakes_are_one_line_errors() -> None:
    job, fabric = one_transfer(MEGABYTE), on(ideal_switch(4, 100e9))
    with pytest.raises(Infeasible, match="3 jobs need 6 servers, the fabric has 4; take a larger fabric"):
        simulate_together("flow", [job] * 3, fabric)
    with pytest.raises(InvalidInput, match="server 1 is given to job 0 and to job 1"):
        simulate_together("flow", [job, job], fabric, ((0, 1), (1, 2)))
    with pytest.raises(InvalidInput, match=r"job 1: server must be in 0\.\.3, got 4"):
        simulate_together("flow", [job, job], fabric, ((0, 1), (2, 4)))
    with pytest.raises(InvalidInput, match="job 0 has 2 servers, its row names 1"):
        simulate_together("flow", [job], fabric, ((0,),))
    with pytest.raises(InvalidInput, match="expected at least one, got none"):
        simulate_together("flow", [], fabric)
    with pytest.raises(InvalidInput, match="job 0: has no tasks"):
        simulate_together("flow", [task_graph_from_edges(2, [], NONE, NONE)], fabric)
    with pytest.raises(InvalidInput, match='placement: unknown name "striped"; did you mean strided'):
        place_jobs([1], 4, "striped")
    with pytest.raises(InvalidInput, match="job 1 would be repeated"):
        simulate_together("analytic", [one_transfer(0, 1e3), one_transfer(0, 1e-5)], fabric)


def test_a_job_that_takes_no_time_ends_at_once() -> None:
    together = simulate_together(
        "flow", [one_transfer(MEGABYTE), one_transfer(0)], on(ideal_switch(4, 100e9))
    )
    assert (together.first_s[1], together.mean_s[1], together.iterations[1]) == (0.0, 0.0, 1)


def bottleneck() -> Fabric:
    """Two senders, 0 and 2, and two receivers, on both sides of a link of 100 Gb/s without latency."""
    links = [Link(a, 4, 100e9, 0.0) for a in (0, 2)] + [Link(4, 5, 100e9, 0.0)]
    return on(topology_from_links("dumbbell", 4, links + [Link(5, b, 100e9, 0.0) for b in (1, 3)], 6))


def test_every_iteration_of_jobs_that_begin_apart_is_known() -> None:
    """Both send for 4 ms of 10; the second begins 2 ms later, so 2 + 2 x 2 ms of each are shared: 12 ms, for ever."""
    job = one_transfer(50 * MEGABYTE, 6e-3)
    together = simulate_together("flow", [job, job], bottleneck(), iterations=4, begin_s=(0.0, 2e-3))
    assert together.iterations == (4, 4)
    assert together.begin_s == (0.0, 2e-3)
    for times_s in together.iteration_times_s:
        assert times_s == pytest.approx([12e-3] * 4, rel=5e-3)
    assert together.first_s == pytest.approx([12e-3] * 2, rel=5e-3)
    assert together.mean_s == pytest.approx([12e-3] * 2, rel=5e-3)
    assert together.marks is None
    # at the shift of CASSINI, 4 ms and more, they never meet
    apart = simulate_together("flow", [job, job], bottleneck(), iterations=4, begin_s=(0.0, 5e-3))
    assert np.concatenate(apart.iteration_times_s) == pytest.approx(10e-3, rel=5e-3)


@pytest.mark.parametrize("simulator", ["analytic", "flow", "packet"])
def test_a_job_that_begins_later_is_later_and_no_slower(simulator: str) -> None:
    job, fabric = training(4, 10 * MEGABYTE), on(ideal_switch(4, 100e9))
    now = simulate_together(simulator, [job], fabric, iterations=2)
    later = simulate_together(simulator, [job], fabric, iterations=2, begin_s=(0.5,))
    assert later.ends_s[0] == pytest.approx(now.ends_s[0] + 0.5, rel=1e-12)
    assert later.iteration_times_s[0] == pytest.approx(now.iteration_times_s[0], rel=1e-9)
    assert later.result.graph.job.max() == 0


def test_marks_are_those_of_each_job_in_any_order_of_tasks() -> None:
    jobs = [one_transfer(50 * MEGABYTE), one_transfer(10 * MEGABYTE), one_transfer(100_000)]
    fabric = on(ideal_switch(6, 100e9))
    crowded = ((0, 5), (1, 4), (2, 3))
    assert simulate_together("packet", jobs, fabric, crowded, iterations=1).marks == (0, 0, 0)
    links = (
        [Link(a, 6, 100e9) for a in range(3)] + [Link(6, 7, 100e9)] + [Link(7, b, 100e9) for b in range(3, 6)]
    )
    narrow = on(topology_from_links("dumbbell", 6, links, 8))
    for seed in (0, 3):
        run = simulate_together("packet", jobs, narrow, crowded, SimulationOptions(seed=seed), iterations=1)
        assert run.marks is not None
        assert run.result.packet is not None
        assert sum(run.marks) == run.result.packet.marks
        assert run.marks[0] > run.marks[1] > run.marks[2] == 0


def test_times_to_begin_are_checked() -> None:
    job, fabric = one_transfer(MEGABYTE), on(ideal_switch(4, 100e9))
    with pytest.raises(InvalidInput, match="begin: expected a time for each of 2 jobs, got 1"):
        simulate_together("flow", [job, job], fabric, begin_s=(1.0,))
    with pytest.raises(InvalidInput, match="begin: job 1: expected a finite time >= 0, got -1 s"):
        simulate_together("flow", [job, job], fabric, begin_s=(0.0, -1.0))
    with pytest.raises(InvalidInput, match="iterations: expected an integer >= 1, got 0"):
        simulate_together("flow", [job], fabric, iterations=0)
