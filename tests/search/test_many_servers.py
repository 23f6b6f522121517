"""What is done otherwise for many servers, on few: the answer is the same, or a negligible part slower."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from topoopt.catalog import ClusterSpec
from topoopt.finder import topology_finder
from topoopt.jobs import Job, JobSettings, make_job
from topoopt.plans import Plan, plan_to_mapping
from topoopt.routing import TurnedRoutes, k_shortest
from topoopt.search import SearchOptions, caveats, make_plan
from topoopt.search import baselines as baseline_search
from topoopt.search import operator_search as operators
from topoopt.search import options as affordable
from topoopt.search.candidates import candidate
from topoopt.search.candidates import wiring_choice as balance
from topoopt.workloads import load_model

MakeJob = Callable[..., Job]
OPTIONS = SearchOptions(budget=40, baseline_budget=10)


def dlrm(servers: int) -> Job:
    graph = load_model("dlrm", servers=servers)
    return make_job(graph, ClusterSpec(servers, 4, 100e9), JobSettings(memory_check="off"))


@pytest.fixture(scope="module")
def usual() -> Plan:
    """24 servers, planned as all few are."""
    return make_plan(dlrm(24), OPTIONS, fabrics=("torus", "expander"))


def document(plan: Plan) -> dict[str, Any]:
    """Return a plan's document without how long it took to make, and without what linear algebra rounds as it likes."""
    found = plan_to_mapping(plan)
    found = {
        key: value for key, value in found.items() if key not in ("proposals_per_s", "routing", "gap_parts")
    }
    return {**found, "search": {key: value for key, value in found["search"].items() if key != "cpu_s"}}


def test_a_plan_is_the_same_where_simulations_are_not_kept(
    usual: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidate, "LARGEST_TO_KEEP", 1)
    assert document(make_plan(dlrm(24), OPTIONS, fabrics=("torus", "expander"))) == document(usual)


def test_a_plan_is_the_same_where_paths_are_found_a_few_destinations_at_a_time(
    usual: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("topoopt.routing.link_loads"), "_PAIRS_AT_ONCE", 100)
    monkeypatch.setattr(k_shortest, "_PAIRS_TO_SORT", 100)
    again = make_plan(dlrm(24), OPTIONS, fabrics=("torus", "expander"))
    assert again.outcome.iteration_time_s == pytest.approx(usual.outcome.iteration_time_s, rel=1e-4)
    for row, before in zip(again.baselines, usual.baselines, strict=True):
        assert row.outcome.iteration_time_s == pytest.approx(before.outcome.iteration_time_s, rel=1e-2)


def test_routes_of_the_first_servers_turned_cost_next_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    options = SearchOptions(budget=0, wiring="lifted")
    before = make_plan(dlrm(64), options, fabrics=("torus",))
    monkeypatch.setattr(topology_finder, "_LARGEST_FOR_ALL_PAIRS", 8)
    monkeypatch.setattr(balance, "LARGEST_FOR_DETOURS", 8)
    monkeypatch.setattr(balance, "LARGEST_FOR_ALL_WAYS", 8)
    plan = make_plan(dlrm(64), options, fabrics=("torus",))
    assert isinstance(plan.fabric.routes, TurnedRoutes)
    assert plan.fabric.routes.step < 64
    assert plan.outcome.iteration_time_s <= before.outcome.iteration_time_s * 1.005
    assert plan.routing_gap.max_load_s <= before.routing_gap.max_load_s * 1.005
    torus, usual = plan.baselines[0], before.baselines[0]
    assert torus.outcome.iteration_time_s == pytest.approx(usual.outcome.iteration_time_s, rel=0.02)


def test_fewer_proposals_are_made_of_very_many_servers_and_a_plan_says_so(
    small_job: MakeJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, options = small_job(12, degree=3, batch=8), SearchOptions(budget=90, baseline_budget=90)
    assert not any("proposals" in sentence for sentence in caveats(make_plan(job, options, fabrics=())))
    for module in (affordable, baseline_search, operators):
        monkeypatch.setattr(module, "LARGEST_FOR_ALL", 6)
    plan = make_plan(job, options, fabrics=("torus",))
    assert plan.search.proposals <= 90 // 4
    assert plan.baselines[0].proposals == 0
    assert plan.baselines[0].strategy is not None
    assert any("22 of the 90 proposals" in sentence for sentence in caveats(plan))
