"""Figure 16 in small: links of one's own are worth what they promise, shared ones are not."""

from dataclasses import replace

import numpy as np
import pytest

from topoopt.jobs import job_traffic
from topoopt.plugins.papers.fig16_17 import (
    AT_RANDOM,
    DEGREE,
    IDEAL,
    IN_A_ROW,
    PLACED,
    PRICED_TREE,
    QUICK,
    TOPOOPT,
    TREE,
    Fig16Grid,
    even_jobs,
    fig16_on,
)
from topoopt.plugins.papers.figure import Figure, StudySettings
from topoopt.plugins.papers.published_jobs import BULK, published_job, released_fabric
from topoopt.routing import Fabric, make_routes
from topoopt.search import simulated, starting_strategy, task_graph_of
from topoopt.simulation import simulate_together
from topoopt.topologies import Ring, topology_from_arrays

pytestmark = pytest.mark.long
SMALL = Fig16Grid((3, 27), (IN_A_ROW, AT_RANDOM), 1, 50, 20)


@pytest.fixture(scope="module")
def small() -> Figure:
    return fig16_on(SMALL, StudySettings(quick=True), lambda *_: None)


def mean_s(figure: Figure, fabric: str, jobs: int, placement: str) -> float:
    where = {"fabric": fabric, "jobs": jobs, "placement": placement}
    (row,) = (row for row in figure.rows if all(row[key] == value for key, value in where.items()))
    found: float = row["mean_iteration_time_s"]
    return found


def test_every_load_has_every_fabric_once(small: Figure) -> None:
    assert len(small.rows) == 2 * 2 * 5
    assert len({tuple(row) for row in small.rows}) == 1
    assert all(row["mean_iteration_time_s"] <= row["max_iteration_time_s"] for row in small.rows)


def test_every_load_has_the_released_mix() -> None:
    """36 % DLRM, 42 % BERT, 18 % CANDLE, 4 % VGG, to within a job."""
    for count in QUICK.loads:
        models = [job.model for job in even_jobs(count)]
        for model, share in (("dlrm", 0.36), ("bert", 0.42), ("candle", 0.18), ("vgg16", 0.04)):
            assert abs(models.count(model) - share * count) < 1
    assert even_jobs(27)[:5] == even_jobs(5)


@pytest.mark.parametrize("jobs", SMALL.loads)
def test_no_placement_is_felt_on_links_of_ones_own(small: Figure, jobs: int) -> None:
    for fabric in (TOPOOPT, IDEAL):
        in_a_row, at_random = (mean_s(small, fabric, jobs, placement) for placement in SMALL.placements)
        assert in_a_row == pytest.approx(at_random, rel=1e-3)


def test_more_bandwidth_makes_the_fat_tree_faster_and_distance_slower(small: Figure) -> None:
    for placement in SMALL.placements:
        narrow, wide, own = (mean_s(small, fabric, 27, placement) for fabric in (TREE, PRICED_TREE, TOPOOPT))
        assert own < wide < narrow
    assert mean_s(small, TREE, 27, IN_A_ROW) < mean_s(small, TREE, 27, AT_RANDOM)


def test_load_is_felt_on_the_shared_fat_tree_alone(small: Figure) -> None:
    growth = {row.what: row.ours for row in small.comparisons if "the same 3 jobs" in row.what}
    assert len(growth) == 4
    for what, times in growth.items():
        assert times == 1 if what.startswith(TOPOOPT) else times > 0.99
    assert growth[f"{TREE}: the same 3 jobs among 27 over by themselves, {PLACED[AT_RANDOM]}"] > 1.02


def test_jobs_on_wirings_of_their_own_do_not_notice_each_other() -> None:
    """Three jobs on one topology of 48 servers, simulated at once, take as long as each by itself."""
    exact = replace(BULK, tolerance=0.0)
    graphs, alone_s, src, dst, bandwidth_bps, latency_s, rings = [], [], [], [], [], [], {}
    for place, model in enumerate(("dlrm", "vgg16", "dlrm")):
        job = published_job(model, 16, DEGREE, 100e9)
        strategy = starting_strategy(job)
        shard = released_fabric(job, job_traffic(job, strategy))
        wires, first = shard.topology, 16 * place
        fabric = Fabric("shard", wires, make_routes("single-shortest", wires), shard.rings)
        graphs.append(task_graph_of(job, strategy))
        alone_s.append(simulated(job, strategy, fabric, "flow", exact).iteration_time_s)
        src.append(wires.src + first)
        dst.append(wires.dst + first)
        bandwidth_bps.append(wires.bandwidth_bps)
        latency_s.append(wires.latency_s)
        for members, laid in shard.rings.items():
            moved = [
                tuple(tuple(server + first for server in row) for row in (ring.walk, ring.members))
                for ring in laid
            ]
            rings[tuple(server + first for server in members)] = tuple(Ring(0, *row) for row in moved)
    room = topology_from_arrays(
        "room",
        48,
        np.concatenate(src).astype(np.int64),
        np.concatenate(dst).astype(np.int64),
        np.concatenate(bandwidth_bps),
        np.concatenate(latency_s),
    )
    together = simulate_together(
        "flow", graphs, Fabric("room", room, make_routes("single-shortest", room), rings), options=exact
    )
    assert together.first_s == pytest.approx(alone_s, rel=1e-9)


@pytest.mark.reproduction
def test_published_times_of_jobs_and_their_average(small: Figure) -> None:
    of_files = [row for row in small.comparisons if row.origin == "the authors' released files"]
    assert len(of_files) == 4
    assert all(row.met for row in of_files), [(row.what, row.ours) for row in of_files]


@pytest.mark.reproduction
def test_ratios_of_the_talk_are_reported_only(small: Figure) -> None:
    told = {row.what: row for row in small.comparisons if "over TopoOpt" in row.what}
    assert len(told) == 2 * 3
    assert all(row.met is None and row.explanation for row in told.values())
    in_a_row = told[f"{TREE} over TopoOpt, mean of 27 jobs, {PLACED[IN_A_ROW]}"]
    assert 1.3 < in_a_row.ours < 3, "one draw of paths; the figure has the mean of several"
    assert max(QUICK.loads) == 27
