"""The front that is found is the front of everything, whatever is dropped on the way."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.studies.choice.conftest import ALONE, MIX, MadeUpTimes, money, network
from topoopt.base.errors import Infeasible
from topoopt.studies.choice import (
    DROPPED,
    LEFT_OUT,
    PLANNED,
    Evaluated,
    Explored,
    JobShare,
    Network,
    explore,
    front_of,
)

NETWORKS = [network(number) for number in range(12)]
steps = st.integers(1, 9).map(float)


@st.composite
def grids(draw: st.DrawFn) -> tuple[dict[Network, Any], MadeUpTimes]:
    """Prices and times of few values, so that many are equal; bounds somewhere below; jobs that do not run."""
    networks = NETWORKS[: draw(st.integers(1, len(NETWORKS)))]
    priced = {one: draw(st.one_of(steps.map(money), st.just("no price"))) for one in networks}
    pairs = [(job, one) for one in networks for job in MIX]
    times = {pair: draw(st.one_of(steps, steps, steps, st.just("does not fit"))) for pair in pairs}
    optimism = {pair: draw(st.sampled_from([0.0, 0.5, 1.0])) for pair in pairs}
    return priced, MadeUpTimes(times, optimism)


def enumerated(priced: dict[Network, Any], known: MadeUpTimes, found: Explored) -> set[Network]:
    """The front by its definition, of all networks: no other costs no more, takes no longer, and is better in one."""
    figures = {}
    for one, price in priced.items():
        times = [known.times[job, one.timed] for job in MIX]
        if not isinstance(price, str) and all(isinstance(time, float) for time in times):
            relative = [
                float(time) / reference
                for time, reference in zip(times, found.reference_times_s, strict=True)
            ]
            figures[one] = (
                price.total_usd,
                sum(job.share * time for job, time in zip(MIX, relative, strict=True)),
            )
    return {
        one
        for one, (usd, time) in figures.items()
        if not any(
            other_usd <= usd and other_time <= time and (other_usd < usd or other_time < time - 1e-12)
            for other_usd, other_time in figures.values()
        )
    }


@given(grids())
def test_the_front_is_that_of_the_whole_grid(grid: tuple[dict[Network, Any], MadeUpTimes]) -> None:
    priced, times = grid
    try:
        found = explore(MIX, priced, times)
    except Infeasible:
        runs = [one for one in priced if all(isinstance(times.times[job, one], float) for job in MIX)]
        assert all(isinstance(priced[one], str) for one in runs)
        return
    assert {point.network for point in front_of(found.points, MIX)} == enumerated(priced, times, found)


@given(grids())
def test_what_is_dropped_is_beaten_by_what_was_planned(grid: tuple[dict[Network, Any], MadeUpTimes]) -> None:
    priced, times = grid
    try:
        found = explore(MIX, priced, times)
    except Infeasible:
        return
    planned = [point for point in found.points if point.status == PLANNED]
    for point in found.points:
        assert bool(point.reason) == (point.status != PLANNED)
        if point.status == DROPPED:
            assert any(beats(other, point) for other in planned), point
            assert point.network.name not in [one.network.name for one in front_of(found.points, MIX)]
    assert found.plans == len(times.planned)


def beats(one: Evaluated, other: Evaluated) -> bool:
    usd, other_usd = one.usd(), other.usd()
    time, other_time = one.relative_time(MIX), other.relative_time(MIX)
    assert None not in (usd, other_usd, time, other_time)
    return usd <= other_usd and time <= other_time * (1 + 2e-9)  # type: ignore[operator]


@st.composite
def grids_with_switches(draw: st.DrawFn) -> tuple[dict[Network, Any], MadeUpTimes]:
    """An ideal switch of every two ports, and others that take at least half as long."""
    ports = range(1, draw(st.integers(2, 5)))
    networks = [
        Network(fabric, degree, 1e11) for degree in ports for fabric in ("ideal-switch", "torus", "rail")
    ]
    priced = {one: draw(st.one_of(steps.map(money), st.just("no price"))) for one in networks}
    times: dict[tuple[JobShare, Network], float | str] = {}
    for one in networks:
        for job in MIX:
            switch_s = times.get((job, Network("ideal-switch", one.degree, 1e11)))
            factor = draw(st.sampled_from([0.5, 1.0, 2.0])) if isinstance(switch_s, float) else 1.0
            other = (
                draw(st.one_of(steps, st.just("does not fit"))) if one.fabric == "ideal-switch" else switch_s
            )
            times[job, one] = other * factor if isinstance(other, float) else draw(steps)
    return priced, MadeUpTimes(times, of_switch=0.5)


@given(grids_with_switches())
def test_what_the_switch_of_the_ports_says_drops_nothing_of_the_front(
    grid: tuple[dict[Network, Any], MadeUpTimes],
) -> None:
    priced, times = grid
    try:
        found = explore(MIX, priced, times)
    except Infeasible:
        return
    assert {point.network for point in front_of(found.points, MIX)} == enumerated(priced, times, found)


def test_a_slow_switch_spares_the_plans_of_its_ports() -> None:
    job = ALONE[0]
    fast = Network("ideal-switch", 8, 1e11)
    slow = [Network(fabric, 2, 1e11) for fabric in ("ideal-switch", "rail", "torus")]
    times = MadeUpTimes({(job, fast): 1.0, **{(job, one): 5.0 for one in slow}}, of_switch=0.9)
    priced = {fast: money(5.0), **{one: money(6.0 + place) for place, one in enumerate(slow)}}
    found = explore(ALONE, priced, times)
    assert {network for _, network in times.planned} == {fast, slow[0]}
    assert [point.status for point in found.points] == [PLANNED, PLANNED, DROPPED, DROPPED]
    again = MadeUpTimes(times.times, of_switch=0.9)
    assert explore(ALONE, priced, again, exact=True).plans == 4


def chain(count: int, optimism: float) -> tuple[dict[Network, Any], MadeUpTimes]:
    """The dearer, the slower, all but the cheapest: bounds that are sharp leave nothing to plan but that."""
    networks = [Network("rail", degree, 1e11) for degree in range(1, count + 1)]
    job = ALONE[0]
    times: dict[tuple[JobShare, Network], float | str] = {
        (job, one): 1.0 + one.degree / 10 for one in networks
    }
    priced: dict[Network, Any] = {one: money(float(one.degree)) for one in networks}
    return priced, MadeUpTimes(times, dict.fromkeys(times, optimism))


def test_sharp_bounds_spare_plans_and_no_bounds_spare_none() -> None:
    priced, sharp = chain(40, 1.0)
    found = explore(ALONE, priced, sharp)
    assert [point.network.degree for point in front_of(found.points, ALONE)] == [1]
    # the reference of most bandwidth, and one round of four plans
    assert len(sharp.planned) == 5
    assert sum(point.status == DROPPED for point in found.points) == 35
    priced, blind = chain(40, 0.0)
    assert explore(ALONE, priced, blind).plans == 40


def test_networks_of_equal_links_share_a_plan() -> None:
    job = ALONE[0]
    panel, switch = Network("topoopt", 4, 1e11), Network("topoopt-ocs", 4, 1e11, "linear")
    times = MadeUpTimes({(job, panel): 2.0})
    found = explore(ALONE, {panel: money(1.0), switch: money(2.0)}, times)
    assert times.planned == [(job, panel)]
    assert [point.times_s for point in found.points] == [(2.0,), (2.0,)]


def test_times_are_relative_to_the_switch_of_most_bandwidth_that_carries_every_job() -> None:
    job = ALONE[0]
    wide, rail, narrow = Network("ideal-switch", 8, 1e11), Network("rail", 8, 1e11), Network("rail", 4, 1e11)
    times = MadeUpTimes({(job, wide): "does not fit", (job, rail): 4.0, (job, narrow): 6.0})
    found = explore(ALONE, {narrow: money(1.0), rail: money(2.0), wide: money(3.0)}, times)
    assert found.reference == rail
    assert [point.relative_time(ALONE) for point in found.points] == [1.5, 1.0, None]
    assert found.points[2].reason == "one: does not fit"


def test_what_has_no_price_is_not_planned() -> None:
    job = ALONE[0]
    one, other = Network("rail", 2, 1e11), Network("torus", 2, 1e11)
    unknown = money(1.0).__class__({"nic": 1.0}, {}, 5.0, ("watts of a nic of 1.6 Tb/s",))
    found = explore(ALONE, {one: money(1.0), other: unknown}, MadeUpTimes({(job, one): 1.0}))
    assert [point.status for point in found.points] == [PLANNED, LEFT_OUT]
    assert "watts of a nic of 1.6 Tb/s" in found.points[1].reason


@pytest.mark.parametrize(
    ("priced", "times", "message"),
    [
        ({network(0): "rail: no price"}, {}, "no network of the grid has a price: rail: no price"),
        ({network(0): money(1.0)}, {(ALONE[0], network(0)): "too large"}, "carries every job: too large"),
    ],
)
def test_a_grid_of_nothing_is_refused(priced: Any, times: Any, message: str) -> None:
    with pytest.raises(Infeasible, match=message):
        explore(ALONE, priced, MadeUpTimes(times))
