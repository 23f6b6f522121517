"""The main job: plans that are no worse than their start, the same for the same seed, and fairly compared."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.catalog import NETWORKS, ClusterSpec, compared_by, sizings_of
from topoopt.finder import FinderRules
from topoopt.jobs import Job, JobSettings, job_traffic, make_job, operators_of, traffic_job
from topoopt.plans import plan_to_mapping
from topoopt.pricing import pricing_of
from topoopt.search import SearchOptions, compare_job, make_plan, preset, simulated
from topoopt.search.candidates.candidate import fabric_for
from topoopt.workloads import load_model
from topoopt.workloads.strategy import data_parallel
from topoopt.workloads.traffic import traffic_from_matrix

MakeJob = Callable[..., Job]


def zoo_job(model: str, servers: int, degree: int = 4, **settings: Any) -> Job:
    graph = load_model(model, servers=servers)
    cluster = ClusterSpec(servers, degree, 100e9)
    return make_job(graph, cluster, JobSettings(**{"memory_check": "off", **settings}))


def test_dlrm_on_many_servers_ends_no_worse_than_data_parallelism() -> None:
    """With few proposals and the authors' moves, too."""
    plan = make_plan(zoo_job("dlrm", 64), SearchOptions(mode="released", budget=50, chains=1), fabrics=())
    assert plan.outcome.iteration_time_s <= plan.data_parallel.iteration_time_s
    assert plan.gap >= 0


def without_measurements(document: dict[str, Any]) -> dict[str, Any]:
    """Return a plan's document without how long it took to make."""
    document = {key: value for key, value in document.items() if key != "proposals_per_s"}
    document["search"] = {key: value for key, value in document["search"].items() if key != "cpu_s"}
    return document


def test_the_same_seed_gives_the_same_bytes_on_one_process_or_two(small_job: MakeJob) -> None:
    job = small_job(12, degree=3, batch=8)
    documents = [
        without_measurements(
            plan_to_mapping(
                make_plan(
                    job,
                    SearchOptions(budget=60, baseline_budget=30, seed=seed, processes=processes),
                    fabrics=("expander", "ideal-switch"),
                )
            )
        )
        for seed, processes in ((5, 1), (5, 2), (6, 1))
    ]
    assert documents[0] == documents[1] != documents[2]


@pytest.mark.parametrize(("model", "degree"), [("bert", 3), ("candle", 4), ("bert", 8)])
def test_no_plan_is_below_its_bound_or_above_its_start(model: str, degree: int) -> None:
    plan = make_plan(zoo_job(model, 16, degree), SearchOptions(budget=150), fabrics=())
    assert plan.bounds.lower_bound_s <= plan.outcome.iteration_time_s * (1 + 1e-6)
    assert plan.outcome.iteration_time_s <= plan.data_parallel.iteration_time_s
    assert plan.routing_gap.optimal_load_s <= plan.routing_gap.max_load_s


def test_released_rules_wire_dlrm_as_the_authors_code_does() -> None:
    """Strides 1 and 5 for 16 servers of degree 4; embedding activations travel twice."""
    rules = dict(preset("released"))
    costs = {name: rules.pop(name) for name in ("embedding_bytes_factor", "memory_check")}
    job = zoo_job("dlrm", 16, **costs)
    plan = make_plan(job, SearchOptions(**rules, budget=0), fabrics=())
    assert plan.strategy == data_parallel(operators_of(job).graph, 16)
    assert plan.strides == (1, 5)
    everyone = tuple(range(16))
    assert [ring.stride for ring in plan.fabric.rings[everyone]] == [1, 5, 11, 15]
    once = make_plan(zoo_job("dlrm", 16), SearchOptions(**rules, budget=0), fabrics=())
    assert plan.traffic().mp_bytes == 2 * once.traffic().mp_bytes


def test_released_rules_put_the_published_bytes_on_every_link() -> None:
    """A table on each of 128 servers, eight rings: the figure of the authors' released outputs."""
    rules = {key: value for key, value in preset("released").items() if key in ("degree_split", "strides")}
    job = zoo_job("dlrm-alltoall", 128, 8)
    strategy = data_parallel(operators_of(job).graph, 128)
    fabric = fabric_for(job, strategy, FinderRules(**rules))
    (group,) = job_traffic(job, strategy).allreduce
    load = np.zeros(len(fabric.topology))
    for ring in fabric.rings[group.members]:
        load[fabric.topology.link_ids(*ring.edges())] += 2 * 127 / 128 * group.size_bytes / 8
    assert set(load.astype(int).tolist()) == {337_163_664}


def test_the_papers_rules_are_those_of_the_paper() -> None:
    options = SearchOptions(**preset("paper"))
    assert (options.degree_split, options.strides) == ("proportional", "nearest")
    plan = make_plan(zoo_job("vgg16", 16), SearchOptions(**preset("paper"), budget=50), fabrics=())
    assert plan.fabric.routes.method == "k-shortest"
    assert plan.outcome.iteration_time_s == pytest.approx(100.5e-3, rel=0.015)  # as published


