"""A month of failures: against closed forms of alternating renewal, and what every estimate must keep to."""

import math
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.published_schemas import published
from tests.studies.failure.conftest import MakePlan
from topoopt.base.errors import InvalidInput
from topoopt.studies.failure import (
    DEFAULT_RATES,
    Effect,
    Estimate,
    FailedLink,
    FailedPanel,
    FailedServer,
    FailureRates,
    Rate,
    availability,
    effects,
    parts_of,
    predict,
    read_rates,
)
from topoopt.studies.failure.availability import outages

ROOT = Path(__file__).parents[3]
HOUR = 3600.0


def rates(
    restart_s: float = 0.0, checkpoint_s: float = 0.0, spares: int = 0, **parts: tuple[float, float]
) -> FailureRates:
    """Return rates from hours between failures and hours to repair."""
    found = {kind: Rate(mtbf * HOUR, repair * HOUR, "test") for kind, (mtbf, repair) in parts.items()}
    return FailureRates(found, restart_s, checkpoint_s, spares)


def link(speed: float, meanwhile: float = 0.0, moving_s: float = 0.0) -> tuple[Effect, ...]:
    return (Effect(FailedLink(0, 1), 1.0, meanwhile or speed, speed, moving_s, "test"),)


def server(speed: float, spare_time_s: float = 0.0) -> tuple[Effect, ...]:
    return (Effect(FailedServer(0), 1.0, 0.0, speed, 0.0, "test", spare_time_s),)


def within(found: Estimate, expected: float) -> bool:
    """Whether an expectation is within four standard errors: once in 16,000 it is not."""
    return abs(found.mean - expected) <= 4 * found.standard_error + 1e-12


def up_share(mtbf_h: float, repair_h: float, days: float) -> float:
    """Share of [0, T] for which a part works that works at 0: A + (1 - A)·(1 - exp(-cT))/(cT), c the sum of rates."""
    works = mtbf_h / (mtbf_h + repair_h)
    c = (1 / mtbf_h + 1 / repair_h) * days * 24
    return works + (1 - works) * (1 - math.exp(-c)) / c


def test_one_part_works_as_long_as_alternating_renewal_says() -> None:
    rule = rates(server=(50.0, 10.0))
    found = availability({"server": 1}, {"server": server(0.0)}, rule, days=30, runs=4000)
    assert within(found.full_speed, up_share(50, 10, 30))
    assert found.goodput == found.full_speed
    assert found.full_speed.mean == pytest.approx(rule.parts["server"].availability, rel=0.02)
    assert found.down.mean == pytest.approx(1 - found.full_speed.mean)


def test_independent_parts_multiply() -> None:
    found = availability(
        {"server": 3, "panel": 2},
        {"server": server(0.0), "panel": link(0.5)},
        rates(server=(300.0, 20.0), panel=(200.0, 30.0)),
        days=60,
        runs=3000,
    )
    # Averages over time of products are products only in the long run: 60 days are 43 times the slowest relaxation.
    servers, panels = (300 / 320) ** 3, (200 / 230) ** 2
    assert found.full_speed.mean == pytest.approx(servers * panels, abs=0.02)
    assert found.down.mean == pytest.approx(1 - servers, abs=0.01)


def test_a_dead_link_slows_down_for_as_long_as_it_is_dead() -> None:
    found = availability({"nic": 1}, {"nic": link(0.8)}, rates(nic=(100.0, 25.0)), runs=3000)
    dead = 1 - up_share(100, 25, 30)
    assert within(found.degraded, dead)
    assert within(found.goodput, 1 - 0.2 * dead)
    assert found.down.mean == 0


def test_until_fibers_are_moved_the_speed_is_another() -> None:
    # Exponential repair of 25 h, moves of 10 h: 1 - exp(-10/25) of the dead time passes before the moves are made.
    found = availability(
        {"nic": 1},
        {"nic": link(1.0, meanwhile=0.5, moving_s=10 * HOUR)},
        rates(nic=(100.0, 25.0)),
        days=300,
        runs=400,
    )
    dead = 1 - up_share(100, 25, 300)
    before_moves = dead * (1 - math.exp(-10 / 25))
    assert found.degraded.mean == pytest.approx(before_moves, rel=0.03)
    assert found.goodput.mean == pytest.approx(1 - 0.5 * before_moves, rel=0.01)
    assert found.goodput_first_order == pytest.approx(found.goodput.mean, abs=0.005)


def test_with_spares_a_server_costs_its_restart_and_half_a_checkpoint() -> None:
    rule = rates(restart_s=900.0, checkpoint_s=3600.0, spares=50, server=(2000.0, 5.0))
    found = availability(
        {"server": 20}, {"server": server(0.5, spare_time_s=300.0)}, rule, days=30, runs=2000
    )
    failures = 20 * 30 * 24 / 2005
    assert within(found.failures["server"], failures)
    assert found.down.mean == pytest.approx(failures * (900 + 300) / (30 * 86400), rel=0.03)
    assert found.goodput_first_order == pytest.approx(found.goodput.mean, abs=2e-4)
    assert found.degraded.mean == 0


def test_without_spares_it_runs_slower_until_the_server_is_back() -> None:
    rule = rates(server=(2000.0, 20.0))
    found = availability({"server": 10}, {"server": server(0.9)}, rule, days=30, runs=3000)
    one_dead = 1 - up_share(2000, 20, 30)
    assert within(found.degraded, 1 - (1 - one_dead) ** 10)
    assert found.goodput.mean == pytest.approx(1 - 10 * one_dead * 0.1, abs=1e-3)


