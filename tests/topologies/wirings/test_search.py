"""The best wiring of all families, its frontier, and who does not exist."""

from collections.abc import Callable

import pytest

import topoopt.topologies.wirings.search as trials
from tests.topologies.test_lifted import BEST_OF_128, FOUR_PORTS, Recipe
from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.topologies import WIRING_FAMILIES, LiftShape, SearchInterrupted, lifted, lifted_of, wiring_hops
from topoopt.topologies.wirings import FAMILY_NAMES, WiringRequest, judged, search_wirings


def test_of_128_servers_and_8_ports_moores_bound_is_reached() -> None:
    found = search_wirings(WiringRequest(128, 8, seed=1))
    assert found.chosen.hops.average_hops == pytest.approx(found.moore_average_hops, abs=1e-12)


@pytest.mark.parametrize(("budget_s", "hops"), [(0.3, 3.54), pytest.param(3.0, 3.52, marks=pytest.mark.long)])
def test_of_128_servers_and_4_ports_it_is_near(budget_s: float, hops: float) -> None:
    found = search_wirings(WiringRequest(128, 4, seed=1, budget_s=budget_s))
    assert found.chosen.hops.average_hops <= hops
    assert found.chosen.hops.average_hops == min(row.hops.average_hops for row in found.frontier)


def test_balanced_prefers_even_links() -> None:
    asked = {
        objective: WiringRequest(64, 4, objective=objective, seed=1, budget_s=0.1)
        for objective in ("hops", "balanced")
    }
    found = {objective: search_wirings(request).chosen.figures for objective, request in asked.items()}
    assert found["balanced"][2] <= found["hops"][2]
    assert found["hops"][0] <= found["balanced"][0]


def test_nothing_on_the_frontier_is_beaten_in_everything() -> None:
    rows = [row.figures for row in search_wirings(WiringRequest(36, 4, "directed", budget_s=0.1)).frontier]
    for row in rows:
        assert not any(all(a <= b for a, b in zip(other, row, strict=True)) for other in rows if other != row)


def test_equal_requests_give_equal_answers() -> None:
    one, again = (search_wirings(WiringRequest(40, 4, budget_s=0.1)) for _ in range(2))
    assert one.chosen.wiring.recipe == again.chosen.wiring.recipe


@pytest.mark.parametrize("links", ["duplex", "directed"])
@pytest.mark.parametrize(
    ("servers", "degree"), [(2, 1), (3, 2), (4, 3), (5, 2), (6, 5), (7, 3), (9, 4), (16, 5)]
)
def test_no_interface_idles_but_where_it_must(servers: int, degree: int, links: str) -> None:
    found = search_wirings(WiringRequest(servers, degree, links, budget_s=0.1))
    must = links == "duplex" and servers * degree % 2
    assert found.chosen.wiring.idle_interfaces == (1 if must else 0)


def test_a_ring_of_each_group_is_one_factor() -> None:
    found = search_wirings(WiringRequest(64, 4, ring_group=8, budget_s=0.1))
    src, dst = found.chosen.wiring.arcs
    assert int((src // 8 == dst // 8).sum()) >= 2 * 64


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (WiringRequest(100, 7, family="slim-fly"), "nearest: 50 servers of 7 interfaces"),
        (WiringRequest(100, 4, family="slim-fly"), "nearest: 18 servers of 5 interfaces"),
        (
            WiringRequest(60, 4, family="twisted-torus"),
            "50 servers of 4 interfaces and 72 servers of 4 interfaces",
        ),
        (WiringRequest(16, 4, family="line-graph"), "none near"),
        (WiringRequest(128, 5, family="kautz"), "128 servers of 4 interfaces"),
    ],
)
def test_a_family_that_does_not_exist_names_the_nearest(request_: WiringRequest, message: str) -> None:
    with pytest.raises(Infeasible, match=message):
        search_wirings(request_)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"servers": 8, "degree": 8}, "degree: 7 interfaces reach every other"),
        ({"servers": 8, "degree": 4, "objective": "most"}, 'objective: unknown name "most"'),
        ({"servers": 8, "degree": 4, "budget_s": -1.0}, "budget: expected seconds >= 0"),
        ({"servers": 8, "degree": 4, "budget_s": 1e9}, "budget: expected seconds >= 0, a day"),
        ({"servers": 8, "degree": 4, "seed": -1}, "seed: must be >= 0, got -1"),
        ({"servers": 64, "degree": 4, "ring_group": 7}, "ring_group: expected 3 or more"),
    ],
)
def test_mistakes_are_one_line(words: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        WiringRequest(**words)  # type: ignore[arg-type]


def test_an_unknown_family_is_named() -> None:
    with pytest.raises(InvalidInput, match="did you mean kautz"):
        search_wirings(WiringRequest(8, 4, family="kauz"))


def test_an_interrupt_keeps_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(shape: object, seed: int, search_s: float, tick: Callable[[float], None]) -> None:
        raise SearchInterrupted(next(WIRING_FAMILIES["expander"].build(64, 4, "duplex")))

    monkeypatch.setattr(trials, "lifted", stopped)
    found = search_wirings(WiringRequest(64, 4, seed=1))
    assert found.interrupted
    assert found.chosen.wiring.family == "expander"


def test_an_interrupted_search_is_at_least_as_good_as_its_start() -> None:
    def tick(spent_s: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(SearchInterrupted) as caught:
        lifted(LiftShape(128, 4, group=16), 0, 1.0, tick)
    begun = lifted(LiftShape(128, 4, group=16), 0)
    assert wiring_hops(caught.value.wiring).average_hops < wiring_hops(begun).average_hops


def test_the_fullest_link_is_never_emptier_than_the_mean() -> None:
    for name in ("circulant", "expander", "kautz"):
        row = judged(next(WIRING_FAMILIES[name].build(64, 4, "duplex")))
        assert row.balanced_hops is not None
        assert row.balanced_hops >= row.hops.average_hops - 1e-9
        assert row.balanced_hops < 1.5 * row.hops.average_hops


@pytest.mark.parametrize(("recipe", "messages"), [(BEST_OF_128, 127 / 128), (FOUR_PORTS, 67 / 64)])
def test_breadth_first_broadcasts_of_lifted_wirings(recipe: Recipe, messages: float) -> None:
    assert judged(lifted_of(128, *recipe)).broadcast_messages == messages


def test_all_families_have_names() -> None:
    assert {"lifted", "circulant", "kautz"} <= set(FAMILY_NAMES)
