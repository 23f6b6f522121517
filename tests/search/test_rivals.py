"""Plans on any wiring: never slower than a baseline of the same ports, nor than the best strides."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import Infeasible
from topoopt.catalog import ClusterSpec, sizings_of
from topoopt.collectives import QUICKEST
from topoopt.finder import WIRING_NAMES
from topoopt.jobs import AUTO_BUCKET, BUCKET_SIZES, DDP_BUCKET_BYTES, Job, JobSettings, make_job, traffic_job
from topoopt.plans import GradientChoice, Plan, plan_from_mapping, plan_to_mapping
from topoopt.pricing import pricing_of
from topoopt.search import SearchOptions, compare_job, make_plan
from topoopt.search import rival_wirings as rivals
from topoopt.search.baselines import Fidelity
from topoopt.search.candidates.candidate import Candidate, options_of, simulated, wired_candidate
from topoopt.search.fidelity_comparison import fabric_of_baseline
from topoopt.search.rival_wirings import plugged
from topoopt.search.starting_strategies import starting_strategy
from topoopt.workloads import load_model
from topoopt.workloads.traffic import traffic_from_matrix

DIRECT = ("expander", "torus", "full-mesh")
OPTIONS = SearchOptions(budget=40, baseline_budget=20)
DEFAULTS = {"bucket_bytes": AUTO_BUCKET, "collective": QUICKEST}


def _job(model: str, servers: int, degree: int, **settings: Any) -> Job:
    cluster = ClusterSpec(servers, degree, 100e9)
    return make_job(load_model(model, servers=servers), cluster, JobSettings(memory_check="off", **settings))


def _matrix_job(servers: int, degree: int, seed: int) -> Job:
    rng = np.random.default_rng(seed)
    demand = np.where(rng.random((servers, servers)) < 0.3, rng.integers(1, 10**9, (servers, servers)), 0)
    demand[0, 1] = 10**9
    traffic = traffic_from_matrix(demand.astype(np.float64))
    return traffic_job("random", traffic, ClusterSpec(servers, degree, 100e9))


def _check_never_slower(plan: Plan) -> None:
    for row in plan.baselines:
        fabric = fabric_of_baseline(plan.job, row, plan.provenance.seed)
        if plugged(fabric, plan.job.cluster) is not None:
            assert plan.outcome.iteration_time_s <= row.outcome.iteration_time_s * (1 + 1e-9)
    assert plan.wiring is not None
    assert plan.wiring.over_strides is not None
    assert plan.wiring.over_strides >= -1e-9


@settings(max_examples=5)
@given(st.sampled_from(["dlrm", "ncf", "vgg16"]), st.integers(3, 14), st.integers(2, 6))
def test_a_plan_is_never_slower_than_a_baseline_of_its_ports(model: str, servers: int, degree: int) -> None:
    _check_never_slower(make_plan(_job(model, servers, degree), OPTIONS, fabrics=DIRECT))


@pytest.mark.slow
@pytest.mark.parametrize("servers", [24, pytest.param(48, marks=pytest.mark.long)])
@settings(max_examples=2)
@given(st.sampled_from(["dlrm", "ncf", "bert", "candle"]), st.integers(2, 8), st.integers(0, 99))
def test_nor_one_of_more_servers_as_plans_are_by_default(
    servers: int, model: str, degree: int, seed: int
) -> None:
    """With buckets and an algorithm for each message, which plan and baselines choose for themselves."""
    job = _job(model, servers, degree, **DEFAULTS)
    _check_never_slower(make_plan(job, replace(OPTIONS, seed=seed), fabrics=DIRECT))


@pytest.mark.long
@pytest.mark.parametrize(
    ("model", "degree"), [("bert", 4), ("dlrm", 4), ("ncf", 4), ("candle", 4), ("dlrm", 8), ("vgg16", 3)]
)
def test_nor_one_of_128_servers(model: str, degree: int) -> None:
    job = _job(model, 128, degree, **DEFAULTS)
    _check_never_slower(make_plan(job, OPTIONS, fabrics=("expander", "torus")))


@settings(max_examples=5)
@given(st.integers(4, 16), st.integers(2, 4), st.integers(0, 2**32 - 1))
def test_nor_is_one_for_a_traffic_matrix(servers: int, degree: int, seed: int) -> None:
    _check_never_slower(make_plan(_matrix_job(servers, degree, seed), OPTIONS, fabrics=DIRECT))


def test_a_baseline_is_as_fast_on_the_ports_of_a_plan() -> None:
    """Its equal splits are those of all shortest ways, of which a pair of 32 servers has more than are listed."""
    job = _job("dlrm", 32, 5)
    (row,) = compare_job(
        job, OPTIONS, sizings_of(("torus",)), pricing_of("2022", "paper"), (starting_strategy(job),)
    ).rows
    fabric = fabric_of_baseline(job, row, 0)
    own = plugged(fabric, job.cluster)
    assert own is not None
    times = [simulated(job, row.strategy, one).iteration_time_s for one in (fabric, own)]
    assert times[0] == times[1]


def test_routes_of_equal_weights_are_routes_of_a_baseline() -> None:
    """Found by chance: the expander's eight shortest paths were the best, and taken for its usual routes."""
    _check_never_slower(make_plan(_matrix_job(7, 2, 96279113), OPTIONS, fabrics=DIRECT))


