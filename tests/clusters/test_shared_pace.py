"""Jobs that share links: alone as the simulators say, and beside each other as arithmetic and the oracle say."""

import numpy as np
import pytest

from tests.clusters.shared_jobs import MEGABYTE, dumbbell, reducer, sender, simulated_together, training
from topoopt.base.errors import InvalidInput
from topoopt.catalog import ClusterSpec
from topoopt.clusters import PlacedJob, SharingOptions, shared_fabric, shared_pace, shared_run
from topoopt.finder import FabricRequest, build_fabric
from topoopt.jobs import JobSettings, make_job, operators_of
from topoopt.routing import Fabric
from topoopt.simulation import IterationCosts, TaskGraph, build_task_graph, place_jobs, simulate
from topoopt.workloads import load_model
from topoopt.workloads.strategy import data_parallel

AT_ONCE = SharingOptions(staggered=False)
PER_COLLECTIVE = SharingOptions(staggered=False, connections="collective")
GIGABIT_BYTES = 1e9 / 8


def paced(fabric: Fabric, *running: PlacedJob, options: SharingOptions = AT_ONCE) -> list[float]:
    return [times.mean_s for times in shared_pace(fabric, options)(running)]


def placed(graphs: list[TaskGraph], servers: int, how: str, seed: int) -> list[PlacedJob]:
    rows = place_jobs([graph.servers for graph in graphs], servers, how, seed)
    return [
        PlacedJob(f"job-{i}", graph, row) for i, (graph, row) in enumerate(zip(graphs, rows, strict=True))
    ]


def published(model: str) -> TaskGraph:
    cluster = ClusterSpec(16, degree=8, link_bandwidth_bps=100e9)
    job = make_job(load_model(model, servers=16), cluster, JobSettings(memory_check="off"))
    return build_task_graph(
        operators_of(job).graph,
        data_parallel(operators_of(job).graph, 16),
        operators_of(job).timer,
        IterationCosts(4, 200e9),
    )


@pytest.mark.parametrize("model", ["dlrm", "bert", "vgg16", "candle"])
@pytest.mark.parametrize("options", [AT_ONCE, PER_COLLECTIVE], ids=["group", "collective"])
def test_a_job_alone_takes_what_the_flow_simulator_says(model: str, options: SharingOptions) -> None:
    graph = published(model)
    fabric = build_fabric("ideal-switch", FabricRequest(16, 8, 100e9, graph.groups))
    (found,) = paced(fabric, PlacedJob("a", graph, tuple(range(16))), options=options)
    # small AllReduces wait for a large one where connections are a group's
    assert found == pytest.approx(simulate("flow", graph, fabric).iteration_time_s, rel=1e-4)


def test_a_job_alone_has_one_kind_of_iteration() -> None:
    (times,) = shared_pace(shared_fabric("fat-tree", FabricRequest(32, 8, 100e9)))(
        [PlacedJob("a", training(np.random.default_rng(0), 8), tuple(range(8)))]
    )
    assert times.samples_s == (times.mean_s,)


def test_on_an_ideal_switch_load_does_not_matter() -> None:
    fabric = shared_fabric("ideal-switch", FabricRequest(64, 8, 100e9))
    graphs = [training(np.random.default_rng(seed), 8) for seed in range(8)]
    running = placed(graphs, 64, "random", 1)
    assert paced(fabric, *running) == [paced(fabric, one)[0] for one in running]


@pytest.mark.parametrize("options", [AT_ONCE, PER_COLLECTIVE], ids=["group", "collective"])
def test_two_that_send_at_once_over_one_link_take_twice_the_time(options: SharingOptions) -> None:
    fabric = dumbbell(2, 100e9, 100e9)
    running = [PlacedJob(name, sender(50 * MEGABYTE, 1e-3), (i, i + 2)) for i, name in enumerate("ab")]
    sending_s = 50 * MEGABYTE / (100 * GIGABIT_BYTES)
    assert paced(fabric, running[0]) == [pytest.approx(1e-3 + sending_s, rel=1e-3)]
    assert paced(fabric, *running, options=options) == [pytest.approx(1e-3 + 2 * sending_s, rel=1e-3)] * 2


