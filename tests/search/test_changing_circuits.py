"""Rails and circuits that change are baselines like any other: dimensioned, priced, simulated by what can."""

from typing import Any

import pytest

from tests.search.conftest import MakeJob
from topoopt.catalog import NETWORKS, compared_by, networks_of, sizings_of
from topoopt.jobs import Job
from topoopt.pricing import network_bill, pricing_of
from topoopt.search import SearchOptions, baselines, compare_job, simulated, starting_strategy
from topoopt.search import baselines as room
from topoopt.search.baselines import baseline_fabric
from topoopt.simulation import SimResult

PRICES = pricing_of("2022", "paper")
ADDED = ("rail", "sip-ml", "ocs-reconfig")


def test_rails_are_among_the_default_baselines_of_every_job() -> None:
    assert compared_by("plan") == (
        "direct",
        "ideal-switch",
        "fat-tree",
        "oversub-fat-tree",
        "rail",
        "expander",
        "torus",
    )
    assert set(ADDED) <= set(networks_of("plan"))


def test_every_baseline_has_a_price() -> None:
    assert set(networks_of("plan")) <= set(NETWORKS)


def test_each_has_the_bandwidth_of_all_interfaces_and_its_own_bill(small_job: MakeJob) -> None:
    job = small_job(8)
    start = starting_strategy(job)
    rows = compare_job(
        job, SearchOptions(budget=60, baseline_budget=40), sizings_of(ADDED), PRICES, (start,)
    ).rows
    assert [row.fabric for row in rows] == list(ADDED)
    for row in rows:
        assert row.server_bandwidth_bps == 400e9
        assert row.cost_usd == network_bill(row.fabric, 8, 4, 100e9, PRICES).cost_usd
        assert row.outcome.iteration_time_s > 0
        assert row.proposals == 40
    assert [row.outcome.simulator for row in rows] == ["analytic", "flow", "flow"]


def test_ten_milliseconds_of_darkness_are_far_worse_than_microseconds(small_dlrm: Job) -> None:
    start = starting_strategy(small_dlrm)
    slow_s, quick_s, ideal_s = (
        simulated(
            small_dlrm, start, baseline_fabric(small_dlrm, NETWORKS[name].sizings[0], PRICES, 0), "flow"
        ).iteration_time_s
        for name in ("ocs-reconfig", "sip-ml", "ideal-switch")
    )
    assert slow_s > 2 * quick_s
    assert quick_s > ideal_s


def test_what_is_reported_is_what_the_flow_simulator_says_of_the_strategy(small_dlrm: Job) -> None:
    options, start = SearchOptions(budget=60, baseline_budget=40), starting_strategy(small_dlrm)
    (row,) = compare_job(small_dlrm, options, sizings_of(("sip-ml",)), PRICES, (start,)).rows
    fabric = baseline_fabric(small_dlrm, NETWORKS["sip-ml"].sizings[0], PRICES, 0)
    again = simulated(small_dlrm, row.strategy, fabric, "flow")
    assert row.outcome.iteration_time_s == again.iteration_time_s
    assert row.outcome.iteration_time_s <= simulated(small_dlrm, start, fabric, "flow").iteration_time_s


def test_on_many_servers_only_the_strategy_that_was_found_is_simulated(
    small_job: MakeJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(baselines, "LARGEST_TO_TRY_ALL", 4)
    calls = []

    def counted(*words: Any) -> SimResult:
        calls.append(words)
        return simulated(*words)

    monkeypatch.setattr(room, "simulated", counted)
    job = small_job(8)
    compare_job(
        job,
        SearchOptions(budget=60, baseline_budget=40),
        sizings_of(("ocs-reconfig",)),
        PRICES,
        (starting_strategy(job),),
    )
    assert len(calls) == 1