def test_every_baseline_is_searched_and_priced(small_job: MakeJob) -> None:
    job = small_job(16)
    plan = make_plan(job, SearchOptions(budget=100, baseline_budget=40))
    assert [row.fabric for row in plan.baselines] == [
        rule.fabric for name in compared_by("plan") for rule in NETWORKS[name].sizings
    ]
    for row in plan.baselines:
        assert row.proposals == (0 if row.fabric == "direct" else 40)
        assert row.outcome.iteration_time_s >= row.outcome.compute_time_s
        assert row.cost_usd is not None
        assert row.cost_usd > 0
    bandwidth_bps = {row.description: row.server_bandwidth_bps for row in plan.baselines}
    assert bandwidth_bps["one non-blocking switch, d·B a server"] == 400e9
    assert bandwidth_bps["full bisection, the paper's equal cost"] == 125e9


def test_a_baseline_is_never_slower_than_the_strategies_it_starts_from(small_job: MakeJob) -> None:
    job = small_job(8)
    start = data_parallel(operators_of(job).graph, 8)
    none, some = (
        compare_job(
            job,
            SearchOptions(baseline_budget=budget),
            sizings_of(("torus",)),
            pricing_of("2022", "paper"),
            (start,),
        ).rows[0]
        for budget in (0, 300)
    )
    assert none.strategy == start
    assert some.outcome.iteration_time_s <= none.outcome.iteration_time_s


def test_baselines_do_not_search_longer_than_the_plan(small_job: MakeJob) -> None:
    plan = make_plan(small_job(8), SearchOptions(budget=10, baseline_budget=500), fabrics=("expander",))
    assert plan.baselines[0].proposals == 10


def test_a_full_mesh_uses_all_its_links() -> None:
    """CANDLE is one large AllReduce: 8 of 15 strides of 16 servers make a ring, so half of d·B carries it."""
    job = zoo_job("candle", 16)
    start = data_parallel(operators_of(job).graph, 16)
    rows = compare_job(
        job,
        SearchOptions(baseline_budget=0),
        sizings_of(("full-mesh", "ideal-switch")),
        pricing_of("2022", "paper"),
        (start,),
    ).rows
    mesh_s, switch_s = (row.outcome.exposed_communication_s for row in rows)
    assert mesh_s < 2.5 * switch_s


def test_an_unknown_fabric_is_refused_before_the_search(small_job: MakeJob) -> None:
    with pytest.raises(InvalidInput, match="torus"):
        make_plan(small_job(4), SearchOptions(), fabrics=("toru",))


def test_progress_is_told_to_the_end(small_job: MakeJob) -> None:
    told: list[tuple[str, int, int]] = []
    make_plan(
        small_job(4),
        SearchOptions(budget=600, baseline_budget=5),
        fabrics=("torus",),
        on_progress=lambda *row: told.append(row),
    )
    searching = [row for row in told if row[0] == "searching strategy and topology"]
    assert all(done <= total == 600 for _, done, total in searching)
    assert [done for _, done, _ in searching] == sorted(done for _, done, _ in searching)
    assert "searching for torus" in {row[0] for row in told}


def test_a_traffic_matrix_is_wired_without_a_search() -> None:
    rng = np.random.default_rng(0)
    matrix = np.asarray(rng.integers(1, 10, (12, 12)) * 1e7 * (rng.random((12, 12)) < 0.4), np.float64)
    job = traffic_job("shuffle", traffic_from_matrix(matrix), ClusterSpec(12, 3, 100e9))
    plan = make_plan(job, SearchOptions(), fabrics=("ideal-switch", "expander"))
    assert plan.strategy.splits == ()
    assert plan.search.proposals == 0
    assert plan.outcome.compute_time_s == 0
    assert plan.bounds.lower_bound_s <= plan.outcome.iteration_time_s
    assert all(row.outcome.iteration_time_s > 0 for row in plan.baselines)
    assert plan.outcome.iteration_time_s <= min(
        simulated(job, plan.strategy, plan.fabric).iteration_time_s, plan.data_parallel.iteration_time_s
    )


def test_what_a_plan_says_is_what_its_simulation_gives(small_job: MakeJob) -> None:
    job = small_job(12, degree=3)
    plan = make_plan(job, SearchOptions(budget=100), fabrics=())
    again = simulated(job, plan.strategy, plan.fabric)
    assert plan.outcome.iteration_time_s == again.iteration_time_s
    assert plan.outcome.link_bytes_max == again.link_bytes_max
    assert set(plan.fabric.rings) == {group.members for group in job_traffic(job, plan.strategy).allreduce}


@pytest.mark.parametrize(
    "bad",
    [{"budget": -1}, {"chains": 0}, {"rounds": 0}, {"seed": -5}, {"alpha_per_ms": -1.0}, {"mode": "relesed"}],
)
def test_options_are_checked(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        SearchOptions(**bad)
    assert "\n" not in str(caught.value)


def test_a_preset_that_does_not_exist_is_named_with_its_neighbors() -> None:
    with pytest.raises(InvalidInput, match="released"):
        preset("release")


def test_direct_cables_take_the_time_of_the_plan_and_cost_less_by_its_panels(small_job: MakeJob) -> None:
    """The same wiring without panels: the price differs by the ports of panels, and fibers that end at servers."""
    plan = make_plan(small_job(16), SearchOptions(budget=20), fabrics=("direct",))
    (direct,) = plan.baselines
    assert direct.outcome == plan.outcome
    assert direct.strategy == plan.strategy
    parts, own = direct.cost_parts_usd, plan.price["cost_parts_usd"]
    ports = 16 * plan.job.cluster.degree
    fiber_usd = own["fiber_m"][1] - parts["fiber_m"][1]
    assert plan.price["cost_usd"] - direct.cost_usd == pytest.approx(100 * ports + fiber_usd)
    assert set(own) - set(parts) == {"patch_panel_port"}
