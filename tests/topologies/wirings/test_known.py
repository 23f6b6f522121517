"""The wirings that come with the package: every row is what it says, by a second, plain method, too."""

from collections.abc import Mapping

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from benchmarks.known_wirings import best_rows, row_of, sizes
from topoopt.schema.files import packaged_rows
from topoopt.topologies import DirectWiring, LiftShape, lifted, moore_average_hops, wiring_hops
from topoopt.topologies.wirings import WiringRequest, judged, known_judged, known_wirings, search_wirings

ROWS = packaged_rows("topologies.wirings", "known_wirings")
USUAL = list(dict.fromkeys((int(row["servers"]), int(row["degree"])) for row in ROWS))
PLAIN = 600  # servers up to which all pairs are searched by SciPy


def test_every_usual_size_is_there() -> None:
    assert sorted(USUAL) == sorted(sizes())


@pytest.mark.parametrize(("servers", "degree"), USUAL)
def test_hops_degrees_and_rings_are_those_of_the_links(servers: int, degree: int) -> None:
    rows = [row for row in ROWS if (int(row["servers"]), int(row["degree"])) == (servers, degree)]
    known = known_wirings(servers, degree)
    assert len(known) == len(rows)
    for row, wiring in zip(rows, known, strict=True):
        src, dst = wiring.arcs
        assert wiring.idle_interfaces == 0
        assert np.bincount(src, minlength=servers).tolist() == [degree] * servers
        assert (np.sort(src * servers + dst) == np.sort(dst * servers + src)).all()
        average, diameter = measured(wiring) if servers <= PLAIN else counted(wiring)
        assert average == pytest.approx(float(row["average_hops"]), abs=1e-12)
        assert diameter == int(row["diameter"])
        assert average >= moore_average_hops(servers, degree) - 1e-12
        assert_rings(wiring)


def measured(wiring: DirectWiring) -> tuple[float, int]:
    """Return mean and most hops by a search of SciPy's from every server."""
    size = wiring.servers
    matrix = csr_array((np.ones(len(wiring.arcs[0])), wiring.arcs), shape=(size, size))
    hops = shortest_path(matrix, unweighted=True)
    return float(hops.sum()) / (size * (size - 1)), int(hops.max())


def counted(wiring: DirectWiring) -> tuple[float, int]:
    """Return the same by the bits of the search."""
    hops = wiring_hops(wiring)
    return hops.average_hops, hops.diameter


def assert_rings(wiring: DirectWiring) -> None:
    """Refuse a ring that is none, or rings that load a link more than its rate."""
    load = np.zeros(wiring.servers**2)
    for ring in wiring.rings:
        after = np.roll(ring.walk, -1)
        assert (np.sort(ring.walk) == np.arange(wiring.servers)).all()
        load[ring.walk * wiring.servers + after] += ring.share
        load[after * wiring.servers + ring.walk] += ring.share
    src, dst = wiring.arcs
    links, ports = np.unique(src * wiring.servers + dst, return_counts=True)
    assert (load[links] == ports).all()
    assert load.sum() == len(src)


@pytest.mark.parametrize(("servers", "degree"), [(12, 4), (24, 8), (32, 3), (64, 4), (128, 8)])
def test_figures_of_load_are_those_of_the_wiring(servers: int, degree: int) -> None:
    for said in known_judged(servers, degree):
        now = judged(said.wiring)
        assert said.balanced_hops == pytest.approx(now.balanced_hops, rel=0.005)
        assert said.broadcast_messages == now.broadcast_messages


@pytest.mark.parametrize(("servers", "degree"), [(12, 4), (24, 6), (16, 3)])
def test_the_seed_of_a_row_gives_its_wiring_again(servers: int, degree: int) -> None:
    for row in (row for row in ROWS if (row["servers"], row["degree"]) == (str(servers), str(degree))):
        shape = LiftShape(servers, degree, "duplex", int(row["group"]))
        again = row_of(
            lifted(shape, int(row["seed"]), float(row["search_s"])), int(row["seed"]), float(row["search_s"])
        )
        assert (again["orbits"], again["voltages"]) == (row["orbits"], row["voltages"])


def test_of_rows_the_best_in_hops_in_evenness_and_in_broadcast_stay() -> None:
    def row(hops: float, balanced: float, broadcast: float) -> dict[str, str]:
        figures = {"average_hops": hops, "balanced_hops": balanced, "broadcast_messages": broadcast}
        return {"group": "1", **{name: str(value) for name, value in figures.items()}}

    fewest, even, quick = row(3.0, 4.0, 1.1), row(3.5, 3.6, 1.1), row(3.6, 4.0, 1.0)
    worse, hardly_more_even = row(3.1, 4.1, 1.2), row(3.2, 3.9999, 1.1)
    assert best_rows([worse, quick, even, fewest, hardly_more_even]) == [fewest, even, quick]


def test_numbers_that_are_not_usual_have_none() -> None:
    assert known_wirings(129, 4) == known_wirings(128, 4, "directed") == ()


@pytest.mark.parametrize(
    ("servers", "degree", "hops"),
    [
        (128, 4, 3.512),
        (128, 8, 2.4331),
        (128, 3, 4.728),
        (64, 8, 1.992),
        (256, 8, 2.757),
        (432, 8, 3.048),
        (1024, 4, 5.47),
        (1024, 8, 3.526),
    ],
)
def test_they_are_as_near_as_those_of_the_specification(servers: int, degree: int, hops: float) -> None:
    assert min(row.hops.average_hops for row in known_judged(servers, degree)) <= hops + 5e-5


def hops_and_evenness(request: WiringRequest) -> Mapping[str, float]:
    found = search_wirings(request)
    return {"hops": found.chosen.hops.average_hops, "known": found.known, "search_s": found.search_s}


def test_a_search_begins_with_them_and_ends_there_without_a_budget() -> None:
    best = min(row.hops.average_hops for row in known_judged(64, 4))
    usual = hops_and_evenness(WiringRequest(64, 4))
    assert usual == {"hops": best, "known": len(known_wirings(64, 4)), "search_s": 0.0}
    longer = hops_and_evenness(WiringRequest(64, 4, budget_s=0.1))
    assert longer["search_s"] == 0.1
    assert longer["hops"] <= best


def test_a_budget_is_not_spent_where_moores_bound_is_reached() -> None:
    assert hops_and_evenness(WiringRequest(128, 8, budget_s=60.0))["search_s"] == 0.0


@pytest.mark.parametrize(
    "request_", [WiringRequest(64, 4, seed=1, budget_s=0.1), WiringRequest(64, 4, ring_group=8, budget_s=0.1)]
)
def test_another_seed_and_rings_of_groups_are_searched_anew(request_: WiringRequest) -> None:
    asked = hops_and_evenness(request_)
    assert (asked["known"], asked["search_s"]) == (0, 0.1)
