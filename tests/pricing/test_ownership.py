"""Cost of ownership and of training: sums by hand, what is unknown, what a network saves beside what servers lose."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.pricing import (
    PAPER,
    Iteration,
    NetworkPrice,
    OwnershipTerms,
    Running,
    ServerPrice,
    TrainingRun,
    beside,
    bill_of_materials,
    find_prices,
    in_samples,
    network_price,
    ownership,
)

SERVER = ServerPrice("ours", 200e3, 150e3, 300e3, 8e3, "by hand")
TERMS = OwnershipTerms(Running(4, 0.10, 1.3, 0.8), SERVER)


def test_the_electricity_of_a_bill_adds_up_by_hand() -> None:
    bill = bill_of_materials("topoopt", 128, 4, 100e9, find_prices("2022"), PAPER)
    network = network_price(bill)
    # 512 × 19.7 W are 10.0864 kW, 13.11232 kW with cooling, over 35,040 hours
    assert network.power_w == pytest.approx(10_086.4)
    none = OwnershipTerms(Running(4, 0.10, 1.3), replace(SERVER, usd=0.0, power_w=0.0))
    found = ownership(none, 128, network)
    assert found.electricity_usd == pytest.approx(10.0864 * 1.3 * 35_040 * 0.10)
    assert found.total_usd == pytest.approx(bill.known_usd + 10.0864 * 1.3 * 35_040 * 0.10)


def test_an_hour_a_run_a_sample_and_a_token_by_hand() -> None:
    terms = replace(TERMS, run=TrainingRun(samples=5e6))
    found = ownership(terms, 10, NetworkPrice(100e3, 2e3), Iteration(2.0, 1000, 4e6))
    # 10 servers of $200,000, a network of $100,000; 82 kW × 1.3 × 35,040 h × $0.10 of electricity
    total_usd = 2.1e6 + 82 * 1.3 * 35_040 * 0.10
    assert found.total_usd == pytest.approx(total_usd)
    hour_usd = total_usd / (35_040 * 0.8)
    assert found.usd_per_hour == pytest.approx(hour_usd)
    assert found.run_hours == pytest.approx(5000 * 2 / 3600)
    assert found.usd_per_run == pytest.approx(hour_usd * 5000 * 2 / 3600)
    assert found.usd_per_sample == pytest.approx(hour_usd * 2 / 3600 / 1000)
    assert found.usd_per_token == pytest.approx(hour_usd * 2 / 3600 / 4e6)
    parts = (found.servers_usd_per_hour, found.network_usd_per_hour)
    assert sum(part for part in parts if part is not None) == pytest.approx(hour_usd)
    # 10 servers at the ends of their range
    assert found.low_usd_per_hour == pytest.approx(hour_usd - 500e3 / (35_040 * 0.8))
    assert found.high_usd_per_hour == pytest.approx(hour_usd + 1e6 / (35_040 * 0.8))


def test_interest_building_maintenance_staff_and_storage_by_hand() -> None:
    """4 equal payments at 10 % are 0.315471 of a price each (an annuity): 26.1883 % of it in all are interest."""
    running = replace(
        TERMS.running,
        interest_rate=0.10,
        colocation_usd_per_kw_month=150.0,
        maintenance_rate=0.05,
        staff_usd_per_year=200e3,
        storage_usd=50e3,
    )
    found = ownership(replace(TERMS, running=running), 10, NetworkPrice(100e3, 2e3))
    prices_usd = 10 * 200e3 + 100e3 + 50e3
    assert found.interest_usd == pytest.approx(prices_usd * 0.2618832, rel=1e-6)
    assert found.colocation_usd == pytest.approx(82 * 150 * 48)
    assert found.maintenance_usd == pytest.approx(prices_usd * 0.05 * 4)
    assert (found.staff_usd, found.storage_usd) == (800e3, 50e3)
    parts = ("servers", "network", "electricity", "interest", "colocation", "maintenance", "staff", "storage")
    assert found.total_usd == pytest.approx(sum(getattr(found, f"{name}_usd") for name in parts))
    assert found.total_usd is not None
    hour_usd = found.total_usd / (35_040 * 0.8)
    assert found.usd_per_hour == pytest.approx(hour_usd)
    shared_usd = 800e3 + 50e3 * running.capital_factor
    assert found.servers_usd_per_hour + found.network_usd_per_hour == pytest.approx(  # type: ignore[operator]
        hour_usd - shared_usd / (35_040 * 0.8)
    )


def test_what_is_left_out_is_none_and_in_no_sum() -> None:
    found = ownership(TERMS, 10, NetworkPrice(100e3, 2e3))
    assert TERMS.running.left_out == ("interest", "the building", "maintenance", "staff", "storage")
    parts = (
        found.interest_usd,
        found.colocation_usd,
        found.maintenance_usd,
        found.staff_usd,
        found.storage_usd,
    )
    assert parts == (None,) * 5
    assert found.electricity_usd is not None
    assert found.total_usd == pytest.approx(2.1e6 + found.electricity_usd)


def test_a_run_has_one_price_however_its_size_is_given() -> None:
    one = Iteration(2.0, 1000, 4e6)
    runs = (TrainingRun(samples=5e6), TrainingRun(tokens=2e10), TrainingRun(hours=5000 * 2 / 3600))
    prices = {
        round(found.usd_per_run or 0.0, 6)
        for run in runs
        for found in (ownership(replace(TERMS, run=run), 10, NetworkPrice(0.0, 0.0), one),)
    }
    assert len(prices) == 1
    assert {round(in_samples(run, one).samples or 0.0, 3) for run in runs} == {5e6}


@pytest.mark.parametrize(
    ("server", "network", "unknown"),
    [
        ({"usd": None}, {}, "price of a server (by hand)"),
        ({"power_w": None}, {}, "watts of a server (by hand)"),
        ({}, {"cost_usd": None}, "price of the network"),
        ({}, {"power_w": None, "missing": ("watts of nic of 800 Gb/s",)}, "watts of the network"),
    ],
)
def test_a_figure_that_is_unknown_leaves_the_sum_open(
    server: dict[str, Any], network: dict[str, Any], unknown: str
) -> None:
    terms = replace(TERMS, server=replace(SERVER, **server), run=TrainingRun(samples=1e6))
    known = NetworkPrice(1e5, 2e3)
    found = ownership(terms, 4, replace(known, **network), Iteration(1.0, 100, 1000))
    sums = (found.total_usd, found.usd_per_hour, found.usd_per_run, found.usd_per_sample, found.usd_per_token)
    assert sums == (None,) * 5
    assert found.unknown[0] == unknown
    assert found.run_hours == pytest.approx(1e4 / 3600)
    assert (found.servers_usd is None) == (server == {"usd": None})


def test_watts_that_a_table_lacks_are_named() -> None:
    bill = bill_of_materials("topoopt", 128, 4, 1e9, find_prices("2022"))
    lines = tuple(
        replace(line, unit_w=None, total_w=None) if line.item == "nic" else line for line in bill.lines
    )
    network = network_price(replace(bill, lines=lines))
    assert network.power_w is None
    assert network.missing == ("watts of nic of 40 Gb/s",)


USD = st.floats(0, 1e7)
TIMES = st.floats(1e-3, 10)


@given(own_usd=USD, other_usd=USD, own_s=TIMES, other_s=TIMES, utilization=st.floats(0.05, 1))
def test_what_is_saved_less_what_is_lost_is_what_the_same_training_costs_less(
    own_usd: float, other_usd: float, own_s: float, other_s: float, utilization: float
) -> None:
    running = Running(4, 0.1, 1.3, utilization, 0.1, 184.0, 0.05, 1e5, 1e5)
    terms = OwnershipTerms(
        running, SERVER, in_samples(TrainingRun(hours=running.training_hours), Iteration(own_s, 8))
    )
    own = ownership(terms, 16, NetworkPrice(own_usd, 3e3), Iteration(own_s, 8))
    other = ownership(terms, 16, NetworkPrice(other_usd, 1e3), Iteration(other_s, 8))
    found = beside(own, own_s, other, other_s)
    assert found.net_usd is not None
    assert found.servers_lost_usd is not None
    assert own.usd_per_run is not None
    assert other.usd_per_run is not None
    assert found.net_usd == pytest.approx(own.usd_per_run - other.usd_per_run, rel=1e-6, abs=1e-3)
    assert (found.servers_lost_usd > 0) == (other_s > own_s)


def test_a_fabric_beside_itself_saves_and_loses_nothing() -> None:
    own = ownership(TERMS, 16, NetworkPrice(4e5, 3e3), Iteration(1.0, 8))
    same = beside(own, 1.0, own, 1.0)
    assert (same.network_saved_usd, same.servers_lost_usd, same.net_usd) == (0.0, 0.0, 0.0)


def test_an_unknown_network_saves_nobody_knows_what() -> None:
    own = ownership(TERMS, 16, NetworkPrice(4e5, 3e3), Iteration(1.0, 8))
    found = beside(own, 1.0, ownership(TERMS, 16, NetworkPrice(None, None), Iteration(1.1, 8)), 1.1)
    assert found.network_saved_usd is found.servers_lost_usd is found.net_usd is None


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"samples": 1.0, "tokens": 2.0}, "tokens: a run has one size, and samples is given; leave one out"),
        ({"tokens": 2.0, "hours": 2.0}, "run_hours: a run has one size, and tokens is given; leave one out"),
        ({"samples": 0.0}, "samples: expected a number above 0, got 0"),
        ({"hours": float("nan")}, "run_hours: expected a number above 0, got nan"),
    ],
)
def test_a_run_has_one_size_above_zero(sizes: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        TrainingRun(**sizes)
    assert str(caught.value) == message


def test_tokens_of_a_model_that_has_none_are_refused() -> None:
    with pytest.raises(InvalidInput, match="tokens: the model has samples and no tokens"):
        in_samples(TrainingRun(tokens=1e9), Iteration(1.0, 8))