def test_one_that_always_sends_beside_one_that_computes_first() -> None:
    """b has half the link while it sends, c + 2m/C in all; meanwhile a has the link for c, and half of it for 2m/C."""
    fabric = dumbbell(2, 100e9, 100e9)
    m, c, size = 50 * MEGABYTE, 3e-3, 100 * GIGABIT_BYTES
    running = [PlacedJob("a", sender(5 * MEGABYTE), (0, 2)), PlacedJob("b", sender(m, c), (1, 3))]
    a_s, b_s = paced(fabric, *running, options=SharingOptions(staggered=False, iterations=50))
    period_s, amount = c + 2 * m / size, c * size + m
    assert b_s == pytest.approx(period_s, rel=5e-3)
    assert a_s == pytest.approx(period_s * 5 * MEGABYTE / amount, rel=2e-2)


def test_connections_of_a_group_share_by_groups_and_those_of_collectives_by_collectives() -> None:
    """Three AllReduces of one job beside one of another, always under way: 1:1 over the link, or 3:1."""
    fabric = dumbbell(2, 400e9, 100e9)
    three, one = reducer(2, 100 * MEGABYTE, times=3), reducer(2, 300 * MEGABYTE)
    running = [PlacedJob("three", three, (0, 2)), PlacedJob("one", one, (1, 3))]
    alone_s = paced(fabric, running[0])[0]
    assert paced(fabric, *running) == [pytest.approx(2 * alone_s, rel=1e-3)] * 2
    found = paced(fabric, *running, options=SharingOptions(10, 20, "collective", staggered=False))
    assert found == [pytest.approx(4 / 3 * alone_s, rel=0.02), pytest.approx(4 * alone_s, rel=0.02)]


@pytest.mark.parametrize("how", ["contiguous", "strided", "random"])
@pytest.mark.parametrize("name", ["fat-tree", "oversub-fat-tree", "rail", "expander"])
@pytest.mark.parametrize("seed", range(3))
def test_jobs_together_take_what_the_flow_simulator_says(name: str, how: str, seed: int) -> None:
    """Transfers that begin together end with the slowest here, and each on its own there; hence the tolerance."""
    rng = np.random.default_rng([seed, 5])
    fabric = shared_fabric(name, FabricRequest(16, 4, 100e9, seed=seed))
    running = placed([training(rng, int(rng.integers(3, 6))) for _ in range(3)], 16, how, seed)
    options = SharingOptions(seed, staggered=False, connections="collective")
    found = paced(fabric, *running, options=options)
    assert found == pytest.approx(simulated_together(running, fabric, options), rel=0.05)


@pytest.mark.parametrize("seed", range(8))
def test_rings_together_take_exactly_what_the_flow_simulator_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    fabric = shared_fabric("fat-tree", FabricRequest(54, 4, 100e9))
    graphs = [
        reducer(
            int(rng.integers(2, 12)), int(rng.integers(1, 100)) * MEGABYTE, rng.uniform(0, 5e-3), 1 + seed % 3
        )
        for _ in range(4)
    ]
    running = placed(graphs, 54, "random", seed)
    options = SharingOptions(seed, staggered=False, connections="collective")
    assert paced(fabric, *running, options=options) == pytest.approx(
        simulated_together(running, fabric, options), rel=1e-9
    )