def test_one_spare_serves_one_failure_at_a_time() -> None:
    counts, kinds = {"server": 10}, {"server": server(0.5)}
    shares = [
        availability(counts, kinds, rates(spares=spares, server=(100.0, 50.0)), runs=200).goodput.mean
        for spares in (0, 1, 3, 10)
    ]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    assert shares[1] < 0.9


@given(seed=st.integers(0, 10**6), spares=st.integers(0, 3), speed=st.floats(0, 1))
@settings(max_examples=25)
def test_what_every_month_keeps_to(seed: int, spares: int, speed: float) -> None:
    rule = rates(600.0, 1800.0, spares, server=(80.0, 20.0), nic=(60.0, 5.0))
    kinds = {"server": server(speed), "nic": link(0.7, meanwhile=0.4, moving_s=3000.0)}
    found = availability({"server": 4, "nic": 8}, kinds, rule, days=10, runs=20, seed=seed)
    assert found.full_speed.mean + found.degraded.mean + found.down.mean == pytest.approx(1.0)
    assert 0 <= found.goodput.mean <= found.full_speed.mean + found.degraded.mean + 1e-12
    assert found.slowdown.mean >= 1 - 1e-12
    assert found == availability({"server": 4, "nic": 8}, kinds, rule, days=10, runs=20, seed=seed)


def test_parts_fail_and_are_repaired_in_turn() -> None:
    found = outages(Rate(10 * HOUR, 5 * HOUR, "test"), 3, 50, 1000 * HOUR, np.random.default_rng(1))
    for run in range(50):
        for part in range(3):
            some = (found.run == run) & (found.part == part)
            assert (found.start_s[some][1:] >= found.end_s[some][:-1]).all()
    assert (found.end_s - found.start_s).mean() == pytest.approx(5 * HOUR, rel=0.05)
    assert len(found.run) == pytest.approx(50 * 3 * 1000 / 15, rel=0.05)


def test_the_effects_of_a_plan_are_those_of_its_single_failures(small_plan: MakePlan) -> None:
    plan = small_plan()
    found = effects(plan, DEFAULT_RATES)
    assert set(found) == {"nic", "server", "panel"}
    assert {str(effect.failure) for effect in found["nic"]} <= {f"link 0-{i}" for i in range(1, 16)}
    assert sum(effect.weight for effect in found["nic"]) == pytest.approx(1)
    single = predict(plan, FailedLink(0, 1), without_ways=("spare",))
    assert next(e for e in found["nic"] if e.failure == FailedLink(0, 1)).speed == single.chosen.speed
    fixed = effects(plan, replace(DEFAULT_RATES, move_fibers=False))
    assert fixed["server"][0].speed == 0
    assert fixed["panel"][0].repair in ("detour", "whole-rings", "spread-detours")
    assert fixed["panel"][0].speed == predict(plan, FailedPanel(0)).meanwhile.speed
    assert parts_of(plan) == {"nic": 64, "fiber": 32, "server": 16, "panel": 4}


def test_a_spare_server_takes_as_long_to_patch_as_its_busiest_panel(small_plan: MakePlan) -> None:
    """Half a minute a fiber: one on each panel of cables, two where fibers go one way or servers are odd in number."""
    asked = FailureRates({"server": DEFAULT_RATES.parts["server"]}, 0.0, 0.0, spare_servers=1)
    for plan, fibers in ((small_plan(), 1), (small_plan(links="directed"), 2), (small_plan(servers=15), 2)):
        assert effects(plan, asked)["server"][0].spare_time_s == fibers * 30.0
    (two,) = effects(small_plan(servers=2, degree=2), asked)["server"]
    assert (two.speed, two.spare_time_s) == (0.0, 30.0)  # a job needs two servers, with a spare it has them


def test_servers_of_an_odd_number_have_half_the_panels(small_plan: MakePlan) -> None:
    assert parts_of(small_plan(servers=15)) == {"nic": 60, "fiber": 30, "server": 15, "panel": 2}


def test_all_links_of_a_stride_cost_the_same_where_only_rings_talk(small_plan: MakePlan) -> None:
    plan = small_plan()
    speeds = [predict(plan, FailedLink(a, (a + 1) % 16)).chosen.speed for a in (0, 5, 15)]
    assert speeds == pytest.approx([speeds[0]] * 3)


def test_the_example_file_is_read_and_follows_the_schema() -> None:
    path = ROOT / "examples" / "failure-rates.yaml"
    found = read_rates(path)
    assert found.parts["server"].mtbf_s == 300 * 86400
    assert found.spare_servers == 1
    schema = published("failure-rates")
    jsonschema.validate(yaml.safe_load(path.read_text()), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"sever": {}}, schema)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sever: {mtbf: 3 h, repair: 1 h}", 'unknown key "sever"; did you mean server'),
        ("server: {mtbf: 3, repair: 1 h}", "unknown or missing unit"),
        ("server: {repair: 1 h}", 'missing key "mtbf"'),
        ("server: {mtbf: 0 h, repair: 1 h}", "server.mtbf: must be positive"),
        ("spare_servers: -1", "spare_servers: expected an integer >= 0"),
        ("optics: mems", 'unknown name "mems"'),
    ],
)
def test_mistakes_in_a_file_of_rates(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "rates.yaml").write_text(text)
    with pytest.raises(InvalidInput, match=said):
        read_rates(tmp_path / "rates.yaml")


def test_days_and_runs_must_be_positive() -> None:
    with pytest.raises(InvalidInput, match="days must be positive and runs at least 2"):
        availability({"server": 1}, {"server": server(0.0)}, rates(server=(1.0, 1.0)), runs=1)
    panel = (Effect(FailedPanel(0), 1.0, 1.0, 1.0, 0.0, "test"),)
    with pytest.raises(InvalidInput, match="days must be positive"):
        availability({"panel": 1}, {"panel": panel}, rates(panel=(1.0, 1.0)), days=0)