def test_a_torus_that_is_faster_becomes_the_plan() -> None:
    # Every server sends to its neighbors in a grid of 4 x 4 only: a torus has a link for each pair.
    demand = np.zeros((16, 16))
    for row in range(4):
        for column in range(4):
            for other in ((row + 1) % 4 * 4 + column, row * 4 + (column + 1) % 4):
                demand[row * 4 + column, other] = demand[other, row * 4 + column] = 1e9
    job = traffic_job("grid", traffic_from_matrix(demand), ClusterSpec(16, 4, 100e9))
    plan = make_plan(job, OPTIONS, fabrics=("torus",))
    torus = plan.baselines[0].outcome.iteration_time_s
    assert plan.outcome.iteration_time_s <= torus * (1 + 1e-9)
    assert torus == pytest.approx(1e9 * 8 / 100e9, rel=0.01)


def test_strides_are_all_there_is_where_they_are_asked_for() -> None:
    plan = make_plan(_job("dlrm", 12, 4), SearchOptions(budget=40, wirings="strides"), fabrics=())
    assert plan.wiring is not None
    assert plan.wiring.family == "strides"
    assert plan.rules.wiring == "strides"


def test_a_family_that_is_named_is_taken() -> None:
    for name in WIRING_NAMES[1:]:
        try:
            plan = make_plan(_job("dlrm", 12, 4), SearchOptions(budget=40, wiring=name), fabrics=())
        except Infeasible:
            continue
        assert plan.rules.wiring == name
        assert plan.wiring is not None
        assert plan.wiring.family == name


def test_a_plan_file_keeps_the_wiring() -> None:
    plan = make_plan(_job("dlrm", 12, 4), SearchOptions(budget=40, wiring="lifted"), fabrics=())
    again = plan_from_mapping(plan_to_mapping(plan))
    assert again.wiring == plan.wiring
    assert again.rules == plan.rules
    everyone = tuple(range(12))
    assert again.fabric.topology.rings == plan.fabric.rings[everyone]
    older = {key: value for key, value in plan_to_mapping(plan).items() if key != "wiring"}
    assert plan_from_mapping(older).wiring is None


def test_a_family_that_is_named_is_not_left_out_by_a_degree_split() -> None:
    # The search's starts give interfaces to groups, too; not where one wiring of all servers is asked for.
    plan = make_plan(_job("dlrm", 32, 4), SearchOptions(budget=40, wiring="lifted"), fabrics=())
    assert plan.wiring is not None
    assert plan.wiring.family == "lifted"


def test_a_baseline_that_is_faster_with_its_own_algorithms_becomes_the_plan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where choosing for itself makes the same fabric slower: here it is told to take the largest buckets and rings."""
    job = _job("dlrm", 32, 4, bucket_bytes=DDP_BUCKET_BYTES)
    asked = replace(job, settings=replace(job.settings, collective=QUICKEST))
    slow = replace(job, settings=replace(job.settings, bucket_bytes=max(BUCKET_SIZES)))
    strategy = job.work.plain_strategy(32)

    def badly(_: Job, __: Job, best: Candidate) -> tuple[Job, Candidate, GradientChoice]:
        return slow, best.with_result(best.result_again(slow), slow), GradientChoice()

    monkeypatch.setattr(rivals, "with_gradients_settled", badly)
    found = wired_candidate(job, strategy, OPTIONS.rules, 0)
    rows = compare_job(
        job,
        OPTIONS,
        sizings_of(("torus",)),
        pricing_of("2022", "paper"),
        (strategy,),
        fidelity=Fidelity(options=options_of(asked), tried=(("bucket_bytes", (1024 * 1024,)),)),
    ).rows
    slower = replace(rivals.settled_answer(job, asked, found), candidate=replace(found, time_s=1.0))
    *_, last = rivals.rivals(job, asked, slower, [found], rows, OPTIONS)
    assert rows[0].outcome.algorithms
    assert last.time_s == pytest.approx(rows[0].outcome.iteration_time_s, rel=1e-12)
    assert last.job.settings.collective == QUICKEST
