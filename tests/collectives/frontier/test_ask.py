"""Every schedule on a wiring: what the specification's example takes, where they cross, what is played."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.collectives.wirings import BPS, kautz, lifted_128_4, lifted_128_8
from topoopt.base.errors import InvalidInput, NoRoute
from topoopt.collectives import ALGORITHMS, play, rank_moves, run_msccl
from topoopt.collectives.frontier import (
    OPERATIONS,
    SCHEDULES,
    CollectiveAnswer,
    Wiring,
    collective_answer,
    family_wiring,
    stride_wiring,
)
from topoopt.collectives.frontier.schedules import Routed
from topoopt.collectives.frontier.wiring import wiring_of
from topoopt.topologies import circulant, expander, topology_from_arrays

ALPHA_S, MEGABYTE = 1e-6, 1e6


def ask(
    wiring: Wiring, operation: str = "allreduce", size: float = MEGABYTE, schedule: str = "best"
) -> CollectiveAnswer:
    return collective_answer(operation, size, wiring, ALPHA_S, schedule)


def times_us(answer: CollectiveAnswer) -> dict[str, float]:
    return {way.schedule: 1e6 * answer.time_s(way) for way in answer.best_of_each}


def test_an_allreduce_of_a_megabyte_takes_what_the_specification_says() -> None:
    """128 servers of 4 × 100 Gb/s, α = 1 µs: rings 293.7 µs, the circulant 55.7, generalized Kautz 74.2."""
    times = times_us(ask(stride_wiring(128, (1, 15), BPS, "duplex")))
    assert times["ring"] == pytest.approx(293.7, abs=0.05)
    assert times["bfb"] == pytest.approx(55.7, abs=0.05)
    assert times_us(ask(wiring_of("kautz", kautz(4, 128), 4)))["bfb"] == pytest.approx(74.2, abs=0.06)


def test_a_lifted_wiring_takes_what_the_specification_says() -> None:
    """52.5 µs, and rings are quicker only above 87 MB: those of the best of 3.512 hops, whose T_B is 1.0625.

    A wiring whose T_B is smaller leaves them less: 122 steps · α · B / (T_B - 127/128).
    """
    answer = ask(family_wiring("lifted", 128, 4, BPS))
    assert answer.hops.average_hops < 3.52
    assert times_us(answer)["bfb"] <= 52.55
    [crossing] = answer.crossings
    volume = answer.quickest("bfb").volume / 2
    assert volume <= 1.0625
    assert crossing.size_bytes == pytest.approx(122 * 1e-6 * 50e9 / (volume - 127 / 128), rel=1e-3)
    assert crossing.size_bytes >= 86.7e6


def test_matchings_give_six_rings_of_half_the_rate() -> None:
    """No port of an odd degree is idle: rings reach the bound of bytes."""
    answer = ask(family_wiring("lifted", 16, 3, BPS))
    ring = answer.quickest("ring")
    assert ring.detail == "6 rings, each at 0.5 of a link's rate"
    assert ring.volume == pytest.approx(answer.bound.volume)


def test_rings_take_over_where_the_formula_says() -> None:
    """M* = ΔT_L·α·B/ΔT_B; the fixture's T_B is 67/64, that of the wiring whose 87 MB are published here 1.0625."""
    answer = ask(wiring_of("lifted", lifted_128_4()))
    [crossing] = answer.crossings
    assert (crossing.below.schedule, crossing.above.schedule) == ("bfb", "ring")
    assert crossing.size_bytes == pytest.approx((127 - 5) * ALPHA_S * 50e9 / (67 / 64 - 127 / 128))
    assert pytest.approx(87e6, rel=0.01) == (127 - 5) * ALPHA_S * 50e9 / (1.0625 - 127 / 128)
    for factor, quickest in ((0.99, "bfb"), (1.01, "ring")):
        assert ask(answer.wiring, size=factor * crossing.size_bytes).chosen.schedule == quickest