def test_on_hashed_fat_trees_iterations_take_longer_with_load() -> None:
    """The same job among ever more others, over several placements and hashes."""
    graphs = [training(np.random.default_rng(seed), 6) for seed in range(9)]
    fabric = shared_fabric("fat-tree", FabricRequest(54, 4, 25e9))
    means = []
    for jobs in (1, 3, 6, 9):
        found = [
            paced(fabric, *placed(graphs, 54, "random", seed)[:jobs], options=SharingOptions(seed))
            for seed in range(6)
        ]
        means.append(np.mean([row[0] for row in found]))
    assert (np.diff(means) > 0).all()
    assert means[-1] > 1.2 * means[0]


def test_equal_seeds_give_equal_times_and_others_give_others() -> None:
    fabric = shared_fabric("fat-tree", FabricRequest(54, 4, 100e9))
    running = placed([training(np.random.default_rng(seed), 8) for seed in range(6)], 54, "random", 0)
    times = [shared_pace(fabric, SharingOptions(seed))(running) for seed in (3, 3, 4)]
    assert times[0] == times[1] != times[2]


def test_what_is_kept_from_earlier_sets_changes_no_answer() -> None:
    fabric = shared_fabric("fat-tree", FabricRequest(54, 4, 100e9))
    running = placed([training(np.random.default_rng(seed), 4) for seed in range(12)], 54, "contiguous", 0)
    pace = shared_pace(fabric)
    for chosen in (running[:6], running, running[3:], running[::-1], running[:6]):
        assert pace(chosen) == shared_pace(fabric)(chosen)
    assert pace(running)[::-1] == pace(running[::-1])


def test_mean_and_samples_belong_together() -> None:
    fabric = shared_fabric("oversub-fat-tree", FabricRequest(54, 4, 100e9))
    running = placed([training(np.random.default_rng(seed), 8) for seed in range(6)], 54, "random", 0)
    for times in shared_pace(fabric, SharingOptions(iterations=4))(running):
        assert 4 <= len(times.samples_s) <= 256
        assert min(times.samples_s) <= times.mean_s <= max(times.samples_s)


def test_nobody_running_is_no_question() -> None:
    assert shared_pace(shared_fabric("fat-tree", FabricRequest(16, 4, 100e9)))([]) == ()


def test_a_job_that_takes_no_time_disturbs_nobody() -> None:
    fabric = dumbbell(2, 100e9, 100e9)
    running = [PlacedJob("idle", sender(0), (0, 2)), PlacedJob("b", sender(MEGABYTE), (1, 3))]
    assert paced(fabric, *running) == [0.0, paced(fabric, running[1])[0]]


def test_what_cannot_be_shared_is_refused() -> None:
    fabric = dumbbell(2, 100e9, 100e9)
    twice = [PlacedJob("a", sender(MEGABYTE), (0, 2)), PlacedJob("a", sender(MEGABYTE), (1, 3))]
    with pytest.raises(InvalidInput, match="two running jobs have one name"):
        shared_pace(fabric)(twice)
    with pytest.raises(InvalidInput, match="has 2 servers, its row names 3"):
        shared_pace(fabric)([PlacedJob("a", sender(MEGABYTE), (0, 1, 2))])
    with pytest.raises(InvalidInput, match="changes its circuits"):
        shared_pace(build_fabric("sip-ml", FabricRequest(4, 2, 100e9)))


def test_jobs_that_would_repeat_for_ever_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_run, "MOST_EVENTS", 10)
    running = [PlacedJob("a", sender(1), (0, 2)), PlacedJob("b", sender(MEGABYTE, compute_s=3600.0), (1, 3))]
    with pytest.raises(InvalidInput, match=r"so unlike in length that the shortest runs \d+ times"):
        paced(dumbbell(2, 100e9, 100e9), *running)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"connections": "grop"}, 'unknown name "grop"'),
        ({"ring_model": "x"}, 'unknown name "x"'),
        ({"iterations": 0}, "iterations must be >= 1, got 0"),
        ({"seed": -1}, "seed must be >= 0"),
    ],
)
def test_options_outside_what_is_allowed_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        SharingOptions(**options)  # type: ignore[arg-type]
