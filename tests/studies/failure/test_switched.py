"""Failures on switches: bandwidth that is lost, against what the simulator says of it and against arithmetic."""

from dataclasses import replace

import numpy as np
import pytest

import topoopt
from topoopt.plans import Plan
from topoopt.search import fabric_of_baseline
from topoopt.studies.failure import (
    DEFAULT_RATES,
    FailureRates,
    LostBandwidth,
    Rate,
    available_fabrics,
    repaired_by,
    switch_tiers,
    switched_exposure,
)
from topoopt.studies.failure.availability_comparison import interfaces_of, slowed

HOUR = 3600.0


@pytest.fixture(scope="module")
def plan() -> Plan:
    return topoopt.plan(
        "dlrm", servers=8, degree=4, fabrics=("rail", "fat-tree", "expander"), budget=10, baseline_budget=5
    )


def test_slowed_links_are_those_of_the_first_servers(plan: Plan) -> None:
    rail = next(row for row in plan.baselines if row.fabric == "rail")
    before = fabric_of_baseline(plan.job, rail, 0)
    after = slowed(before, 3, 0.25)
    ratio = after.topology.bandwidth_bps / before.topology.bandwidth_bps
    for src, dst, share in zip(before.topology.src, before.topology.dst, ratio, strict=True):
        assert share == (0.75 if min(src, dst) < 3 else 1.0)


def test_a_link_of_four_makes_no_iteration_longer_than_by_a_third(plan: Plan) -> None:
    rail = next(row for row in plan.baselines if row.fabric == "rail")
    found = switched_exposure(plan, rail, DEFAULT_RATES, "analytic")
    assert found.counts["nic"] == 8 * 4
    (link,) = found.effects["nic"]
    assert 0.75 <= link.speed < 1
    assert link.speed == link.speed_meanwhile
    assert str(link.failure) == "a link of a server: 25% of the bandwidth of a server"
    assert sum(effect.weight for effect in found.effects["switch"]) == pytest.approx(1)
    # All links are on one switch, so that the job stands with it.
    (switch,) = found.effects["switch"]
    assert (found.counts["switch"], switch.speed, switch.speed_meanwhile) == (1, 0.0, 0.0)


def test_a_server_with_one_link_is_gone_with_it(plan: Plan) -> None:
    tree = next(row for row in plan.baselines if row.fabric == "fat-tree")
    assert interfaces_of(plan, tree) == 1
    rates = replace(
        DEFAULT_RATES,
        parts={"nic": Rate(300 * HOUR, 3 * HOUR, "a"), "server": Rate(600 * HOUR, 24 * HOUR, "b")},
    )
    found = switched_exposure(plan, tree, rates, "analytic")
    assert list(found.rates.parts) == ["server"]
    # A failure every 1 / (1/300 + 1/600) = 200 h; two of three are of the link: (2·3 + 24) / 3 = 10 h
    assert found.rates.parts["server"].mtbf_s == pytest.approx(200 * HOUR)
    assert found.rates.parts["server"].repair_s == pytest.approx(10 * HOUR)


def test_a_cable_takes_as_much_as_its_nic(plan: Plan) -> None:
    rail = next(row for row in plan.baselines if row.fabric == "rail")
    rates = replace(DEFAULT_RATES, parts={"fiber": Rate(300 * HOUR, 3 * HOUR, "a")})
    found = switched_exposure(plan, rail, rates, "analytic")
    assert found.counts["fiber"] == 8 * 4
    assert list(found.effects) == ["fiber"]


def test_every_server_hangs_on_each_tree() -> None:
    for fabric, servers, interfaces in (("rail", 512, 8), ("fat-tree", 128, 1), ("ideal-switch", 4096, 4)):
        tiers = switch_tiers(fabric, servers, interfaces, 400e9)
        assert all(tier.count >= 1 for tier in tiers)
        assert 1 <= tiers[0].servers <= servers
        assert all(0 < tier.lost <= 1 for tier in tiers)
        # Whatever fails of a tier, all its switches together carry all that servers have.
        leaves = tiers[0]
        assert leaves.count * leaves.servers * leaves.lost >= servers
    assert switch_tiers("torus", 128, 4, 100e9) == ()


def test_a_single_switch_takes_everything_with_it() -> None:
    (only,) = switch_tiers("rail", 16, 4, 100e9)
    assert (only.count, only.servers, only.lost) == (1, 16, 1.0)


def test_a_part_that_is_lost_says_whose_bandwidth_it_takes() -> None:
    assert str(LostBandwidth("a switch (edge)", 32, 0.25)) == (
        "a switch (edge): 25% of the bandwidth of each of 32 servers"
    )


def test_fabrics_stand_beside_each_other_and_their_shares_sum_to_one(plan: Plan) -> None:
    rates = repaired_by("on-site", DEFAULT_RATES, 8)
    rows, skipped = available_fabrics(plan, rates, days=30, runs=200, seed=1)
    assert [row.row.fabric for row in rows] == ["topoopt", "rail", "fat-tree", "fat-tree", "expander"]
    assert skipped == ()
    for row in rows:
        shares = [getattr(row.availability, name).mean for name in ("full_speed", "degraded", "down")]
        assert sum(shares) == pytest.approx(1)
        goodput = row.availability.goodput.mean
        assert row.effective_iteration_time_s == pytest.approx(row.row.outcome.iteration_time_s / goodput)
        assert row.lost_usd_per_hour is not None
        assert row.row.ownership is not None
        assert row.row.ownership.usd_per_hour is not None
        assert row.lost_usd_per_hour == pytest.approx((1 - goodput) * row.row.ownership.usd_per_hour)
        assert goodput == pytest.approx(row.availability.goodput_first_order, abs=0.02)


def test_what_is_cabled_once_stands_until_a_server_is_repaired(plan: Plan) -> None:
    """A server down 24 of every 240 hours, 8 of them: all stand unless a spare one takes its place."""
    rates = FailureRates({"server": Rate(2160 * HOUR, 24 * HOUR, "test")}, 0.0, 1.0, spare_servers=8)
    rows, _ = available_fabrics(plan, rates, days=3000, runs=60, seed=0)
    down = {row.row.fabric: row.availability.down for row in rows}
    works = (2160 / 2184) ** 8
    assert abs(down["expander"].mean - (1 - works)) <= 4 * down["expander"].standard_error + 0.002
    assert down["rail"].mean < 0.001
    assert down["topoopt"].mean < 0.001


def test_who_repairs_decides_how_long_a_job_is_slow(plan: Plan) -> None:
    found = {}
    for who in ("robot", "remote-hands"):
        rates = repaired_by(who, DEFAULT_RATES, 8)
        (own, *_), _ = available_fabrics(replace(plan, baselines=()), rates, days=30, runs=300, seed=0)
        found[who] = own.availability.goodput.mean
        assert np.isfinite(own.effective_iteration_time_s)
    assert found["robot"] > found["remote-hands"]