def test_the_best_in_steps_and_bytes_has_no_crossing() -> None:
    answer = ask(wiring_of("lifted", lifted_128_8()))
    assert (answer.crossings, answer.chosen.schedule, answer.chosen.steps) == ((), "bfb", 6)
    assert answer.sizes(answer.chosen) == (0.0, float("inf"))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_quickest_by_size_is_the_quickest(operation: str) -> None:
    """The crossings by the law of lines, against trying every size."""
    answer = ask(family_wiring("expander", 18, 3, BPS), operation)
    for size in np.geomspace(1, 1e12, 200).tolist():
        best = min(answer.ways, key=lambda way: answer.time_s(way, size))
        sizes = answer.sizes(best)
        assert sizes is not None
        assert sizes[0] * (1 - 1e-9) <= size <= sizes[1] * (1 + 1e-9)


WIRINGS: dict[str, Callable[[], Wiring]] = {
    "circulant": lambda: stride_wiring(16, (3, 4), BPS, "duplex"),
    "directed": lambda: stride_wiring(15, (1, 4), BPS, "directed"),
    "no ring along a stride": lambda: stride_wiring(12, (2, 3), BPS, "duplex"),
    "expander, odd": lambda: wiring_of("expander", expander(11, 3, BPS), 3),
    "torus": lambda: family_wiring("torus", 12, 4, BPS),
    "full mesh": lambda: family_wiring("full-mesh", 6, 4, BPS),
    "Kautz": lambda: wiring_of("kautz", kautz(2, 10), 2),
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("name", WIRINGS)
def test_every_schedule_is_played_and_written_for_msccl(name: str, operation: str) -> None:
    wiring = WIRINGS[name]()
    for schedule in SCHEDULES[operation]:
        answer = ask(wiring, operation, schedule=schedule)
        assert answer.played is not None
        assert (answer.chosen.schedule, answer.played.missing) == (schedule, 0)
        assert run_msccl(answer.msccl()).missing == 0
        assert all(play(way.transfers()).missing == 0 for way in answer.ways)
        assert answer.time_s(answer.bound) <= answer.time_s(answer.chosen) * (1 + 1e-9)


@pytest.mark.parametrize("name", ["circulant", "directed", "torus", "full mesh"])
@pytest.mark.parametrize("operation", ["allreduce", "all-gather", "reduce-scatter"])
def test_what_is_played_is_what_is_said(name: str, operation: str) -> None:
    """Steps and bytes of rings and of the broadcast, counted on the links of the schedule that was played."""
    wiring = WIRINGS[name]()
    ports = int(wiring.topology.ports[0])
    for schedule in ("bfb", "ring"):
        answer = ask(wiring, operation, schedule=schedule)
        assert answer.played is not None
        shares = [float(share) for share in answer.played.shards(wiring.servers)]
        assert len(shares) == answer.chosen.steps
        assert sum(shares) / ports * wiring.ports / wiring.servers == pytest.approx(answer.chosen.volume)


def test_rings_use_every_port_that_disjoint_cycles_can() -> None:
    for name, rings in {"circulant": 4, "no ring along a stride": 4, "expander, odd": 2, "torus": 4}.items():
        assert ask(WIRINGS[name]()).quickest("ring").detail == f"{rings} rings"


def test_a_ring_without_links_of_its_own_goes_over_several() -> None:
    """Petersen's graph has no Hamiltonian cycle; the directed Kautz graph has one, and more where it is larger."""
    spokes = [(i, i + 5) for i in range(5)]
    cables = [(i, (i + 1) % 5) for i in range(5)] + [(5 + i, 5 + (i + 2) % 5) for i in range(5)] + spokes
    src, dst = np.array(cables + [(b, a) for a, b in cables]).T
    petersen = wiring_of("petersen", topology_from_arrays("petersen", 10, src, dst, BPS, 0.0), 3)
    way = ask(petersen).quickest("ring")
    assert (way.detail, way.steps > 2 * 9) == ("1 ring over several links", True)
    assert ask(WIRINGS["Kautz"]()).quickest("ring").detail == "1 ring"
    assert ask(wiring_of("kautz", kautz(4, 128), 4)).quickest("ring").detail == "3 rings"


def test_transfers_over_several_links_load_all_of_them() -> None:
    """A ring of six, one way: halving over three links takes three steps, and every link carries all of it."""
    routed = Routed(wiring_of("ring", circulant(6, (1,), BPS, links="directed")))
    [moves] = rank_moves("pairwise", 6)
    steps, volume = routed.cost(moves)
    assert steps == 1 + 2 + 3 + 4 + 5
    assert volume == pytest.approx((1 + 2 + 3 + 4 + 5) / 6)
    assert ALGORITHMS["pairwise"].collective == "all-to-all"


def test_an_all_to_all_is_balanced() -> None:
    answer = ask(wiring_of("lifted", lifted_128_4()), "all-to-all")
    volumes = {way.detail: way.volume for way in answer.ways if way.schedule == "direct"}
    assert volumes["shortest ways, balanced"] == pytest.approx(answer.bound.volume, rel=1e-3)
    assert volumes["shortest ways, in equal parts"] > 1.01 * answer.bound.volume


def test_what_does_not_go_together_is_refused() -> None:
    wiring = WIRINGS["circulant"]()
    with pytest.raises(InvalidInput, match="schedule: tree does no all-gather; allowed: best, ring, bfb"):
        ask(wiring, "all-gather", schedule="dbt")
    with pytest.raises(InvalidInput, match="schedule: tree is for fewer servers than 600; give bfb or ring"):
        ask(stride_wiring(600, (1, 23), BPS, "duplex"), schedule="dbt")
    apart = topology_from_arrays("two", 4, np.array([0, 1, 2, 3]), np.array([1, 0, 3, 2]), BPS, 1e-6)
    with pytest.raises(NoRoute, match="server 0 cannot reach server 2"):
        ask(wiring_of("two", apart))


def test_more_servers_have_the_schedules_that_are_quick_to_make() -> None:
    answer = ask(stride_wiring(600, (1, 23), BPS, "duplex"))
    assert answer.left_out == ("spanning-trees", "tree", "halving-doubling")
    assert answer.played is None
    assert answer.to_json()["played"] is None


def three_half_rate_rings() -> Wiring:
    """K4 is three perfect matchings; any two of them are a ring of all servers, so each cable is in two rings."""
    topology = wiring_of("K4", circulant(4, (1, 2), BPS)).topology
    walks = ((0, 1, 2, 3), (0, 1, 3, 2), (0, 2, 1, 3))
    return Wiring("K4", topology, 3, "duplex", tuple((walk, 0.5) for walk in walks))


def test_rings_that_share_links_leave_no_port_of_an_odd_degree_idle() -> None:
    way = ask(three_half_rate_rings()).quickest("ring")
    assert (way.detail, way.steps) == ("6 rings, each at 0.5 of a link's rate", 6)
    assert way.volume == pytest.approx(2 * 3 / 4)  # what no schedule undercuts
    played = play(way.transfers())
    assert played.missing == 0
    # every link is in two of the six rings, each with a sixth of the message: a third of a shard a step
    assert [float(share) for share in played.shards(4)] == pytest.approx([1 / 3] * 6)


def test_a_ring_of_twice_the_share_carries_twice_as_much() -> None:
    wiring = stride_wiring(5, (1, 2), BPS, "duplex")
    known = Wiring("five", wiring.topology, 4, "duplex", (((0, 1, 2, 3, 4), 1.0), ((0, 2, 4, 1, 3), 0.5)))
    way = ask(known).quickest("ring")
    assert way.volume == pytest.approx(2 * 4 / 5 * 4 / 3)
    assert play(way.transfers()).missing == 0
